"""Outcomes by hand: labels, notes, disputes, and the list they are given in. What counts is decided elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from typing import get_args

from refiner.errors import LabelError
from refiner.types import Outcome, Status
from refiner.views import LabelRow
from refiner.workspace.corpora import Entry
from refiner.workspace.digest import SHOWN, Card, Digest, Digests
from refiner.workspace.room import Room

DISPUTED = "disputed: "


@dataclass(frozen=True, slots=True)
class Labelling:
    """Labels of one database, by the reviewer."""

    room: Room
    digests: Digests

    def label(self, entry: Entry, trace_id: str, status: Status, note: str | None) -> None:
        """Says how a trace ended; a note becomes its feedback. Raises LabelError for an unknown trace or word."""
        if status not in get_args(Status):
            raise LabelError(f'"{status}" is no outcome; use one of {", ".join(get_args(Status))}')
        words = (note or "").strip() or None
        if words is None and self._said(entry, trace_id) == status:
            return
        self._say(entry, trace_id, status, words)
        self._log(entry, "label", trace_id, status=status)

    def dispute(self, entry: Entry, trace_id: str, reason: str) -> None:
        """Sets the outcome of a trace aside, with a reason: it is on neither side from the next refinement on."""
        if not reason.strip():
            raise LabelError("a dispute needs a reason; say in a few words what is wrong with the outcome")
        self._say(entry, trace_id, "unknown", None)
        self._log(entry, "dispute", trace_id, reason=reason.strip())

    def rows(self, entry: Entry, status: str | None, offset: int, limit: int) -> list[LabelRow]:
        """Traces in external-id order, of one effective status or of all."""
        digest = self.digests.of(entry.id)
        cards = [card for card in digest.cards if status is None or digest.outcome(card.trace_id).status == status]
        shown = cards[max(0, offset) : max(0, offset) + max(0, limit)]
        disputes = self._disputes(entry)
        return [_row(card, digest, disputes) for card in shown]

    def _say(self, entry: Entry, trace_id: str, status: Status, feedback: str | None) -> None:
        if all(card.trace_id != trace_id for card in self.digests.of(entry.id).cards):
            raise LabelError(f'the corpus "{entry.name}" has no trace {trace_id}; reload the page')
        at = self.room.now()
        said = [Outcome(trace_id, status, "human", None, feedback, at)]
        if status == "unknown":  # an `unknown` with a text counts as a note only, so the statement comes by itself
            said = [Outcome(trace_id, "unknown", "human", None, None, at), *(said if feedback else [])]
        self.room.store.add_outcomes(said)

    def _said(self, entry: Entry, trace_id: str) -> str | None:
        """What a person said last of how the trace ended, unless that was a dispute."""
        stated = self.digests.of(entry.id).stated.get(trace_id, ())
        said = [one.status for one in stated if one.origin == "human" and (one.status != "unknown" or not one.feedback)]
        return said[-1] if said and trace_id not in self._disputes(entry) else None

    def _log(self, entry: Entry, kind: str, trace_id: str, **more: str) -> None:
        self.room.store.corpus_event(entry.id, kind, {"trace_id": trace_id, "reviewer": self.room.reviewer(), **more})

    def _disputes(self, entry: Entry) -> dict[str, str]:
        """The reason by trace, of those whose last word by a person was a dispute."""
        found: dict[str, str] = {}
        for event in self.room.store.corpus_events(entry.id, "label", "dispute"):
            if event.kind == "dispute":
                found[event.body["trace_id"]] = event.body["reason"]
            else:
                found.pop(event.body["trace_id"], None)
        return found


def _row(card: Card, digest: Digest, disputes: dict[str, str]) -> LabelRow:
    outcome = digest.outcome(card.trace_id)
    reason = disputes.get(card.trace_id)
    return LabelRow(
        trace_id=card.trace_id,
        external_id=card.external_id,
        goal=card.goal,
        last_answer=card.last_answer,
        last_user=card.last_user,
        status=outcome.status,
        origin=outcome.origin if card.trace_id in digest.stated else "",
        feedback=(DISPUTED + reason if reason is not None else outcome.feedback or "")[:SHOWN],
        disputed=reason is not None,
    )
