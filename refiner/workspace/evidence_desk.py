"""The part of the desk on evidence as a whole: held-out tasks, people against the gate. A method a read or command."""

from __future__ import annotations

from refiner.evidence_views import GateView, HeldOutView
from refiner.model_views import NO_KEYS, Keys
from refiner.review.ledger import Ledger
from refiner.workspace.gates import Gates
from refiner.workspace.heldout import Seal
from refiner.workspace.ledgers import Answer, Ledgers
from refiner.workspace.measuring import Measuring


class EvidenceDesk:
    """What a workspace says of its evidence beyond single changes."""

    _seal: Seal
    _ledgers: Ledgers
    _gates: Gates
    _measuring: Measuring

    def held_out(self, refinement_id: str) -> HeldOutView:
        """The held-out tasks: none, sealed, or what they say of the changes accepted now."""
        return self._seal.view(refinement_id)

    def open_held_out(self, refinement_id: str) -> HeldOutView:
        """Opens them, as the reviewer, which is written down; later decisions are marked. Raises ConfigError."""
        return self._seal.open(refinement_id)

    def ledger(self, refinement_id: str) -> Ledger:
        """How often people went against the gate, by criterion and reviewer, and the second looks."""
        return self._ledgers.ledger(refinement_id)

    def look_again(self, refinement_id: str, change_id: str, answer: Answer, *, shown_at: float) -> Ledger:
        """Answers a second look at an accepted change; the decision stays. Raises DecisionRefused."""
        return self._ledgers.look(refinement_id, change_id, answer, shown_at)

    def gate(self, refinement_id: str) -> GateView:
        """How steady the verdicts of a refinement are, and what more votes would cost. Raises NotReady."""
        return self._gates.view(refinement_id)

    def calibrate(self, refinement_id: str, keys: Keys = NO_KEYS, *, planted: bool = False) -> None:
        """Starts asking the gate the same questions again, as often as `gate` says; that tells how it goes.

        `planted`: also on the sample corpus, whose faults are known. Raises ConfigError, or JobRunning.
        """
        self._measuring.start(refinement_id, keys, planted=planted)

    def cancel_calibration(self, refinement_id: str) -> None:
        """Stops asking; nothing of it counts. Nothing happens when it is not at work."""
        self._measuring.cancel(refinement_id)
