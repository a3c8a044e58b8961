"""Trace files into the store, a batch at a time. In memory are one batch, the outcomes, and what was rejected."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from refiner import reading
from refiner.errors import FormatError
from refiner.ingest import Said, settle
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
    notes: list[Said] = field(default_factory=list)
    outcomes: list[Said] = field(default_factory=list)
    """All of them: what is a repetition can only be told from all that is said of a trace."""
    kept: int = 0
    """How many of them were handed over with their traces."""
    again: set[str] = field(default_factory=set)
    """The traces of which something was said before, in this upload or an earlier one."""
    named: dict[tuple[str, str], str | None] = field(default_factory=dict)
    """Namesakes of other traces, and those not kept (see `Named`): what is said of them is not said of the others."""
    copied: dict[str, str] = field(default_factory=dict)
    """The ids that copies had in their files, each with the key of the trace that they are."""
    size: int = 0

    def take(self, records: Iterable[reading.FileRecord]) -> Streamed:
        """Writes every item of the files; a file that cannot be read ends it and is among the rejected."""
        with self.store.bulk():
            try:
                for record in records:
                    if record.expected and isinstance(record.item, BadRecord):
                        self.expected.append(record.item)
                        continue
                    self.formats.setdefault(record.path, record.format)
                    self._take(record)
            except FormatError as error:
                self.rejected.append(BadRecord(error.path, error.line, str(error)))
            self._write()
            said = self._stated(self.outcomes, Outcome)
            self.store.add_outcomes([outcome for outcome in said if outcome.trace_id in self.again])
        return self

    def _take(self, record: reading.FileRecord) -> None:
        item = record.item
        if isinstance(item, Trace):
            if self.size >= self.batch:
                self._write()
            self.traces.append(item)
            self.counts[record.path] += 1
            self.size += sum(len(span.input) + len(span.output) for span in item.spans)
        elif isinstance(item, Outcome):
            self.outcomes.append(Said(record.of, item))
        elif isinstance(item, EvaluatorNote):
            self.notes.append(Said(record.of, item))
        else:
            self.rejected.append(item)

    def _stated(self, said: Sequence[Said], kind: type[R]) -> list[R]:
        """What is said of the traces that were taken, each once; of copies, it is said of the traces that they copy."""
        names = dict(self.added.renamed)
        settled = (settle(one, self.corpus, self.named) for one in said)
        records = (one.record for one in settled if one is not None)
        about = (replace(one, trace_id=names.get(one.trace_id, one.trace_id)) if names else one for one in records)
        return list(dict.fromkeys(one for one in about if isinstance(one, kind)))

    def _write(self) -> None:
        """Traces, and what their files say of them, in one transaction: a kill leaves no trace without its outcome."""
        revisions = [trace.revision for trace in self.traces]
        made = (Card.of(trace, revision) for trace, revision in zip(self.traces, revisions, strict=True))
        cards = {(card.trace_id, card.revision): card for card in made}
        with self.store.together():
            added = self.store.add_traces(self.corpus, self.traces, revisions)
            self.added = self.added + added
            self.named |= added.named(self.corpus)
            self.store.put_cards([(card.trace_id, card.revision, card.body()) for card in cards.values()])
            self.store.add_notes(self._stated(self.notes, EvaluatorNote))
            said = self._stated(self.outcomes[self.kept :], Outcome)
            if self.store.add_outcomes(said, only_first=True) < len(said):
                self.again.update(outcome.trace_id for outcome in said)
        named = {trace.id: trace.external_id for trace in self.traces}
        self.copied |= {named[copy]: kept for copy, kept in added.renamed}
        self.traces, self.notes, self.size, self.kept = [], [], 0, len(self.outcomes)
