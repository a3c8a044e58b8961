"""Traces: what is new, what has grown, what contradicts, and reading them back. What a trace says is not read here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import duckdb

from refiner import codec
from refiner.errors import StoreError
from refiner.ids import content_key
from refiner.types import Trace
from storage import batches

CHUNK = 256


@dataclass(frozen=True, slots=True)
class AddReport:
    """What became of the traces handed in. A conflict is (external id, source that stays, source that was rejected)."""

    added: int = 0
    duplicates: int = 0
    grown: int = 0
    conflicts: tuple[tuple[str, str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class _Incoming:
    """A trace with what costs time to compute."""

    trace: Trace
    id: str
    revision: str

    @property
    def rank(self) -> tuple[str, int, str, str, str]:
        """Shorter before longer, so that growth inside one batch does not depend on the order of its files."""
        trace = self.trace
        rest = content_key(trace.format, trace.task_id_origin, trace.model, trace.meta)
        return trace.external_id, len(trace.spans), self.revision, trace.source, rest


@dataclass(slots=True)
class _Known:
    """The state of one trace id: all its revisions, the current one, and how often that has changed."""

    revisions: set[str]
    current: str
    ordinal: int
    trace: Trace | None = None


@dataclass(slots=True)
class _Ledger:
    """Takes incoming traces one by one and collects the rows to write."""

    known: dict[str, _Known]
    added_at: str
    rows: list[dict[str, Any]] = field(default_factory=list)
    currents: list[dict[str, Any]] = field(default_factory=list)
    added: int = 0
    duplicates: int = 0
    grown: int = 0
    conflicts: list[tuple[str, str, str]] = field(default_factory=list)

    def take(self, item: _Incoming) -> None:
        known = self.known.get(item.id)
        if known is None:
            self.known[item.id] = known = _Known(set(), "", 0)
            self.added += 1
            self._make_current(known, item)
        elif item.revision == known.current:
            self.duplicates += 1
        elif _grows(known.trace, item.trace):
            self.grown += 1
            self._make_current(known, item)
        elif item.revision in known.revisions:
            self.duplicates += 1
        else:
            first = known.trace.source if known.trace else ""
            self.conflicts.append((item.trace.external_id, first, item.trace.source))

    def _make_current(self, known: _Known, item: _Incoming) -> None:
        known.ordinal += 1
        known.current, known.trace = item.revision, item.trace
        if item.revision not in known.revisions:
            known.revisions.add(item.revision)
            self.rows.append(row(item.trace, item.revision, self.added_at))
        self.currents.append({"trace_id": item.id, "ordinal": known.ordinal, "revision": item.revision})

    def report(self) -> AddReport:
        return AddReport(self.added, self.duplicates, self.grown, tuple(self.conflicts))


def _grows(old: Trace | None, new: Trace) -> bool:
    return old is not None and new.spans[: len(old.spans)] == old.spans


def add(cursor: duckdb.DuckDBPyConnection, corpus: str, traces: Sequence[Trace], at: str) -> AddReport:
    """Adds what is new, reports the rest; permuting `traces` changes nothing. Raises StoreError for a wrong corpus."""
    _require_corpus(corpus, traces)
    incoming = [_Incoming(trace, trace.id, trace.revision) for trace in traces]
    incoming.sort(key=lambda item: item.rank)
    ledger = _Ledger(_load(cursor, incoming), at)
    for item in incoming:
        ledger.take(item)
    batches.insert(cursor, "trace", ledger.rows)
    batches.insert(cursor, "trace_current", ledger.currents)
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


def _load(cursor: duckdb.DuckDBPyConnection, incoming: Sequence[_Incoming]) -> dict[str, _Known]:
    """What is stored of the ids coming in; the trace itself only where a revision differs from the current one."""
    rows = batches.rows(
        cursor,
        "SELECT trace_id, list(DISTINCT revision), arg_max(revision, ordinal), max(ordinal) FROM trace_current"
        " WHERE trace_id IN (SELECT unnest(?::VARCHAR[])) GROUP BY trace_id",
        sorted({item.id for item in incoming}),
    )
    known = {row[0]: _Known(set(row[1]), row[2], row[3]) for row in rows}
    differing = {item.id for item in incoming if item.id in known and item.revision != known[item.id].current}
    pairs = [(trace_id, known[trace_id].current) for trace_id in sorted(differing)]
    for trace in stream(cursor, pairs):
        known[trace.id].trace = trace
    return known


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
