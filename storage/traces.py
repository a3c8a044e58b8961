"""Traces: what is new, what has grown, what contradicts, and reading them back. What a trace says is not read here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import duckdb

from refiner import codec
from refiner.errors import StoreError
from refiner.growth import BEGINS, grows, progress
from refiner.ids import content_key
from refiner.namesakes import Named, apart, file_of, is_generated
from refiner.parts import together
from refiner.types import Trace, trace_key
from storage import batches

CHUNK = 256


@dataclass(frozen=True, slots=True)
class AddReport:
    """What became of the traces handed in. A conflict is (external id, source that stays, source that was rejected).

    `renamed`: traces that were copies of others under another id, as (their id, the id of the trace that they are).
    `namesakes`: traces whose id a different run of another file has, as (external id, source, external id they got).
    """

    added: int = 0
    duplicates: int = 0
    grown: int = 0
    conflicts: tuple[tuple[str, str, str], ...] = ()
    renamed: tuple[tuple[str, str], ...] = ()
    namesakes: tuple[tuple[str, str, str], ...] = ()

    def __add__(self, other: AddReport) -> AddReport:
        counts = (self.added + other.added, self.duplicates + other.duplicates, self.grown + other.grown)
        conflicts, namesakes = self.conflicts + other.conflicts, self.namesakes + other.namesakes
        return AddReport(*counts, conflicts, self.renamed + other.renamed, namesakes)

    def named(self, corpus: str) -> Named:
        """What became of the traces that are not stored under the id of their file."""
        refused = {(name, source) for name, _, source in self.conflicts}
        named: dict[tuple[str, str], str | None] = {(trace_key(corpus, name), source): None for name, source in refused}
        for name, source, own in self.namesakes:
            named[trace_key(corpus, name), source] = None if (own, source) in refused else own
        return named


@dataclass(frozen=True, slots=True)
class _Incoming:
    """A trace with what costs time to compute."""

    trace: Trace
    id: str
    revision: str

    @property
    def rank(self) -> tuple[str, str, tuple[int, int], str, str, str]:
        """Less before more, so that growth inside one batch does not depend on the order of its files; where an id is
        unique in its file at most, one file before the next, so that the runs of one file are called alike."""
        trace = self.trace
        rest = content_key(trace.format, trace.task_id_origin, trace.model, trace.meta)
        file = "" if is_generated(trace.external_id) else file_of(trace)
        return trace.external_id, file, progress(trace), self.revision, trace.source, rest


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
    begun: dict[str, list[str]]
    """Traces by the first line of their session."""
    added_at: str
    rows: list[dict[str, Any]] = field(default_factory=list)
    currents: list[dict[str, Any]] = field(default_factory=list)
    added: int = 0
    duplicates: int = 0
    grown: int = 0
    conflicts: list[tuple[str, str, str]] = field(default_factory=list)
    renamed: list[tuple[str, str]] = field(default_factory=list)
    namesakes: list[tuple[str, str, str]] = field(default_factory=list)
    later: list[_Incoming] = field(default_factory=list)
    """Namesakes, under the ids they got; what is known of these has to be looked up first."""

    def take(self, item: _Incoming) -> None:
        item = item if item.id in self.known else self._under_its_name(item)
        known = self.known.get(item.id)
        if known is None:
            self.begun.setdefault(item.trace.meta.get(BEGINS, ""), []).append(item.id)
            self.known[item.id] = known = _Known(set(), "", 0)
            self.added += 1
            self._make_current(known, item)
        elif item.revision == known.current:
            self.duplicates += 1
        elif _grows(known.trace, item.trace):
            self.grown += 1
            self._make_current(known, item)
        elif item.revision in known.revisions or _grows(item.trace, known.trace):
            self.duplicates += 1
        elif known.trace is not None and (whole := together(known.trace, item.trace)) is not None:
            self._take_part(known, replace(item, trace=whole, revision=whole.revision))
        else:
            self._contradiction(known.trace, item)

    def _contradiction(self, first: Trace | None, item: _Incoming) -> None:
        trace = item.trace
        own = None if first is None else apart(trace, first)
        if own is None:
            self.conflicts.append((trace.external_id, first.source if first else "", trace.source))
            return
        self.namesakes.append((trace.external_id, trace.source, own.external_id))
        self.later.append(_Incoming(own, own.id, item.revision))

    def _take_part(self, known: _Known, whole: _Incoming) -> None:
        """A part of a run, by the run that it makes with the parts that are there."""
        if whole.revision == known.current:
            self.duplicates += 1
            return
        self.grown += 1
        self._make_current(known, whole)

    def _under_its_name(self, item: _Incoming) -> _Incoming:
        """A session that was copied under another id, as the trace that it is already."""
        first_line = item.trace.meta.get(BEGINS, "")
        for trace_id in self.begun.get(first_line, ()) if first_line else ():
            kept = self.known[trace_id].trace
            if kept is not None and (_grows(kept, item.trace) or _grows(item.trace, kept)):
                self.renamed.append((item.id, trace_id))
                return replace(item, id=trace_id, trace=replace(item.trace, external_id=kept.external_id))
        return item

    def _make_current(self, known: _Known, item: _Incoming) -> None:
        known.ordinal += 1
        known.current, known.trace = item.revision, item.trace
        if item.revision not in known.revisions:
            known.revisions.add(item.revision)
            self.rows.append(row(item.trace, item.revision, self.added_at))
        self.currents.append({"trace_id": item.id, "ordinal": known.ordinal, "revision": item.revision})

    def report(self) -> AddReport:
        counts, conflicts = (self.added, self.duplicates, self.grown), tuple(self.conflicts)
        return AddReport(*counts, conflicts, tuple(self.renamed), tuple(self.namesakes))


def _grows(old: Trace | None, new: Trace | None) -> bool:
    return old is not None and new is not None and grows(old, new)


def add(
    cursor: duckdb.DuckDBPyConnection, corpus: str, traces: Sequence[Trace], revisions: Sequence[str], at: str
) -> AddReport:
    """Adds what is new, reports the rest; permuting `traces` changes nothing. Raises StoreError for a wrong corpus."""
    _require_corpus(corpus, traces)
    incoming = [_Incoming(trace, trace.id, revision) for trace, revision in zip(traces, revisions, strict=True)]
    incoming.sort(key=lambda item: item.rank)
    known = _load(cursor, incoming)
    ledger = _Ledger(known, _begun(cursor, corpus, incoming, known), at)
    for item in incoming:
        ledger.take(item)
    later = sorted(ledger.later, key=lambda item: item.rank)
    ledger.known |= _load(cursor, later)
    for item in later:
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
    known = _states(cursor, {item.id for item in incoming})
    differing = {item.id for item in incoming if item.id in known and item.revision != known[item.id].current}
    _fill(cursor, known, differing)
    return known


def _states(cursor: duckdb.DuckDBPyConnection, ids: Iterable[str]) -> dict[str, _Known]:
    rows = batches.rows(
        cursor,
        "SELECT trace_id, list(DISTINCT revision), arg_max(revision, ordinal), max(ordinal) FROM trace_current"
        " WHERE trace_id IN (SELECT unnest(?::VARCHAR[])) GROUP BY trace_id",
        sorted(ids),
    )
    return {row[0]: _Known(set(row[1]), row[2], row[3]) for row in rows}


def _fill(cursor: duckdb.DuckDBPyConnection, known: dict[str, _Known], ids: Iterable[str]) -> None:
    """Reads the current traces of these ids."""
    pairs = [(trace_id, known[trace_id].current) for trace_id in sorted(ids)]
    for trace in stream(cursor, pairs) if pairs else ():
        known[trace.id].trace = trace


def _begun(
    cursor: duckdb.DuckDBPyConnection, corpus: str, incoming: Sequence[_Incoming], known: dict[str, _Known]
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
