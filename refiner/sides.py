"""The two sides of a corpus: what failed and what passed. Pure selection, nothing measured."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from refiner.ports import Labelled
from refiner.types import Side

SIDES: tuple[Side, ...] = ("failure", "success")


def side_of(item: Labelled) -> Side:
    """The side a training trace belongs to (training traces either pass or fail)."""
    return "failure" if item.outcome.status == "fail" else "success"


def other(side: Side) -> Side:
    return "success" if side == "failure" else "failure"


Identity = str | Mapping[Side, str]
"""What a stage's replies depend on, for both sides at once or by side."""


def identity_of(analyst: Identity, side: Side) -> str:
    return analyst if isinstance(analyst, str) else analyst[side]


def of_side(items: Sequence[Labelled], side: Side) -> list[Labelled]:
    return [item for item in items if side_of(item) == side]


def enabled(items: Sequence[Labelled], sides: Sequence[Side], min_side: int) -> list[Labelled]:
    """The traces of the sides that are asked for and have at least `min_side` traces."""
    usable = {side for side in sides if len(of_side(items, side)) >= min_side}
    return [item for item in items if side_of(item) in usable]


def tasks_of(items: Iterable[Labelled]) -> set[str]:
    """The distinct tasks among the traces."""
    return {item.trace.task_id for item in items}
