"""What lists and counts need of a corpus, without reading its traces again: one card a trace, and the outcomes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from refiner import ingest, labels
from refiner.namesakes import GIVEN, file_of
from refiner.types import Outcome, TaskIdOrigin, Trace
from refiner.workspace.expecting import shown_size
from storage import Marks, Store

SHOWN = 600
"""Characters of a text in a list."""
_KEPT = 8


@dataclass(frozen=True, slots=True)
class Card:
    """A trace in a list. `task` is the whole request, on which the task rule works; `size`: characters for a model."""

    trace_id: str
    revision: str
    external_id: str
    task: str
    task_id: str
    task_id_origin: TaskIdOrigin
    format: str
    model: str
    last_answer: str
    last_user: str
    size: int
    scores: str = ""
    """The scores of the trace by name, as JSON."""
    file: str = ""
    given_id: str = ""
    """The id in that file, where a run of another file has it."""

    @classmethod
    def of(cls, trace: Trace, revision: str) -> Card:
        """The card of a trace; its revision costs time to compute and is known to whoever stores it."""
        said = {role: _last(trace, role) for role in ("assistant", "user")}
        known = (trace.task, trace.task_id, trace.task_id_origin, trace.format, trace.model or "")
        texts, scores = (said["assistant"], said["user"]), trace.meta.get(labels.SCORES, "")
        place = (file_of(trace), trace.meta.get(GIVEN, ""))
        return cls(trace.id, revision, trace.external_id, *known, *texts, shown_size(trace), scores, *place)

    @property
    def goal(self) -> str:
        """The request, as long as a list shows it."""
        return self.task[:SHOWN]

    def body(self) -> str:
        """Everything but the identity, as ASCII text."""
        return json.dumps([getattr(self, name) for name in _FIELDS])


_FIELDS = (
    "external_id",
    "task",
    "task_id",
    "task_id_origin",
    "format",
    "model",
    "last_answer",
    "last_user",
    "size",
    "scores",
    "file",
    "given_id",
)


def _last(trace: Trace, role: str) -> str:
    return next((span.output for span in reversed(trace.spans) if span.role == role), "")[:SHOWN]


@dataclass(frozen=True, slots=True)
class Digest:
    """A corpus at one moment: cards in external-id order with their tasks, what was stated, and what counts."""

    marks: Marks
    cards: tuple[Card, ...]
    stated: dict[str, tuple[Outcome, ...]]
    outcomes: dict[str, Outcome]

    def outcome(self, trace_id: str) -> Outcome:
        """The outcome that counts; unknown when nobody said anything."""
        return self.outcomes.get(trace_id) or Outcome(trace_id, "unknown")

    @property
    def revision(self) -> str:
        """A text that changes with every trace, label, note and event."""
        seen = self.marks
        return f"{seen.traces}.{seen.outcomes}.{seen.notes}.{seen.events}"


@dataclass(slots=True)
class Digests:
    """Digests by corpus, remembered until something arrives. Safe from any thread: the worst is doing it twice."""

    store: Store
    kept: dict[str, Digest] = field(default_factory=dict)

    def of(self, corpus: str) -> Digest:
        """The digest of a corpus as it is now."""
        marks = self.store.marks(corpus)
        known = self.kept.get(corpus)
        if known is not None and known.marks == marks:
            return known
        if known is not None and (known.marks.traces, known.marks.notes) == (marks.traces, marks.notes):
            made = self._made(corpus, marks, known.cards)
        else:
            made = self._made(corpus, marks, self._cards(corpus))
        if len(self.kept) >= _KEPT:
            self.kept.clear()
        self.kept[corpus] = made
        return made

    def _made(self, corpus: str, marks: Marks, cards: tuple[Card, ...]) -> Digest:
        stated = self.store.outcomes(corpus)
        outcomes = {trace_id: labels.effective(said, trace_id) for trace_id, said in stated.items()}
        return Digest(marks, cards, stated, outcomes)

    def _cards(self, corpus: str) -> tuple[Card, ...]:
        rows = self.store.cards(corpus)
        cards = [_card(trace_id, revision, body) for trace_id, revision, body in rows if body is not None]
        missing = [(trace_id, revision) for trace_id, revision, body in rows if body is None]
        if missing:
            made = [Card.of(trace, trace.revision) for trace in self.store.revisions(missing)]
            self.store.put_cards([(card.trace_id, card.revision, card.body()) for card in made])
            cards += made
        return _with_tasks(corpus, sorted(cards, key=lambda card: card.external_id))


def _card(trace_id: str, revision: str, body: str) -> Card:
    return Card(trace_id, revision, *json.loads(body))


def _with_tasks(corpus: str, cards: Sequence[Card]) -> tuple[Card, ...]:
    """The cards with the tasks that the rule gives them over the whole corpus."""
    bare = [
        Trace(corpus, card.external_id, card.format, card.task, card.task_id, card.task_id_origin, ()) for card in cards
    ]
    assigned = ingest.assign_tasks(bare)
    return tuple(
        card
        if card.task_id == trace.task_id and card.task_id_origin == trace.task_id_origin
        else replace(card, task_id=trace.task_id, task_id_origin=trace.task_id_origin)
        for card, trace in zip(cards, assigned, strict=True)
    )
