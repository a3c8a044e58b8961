"""The checker: opens the saved file and compares it with what was asked. It never sees a plan or a drawn fault.

A `Check` takes the reopened workbook and returns feedback lines, none when all is well.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date, datetime
from pathlib import Path
from typing import Any

from openpyxl import Workbook, load_workbook

Check = Callable[[Workbook], list[str]]


def check(path: Path, checks: Sequence[Check]) -> list[str]:
    """Feedback lines on the file at `path`, in the order of `checks`; empty = the run passes."""
    book = load_workbook(path)
    return [line for one in checks for line in one(book)]


def describe(value: Any) -> str:
    """A cell's content in words: nothing, the number 41, the text 'x', the date 2026-01-31, the formula =A1."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return f"the value {value}".lower()
    if isinstance(value, int | float):
        return f"the number {value}"
    if isinstance(value, datetime | date):
        return f"the date {value:%Y-%m-%d}"
    return f"the formula {value}" if _is_formula(value) else f"the text '{value}'"


def cells(sheet: str, expected: dict[str, Any]) -> Check:
    """Each cell has exactly this content (text, number, date). Says the first difference."""

    def run(book: Workbook) -> list[str]:
        for cell, value in expected.items():
            found = _content(book, sheet, cell)
            if found != value:
                return [f"{cell}: expected {_wanted(value, found)}, found {describe(found)}"]
        return []

    return run


def header(sheet: str, cell: str, text: str) -> Check:
    """The column heading is still there."""

    def run(book: Workbook) -> list[str]:
        found = _content(book, sheet, cell)
        return [] if found == text else [f"{cell}: expected the header '{text}', found {describe(found)}"]

    return run


def formulas(sheet: str, expected: dict[str, str]) -> Check:
    """Each cell has this formula. Says the first difference."""

    def run(book: Workbook) -> list[str]:
        for cell, formula in expected.items():
            found = _content(book, sheet, cell)
            if found != formula:
                wanted = f"the formula {formula}" if _is_formula(found) else "a formula"
                return [f"{cell}: expected {wanted}, found {describe(found)}"]
        return []

    return run


def nothing_below(sheet: str, column: str, row: int) -> Check:
    """The column is empty below `row`. Says the first cell that is not."""

    def run(book: Workbook) -> list[str]:
        for cell in book[sheet][column][row:]:
            if cell.value is not None:
                kind = "a formula" if _is_formula(cell.value) else describe(cell.value)
                return [f"{cell.coordinate}: expected nothing below the table, found {kind}"]
        return []

    return run


def number_format(sheet: str, cell_range: str, code: str) -> Check:
    """Every cell of the range has this number format."""

    def run(book: Workbook) -> list[str]:
        found = next((c.number_format for row in book[sheet][cell_range] for c in row if c.number_format != code), None)
        return [] if found is None else [f"{cell_range}: expected the number format {code}, found {found}"]

    return run


def sheets(names: Sequence[str]) -> Check:
    """These sheets are all there."""
    return lambda book: [f"sheet {name}: expected to be kept, found deleted" for name in names if name not in book]


def first_of(*checks: Check) -> Check:
    """Several checks of one area of the sheet: only the first that complains is heard."""
    return lambda book: next((lines for lines in (one(book) for one in checks) if lines), [])


def _content(book: Workbook, sheet: str, cell: str) -> Any:
    value = book[sheet][cell].value
    return value.date() if isinstance(value, datetime) else value


def _wanted(value: Any, found: Any) -> str:
    """A date in the wrong type is the news, not which date it should have been."""
    return "a date" if isinstance(value, date) and isinstance(found, str) else describe(value)


def _is_formula(value: Any) -> bool:
    return isinstance(value, str) and value.startswith("=")
