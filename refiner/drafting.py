"""Traces as lines of one file while they stream by: what is new, what has grown, what contradicts. Labels elsewhere."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import BinaryIO

from refiner.formats import canonical
from refiner.growth import BEGINS, grows
from refiner.namesakes import GIVEN, apart
from refiner.parts import together
from refiner.ports import Source
from refiner.types import Trace, trace_key

CORPUS = "corpus"
LINES = "lines"


@dataclass(slots=True)
class Place:
    """Where the line of a trace begins in the draft, its revision, the task its file names, its source and format.

    `given`: the id that its file gives it, where a different run has that.
    """

    at: int
    revision: str
    task_id: str
    source: str
    format: str
    given: str


@dataclass(slots=True)
class Draft:
    """Traces as lines of a file, in the order in which they came; of a run that grew the longest one counts.

    `begun`: the traces by the first line of their session. `copies`: ids of copied sessions, with that of the original.
    """

    stream: BinaryIO
    places: dict[str, Place] = field(default_factory=dict)
    duplicates: int = 0
    conflicts: list[tuple[str, str, str]] = field(default_factory=list)
    begun: dict[str, list[str]] = field(default_factory=dict)
    copies: dict[str, str] = field(default_factory=dict)
    named: dict[tuple[str, str], str | None] = field(default_factory=dict)
    """What traces are called other than their files say (see `namesakes.Named`)."""
    namesakes: list[tuple[str, str, str]] = field(default_factory=list)
    """Those that are written, as (external id in the file, source, external id here)."""
    siblings: dict[str, list[str]] = field(default_factory=dict)
    """The same by the external id in the file."""
    names: dict[str, str] = field(default_factory=dict)
    """The ids of copies, each with the id of the trace that they are."""

    def take(self, trace: Trace) -> None:
        trace = trace if trace.external_id in self.places else self._under_its_name(trace)
        known, revision = self.places.get(trace.external_id), trace.revision
        if known is None:
            self._write(trace, revision)
        elif known.revision == revision or grows(trace, before := self._read(known)):
            self.duplicates += 1
        elif grows(before, trace):
            self.duplicates += 1
            self._write(trace, revision)
        elif (whole := together(before, trace)) is not None:
            self._write(whole, whole.revision)
        else:
            self._contradiction(before, trace)

    @property
    def shared(self) -> dict[str, None]:
        """The ids that several runs have; which of them a label means nobody can tell."""
        return dict.fromkeys(place.given for place in self.places.values() if place.given)

    def called(self, trace_id: str, source: str) -> str | None:
        """The id of the trace that was written for this one; None where none was."""
        name = self.named.get((trace_id, source), "")
        if name is None:
            return None
        trace_id = trace_key(CORPUS, name) if name else trace_id
        return self.names.get(trace_id, trace_id)

    def _contradiction(self, first: Trace, trace: Trace) -> None:
        own = apart(trace, first)
        own = None if own is None else self._same_run(own, self.siblings.setdefault(own.meta[GIVEN], []))
        given = trace_key(CORPUS, trace.meta.get(GIVEN, trace.external_id))
        self.named[given, trace.source] = None if own is None else own.external_id
        if own is None:
            self.conflicts.append((trace.external_id, first.source, trace.source))
        else:
            conflicts = len(self.conflicts)
            self.take(own)
            if len(self.conflicts) > conflicts:
                return
            self.namesakes.append((trace.external_id, trace.source, own.external_id))
            if own.external_id not in self.siblings[trace.external_id]:
                self.siblings[trace.external_id].append(own.external_id)

    def _under_its_name(self, trace: Trace) -> Trace:
        """A session that was copied under another id, as the trace that it is already."""
        found = self._same_run(trace, self.begun.get(trace.meta.get(BEGINS, ""), ()))
        if found is not trace:
            self.copies[trace.external_id] = found.external_id
            self.names[trace.id] = found.id
        return found

    def _same_run(self, trace: Trace, names: Iterable[str]) -> Trace:
        """The trace as the first of these that goes on from it, or from which it goes on; else as it is."""
        for name in names if trace.external_id not in self.places else ():
            kept = self._read(self.places[name])
            if grows(kept, trace) or grows(trace, kept):
                return replace(trace, external_id=name)
        return trace

    def lines(self) -> Iterator[tuple[str, bytes]]:
        """External id and line of every trace that counts."""
        for name, place in sorted(self.places.items(), key=lambda item: item[1].at):
            yield name, self._line(place)

    def _write(self, trace: Trace, revision: str) -> None:
        at = self.stream.seek(0, os.SEEK_END)
        if BEGINS in trace.meta and trace.external_id not in self.places:
            self.begun.setdefault(trace.meta[BEGINS], []).append(trace.external_id)
        self.places[trace.external_id] = Place(
            at, revision, trace.task_id, trace.source, trace.format, trace.meta.get(GIVEN, "")
        )
        self.stream.write(json.dumps(canonical.record_of(trace)).encode() + b"\n")

    def _read(self, place: Place) -> Trace:
        items = canonical.FORMAT.parse(io.BytesIO(self._line(place)), Source(CORPUS, LINES))
        return next(
            replace(item, format=place.format, source=place.source) for item in items if isinstance(item, Trace)
        )

    def _line(self, place: Place) -> bytes:
        self.stream.seek(place.at)
        return self.stream.readline()
