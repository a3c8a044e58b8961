"""The part of the desk on evidence as a whole: the held-out tasks. One method a read or a command."""

from __future__ import annotations

from refiner.evidence_views import HeldOutView
from refiner.workspace.heldout import Seal


class EvidenceDesk:
    """What a workspace says of its evidence beyond single changes."""

    _seal: Seal

    def held_out(self, refinement_id: str) -> HeldOutView:
        """The held-out tasks: none, sealed, or what they say of the changes accepted now."""
        return self._seal.view(refinement_id)

    def open_held_out(self, refinement_id: str) -> HeldOutView:
        """Opens them, as the reviewer, which is written down; later decisions are marked. Raises ConfigError."""
        return self._seal.open(refinement_id)
