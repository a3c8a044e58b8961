"""The review half of the desk: the queue, decisions, the skill that follows from them, evidence, exports."""

from __future__ import annotations

from typing import Literal

from refiner.merge import Merged
from refiner.reporting.counted import Counted
from refiner.types import Decision
from refiner.views import Exports, Review, TraceView
from refiner.workspace.deciding import Deciding, EitherWay, Preview
from refiner.workspace.evidence import Evidence
from refiner.workspace.exporting import Exporting


class ReviewDesk:
    """What a front end asks of a finished refinement. Every method may be called from any thread."""

    _deciding: Deciding
    _evidence: Evidence
    _exporting: Exporting

    def review(self, refinement_id: str) -> Review:
        """The queue as it stands. Raises NotReady like `report`."""
        return self._deciding.review(refinement_id)

    def decide(
        self,
        refinement_id: str,
        change_id: str,
        action: Literal["accept", "reject", "amend", "skip"],
        *,
        shown_at: float,
        seen: str,
        reason_code: str = "",
        reason: str = "",
        amended: str | None = None,
    ) -> Review:
        """Decides on a change shown since `shown_at` (seconds since 1970) whose hash was `seen`.

        Raises DecisionRefused: too_fast, stale, needs_reason (an unsupported change), blocked (no place, an error of
        the specification, or a quarantine, which the reason code `released` with a reason lets go), conflict. Saying
        the same again changes nothing. `amended` is the whole text that stands in for the item's `text`.
        """
        said = (shown_at, seen, reason_code, reason, amended)
        return self._deciding.decide(refinement_id, change_id, action, *said)

    def undo(self, refinement_id: str) -> Decision | None:
        """Takes back the reviewer's own latest act (a bulk one as a whole) while it still counts, and returns it."""
        return self._deciding.undo(refinement_id)

    def accept_supported(self, refinement_id: str) -> Review:
        """Accepts every supported change that is still open, as one act."""
        return self._deciding.accept_supported(refinement_id)

    def last_event(self, refinement_id: str) -> int:
        """The length of the decision log: cheap, for polling."""
        return self._deciding.last_event(refinement_id)

    def decisions(self, refinement_id: str) -> list[Decision]:
        """The decision log, in order."""
        return self._deciding.decisions(refinement_id)

    def merged(self, refinement_id: str, *, upto: int | None = None, preview: Preview = "none") -> Merged:
        """The skill with what is accepted: now, or after the first `upto` events of the log.

        Previews decide nothing: `supported` adds what `accept_supported` would; `automatic` is what the command line
        merges.
        """
        return self._deciding.merged(refinement_id, upto, preview)

    def preview(self, refinement_id: str, change_id: str) -> EitherWay:
        """The skill without and with a change, the others as decided: what accepting it does. Decides nothing.

        Raises StoreError when the refinement has no such change.
        """
        return self._deciding.preview(refinement_id, change_id)

    def carry_over(self, from_refinement: str, to_refinement: str) -> int:
        """Brings decisions on equal changes to a later refinement as `carried` events; how many."""
        return self._deciding.carry_over(from_refinement, to_refinement)

    def trace(self, trace_id: str, *, refinement_id: str | None = None) -> TraceView:
        """A trace with its quotes. Raises StoreError when there is none of that id."""
        return self._evidence.trace(trace_id, refinement_id)

    def nearest_opposite(self, refinement_id: str, change_id: str, n: int = 5) -> list[TraceView]:
        """Counter-examples: the nearest training traces of the other outcome, those of the same tasks first."""
        return self._evidence.nearest_opposite(refinement_id, change_id, n)

    def counted(self, refinement_id: str, change_id: str) -> dict[str, tuple[Counted, ...]]:
        """Every run that a change's behaviour was counted on, by group, with its witness; empty when it was not."""
        return self._evidence.counted(refinement_id, change_id)

    def exports(self, refinement_id: str) -> Exports:
        """Everything that can be downloaded now."""
        return self._exporting.exports(refinement_id)
