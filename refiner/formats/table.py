"""Tables, CSV and Parquet: one row a run, or one row a step of a run. Which column is what is guessed unless given."""

from __future__ import annotations

import csv
import io
import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import date, time
from typing import Any, BinaryIO

from refiner import columns
from refiner.formats import canonical
from refiner.formats._common import Item, Unusable, scalar_id
from refiner.formats._table_rows import Row, expected, record
from refiner.jsontext import clean, decode
from refiner.ports import HEAD, Source
from refiner.types import BadRecord, EvaluatorNote, Trace

_LIKELY = 0.55
"""Sure enough to be read, and less sure than every format that says what it is."""
_PARQUET = b"PAR1"
_LONGEST_NAME = 60
_LONGEST_CELL = 1 << 30


@dataclass(frozen=True, slots=True)
class Table:
    """A table that is open: the names of its columns, and its rows, which can be gone through once."""

    columns: tuple[str, ...]
    rows: Iterator[Row]


class TableFormat:
    name = "table"

    def sniff(self, head: bytes) -> float:
        if head.startswith(_PARQUET):
            return _LIKELY
        return _LIKELY * columns.are_enough(columns.guessed(header(head)))

    def parse(self, stream: BinaryIO, source: Source) -> Iterator[Item]:
        try:
            table = opened(stream)
            given = dict(source.columns)
            mapping = given if set(given.values()) & set(table.columns) else columns.guessed(table.columns)
            if problem := columns.problem(mapping, table.columns):
                yield BadRecord(source.path, 1, problem)
                return
            problems: list[BadRecord] = []
            for rows in _runs(_readable(table.rows, source, problems), mapping):
                yield from _items(rows, mapping, source)
            yield from problems
        except Unreadable as error:
            yield BadRecord(source.path, error.line, str(error))


FORMAT = TableFormat()


class Unreadable(Exception):
    """What is no table, in words, with the line where that shows."""

    def __init__(self, words: str, line: int = 0) -> None:
        super().__init__(words)
        self.line = line


def header(head: bytes) -> tuple[str, ...]:
    """The names of the columns of a CSV table by its first bytes; empty when it does not begin like one."""
    line = decode(head).lstrip("\r\n").split("\n", 1)[0]
    delimiter = max(",;\t", key=line.count)
    try:
        names = [cell.strip() for cell in next(csv.reader([line.rstrip("\r")], delimiter=delimiter), [])]
    except csv.Error:
        return ()
    named = [name for name in names if name]
    shaped = len(named) > 1 and all(len(name) <= _LONGEST_NAME and name[0] not in "{[<" for name in named)
    return _told_apart(names) if shaped and len(named) >= len(names) - 1 else ()


def _told_apart(names: list[str]) -> tuple[str, ...]:
    """The names, a repeated one with its number; one without a name, as pandas heads its row numbers, stays empty."""
    counts = Counter[str]()
    apart = []
    for name in names:
        counts[name] += 1
        apart.append(name if counts[name] == 1 or not name else f"{name} ({counts[name]})")
    return tuple(apart)


def opened(stream: BinaryIO) -> Table:
    """A table of either kind. Reading its rows raises what `TableFormat.parse` reports."""
    head = stream.read(HEAD)
    stream.seek(0)
    return _parquet(stream) if head.startswith(_PARQUET) else _csv(stream, header(head))


def _csv(stream: BinaryIO, names: tuple[str, ...]) -> Table:
    if not names:
        raise Unreadable("the first line is no row of column names", 1)
    return Table(names, _csv_rows(stream, names))


def _csv_rows(stream: BinaryIO, names: tuple[str, ...]) -> Iterator[Row]:
    csv.field_size_limit(_LONGEST_CELL)
    text = io.TextIOWrapper(stream, encoding="utf-8-sig", errors="replace", newline="")
    first, line = "", 1
    while not first.strip("\r\n"):
        first, line = text.readline(), line + 1
    lines = _Lines(text)
    reader = csv.reader(lines, delimiter=max(",;\t", key=first.count))
    start, cells = line, list(names)
    try:
        for cells in reader:
            if lines.cut and len(cells) < len(names):
                break
            yield Row(line, _cells(names, cells))
            line = start + reader.line_num
    except csv.Error as error:
        raise Unreadable(f"not CSV: {error}", line) from None
    finally:
        text.detach()  # else it would close the stream, which belongs to the caller
    if lines.cut and len(cells) < len(names):
        raise Unreadable("cut off: the file ends inside this row", line)


class _Lines:
    """The lines of a text, without what CSV cannot hold. `cut`: the last that was read has no end."""

    def __init__(self, text: Iterable[str]) -> None:
        self._text = iter(text)
        self.cut = False

    def __iter__(self) -> Iterator[str]:
        for line in self._text:
            self.cut = not line.endswith(("\n", "\r"))
            yield line.replace("\0", "\ufffd")


def _cells(names: tuple[str, ...], cells: list[str]) -> dict[str, Any]:
    """The cells that hold something, by column; those beyond the last column by their number."""
    beyond = [f"column {number + 1}" for number in range(len(names), len(cells))]
    return {name: cell for name, cell in zip([*names, *beyond], cells, strict=False) if name and cell.strip()}


def _parquet(stream: BinaryIO) -> Table:
    from pyarrow import ArrowException
    from pyarrow.parquet import ParquetFile

    try:
        file = ParquetFile(stream)
        return Table(tuple(map(str, file.schema_arrow.names)), _parquet_rows(file))
    except (ArrowException, OSError, ValueError) as error:
        raise Unreadable(f"no Parquet that can be read: {_first_line(error)}") from None


def _parquet_rows(file: Any) -> Iterator[Row]:
    from pyarrow import ArrowException

    number = 0
    try:
        for batch in file.iter_batches(batch_size=256):
            for found in batch.to_pylist():
                number += 1
                cells = {str(key): _storable(value) for key, value in found.items()}
                yield Row(number, {key: value for key, value in cells.items() if value not in (None, "")})
    except (ArrowException, OSError, ValueError, OverflowError) as error:
        raise Unreadable(f"no Parquet that can be read: {_first_line(error)}", number + 1) from None


def _storable(value: Any) -> Any:
    """A value of Parquet as one of JSON: times as ISO texts, missing numbers as None, bytes as text."""
    if isinstance(value, dict):
        return {str(key): _storable(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_storable(inner) for inner in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, bytes):
        return decode(value)
    if isinstance(value, date | time):
        return value.isoformat()
    return value if value is None or isinstance(value, str | int) else str(value)


def _first_line(error: Exception) -> str:
    return clean(str(error).split("\n", 1)[0])[:200]


def _readable(rows: Iterator[Row], source: Source, problems: list[BadRecord]) -> Iterator[Row]:
    """The rows down to the first that cannot be read; why it cannot is added to the problems."""
    try:
        yield from rows
    except Unreadable as error:
        problems.append(BadRecord(source.path, error.line, str(error)))


def _runs(table: Iterator[Row], mapping: dict[str, str]) -> Iterator[list[Row]]:
    """The rows of each run: one, or all that name it, wherever they stand; rows without a name are one run together."""
    if not columns.one_row_a_step(mapping):
        yield from ([row] for row in table if row.cells)
        return
    runs: dict[str, list[Row]] = {}
    for row in table:
        if row.cells:
            runs.setdefault(scalar_id(row.cells.get(mapping.get("trace", ""))), []).append(row)
    yield from runs.values()


def _items(rows: list[Row], mapping: dict[str, str], source: Source) -> Iterator[Item]:
    line = rows[0].line
    try:
        data = json.dumps(record(rows, mapping, source), default=str).encode() + b"\n"
    except Unusable as error:
        yield BadRecord(source.path, line, str(error))
        return
    except (RecursionError, ValueError):
        yield BadRecord(source.path, line, "nested too deeply to read")
        return
    for item in canonical.FORMAT.parse(io.BytesIO(data), source):
        if isinstance(item, Trace):
            yield replace(item, format=FORMAT.name, source=f"{source.path}:{line}")
            yield from (EvaluatorNote(item.id, "expected", text) for text in expected(rows))
        else:
            yield BadRecord(source.path, line, item.reason) if isinstance(item, BadRecord) else item
