"""The decision logs and the opened results. What a decision means is not known here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import duckdb

from refiner import codec
from refiner.types import Decision
from storage import batches


@dataclass(frozen=True, slots=True)
class Opened:
    """A refinement of another database: its corpus here, where it came from, when."""

    refinement_id: str
    corpus: str
    source: str
    opened_at: str


def add(cursor: duckdb.DuckDBPyConnection, decisions: Sequence[Decision], at: str) -> None:
    """Appends decisions of one refinement to its log, in their order."""
    if not decisions:
        return
    refinement_id = decisions[0].refinement_id
    sql = "SELECT coalesce(max(seq), 0) FROM decision WHERE refinement_id = ?"
    last = int(batches.rows(cursor, sql, refinement_id)[0][0])
    rows = [
        {
            "refinement_id": refinement_id,
            "seq": last + place,
            "change_id": one.change_id,
            "action": one.action,
            "reviewer": batches.escape(one.reviewer),
            "body": codec.encode(one),
            "added_at": at,
        }
        for place, one in enumerate(decisions, start=1)
    ]
    batches.insert(cursor, "decision", rows)


def log(cursor: duckdb.DuckDBPyConnection, refinement_id: str) -> list[Decision]:
    """The decisions of a refinement, in their order."""
    found = batches.rows(cursor, "SELECT body FROM decision WHERE refinement_id = ? ORDER BY seq", refinement_id)
    return [codec.decode(Decision, body) for (body,) in found]


def put_result(cursor: duckdb.DuckDBPyConnection, opened: Opened, body: str) -> None:
    """Stores an opened result; one that is there stays."""
    row = {
        "refinement_id": opened.refinement_id,
        "seq": batches.next_seq(cursor, "opened_result"),
        "corpus": batches.escape(opened.corpus),
        "source": batches.escape(opened.source),
        "body": body,
        "opened_at": opened.opened_at,
    }
    batches.insert(cursor, "opened_result", [row])


def refresh_result(cursor: duckdb.DuckDBPyConnection, refinement_id: str, body: str) -> None:
    """Puts what the result says now in place of what it said when it was opened."""
    cursor.execute("UPDATE opened_result SET body = ? WHERE refinement_id = ?", [body, refinement_id])


def results(cursor: duckdb.DuckDBPyConnection) -> list[Opened]:
    """Every opened result, oldest first."""
    sql = "SELECT refinement_id, corpus, source, opened_at FROM opened_result ORDER BY seq"
    return [
        Opened(one, batches.unescape(corpus), batches.unescape(source), at)
        for one, corpus, source, at in batches.rows(cursor, sql)
    ]


def result_body(cursor: duckdb.DuckDBPyConnection, refinement_id: str) -> str | None:
    """The stored body of an opened result, or None."""
    found = batches.rows(cursor, "SELECT body FROM opened_result WHERE refinement_id = ?", refinement_id)
    return str(found[0][0]) if found else None
