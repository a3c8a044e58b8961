"""What front ends show of conversations: why an outcome is suggested, and what a cut gave. Nothing is read."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from refiner.model_views import Asks

SIGNS = {
    "correction": "corrected",
    "interruption": "interrupted",
    "approval": "approved",
    "redo": "done again",
}
"""Why an outcome is suggested, in a word."""


@dataclass(frozen=True, slots=True)
class CutReport:
    """What became of the conversations of a corpus: the corpus of their attempts, and counts.

    `skipped`: attempts that nothing is learned from, by reason. `added`: attempts that were not there before.
    """

    corpus: str
    conversations: int
    failing: int
    passing: int
    skipped: dict[str, int]
    added: int


@dataclass(frozen=True, slots=True)
class CutJob:
    """Conversations being cut by a model: `done` of `total` are read. `words`: why it stopped before its end.

    `asks`: how it asks, and where its requests lie while replies are waited for. `usage`: what all cuts of this corpus
    have taken. `failed`: conversations left out for want of a usable reply, each with its reason.
    """

    status: Literal["running", "cancelling", "waiting", "limit", "failed", "cancelled", "interrupted", "done"]
    done: int = 0
    total: int = 0
    words: str = ""
    asks: Asks | None = None
    usage: dict[str, Any] = field(default_factory=dict)
    report: CutReport | None = None
    failed: tuple[str, ...] = ()

    @property
    def at_work(self) -> bool:
        return self.status in ("running", "cancelling")
