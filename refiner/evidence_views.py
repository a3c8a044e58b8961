"""What front ends show of the evidence as a whole: held-out tasks, how steady the gate is. Plain values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from refiner.model_views import Asks
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
class GateJob:
    """A gate being asked again: `done` of `total` questions. `words`: why it stopped before its end.

    `asks`: where its requests lie while replies are waited for.
    """

    status: Literal["running", "cancelling", "waiting", "failed", "cancelled", "interrupted"]
    done: int = 0
    total: int = 0
    words: str = ""
    asks: Asks | None = None

    @property
    def at_work(self) -> bool:
        return self.status in ("running", "cancelling")


@dataclass(frozen=True, slots=True)
class GateView:
    """How steady the gate of a refinement is, in sentences.

    `calls`: what asking it again would take; 0 = there is nobody to ask. `votes`: what more votes would cost.
    `claims`: how many claims it can be measured on whose truth is known; 0 = not here. `job`: the latest measurement
    while it is at work, or when it did not come to its end.
    """

    words: tuple[str, ...]
    votes: str
    calls: int
    claims: int = 0
    job: GateJob | None = None
