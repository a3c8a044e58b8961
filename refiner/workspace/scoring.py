"""Outcomes from a score that traces carry: which there are, what a threshold would give, and taking it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from refiner import labels
from refiner.labels import ScoreRange, Threshold
from refiner.types import Outcome
from refiner.workspace.corpora import Entry
from refiner.workspace.digest import Digests
from refiner.workspace.room import Room


@dataclass(frozen=True, slots=True)
class Scoring:
    """Scores of one database."""

    room: Room
    digests: Digests

    def ranges(self, entry: Entry) -> list[ScoreRange]:
        """The scores that can say how traces ended: those that are numbers at least once."""
        scores = (labels.scores_of({labels.SCORES: card.scores}) for card in self.digests.of(entry.id).cards)
        return [one for one in labels.score_ranges(scores) if one.numbers]

    def preview(self, entry: Entry, score: str, threshold: Threshold) -> dict[str, int]:
        """How many traces would pass and fail, and how many do not carry the score ("without")."""
        counts = Counter(one.status for one in self._outcomes(entry, score, threshold))
        total = len(self.digests.of(entry.id).cards)
        return {"pass": counts["pass"], "fail": counts["fail"], "without": total - counts.total()}

    def use(self, entry: Entry, score: str, threshold: Threshold) -> int:
        """Says the outcomes, as of now; returns of how many traces. A person's word still counts over them."""
        outcomes = self._outcomes(entry, score, threshold)
        self.room.store.add_outcomes(outcomes)
        how = {"pass_at": threshold.pass_at, "lower_is_better": threshold.lower_is_better}
        self.room.store.corpus_event(
            entry.id, "score", {"score": score, **how, "traces": len(outcomes), "reviewer": self.room.reviewer()}
        )
        return len(outcomes)

    def _outcomes(self, entry: Entry, score: str, threshold: Threshold) -> list[Outcome]:
        cards = self.digests.of(entry.id).cards
        scores = {card.trace_id: labels.scores_of({labels.SCORES: card.scores}) for card in cards}
        return labels.by_score(scores, score, threshold)
