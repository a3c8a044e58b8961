"""What front ends show of the evidence as a whole: the held-out tasks. Plain values; nothing is read."""

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
