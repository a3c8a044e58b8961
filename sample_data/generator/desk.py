"""The desk: a folder with one workbook, and the tools that work on it. No tasks, no faults, no judging.

Every tool really reads or writes the workbook and answers with one line that says what it touched. One property of the
desk matters to agents: **saving goes on in the background**. `save_workbook` returns at once; the writer is one edit
behind and catches up when the saved file is read. An agent that stops without reading back leaves a file without its
newest edit (`close` writes what the writer had got to).
"""

from __future__ import annotations

import io
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

from openpyxl import Workbook, load_workbook
from openpyxl.formula.translate import Translator
from openpyxl.utils import get_column_letter, range_boundaries
from openpyxl.worksheet.worksheet import Worksheet

Edit = Callable[[Workbook], None]
Tool = Callable[..., str]


class Desk:
    """One agent's session. `call(tool, arguments)` returns the tool's answer; `close()` ends the session."""

    def __init__(self, folder: Path, tools: dict[str, Tool] | None = None) -> None:
        self._folder = folder
        self._tools = {**TOOLS, **(tools or {})}
        self._edits: list[Edit] = []
        self._start = b""
        self._saving: Path | None = None
        self.book = Workbook()

    def call(self, tool: str, arguments: dict[str, Any]) -> str:
        return self._tools[tool](self, **arguments)

    def open(self, path: str) -> None:
        self._start = (self._folder / path).read_bytes()
        self.book = load_workbook(io.BytesIO(self._start))

    def edit(self, change: Edit) -> None:
        """Does `change` to the workbook and remembers it for the background writer."""
        change(self.book)
        self._edits.append(change)

    def save(self, path: str) -> None:
        self._saving = self._folder / path

    def read(self, sheet: str) -> Worksheet:
        """The sheet to read from. After a save this is the file, once the writer has caught up."""
        if self._saving:
            self.book.save(self._saving)
            self._start, self._edits, self._saving = self._saving.read_bytes(), [], None
            self.book = load_workbook(io.BytesIO(self._start))
        return self.book[sheet]

    def close(self) -> None:
        """Ends the session: a save that nobody waited for stops before the newest edit."""
        if self._saving:
            book = load_workbook(io.BytesIO(self._start))
            for change in self._edits[:-1]:
                change(book)
            book.save(self._saving)

    def last_row(self, sheet: str, column: str = "A") -> int:
        """The last row with something in `column`."""
        cells = self.book[sheet][column]
        return max((cell.row for cell in cells if cell.value is not None), default=0)


def open_workbook(desk: Desk, path: str) -> str:
    desk.open(path)
    return f"opened {path}, {len(desk.book.sheetnames)} sheets"


def list_sheets(desk: Desk) -> str:
    return "sheets: " + ", ".join(desk.book.sheetnames)


def find_last_row(desk: Desk, sheet: str, column: str) -> str:
    return f"data in column {column} ends at row {desk.last_row(sheet, column)}"


def read_range(desk: Desk, sheet: str, range: str) -> str:
    rows = desk.read(sheet)[range]
    headers = ", ".join("" if cell.value is None else str(cell.value) for cell in rows[0])
    filled = sum(cell.value is not None for row in rows for cell in row)
    return f"read {range}: {filled} filled cells, top row {headers}; data ends at row {desk.last_row(sheet)}"


def write_cell(desk: Desk, sheet: str, cell: str, value: Any) -> str:
    desk.edit(lambda book: _put(book[sheet], cell, value))
    return f"wrote {cell}"


def write_range(desk: Desk, sheet: str, range: str, values: list[list[Any]]) -> str:
    left, top, _, _ = range_boundaries(range)

    def change(book: Workbook) -> None:
        for down, row in enumerate(values):
            for right, value in enumerate(row):
                book[sheet].cell(top + down, left + right).value = value

    desk.edit(change)
    start = "header row" if top == 1 else f"row {top}"
    return f"wrote {range} starting at {start}, data ends at row {desk.last_row(sheet)}"


def fill_down(desk: Desk, sheet: str, range: str) -> str:
    left, top, _, bottom = range_boundaries(range)
    first = f"{get_column_letter(left)}{top}"

    def change(book: Workbook) -> None:
        value = book[sheet][first].value
        for row in _between(top + 1, bottom):
            cell = book[sheet].cell(row, left)
            formula = isinstance(value, str) and value.startswith("=")
            cell.value = Translator(value, first).translate_formula(cell.coordinate) if formula else value

    desk.edit(change)
    end = desk.last_row(sheet)
    beyond = f"past row {end}, " if bottom > end else ""
    return f"filled {range} from {first}, {beyond}data ends at row {end}"


def enter_date(desk: Desk, sheet: str, cell: str, date: str) -> str:
    def change(book: Workbook) -> None:
        _put(book[sheet], cell, _day(date))
        book[sheet][cell].number_format = "yyyy-mm-dd"

    desk.edit(change)
    return f"entered a date in {cell}"


def set_number_format(desk: Desk, sheet: str, range: str, format: str) -> str:
    def change(book: Workbook) -> None:
        for row in book[sheet][range]:
            for cell in row:
                cell.number_format = format

    desk.edit(change)
    return f"set the number format of {range}"


def autofit_columns(desk: Desk, sheet: str) -> str:
    def change(book: Workbook) -> None:
        for column in book[sheet].columns:
            width = max(len(str(cell.value or "")) for cell in column)
            book[sheet].column_dimensions[get_column_letter(column[0].column)].width = width + 2

    desk.edit(change)
    return f"fitted the columns of {sheet}"


def delete_sheet(desk: Desk, sheet: str) -> str:
    desk.edit(lambda book: book.remove(book[sheet]))
    return f"deleted sheet {sheet}"


def save_workbook(desk: Desk, path: str) -> str:
    desk.save(path)
    return f"saving {path} in the background"


def _put(sheet: Worksheet, cell: str, value: Any) -> None:
    sheet[cell].value = value


def _day(text: str) -> date:
    return date.fromisoformat(text)


def _between(first: int, last: int) -> range:
    return range(first, last + 1)


TOOLS: dict[str, Tool] = {
    tool.__name__: tool
    for tool in (
        open_workbook, list_sheets, find_last_row, read_range, write_cell, write_range, fill_down, enter_date,
        set_number_format, autofit_columns, delete_sheet, save_workbook,
    )
}  # fmt: skip
