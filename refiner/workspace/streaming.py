"""Trace files into the store, a batch at a time. In memory are one batch, the outcomes, and what was rejected."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from refiner import ingest
from refiner.errors import FormatError
from refiner.types import BadRecord, EvaluatorNote, Outcome, Trace
from refiner.workspace.digest import Card
from storage import AddReport, Store

R = TypeVar("R", Outcome, EvaluatorNote)

BATCH = 16_000_000
"""Characters of traces that are written in one transaction: enough to be fast, and small beside what parsing takes."""


@dataclass(slots=True)
class Streamed:
    """What the trace files of an upload held, as it is written. `counts`: traces by file."""

    store: Store
    corpus: str
    batch: int = BATCH
    added: AddReport = field(default_factory=AddReport)
    formats: dict[str, str] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    rejected: list[BadRecord] = field(default_factory=list)
    expected: list[BadRecord] = field(default_factory=list)
    """Files that lie beside runs as a matter of course and hold none."""
    traces: list[Trace] = field(default_factory=list)
    notes: list[EvaluatorNote] = field(default_factory=list)
    outcomes: list[Outcome] = field(default_factory=list)
    """All of them: what is a repetition can only be told from all that is said of a trace."""
    kept: int = 0
    """How many of them were handed over with their traces."""
    again: set[str] = field(default_factory=set)
    """The traces of which something was said before, in this upload or an earlier one."""
    copied: dict[str, str] = field(default_factory=dict)
    """The ids that copies had in their files, each with the key of the trace that they are."""
    size: int = 0

    def take(self, records: Iterable[ingest.FileRecord]) -> Streamed:
        """Writes every item of the files; a file that cannot be read ends it and is among the rejected."""
        with self.store.bulk():
            try:
                for record in records:
                    if record.expected and isinstance(record.item, BadRecord):
                        self.expected.append(record.item)
                        continue
                    self.formats.setdefault(record.path, record.format)
                    self._take(record.path, record.item)
            except FormatError as error:
                self.rejected.append(BadRecord(error.path, error.line, str(error)))
            self._write()
            said = dict.fromkeys(self._known_as(self.outcomes))
            self.store.add_outcomes([outcome for outcome in said if outcome.trace_id in self.again])
        return self

    def _take(self, path: str, item: ingest.Item) -> None:
        if isinstance(item, Trace):
            if self.size >= self.batch:
                self._write()
            self.traces.append(item)
            self.counts[path] += 1
            self.size += sum(len(span.input) + len(span.output) for span in item.spans)
        elif isinstance(item, Outcome):
            self.outcomes.append(item)
        elif isinstance(item, EvaluatorNote):
            self.notes.append(item)
        else:
            self.rejected.append(item)

    def _known_as(self, said: Sequence[R]) -> list[R]:
        """What is said of traces that turned out to be copies is said of the traces that they copy."""
        names = dict(self.added.renamed)
        return [replace(one, trace_id=names.get(one.trace_id, one.trace_id)) for one in said] if names else list(said)

    def _write(self) -> None:
        """Traces, and what their files say of them, in one transaction: a kill leaves no trace without its outcome."""
        revisions = [trace.revision for trace in self.traces]
        made = (Card.of(trace, revision) for trace, revision in zip(self.traces, revisions, strict=True))
        cards = {(card.trace_id, card.revision): card for card in made}
        with self.store.together():
            added = self.store.add_traces(self.corpus, self.traces, revisions)
            self.added = self.added + added
            self.store.put_cards([(card.trace_id, card.revision, card.body()) for card in cards.values()])
            self.store.add_notes(list(dict.fromkeys(self._known_as(self.notes))))
            said = dict.fromkeys(self._known_as(self.outcomes[self.kept :]))
            if self.store.add_outcomes(list(said), only_first=True) < len(said):
                self.again.update(outcome.trace_id for outcome in said)
        named = {trace.id: trace.external_id for trace in self.traces}
        self.copied |= {named[copy]: kept for copy, kept in added.renamed}
        self.traces, self.notes, self.size, self.kept = [], [], 0, len(self.outcomes)
