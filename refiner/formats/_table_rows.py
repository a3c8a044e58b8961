"""The rows of one run of a table as a record of the product's own format. Reads no files."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Any, NamedTuple

from refiner import columns
from refiner.formats import _messages, canonical
from refiner.formats._common import Unusable, json_text, scalar_id, text_of, utc_time
from refiner.formats._steps import Steps
from refiner.ports import Source

EXPECTED = {
    *("ground_truth", "expected", "expected_output", "expected_answer", "expected_response", "reference"),
    *("reference_answer", "reference_output", "target", "gold", "gold_answer", "correct_answer", "solution"),
}
"""Columns, in lower case, that only an evaluator may know of."""
_STATED = ("task", "outcome", "feedback", "model")
_OF_A_STEP = ("trace", *_STATED, "role", "name", "input", "output", "order", "time", "error")
_COUNTS = ("input_tokens", "output_tokens", "cost_usd")
_NO_ERROR = {"", "false", "none", "null", "nan", "0", "0.0", "no", "n/a", "ok"}
_IS_ERROR = {"true", "1", "1.0", "yes"}


class Row(NamedTuple):
    """A row: the line it starts at (for Parquet its number), and its cells by column; empty ones are left out."""

    line: int
    cells: dict[str, Any]


def record(rows: list[Row], mapping: dict[str, str], source: Source) -> dict[str, Any]:
    """The run as a record; columns that stand for nothing are facts of it. Raises Unusable, with the reason."""
    steps = columns.one_row_a_step(mapping)
    ordered = _in_order(rows, mapping) if steps else rows
    stated = {field: _stated(rows, mapping[field]) for field in _STATED if field in mapping}
    name = scalar_id(_stated(rows, mapping.get("trace", "")))
    return {
        **({"trace_id": name} if name else {"trace_id": source.path} if steps else {}),
        **{{"task": "task_id"}.get(field, field): value for field, value in stated.items() if value is not None},
        "meta": _facts(rows, {mapping[field] for field in _used(rows[0], mapping) if field in mapping}),
        "spans": [_step(row, mapping) for row in ordered] if steps else _whole(rows[0], mapping),
    }


def expected(rows: list[Row]) -> list[str]:
    """What only an evaluator may know of a run, each text once."""
    texts = (text_of(value) for row in rows for name, value in row.cells.items() if _is_expected(name))
    return list(dict.fromkeys(text for text in texts if text))


def _is_expected(column: str) -> bool:
    return column.strip().lower().replace(" ", "_").replace("-", "_") in EXPECTED


def _used(row: Row, mapping: dict[str, str]) -> tuple[str, ...]:
    """The fields that the steps of a run are made of; the columns of all others stay facts."""
    if columns.one_row_a_step(mapping):
        return _OF_A_STEP
    held = ("messages",) if mapping.get("messages") in row.cells else ("messages", "input", "output", "time")
    return ("trace", *_STATED, *held, "error")


def _facts(rows: list[Row], used: set[str]) -> dict[str, Any]:
    """What all rows say alike; tokens and cost that differ from row to row are summed up."""
    facts: dict[str, Any] = {}
    for name in dict.fromkeys(name for row in rows for name in row.cells if name not in used):
        values = [row.cells[name] for row in rows if name in row.cells]
        if not _is_expected(name) and all(value == values[0] for value in values):
            facts[name] = values[0]
        elif name in _COUNTS and all(numbers := [_number(value) for value in values]):
            facts[name] = round(sum(number for number in numbers if number is not None), 9)
    return facts


def _number(value: Any) -> float | None:
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return int(number) if number.is_integer() else number


def _stated(rows: list[Row], column: str) -> Any:
    """What the last row with something in the column says: a run's outcome stands where it ends."""
    return next((row.cells[column] for row in reversed(rows) if column in row.cells), None)


def _in_order(rows: list[Row], mapping: dict[str, str]) -> list[Row]:
    """The rows by the column that gives the order, else by time where every row has one, else as they stand."""
    if "order" in mapping:
        return sorted(rows, key=lambda row: _rank(row.cells.get(mapping["order"])))
    times = {row.line: utc_time(row.cells.get(mapping.get("time", ""))) for row in rows}
    return sorted(rows, key=lambda row: (times[row.line] or "").removesuffix("Z")) if all(times.values()) else rows


def _rank(value: Any) -> tuple[bool, float]:
    number = _number(value)
    return number is None, number or 0.0


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
        "error": _error(given["error"]),
    }


def _error(value: Any) -> Any:
    """The error of a cell: tables write yes and no in many ways, and what is missing as NaN."""
    word = str(value).strip().lower()
    return True if word in _IS_ERROR else None if word in _NO_ERROR else value


def _whole(row: Row, mapping: dict[str, str]) -> list[dict[str, Any]]:
    """The spans of a run in one row: its messages or spans where a column holds them, else request and answer."""
    given = row.cells.get(mapping.get("messages", ""))
    at = {"start_time": text_of(row.cells.get(mapping.get("time", ""))) or None}
    asked, answered = (row.cells.get(mapping.get(field, "")) for field in ("input", "output"))
    spans: list[dict[str, Any]] = [] if asked is None else [{"name": "user", "output_text": text_of(asked), **at}]
    spans += [] if answered is None else [{"name": "assistant", "output_text": text_of(answered)}]
    if given is not None:
        spans = _parsed(_value(given, mapping["messages"]) if isinstance(given, str) else given)
    error = _error(row.cells.get(mapping.get("error", "")))
    if error is not None:
        words = "error" if error is True else text_of(error)
        spans = [*spans, {"kind": "event", "name": "error", "output_text": words, "error": words}]
    return spans


def _value(text: str, column: str) -> Any:
    """The messages in a cell: JSON, or the literal that pandas writes of a list; any other text is one message."""
    found = _messages.parsed(text)
    if isinstance(found, list | dict):
        return found
    if text.lstrip().startswith(("[{", "{'", '{"', "[[")):
        raise Unusable(f"the messages in the column {column} are no JSON that can be read; write them with json.dumps")
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
