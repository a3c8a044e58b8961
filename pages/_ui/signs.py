"""What suggests an outcome, in words: the kinds of signs in their order. Draws nothing, reads nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from refiner.views import SuggestionRow

WORDS: Final = {"pass": "passed", "fail": "failed", "infrastructure": "infrastructure"}
KINDS: Final[Mapping[str, tuple[str, str]]] = {
    "infrastructure": ("Service broke", "A service broke at the end"),
    "correction": ("Corrected", "The user corrected what was done"),
    "interruption": ("Interrupted", "The user interrupted"),
    "approval": ("Approved", "The user was content"),
    "redo": ("Done again", "Done again after a correction, without complaint"),
    "tests_failed": ("Tests failed", "Tests failed at the end"),
    "tests_passed": ("Tests passed", "Tests passed at the end"),
    "last_error": ("Last error", "The last call failed and nothing followed"),
}
OTHER: Final = ("Other", "Another sign")
SAID: Final = frozenset({"correction", "interruption", "approval", "redo"})
"""Signs that are words of the user; the rest are of tools and tests."""


def by_kind(rows: Sequence[SuggestionRow]) -> dict[str, list[SuggestionRow]]:
    """The suggestions of each kind, kinds in the order in which they are answered."""
    order = {kind: place for place, kind in enumerate(KINDS)}
    found: dict[str, list[SuggestionRow]] = {}
    for row in sorted(rows, key=lambda row: (order.get(row.kind, len(order)), row.kind)):
        found.setdefault(row.kind, []).append(row)
    return found


def short(kind: str) -> str:
    """A kind in a word or two."""
    return KINDS.get(kind, OTHER)[0]


def meaning(kind: str) -> str:
    """A kind as a sentence without its stop."""
    return KINDS.get(kind, OTHER)[1]


def guess(rows: Sequence[SuggestionRow]) -> str:
    """The outcome that suggestions of a kind stand for; each one that occurs."""
    return " or ".join(dict.fromkeys(WORDS.get(row.status, row.status) for row in rows))
