"""Tables, CSV and Parquet: one row a run, or one row a step of a run. Which column is what is guessed unless given."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, BinaryIO, NamedTuple

from refiner import columns
from refiner.formats import _messages, canonical
from refiner.formats._common import Item, json_text, scalar_id, text_of
from refiner.formats._steps import Steps
from refiner.jsontext import clean, decode, loads
from refiner.ports import Source
from refiner.types import BadRecord, Trace

_LIKELY = 0.55
"""Sure enough to be read, and less sure than every format that says what it is."""
_PARQUET = b"PAR1"
_LONGEST_NAME = 60
_LONGEST_CELL = 1 << 30


class Row(NamedTuple):
    """A row: the line it starts at (for Parquet its number), and its cells by column; empty ones are left out."""

    line: int
    cells: dict[str, Any]


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
            for rows in _runs(table, mapping):
                yield from _items(rows, mapping, source)
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
    shaped = len(names) > 1 and all(0 < len(name) <= _LONGEST_NAME and name[0] not in "{[<" for name in names)
    return tuple(names) if shaped and len(set(names)) == len(names) else ()


def opened(stream: BinaryIO) -> Table:
    """A table of either kind. Reading its rows raises what `TableFormat.parse` reports."""
    head = stream.read(1 << 16)
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
    reader = csv.reader((one.replace("\0", "\ufffd") for one in text), delimiter=max(",;\t", key=first.count))
    start = line
    try:
        for cells in reader:
            yield Row(line, {name: cell for name, cell in zip(names, cells, strict=False) if cell.strip()})
            line = start + reader.line_num
    except csv.Error as error:
        raise Unreadable(f"not CSV: {error}", line) from None
    finally:
        text.detach()  # else it would close the stream, which belongs to the caller


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
            for record in batch.to_pylist():
                number += 1
                yield Row(number, {str(key): value for key, value in record.items() if value not in (None, "")})
    except (ArrowException, OSError, ValueError, OverflowError) as error:
        raise Unreadable(f"no Parquet that can be read: {_first_line(error)}", number + 1) from None


def _first_line(error: Exception) -> str:
    return clean(str(error).split("\n", 1)[0])[:200]


def _runs(table: Table, mapping: dict[str, str]) -> Iterator[list[Row]]:
    """The rows of each run: one, or all that name it, wherever they stand; rows without a name are one run together."""
    if not columns.one_row_a_step(mapping):
        yield from ([row] for row in table.rows if row.cells)
        return
    runs: dict[str, list[Row]] = {}
    for row in table.rows:
        if row.cells:
            runs.setdefault(scalar_id(row.cells.get(mapping.get("trace", ""))), []).append(row)
    yield from runs.values()


def _items(rows: list[Row], mapping: dict[str, str], source: Source) -> Iterator[Item]:
    line = rows[0].line
    try:
        record = _record(rows, mapping, source)
        data = json.dumps(record, default=str).encode() + b"\n"
    except (RecursionError, ValueError):
        yield BadRecord(source.path, line, "nested too deeply to read")
        return
    for item in canonical.FORMAT.parse(io.BytesIO(data), source):
        if isinstance(item, Trace):
            yield replace(item, format=FORMAT.name, source=f"{source.path}:{line}")
        else:
            yield BadRecord(source.path, line, item.reason) if isinstance(item, BadRecord) else item


def _record(rows: list[Row], mapping: dict[str, str], source: Source) -> dict[str, Any]:
    """The run as a record of the product's own format; columns that stand for nothing are facts of it."""
    steps = columns.one_row_a_step(mapping)
    ordered = sorted(rows, key=lambda row: _rank(row.cells.get(mapping.get("order", "")))) if steps else rows
    stated = {
        field: _stated(rows, mapping[field]) for field in ("task", "outcome", "feedback", "model") if field in mapping
    }
    known = set(mapping.values())
    facts = {} if steps else {name: value for name, value in rows[0].cells.items() if name not in known}
    name = scalar_id(_stated(rows, mapping.get("trace", "")))
    return {
        **({"trace_id": name} if name else {"trace_id": source.path} if steps else {}),
        **{{"task": "task_id"}.get(field, field): value for field, value in stated.items() if value is not None},
        "meta": facts,
        "spans": [_step(row, mapping) for row in ordered] if steps else _whole(rows[0], mapping),
    }


def _stated(rows: list[Row], column: str) -> Any:
    """What the last row with something in the column says: a run's outcome stands where it ends."""
    return next((row.cells[column] for row in reversed(rows) if column in row.cells), None)


def _rank(value: Any) -> tuple[bool, float]:
    try:
        return False, float(value)
    except (TypeError, ValueError):
        return True, 0.0


def _step(row: Row, mapping: dict[str, str]) -> dict[str, Any]:
    given = {
        field: row.cells.get(mapping.get(field, "")) for field in ("role", "name", "input", "output", "time", "error")
    }
    role, name = scalar_id(given["role"]), scalar_id(given["name"])
    who = {"name": name, "kind": "tool_call"} if name else {"name": role, "role": role}
    return {
        **who,
        "input_text": text_of(given["input"]),
        "output_text": text_of(given["output"]),
        "start_time": text_of(given["time"]) or None,
        "error": given["error"],
    }


def _whole(row: Row, mapping: dict[str, str]) -> list[dict[str, Any]]:
    """The spans of a run in one row: its messages or spans where a column holds them, else request and answer."""
    given = row.cells.get(mapping.get("messages", ""))
    if given is not None:
        return _parsed(_json(given) if isinstance(given, str) else given)
    said = (("user", row.cells.get(mapping.get("input", ""))), ("assistant", row.cells.get(mapping.get("output", ""))))
    return [{"name": role, "output_text": text_of(value)} for role, value in said if value is not None]


def _json(text: str) -> Any:
    try:
        return loads(text)
    except ValueError:
        return [{"role": "assistant", "content": text}]


def _parsed(found: Any) -> list[dict[str, Any]]:
    """Messages become steps, spans of the product's own kind stay; a list of anything else is one message."""
    inner = found.get("messages", found.get("spans", [found])) if isinstance(found, dict) else found
    listed: Sequence[Any] = inner if isinstance(inner, list) else [{"role": "assistant", "content": json_text(inner)}]
    dicts = [one for one in listed if isinstance(one, dict)]
    if any("input_text" in one or "output_text" in one for one in islice(dicts, 20)):
        return dicts
    steps = Steps()
    for message in dicts:
        _messages.add(steps, message)
    return [canonical.span_record(span) for span in steps.spans()]
