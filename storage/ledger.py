"""What becomes of incoming traces beside those that are known: new, grown, a copy, a namesake, a contradiction.

Decides from what it is given; reads and writes no database.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from refiner.growth import BEGINS, grows, progress
from refiner.ids import content_key
from refiner.namesakes import GIVEN, Named, apart, file_of, is_generated
from refiner.parts import together
from refiner.types import Trace, trace_key


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
class Incoming:
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
class Known:
    """The state of one trace id: all its revisions, the current one, and how often that has changed."""

    revisions: set[str]
    current: str
    ordinal: int
    trace: Trace | None = None


@dataclass(slots=True)
class Ledger:
    """Takes incoming traces one by one and collects the rows to write."""

    known: dict[str, Known]
    begun: dict[str, list[str]]
    """Traces by the first line of their session."""
    revisions: list[tuple[Trace, str]] = field(default_factory=list)
    """What is to be stored: a trace with its revision."""
    currents: list[tuple[str, int, str]] = field(default_factory=list)
    """Trace id, ordinal and revision that counts from there on."""
    added: int = 0
    duplicates: int = 0
    grown: int = 0
    conflicts: list[tuple[str, str, str]] = field(default_factory=list)
    renamed: list[tuple[str, str]] = field(default_factory=list)
    namesakes: list[tuple[str, str, str]] = field(default_factory=list)
    later: list[Incoming] = field(default_factory=list)
    """Namesakes, under ids of their own; what is known of these and of others has to be looked up first."""
    siblings: dict[str, list[str]] = field(default_factory=dict)
    """Namesakes that are known, by the id that their files give them."""

    def take(self, item: Incoming) -> None:
        item = item if item.id in self.known else self._under_its_name(item)
        known = self.known.get(item.id)
        if known is None:
            self.begun.setdefault(item.trace.meta.get(BEGINS, ""), []).append(item.id)
            self.known[item.id] = known = Known(set(), "", 0)
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

    def _contradiction(self, first: Trace | None, item: Incoming) -> None:
        trace = item.trace
        own = None if first is None else apart(trace, first)
        if own is None:
            self.conflicts.append((trace.external_id, first.source if first else "", trace.source))
        else:
            self.later.append(Incoming(own, own.id, item.revision))

    def take_namesake(self, item: Incoming) -> None:
        """A trace of `later`; the run of a namesake that is known, told by another file, is that one."""
        given, source = item.trace.meta[GIVEN], item.trace.source
        known = self.siblings.setdefault(given, [])
        item = item if item.id in self.known else self._same_run(item, known)
        self.namesakes.append((given, source, item.trace.external_id))
        self.take(item)
        if item.id not in known:
            known.append(item.id)

    def _take_part(self, known: Known, whole: Incoming) -> None:
        """A part of a run, by the run that it makes with the parts that are there."""
        if whole.revision == known.current:
            self.duplicates += 1
            return
        self.grown += 1
        self._make_current(known, whole)

    def _under_its_name(self, item: Incoming) -> Incoming:
        """A session that was copied under another id, as the trace that it is already."""
        first_line = item.trace.meta.get(BEGINS, "")
        found = self._same_run(item, self.begun.get(first_line, ()) if first_line else ())
        if found is not item:
            self.renamed.append((item.id, found.id))
        return found

    def _same_run(self, item: Incoming, known: Iterable[str]) -> Incoming:
        """The trace as the first of those known that goes on from it, or from which it goes on; else as it is."""
        for trace_id in known:
            kept = self.known[trace_id].trace
            if kept is not None and (grows(kept, item.trace) or grows(item.trace, kept)):
                return replace(item, id=trace_id, trace=replace(item.trace, external_id=kept.external_id))
        return item

    def _make_current(self, known: Known, item: Incoming) -> None:
        known.ordinal += 1
        known.current, known.trace = item.revision, item.trace
        if item.revision not in known.revisions:
            known.revisions.add(item.revision)
            self.revisions.append((item.trace, item.revision))
        self.currents.append((item.id, known.ordinal, item.revision))

    def report(self) -> AddReport:
        counts, conflicts = (self.added, self.duplicates, self.grown), tuple(self.conflicts)
        return AddReport(*counts, conflicts, tuple(self.renamed), tuple(self.namesakes))


def _grows(old: Trace | None, new: Trace | None) -> bool:
    return old is not None and new is not None and grows(old, new)
