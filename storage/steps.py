"""Steps of the engine and the records they made. When a step runs, and why, is not known here."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import duckdb

from refiner import codec, types
from refiner.errors import StoreError
from refiner.ids import text_key
from refiner.ports import Done
from storage import batches


def commit(cursor: duckdb.DuckDBPyConnection, refinement_id: str, done: Sequence[Done], at: str) -> None:
    """Writes the steps with their records. A key that is finished already keeps its first result."""
    attempts = _attempts(cursor, [item.step.key for item in done])
    steps: list[dict[str, Any]] = []
    records: dict[str, dict[str, Any]] = {}
    outputs: list[dict[str, Any]] = []
    for item in done:
        attempt, finished = attempts.get(item.step.key, (0, False))
        if finished:
            continue
        attempts[item.step.key] = (attempt + 1, item.error is None)
        steps.append(_step_row(refinement_id, item, attempt + 1, at))
        for ordinal, record in enumerate(item.records if item.error is None else ()):
            row = _record_row(item, record)
            records[row["record_key"]] = row
            outputs.append(_output_row(item.step.key, ordinal, row))
    batches.insert(cursor, "record", list(records.values()))
    batches.insert(cursor, "step_output", outputs)
    batches.insert(cursor, "step", steps)


def finished(cursor: duckdb.DuckDBPyConnection, keys: Sequence[str]) -> set[str]:
    """Those of the keys that are done."""
    rows = batches.rows(
        cursor,
        "SELECT DISTINCT key FROM step WHERE status = 'done' AND key IN (SELECT unnest(?::VARCHAR[]))",
        list(keys),
    )
    return {row[0] for row in rows}


def outputs(cursor: duckdb.DuckDBPyConnection, keys: Sequence[str]) -> list[Any]:
    """The records of the finished ones among the keys, in the order of the keys and then as the step made them."""
    rows = batches.rows(
        cursor,
        "SELECT r.kind, r.body FROM unnest(?::VARCHAR[]) WITH ORDINALITY AS k(key, place)"
        " JOIN step_output o ON o.step_key = k.key JOIN record r ON r.record_key = o.record_key"
        " ORDER BY k.place, o.ordinal",
        list(keys),
    )
    return [codec.decode(_record_type(kind), body) for kind, body in rows]


def failures(cursor: duckdb.DuckDBPyConnection, keys: Sequence[str]) -> list[tuple[str, str, str]]:
    """(key, label, error) of those whose last attempt failed, in the order of the keys."""
    rows = batches.rows(
        cursor,
        "SELECT s.key, s.label, s.error FROM unnest(?::VARCHAR[]) WITH ORDINALITY AS k(key, place)"
        " JOIN step s ON s.key = k.key"
        " QUALIFY row_number() OVER (PARTITION BY k.place ORDER BY s.attempt DESC) = 1 AND s.status = 'failed'"
        " ORDER BY k.place",
        list(keys),
    )
    return [(key, batches.unescape(label), batches.unescape(error)) for key, label, error in rows]


def link(cursor: duckdb.DuckDBPyConnection, refinement_id: str, stage: str, keys: Sequence[str]) -> None:
    """Records which steps make up the stage, in order; linking the same again changes nothing."""
    if _linked(cursor, refinement_id, stage) != list(keys):
        seq = batches.next_seq(cursor, "stage_link")
        cursor.execute("INSERT INTO stage_link VALUES (?, ?, ?, ?)", [refinement_id, seq, stage, list(keys)])


def stage_keys(cursor: duckdb.DuckDBPyConnection, refinement_id: str, stage: str) -> list[str]:
    """The step keys of the stage as linked last; empty when it was never linked."""
    return _linked(cursor, refinement_id, stage) or []


def _linked(cursor: duckdb.DuckDBPyConnection, refinement_id: str, stage: str) -> list[str] | None:
    sql = "SELECT step_keys FROM stage_link WHERE refinement_id = ? AND stage = ? ORDER BY seq DESC LIMIT 1"
    found = batches.rows(cursor, sql, refinement_id, stage)
    return list(found[0][0]) if found else None


def _attempts(cursor: duckdb.DuckDBPyConnection, keys: Sequence[str]) -> dict[str, tuple[int, bool]]:
    rows = batches.rows(
        cursor,
        "SELECT key, max(attempt), bool_or(status = 'done') FROM step"
        " WHERE key IN (SELECT unnest(?::VARCHAR[])) GROUP BY key",
        list(keys),
    )
    return {key: (attempt, done) for key, attempt, done in rows}


def _step_row(refinement_id: str, item: Done, attempt: int, at: str) -> dict[str, Any]:
    return {
        "key": item.step.key,
        "attempt": attempt,
        "refinement_id": refinement_id,
        "stage": item.step.stage,
        "label": batches.escape(item.step.label),
        "status": "done" if item.error is None else "failed",
        "error": batches.escape_optional(item.error),
        "seconds": item.seconds,
        "ended_at": at,
    }


def _record_row(item: Done, record: Any) -> dict[str, Any]:
    kind = type(record).__name__
    if getattr(types, kind, None) is not type(record):
        raise StoreError(f"step {item.step.label!r} of stage {item.step.stage} made a {kind}, which cannot be stored.")
    body = codec.encode(record)
    record_key = text_key(kind, body)
    return {"record_key": record_key, "kind": kind, "key": getattr(record, "key", record_key), "body": body}


def _output_row(step_key: str, ordinal: int, record: dict[str, Any]) -> dict[str, Any]:
    return {"step_key": step_key, "ordinal": ordinal, "kind": record["kind"], "record_key": record["record_key"]}


def _record_type(kind: str) -> type[Any]:
    found = getattr(types, kind, None)
    if not isinstance(found, type) or not dataclasses.is_dataclass(found):
        raise StoreError(f"records of kind {kind!r} are not known to this version; update Skill Refiner.")
    return found
