"""Traces: what is new, what has grown, what contradicts, and reading them back. What a trace says is not read here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import duckdb

from refiner import codec
from refiner.errors import StoreError
from refiner.growth import BEGINS
from refiner.namesakes import GIVEN
from refiner.types import Trace
from storage import batches
from storage.ledger import AddReport, Incoming, Known, Ledger

CHUNK = 256


def add(
    cursor: duckdb.DuckDBPyConnection, corpus: str, traces: Sequence[Trace], revisions: Sequence[str], at: str
) -> AddReport:
    """Adds what is new, reports the rest; permuting `traces` changes nothing. Raises StoreError for a wrong corpus."""
    _require_corpus(corpus, traces)
    incoming = [Incoming(trace, trace.id, revision) for trace, revision in zip(traces, revisions, strict=True)]
    incoming.sort(key=lambda item: item.rank)
    known = _load(cursor, incoming)
    ledger = Ledger(known, _begun(cursor, corpus, incoming, known))
    for item in incoming:
        ledger.take(item)
    later = sorted(ledger.later, key=lambda item: item.rank)
    ledger.known |= _load(cursor, later)
    ledger.siblings = _siblings(cursor, corpus, later, ledger.known)
    for item in later:
        ledger.take_namesake(item)
    batches.insert(cursor, "trace", [row(trace, revision, at) for trace, revision in ledger.revisions])
    names = ("trace_id", "ordinal", "revision")
    batches.insert(cursor, "trace_current", [dict(zip(names, one, strict=True)) for one in ledger.currents])
    return ledger.report()


def current(cursor: duckdb.DuckDBPyConnection, corpus: str) -> list[tuple[str, str]]:
    """(trace id, revision) of the current revision of every trace of the corpus, in external-id order."""
    rows = batches.rows(
        cursor,
        "SELECT t.external_id, t.trace_id, t.revision FROM trace t"
        " JOIN (SELECT trace_id, arg_max(revision, ordinal) AS revision FROM trace_current GROUP BY trace_id) c"
        " ON c.trace_id = t.trace_id AND c.revision = t.revision WHERE t.corpus = ?",
        batches.escape(corpus),
    )
    # Sorted here: the escaped column does not sort as the ids do.
    ordered = sorted((batches.unescape(external_id), trace_id, revision) for external_id, trace_id, revision in rows)
    return [(trace_id, revision) for _, trace_id, revision in ordered]


def stream(cursor: duckdb.DuckDBPyConnection, wanted: Sequence[tuple[str, str]]) -> Iterator[Trace]:
    """The traces of these (trace id, revision) pairs, in their order; only a few are in memory at a time."""
    cursor.execute(
        "SELECT t.body FROM (SELECT unnest(?::VARCHAR[]) AS trace_id, unnest(?::VARCHAR[]) AS revision,"
        " unnest(?::BIGINT[]) AS place) w"
        " JOIN trace t ON t.trace_id = w.trace_id AND t.revision = w.revision ORDER BY w.place",
        [[trace_id for trace_id, _ in wanted], [revision for _, revision in wanted], list(range(len(wanted)))],
    )
    while found := cursor.fetchmany(CHUNK):
        yield from (codec.decode(Trace, body) for (body,) in found)


def _load(cursor: duckdb.DuckDBPyConnection, incoming: Sequence[Incoming]) -> dict[str, Known]:
    """What is stored of the ids coming in; the trace itself only where a revision differs from the current one."""
    known = _states(cursor, {item.id for item in incoming})
    differing = {item.id for item in incoming if item.id in known and item.revision != known[item.id].current}
    _fill(cursor, known, differing)
    return known


def _states(cursor: duckdb.DuckDBPyConnection, ids: Iterable[str]) -> dict[str, Known]:
    rows = batches.rows(
        cursor,
        "SELECT trace_id, list(DISTINCT revision), arg_max(revision, ordinal), max(ordinal) FROM trace_current"
        " WHERE trace_id IN (SELECT unnest(?::VARCHAR[])) GROUP BY trace_id",
        sorted(ids),
    )
    return {row[0]: Known(set(row[1]), row[2], row[3]) for row in rows}


def _fill(cursor: duckdb.DuckDBPyConnection, known: dict[str, Known], ids: Iterable[str]) -> None:
    """Reads the current traces of these ids."""
    pairs = [(trace_id, known[trace_id].current) for trace_id in sorted(ids)]
    for trace in stream(cursor, pairs) if pairs else ():
        known[trace.id].trace = trace


def _begun(
    cursor: duckdb.DuckDBPyConnection, corpus: str, incoming: Sequence[Incoming], known: dict[str, Known]
) -> dict[str, list[str]]:
    """Stored traces that begin with the line with which an unknown one does; what they hold joins `known`."""
    wanted = {item.trace.meta[BEGINS] for item in incoming if item.id not in known and BEGINS in item.trace.meta}
    if not wanted:
        return {}
    # Quotes inside texts are escaped in a body, so that only the fact itself looks like this.
    found = batches.rows(
        cursor,
        "SELECT external_id, trace_id, begins FROM (SELECT DISTINCT external_id, trace_id, "
        f"""regexp_extract(body, '"{BEGINS}": ?"([^"]*)"', 1) AS begins FROM trace WHERE corpus = ? AND """
        f"""contains(body, '"{BEGINS}"')) WHERE begins IN (SELECT unnest(?::VARCHAR[])) ORDER BY external_id""",
        batches.escape(corpus),
        [batches.escape(name) for name in sorted(wanted)],
    )
    begun: dict[str, list[str]] = {}
    for _, trace_id, begins in found:
        begun.setdefault(batches.unescape(begins), []).append(trace_id)
    ids = {trace_id for _, trace_id, _ in found}
    known |= {trace_id: state for trace_id, state in _states(cursor, ids).items() if trace_id not in known}
    _fill(cursor, known, ids)
    return begun


def _siblings(
    cursor: duckdb.DuckDBPyConnection, corpus: str, later: Sequence[Incoming], known: dict[str, Known]
) -> dict[str, list[str]]:
    """Stored namesakes by the id that their files give them; what they hold joins `known`."""
    wanted = {item.trace.meta[GIVEN] for item in later}
    if not wanted:
        return {}
    found = batches.rows(
        cursor,
        "SELECT DISTINCT external_id, trace_id FROM trace WHERE corpus = ?"
        " AND split_part(external_id, '@', 1) IN (SELECT unnest(?::VARCHAR[])) ORDER BY external_id",
        batches.escape(corpus),
        sorted({batches.escape(name).split("@")[0] for name in wanted}),
    )
    ids = {trace_id for external_id, trace_id in found if "@" in external_id}
    known |= {trace_id: state for trace_id, state in _states(cursor, ids - known.keys()).items()}
    _fill(cursor, known, ids)
    siblings: dict[str, list[str]] = {}
    for trace_id in (trace_id for _, trace_id in found if trace_id in ids):
        kept = known[trace_id].trace
        if kept is not None and kept.meta.get(GIVEN) in wanted:
            siblings.setdefault(kept.meta[GIVEN], []).append(trace_id)
    return siblings


def row(trace: Trace, revision: str, added_at: str) -> dict[str, Any]:
    """A trace as it is stored; `revision` is its own, which costs time to compute."""
    return {
        "trace_id": trace.id,
        "revision": revision,
        "corpus": batches.escape(trace.corpus),
        "external_id": batches.escape(trace.external_id),
        "format": batches.escape(trace.format),
        "model": batches.escape_optional(trace.model),
        "task_id": batches.escape(trace.task_id),
        "task_id_origin": trace.task_id_origin,
        "span_count": len(trace.spans),
        "source": batches.escape(trace.source),
        "body": codec.encode(trace),
        "added_at": added_at,
    }


def _require_corpus(corpus: str, traces: Sequence[Trace]) -> None:
    stray = next((trace for trace in traces if trace.corpus != corpus), None)
    if stray is not None:
        raise StoreError(
            f"trace {stray.external_id!r} of {stray.source or 'an unnamed source'} belongs to the corpus "
            f"{stray.corpus!r}, not to {corpus!r}; read it again for this corpus."
        )
