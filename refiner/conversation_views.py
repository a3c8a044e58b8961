"""What front ends show of conversations: why an outcome is suggested, and what a cut gave. Nothing is read."""

from __future__ import annotations

from dataclasses import dataclass

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
