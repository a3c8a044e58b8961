"""Pack B's tools: each works on a whole list, a sheet with headings in row 1 and data from row 2. No tasks, no judging.

A list ends where column A ends. Tools go down to its end by themselves, so they take columns, not ranges.
"""

from __future__ import annotations

from typing import Any

from openpyxl import Workbook
from openpyxl.formula.translate import Translator
from openpyxl.utils import get_column_letter
from openpyxl.worksheet.worksheet import Worksheet

from sample_data.generator.desk import Desk, Tool


def append_rows(desk: Desk, sheet: str, rows: list[list[Any]]) -> str:
    def change(book: Workbook) -> None:
        top = _last(book[sheet]) + 1
        for down, row in enumerate(rows):
            for column, value in enumerate(row, start=1):
                book[sheet].cell(top + down, column).value = value

    desk.edit(change)
    return f"appended {len(rows)} rows to {sheet}, data ends at row {desk.last_row(sheet)}"


def remove_duplicates(desk: Desk, sheet: str, columns: list[str]) -> str:
    """Of the rows that agree in `columns`, keeps the first."""
    before = desk.last_row(sheet)

    def change(book: Workbook) -> None:
        page, seen, doubled = book[sheet], set(), []
        for row in _rows(page):
            key = tuple(page[f"{column}{row}"].value for column in columns)
            doubled.extend([row] if key in seen else [])
            seen.add(key)
        for row in reversed(doubled):
            page.delete_rows(row)

    desk.edit(change)
    after = desk.last_row(sheet)
    return f"removed {before - after} rows from {sheet}, data ends at row {after}"


def sort_rows(desk: Desk, sheet: str, by: str) -> str:
    def change(book: Workbook) -> None:
        page = book[sheet]
        rows = sorted(_rows(page), key=lambda row: page[f"{by}{row}"].value)
        content = [[cell.value for cell in page[row]] for row in rows]
        for row, values in zip(_rows(page), content, strict=True):
            for column, value in enumerate(values, start=1):
                page.cell(row, column).value = value

    desk.edit(change)
    return f"sorted {sheet} by column {by}"


def change_by_percent(desk: Desk, sheet: str, column: str, percent: float) -> str:
    """Multiplies what is there, so a second call changes the changed amounts."""

    def change(book: Workbook) -> None:
        for row in _rows(book[sheet]):
            cell = book[sheet][f"{column}{row}"]
            cell.value = by_percent(cell.value, percent)

    desk.edit(change)
    return f"sent a change of {percent} percent to column {column}"


def by_percent(amount: float, percent: float) -> float:
    """An amount changed by so many percent, in whole cents."""
    return round(amount * (1 + percent / 100), 2)


def match_column(
    desk: Desk, sheet: str, own_key: str, into: str, source: str, source_key: str, source_value: str
) -> str:
    """Fetches a column from another list: the value of the source row whose key is the same."""

    def change(book: Workbook) -> None:
        found = {book[source][f"{source_key}{row}"].value: row for row in _rows(book[source])}
        for row in _rows(book[sheet]):
            at = found.get(book[sheet][f"{own_key}{row}"].value)
            book[sheet][f"{into}{row}"].value = book[source][f"{source_value}{at}"].value if at else None

    desk.edit(change)
    filled = [desk.book[sheet][f"{into}{row}"].value is not None for row in _rows(desk.book[sheet])]
    rest = f", {filled.count(False)} unmatched" if False in filled else ""
    return f"matched {filled.count(True)} rows into column {into}{rest}"


def fill_formula(desk: Desk, sheet: str, column: str, formula: str) -> str:
    """Puts a formula, given for row 2, into every row of the list."""
    if ";" in formula:
        return "Error: formula refused, unknown argument separator"

    def change(book: Workbook) -> None:
        for row in _rows(book[sheet]):
            cell = f"{column}{row}"
            book[sheet][cell].value = Translator(formula, f"{column}2").translate_formula(cell)

    desk.edit(change)
    return f"filled column {column} of {sheet}"


def filter_rows(desk: Desk, sheet: str, column: str, value: str) -> str:
    def change(book: Workbook) -> None:
        page = book[sheet]
        page.auto_filter.ref = f"A1:{get_column_letter(page.max_column)}{_last(page)}"
        page.auto_filter.add_filter_column(page[f"{column}1"].column - 1, [value])
        for row in _rows(page):
            page.row_dimensions[row].hidden = page[f"{column}{row}"].value != value

    desk.edit(change)
    return f"showing {len(_visible(desk.book[sheet]))} rows of {sheet}"


def write_visible(desk: Desk, sheet: str, column: str, value: Any) -> str:
    def change(book: Workbook) -> None:
        for row in _visible(book[sheet]):
            book[sheet][f"{column}{row}"].value = value

    desk.edit(change)
    return f"wrote column {column} in {len(_visible(desk.book[sheet]))} rows"


def clear_filter(desk: Desk, sheet: str) -> str:
    def change(book: Workbook) -> None:
        page = book[sheet]
        page.auto_filter.ref = None
        page.auto_filter.filterColumn = []
        for row in _rows(page):
            page.row_dimensions[row].hidden = False

    desk.edit(change)
    return f"showing all rows of {sheet}"


def count_values(desk: Desk, sheet: str, column: str) -> str:
    page = desk.read(sheet)
    values = {page[f"{column}{row}"].value for row in _rows(page)}
    return f"{len(values)} different values in column {column}"


def freeze_panes(desk: Desk, sheet: str, cell: str) -> str:
    def change(book: Workbook) -> None:
        book[sheet].freeze_panes = cell

    desk.edit(change)
    return f"froze the panes of {sheet} at {cell}"


def merge_cells(desk: Desk, sheet: str, range: str) -> str:
    desk.edit(lambda book: book[sheet].merge_cells(range))
    return f"merged {range}"


def _last(page: Worksheet) -> int:
    return max((cell.row for cell in page["A"] if cell.value is not None), default=1)


def _rows(page: Worksheet) -> range:
    return range(2, _last(page) + 1)


def _visible(page: Worksheet) -> list[int]:
    return [row for row in _rows(page) if not page.row_dimensions[row].hidden]


LIST_TOOLS: dict[str, Tool] = {
    tool.__name__: tool
    for tool in (
        append_rows, remove_duplicates, sort_rows, change_by_percent, match_column, fill_formula, filter_rows,
        write_visible, clear_filter, count_values, freeze_panes, merge_cells,
    )
}  # fmt: skip
