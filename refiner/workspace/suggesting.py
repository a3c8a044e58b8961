"""Suggested outcomes: found in traces that nobody labelled, kept as such, and made labels only by a person."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from refiner import labels
from refiner.errors import LabelError
from refiner.labels import SignKind
from refiner.views import SuggestionRow
from refiner.workspace.corpora import Entry
from refiner.workspace.digest import Card, Digest, Digests
from refiner.workspace.room import Room

EVENT = "suggestion"
CHUNK = 256


@dataclass(frozen=True, slots=True)
class Suggesting:
    """Suggestions of one database."""

    room: Room
    digests: Digests

    def suggest(self, entry: Entry) -> dict[SignKind, int]:
        """Looks at every trace without an outcome, keeps what it suggests, and counts the kinds found.

        Raises LabelError for attempts of conversations: each begins with what was said of the one before it.
        """
        if entry.episodes:
            raise LabelError("these attempts got their suggestions when the conversations were cut; answer those")
        digest = self.digests.of(entry.id)
        open_ones = [(card.trace_id, card.revision) for card in digest.cards if _is_open(digest, card)]
        made = [found for trace in self.room.store.revisions(open_ones) if (found := labels.suggest(trace))]
        self.room.store.add_outcomes([one.outcome() for one in made])
        return dict(Counter(one.kind for one in made).most_common())

    def rows(self, entry: Entry) -> list[SuggestionRow]:
        """What is suggested and neither accepted nor dismissed, for traces that still have no outcome."""
        digest, dismissed = self.digests.of(entry.id), self._dismissed(entry)
        found = (_row(card, digest) for card in digest.cards if _is_open(digest, card))
        return [row for row in found if row is not None and (row.trace_id, row.kind) not in dismissed]

    def accept(self, entry: Entry, trace_ids: Sequence[str]) -> int:
        """Makes suggestions labels of the reviewer; returns how many. Raises LabelError for one that is not there."""
        rows = self._chosen(entry, trace_ids)
        at = self.room.now()
        made = (labels.accepted(row.trace_id, row.status, row.kind, row.reason, at) for row in rows)
        self.room.store.add_outcomes(list(made))
        self._log(entry, "accepted", rows)
        return len(rows)

    def dismiss(self, entry: Entry, trace_ids: Sequence[str]) -> int:
        """Takes suggestions off the list for good. Raises LabelError for one that is not there."""
        rows = self._chosen(entry, trace_ids)
        self._log(entry, "dismissed", rows)
        return len(rows)

    def _chosen(self, entry: Entry, trace_ids: Sequence[str]) -> list[SuggestionRow]:
        rows = {row.trace_id: row for row in self.rows(entry)}
        gone = [trace_id for trace_id in trace_ids if trace_id not in rows]
        if gone:
            raise LabelError(f"{len(gone)} of these suggestions are no longer open; reload the list")
        return [rows[trace_id] for trace_id in dict.fromkeys(trace_ids)]

    def _log(self, entry: Entry, what: str, rows: Sequence[SuggestionRow]) -> None:
        if rows:
            traces = [[row.trace_id, row.kind] for row in rows]
            body = {"what": what, "reviewer": self.room.reviewer(), "traces": traces}
            self.room.store.corpus_event(entry.id, EVENT, body)

    def _dismissed(self, entry: Entry) -> set[tuple[str, str]]:
        events = self.room.store.corpus_events(entry.id, EVENT)
        gone = (event.body["traces"] for event in events if event.body["what"] == "dismissed")
        return {(trace_id, kind) for traces in gone for trace_id, kind in traces}


def _is_open(digest: Digest, card: Card) -> bool:
    """Whether nobody said yet how a trace ended; "unknown" is a word of a person too."""
    said = digest.stated.get(card.trace_id, ())
    return all(one.origin == "heuristic" or (one.status == "unknown" and one.origin != "human") for one in said)


def _row(card: Card, digest: Digest) -> SuggestionRow | None:
    said = [one for one in digest.stated.get(card.trace_id, ()) if labels.suggested(one)]
    if not said:
        return None
    kind, reason = labels.suggested(said[-1]) or ("", "")
    return SuggestionRow(card.trace_id, card.external_id, card.goal, said[-1].status, kind, reason, card.last_answer)
