"""Corpora by events, and what lists show of their traces. What a name or an event means is not known here."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import duckdb

from refiner.types import Trace
from storage import batches, traces
from storage.refinements import Event

_CURRENT = (
    "SELECT t.trace_id, t.revision FROM trace t"
    " JOIN (SELECT trace_id, arg_max(revision, ordinal) AS revision FROM trace_current GROUP BY trace_id) c"
    " ON c.trace_id = t.trace_id AND c.revision = t.revision WHERE t.corpus = ?"
)


@dataclass(frozen=True, slots=True)
class Marks:
    """How much has arrived in a corpus: each number only ever grows."""

    traces: int
    outcomes: int
    notes: int
    events: int


def add_event(cursor: duckdb.DuckDBPyConnection, corpus: str, kind: str, body: Mapping[str, Any], at: str) -> None:
    """Appends an event of a corpus."""
    row = {
        "seq": batches.next_seq(cursor, "corpus_event"),
        "corpus": batches.escape(corpus),
        "kind": kind,
        "body": json.dumps(body, ensure_ascii=True),
        "happened_at": at,
    }
    batches.insert(cursor, "corpus_event", [row])


def events(cursor: duckdb.DuckDBPyConnection, corpus: str, kinds: Sequence[str]) -> list[Event]:
    """The events of these kinds of a corpus, in their order."""
    sql = (
        "SELECT seq, kind, body, happened_at FROM corpus_event"
        " WHERE corpus = ? AND kind IN (SELECT unnest(?::VARCHAR[])) ORDER BY seq"
    )
    found = batches.rows(cursor, sql, batches.escape(corpus), list(kinds))
    return [Event(seq, kind, json.loads(body), at) for seq, kind, body, at in found]


def known(cursor: duckdb.DuckDBPyConnection) -> list[tuple[str, bool]]:
    """(corpus, removed) of every corpus that an event or a trace names, in the order they came up."""
    rows = batches.rows(
        cursor,
        "SELECT corpus, arg_max(kind, seq) FILTER (kind IN ('created', 'removed')), min(seq)"
        " FROM corpus_event GROUP BY corpus"
        " UNION ALL SELECT DISTINCT corpus, 'created', 0 FROM trace"
        " WHERE corpus NOT IN (SELECT corpus FROM corpus_event) ORDER BY 3, 1",
    )
    return [(batches.unescape(corpus), kind == "removed") for corpus, kind, _ in rows]


def marks(cursor: duckdb.DuckDBPyConnection, corpus: str) -> Marks:
    """How many trace revisions, outcomes, notes and events the corpus has seen."""
    name = batches.escape(corpus)
    own = "trace_id IN (SELECT trace_id FROM trace WHERE corpus = $corpus)"
    found = cursor.execute(
        f"SELECT (SELECT count(*) FROM trace_current WHERE {own}), (SELECT count(*) FROM outcome WHERE {own}),"
        f" (SELECT count(*) FROM note WHERE {own}), (SELECT count(*) FROM corpus_event WHERE corpus = $corpus)",
        {"corpus": name},
    ).fetchall()
    return Marks(*found[0])


def keep_revisions(cursor: duckdb.DuckDBPyConnection, kept: Sequence[Trace], at: str) -> None:
    """Stores these revisions beside the current ones, without making them current."""
    batches.insert(cursor, "trace", [traces.row(trace, trace.revision, at) for trace in kept])


def trace(cursor: duckdb.DuckDBPyConnection, trace_id: str) -> Trace | None:
    """The current revision of a trace, or None."""
    sql = "SELECT trace_id, arg_max(revision, ordinal) FROM trace_current WHERE trace_id = ? GROUP BY trace_id"
    return next(traces.stream(cursor, [(one, revision) for one, revision in batches.rows(cursor, sql, trace_id)]), None)


def put_cards(cursor: duckdb.DuckDBPyConnection, cards: Sequence[tuple[str, str, str]]) -> None:
    """Stores (trace id, revision, body) for lists; one that is there stays."""
    rows = [{"trace_id": one, "revision": revision, "body": body} for one, revision, body in cards]
    batches.insert(cursor, "trace_card", rows)


def cards(cursor: duckdb.DuckDBPyConnection, corpus: str) -> list[tuple[str, str, str | None]]:
    """(trace id, revision, body or None) of the current revision of every trace, in no order."""
    sql = f"SELECT c.trace_id, c.revision, k.body FROM ({_CURRENT}) c LEFT JOIN trace_card k USING (trace_id, revision)"
    return [(one, revision, body) for one, revision, body in batches.rows(cursor, sql, batches.escape(corpus))]


def put_setting(cursor: duckdb.DuckDBPyConnection, name: str, value: str) -> None:
    """Sets a setting over what it was before."""
    row = {"name": name, "seq": batches.next_seq(cursor, "setting"), "value": batches.escape(value)}
    batches.insert(cursor, "setting", [row])


def setting(cursor: duckdb.DuckDBPyConnection, name: str) -> str | None:
    """The latest value of a setting, or None."""
    found = batches.rows(cursor, "SELECT value FROM setting WHERE name = ? ORDER BY seq DESC LIMIT 1", name)
    return batches.unescape(found[0][0]) if found else None
