"""Outcomes and evaluator notes as events. Which outcome counts is not decided here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import duckdb

from refiner import codec
from refiner.types import EvaluatorNote, Outcome
from storage import batches

R = TypeVar("R")


def add_outcomes(
    cursor: duckdb.DuckDBPyConnection, outcomes: Sequence[Outcome], at: str, *, only_first: bool = False
) -> int:
    """Appends what was not already said last, and returns how many events that is.

    Per trace and origin, the part of the batch that the stored events end with is a repetition and is left out. A
    statement that was overruled since is a new event: the latest one counts, so going back to it must be seen.

    `only_first` leaves out every trace and origin of which something is stored. So a part of an upload can be kept
    with its traces; whether the rest repeats what was said before can only be told from all of the upload.
    """
    stored = _stored_keys(cursor, outcomes)
    coming: dict[tuple[str, str], list[Outcome]] = {}
    for outcome in outcomes:
        coming.setdefault((outcome.trace_id, outcome.origin), []).append(outcome)
    wanted = {where: batch for where, batch in coming.items() if not (only_first and where in stored)}
    fresh = [outcome for where, batch in wanted.items() for outcome in _unsaid(stored.get(where, []), batch)]
    first = batches.next_seq(cursor, "outcome")
    batches.insert(cursor, "outcome", [_outcome_row(first + n, item, at) for n, item in enumerate(fresh)])
    return len(fresh)


def add_notes(cursor: duckdb.DuckDBPyConnection, notes: Sequence[EvaluatorNote]) -> None:
    """Appends the notes that are not stored yet, in their order."""
    first = batches.next_seq(cursor, "note")
    distinct = {note.key: note for note in notes}
    rows = [
        {"key": key, "seq": first + n, "trace_id": note.trace_id, "kind": note.kind, "body": codec.encode(note)}
        for n, (key, note) in enumerate(distinct.items())
    ]
    batches.insert(cursor, "note", rows)


def outcomes(cursor: duckdb.DuckDBPyConnection, corpus: str) -> dict[str, tuple[Outcome, ...]]:
    """Trace id to its outcomes in event order, for the traces of the corpus that have any."""
    return _by_trace(cursor, corpus, "outcome", Outcome)


def notes(cursor: duckdb.DuckDBPyConnection, corpus: str) -> dict[str, tuple[EvaluatorNote, ...]]:
    """Trace id to its notes in the order they came, for the traces of the corpus that have any."""
    return _by_trace(cursor, corpus, "note", EvaluatorNote)


def _by_trace(cursor: duckdb.DuckDBPyConnection, corpus: str, table: str, kind: type[R]) -> dict[str, tuple[R, ...]]:
    rows = batches.rows(
        cursor,
        f"SELECT trace_id, body FROM {table}"
        " WHERE trace_id IN (SELECT trace_id FROM trace WHERE corpus = ?) ORDER BY seq",
        batches.escape(corpus),
    )
    found: dict[str, list[R]] = {}
    for trace_id, body in rows:
        found.setdefault(trace_id, []).append(codec.decode(kind, body))
    return {trace_id: tuple(records) for trace_id, records in found.items()}


def _stored_keys(cursor: duckdb.DuckDBPyConnection, outcomes: Sequence[Outcome]) -> dict[tuple[str, str], list[str]]:
    rows = batches.rows(
        cursor,
        "SELECT trace_id, origin, list(key ORDER BY seq) FROM outcome"
        " WHERE trace_id IN (SELECT unnest(?::VARCHAR[])) GROUP BY trace_id, origin",
        sorted({outcome.trace_id for outcome in outcomes}),
    )
    return {(trace_id, origin): keys for trace_id, origin, keys in rows}


def _unsaid(stored: list[str], batch: list[Outcome]) -> list[Outcome]:
    keys = [outcome.key for outcome in batch]
    for overlap in range(min(len(stored), len(keys)), 0, -1):
        if stored[-overlap:] == keys[:overlap]:
            return batch[overlap:]
    return batch


def _outcome_row(seq: int, outcome: Outcome, at: str) -> dict[str, Any]:
    return {
        "seq": seq,
        "key": outcome.key,
        "trace_id": outcome.trace_id,
        "status": outcome.status,
        "origin": outcome.origin,
        "score": outcome.score,
        "body": codec.encode(outcome),
        "added_at": at,
    }
