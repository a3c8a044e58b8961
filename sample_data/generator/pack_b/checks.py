"""Pack B's checks: a list is looked at row by row through its codes, so one mistake does not show up as five others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

from openpyxl import Workbook
from openpyxl.worksheet.worksheet import Worksheet

from sample_data.generator.checker import Check, describe


def rows_once(sheet: str, codes: Sequence[str]) -> Check:
    """Every row that belongs there is there, once, and no other."""

    def run(book: Workbook) -> list[str]:
        found = [code for _, code in _codes(book[sheet])]
        lines = [f"row {code}: expected to be there, found missing" for code in codes if code not in found]
        twice = [code for code in codes if found.count(code) > 1]
        lines += [f"row {code}: expected once, found {found.count(code)} times" for code in twice]
        lines += [f"row {code}: expected no such row, found it" for code in found if code not in codes]
        return lines[:1]

    return run


def in_order(sheet: str) -> Check:
    """The codes ascend. Says the first that does not."""

    def run(book: Workbook) -> list[str]:
        found = list(_codes(book[sheet]))
        for (_, above), (row, code) in pairwise(found):
            if code < above:
                return [f"A{row}: expected the rows in the order of column A, found {code} below {above}"]
        return []

    return run


def column(sheet: str, letter: str, expected: dict[str, Any]) -> Check:
    """In the row of each code, the column holds this. Says the first difference; missing rows are another check's."""

    def run(book: Workbook) -> list[str]:
        for row, code in _codes(book[sheet]):
            found = book[sheet][f"{letter}{row}"].value
            if code in expected and found != expected[code]:
                return [f"{letter}{row}: expected {describe(expected[code])} for {code}, found {describe(found)}"]
        return []

    return run


def formula_column(sheet: str, letter: str, formula: str) -> Check:
    """Every row holds the formula; `{row}` in it stands for the row. Says the first difference."""

    def run(book: Workbook) -> list[str]:
        for row, _ in _codes(book[sheet]):
            found, wanted = book[sheet][f"{letter}{row}"].value, formula.format(row=row)
            if found != wanted:
                return [f"{letter}{row}: expected {describe(wanted)}, found {describe(found)}"]
        return []

    return run


def all_visible(sheet: str) -> Check:
    """No row is hidden and no filter is on."""

    def run(book: Workbook) -> list[str]:
        hidden = [row for row, code in _codes(book[sheet]) if book[sheet].row_dimensions[row].hidden]
        found = f"{len(hidden)} hidden" if hidden else "a filter that is on"
        return [f"{sheet}: expected every row to show, found {found}"] if hidden or book[sheet].auto_filter.ref else []

    return run


def nothing_merged(sheet: str) -> Check:
    """No cells of the sheet are merged."""

    def run(book: Workbook) -> list[str]:
        return [f"{sheet}: expected single cells, found {area} merged" for area in book[sheet].merged_cells.ranges]

    return run


def _codes(page: Worksheet) -> Iterator[tuple[int, str]]:
    return ((cell.row, str(cell.value)) for cell in page["A"][1:] if cell.value is not None)
