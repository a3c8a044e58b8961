"""The ledger of a review, and the second looks that are written down for it. Decides nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from refiner import codec
from refiner.errors import DecisionRefused
from refiner.review.ledger import Ledger, Look, ledger
from refiner.review.rules import DWELL
from refiner.workspace.deciding import Deciding

SECOND = "second_look"
Answer = Literal["accept", "reject", "unsure"]


@dataclass(frozen=True, slots=True)
class Ledgers:
    """Ledgers of one database."""

    deciding: Deciding

    def ledger(self, refinement_id: str) -> Ledger:
        """The gate against people as it stands."""
        board, now = self.deciding.standing(refinement_id)
        return ledger(board, now, self._looks(refinement_id))

    def look(self, refinement_id: str, change_id: str, answer: Answer, shown_at: float) -> Ledger:
        """Writes a second look down; the decision stays. Raises DecisionRefused when it is not due, or was too fast."""
        room = self.deciding.room
        if room.clock() - shown_at < DWELL:
            raise DecisionRefused("that was too fast to have been read; look at it, then answer", "too_fast")
        with self.deciding.lock:
            if change_id not in self.ledger(refinement_id).due:
                raise DecisionRefused("this change does not wait for a second look (any more)", "stale")
            _, now = self.deciding.standing(refinement_id)
            made = Look(change_id, answer, room.reviewer(), room.now(), now.latest[change_id].reviewer)
            room.store.event(refinement_id, SECOND, codec.to_plain(made))
            return self.ledger(refinement_id)

    def _looks(self, refinement_id: str) -> list[Look]:
        found = self.deciding.room.store.events(refinement_id, SECOND)
        return [codec.from_plain(Look, event.body) for event in found]
