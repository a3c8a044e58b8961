"""The part of the desk on outcomes that come neither from a file nor by hand. One method a read or a command."""

from __future__ import annotations

from collections.abc import Sequence

from refiner.labels import ScoreRange, SignKind, Threshold
from refiner.views import SuggestionRow
from refiner.workspace.corpora import Corpora
from refiner.workspace.scoring import Scoring
from refiner.workspace.suggesting import Suggesting


class LabelDesk:
    """What a workspace does with scores that traces carry and with signs in them."""

    _corpora: Corpora
    _scoring: Scoring
    _suggesting: Suggesting

    def score_ranges(self, name: str) -> list[ScoreRange]:
        """The scores that the traces of a corpus carry, the most frequent first."""
        return self._scoring.ranges(self._corpora.entry(name))

    def preview_score(self, name: str, score: str, threshold: Threshold) -> dict[str, int]:
        """How many traces would pass, fail, and be without. Raises LabelError for a score that none carries."""
        return self._scoring.preview(self._corpora.entry(name), score, threshold)

    def use_score(self, name: str, score: str, threshold: Threshold) -> int:
        """Takes a score as the outcome of the traces that carry it; returns how many. Raises like `preview_score`."""
        return self._scoring.use(self._corpora.own(name), score, threshold)

    def suggest_labels(self, name: str) -> dict[SignKind, int]:
        """Looks for signs of how the traces without an outcome ended; counts of the kinds found."""
        return self._suggesting.suggest(self._corpora.own(name))

    def suggestions(self, name: str) -> list[SuggestionRow]:
        """Suggested outcomes that wait for a person, in external-id order."""
        return self._suggesting.rows(self._corpora.entry(name))

    def accept_suggestions(self, name: str, trace_ids: Sequence[str]) -> int:
        """Makes suggestions labels of the reviewer; returns how many."""
        return self._suggesting.accept(self._corpora.own(name), trace_ids)

    def dismiss_suggestions(self, name: str, trace_ids: Sequence[str]) -> int:
        """Takes suggestions off the list for good; returns how many."""
        return self._suggesting.dismiss(self._corpora.own(name), trace_ids)
