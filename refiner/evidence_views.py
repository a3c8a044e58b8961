"""What front ends show of the evidence as a whole: held-out tasks, how steady the gate is. Plain values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from refiner.types import HeldOut


@dataclass(frozen=True, slots=True)
class HeldOutView:
    """The held-out tasks of a refinement. `none`: nothing was held out; `elsewhere`: sealed, in another database.

    `words`: what a person should know, in sentences. `found`: what they say, once opened.
    """

    state: Literal["none", "sealed", "opened", "elsewhere"]
    words: tuple[str, ...]
    tasks: int
    traces: int
    found: HeldOut | None = None


@dataclass(frozen=True, slots=True)
class GateView:
    """How steady the gate of a refinement is, in sentences.

    `calls`: what asking it again would take; 0 = there is nobody to ask. `votes`: what more votes would cost.
    """

    words: tuple[str, ...]
    votes: str
    calls: int
