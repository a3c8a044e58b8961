"""Equal samples of both outcomes for a contrast that is judged. Selection only: nothing is asked or counted here."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from refiner.ids import unit_hash
from refiner.ports import Labelled
from refiner.sides import SIDES, of_side

A_SIDE = 12
"""Runs of each outcome that a proposal is judged on: enough for an exact test to reach 0.05, few enough to pay for."""


def equal_sample(items: Sequence[Labelled], most: int = A_SIDE) -> tuple[Labelled, ...]:
    """As many failing as passing runs, at most `most` of each, in an order that tells nothing of their outcome.

    Tasks with both outcomes come first, one run of each from every task before any has a second.
    """
    both = set.intersection(*({item.trace.task_id for item in of_side(items, side)} for side in SIDES))
    ranked = [_by_turns(of_side(items, side), both) for side in SIDES]
    count = min(most, *map(len, ranked))
    return tuple(sorted((item for one in ranked for item in one[:count]), key=_by_chance))


def _by_turns(items: Sequence[Labelled], first: set[str]) -> list[Labelled]:
    seen: defaultdict[str, int] = defaultdict(int)
    ranked = []
    for item in sorted(items, key=_by_chance):
        task = item.trace.task_id
        ranked.append((task not in first, seen[task], unit_hash(task), item))
        seen[task] += 1
    return [item for *_, item in sorted(ranked, key=lambda one: one[:3])]


def _by_chance(item: Labelled) -> tuple[int, str]:
    return unit_hash(item.trace.external_id), item.trace.external_id
