"""What stands behind a contrast: every counted run with its witness, the power of the test, what a fact explains."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from refiner import behaviours
from refiner.gate.measured import CANNOT_DECIDE
from refiner.ports import Labelled
from refiner.types import Contrast, ContrastTable

GROUPS = ("failing with it", "passing with it", "failing without it", "passing without it")


@dataclass(frozen=True, slots=True)
class Counted:
    """One run of a contrast. `at`: the message where the behaviour shows (its witness); None where it does not hold."""

    item: Labelled
    holds: bool
    at: int | None

    @property
    def group(self) -> str:
        ended = "failing" if self.item.outcome.status == "fail" else "passing"
        return f"{ended} {'with' if self.holds else 'without'} it"


def counted(contrast: Contrast, items: Iterable[Labelled]) -> dict[str, tuple[Counted, ...]]:
    """The runs to which the behaviour applies, by group (`GROUPS`, all four), in the order of the items."""
    holds, applies = set(contrast.holds), set(contrast.applies)
    predicate = behaviours.parse(contrast.predicate)
    found: dict[str, list[Counted]] = {group: [] for group in GROUPS}
    for item in items:
        if item.trace.id in applies:
            shows = item.trace.id in holds
            one = Counted(item, shows, predicate.witness(item.trace) if shows else None)
            found[one.group].append(one)
    return {group: tuple(runs) for group, runs in found.items()}


def power(contrast: Contrast) -> str:
    """How much the counts could have shown at all, in one sentence."""
    if not contrast.matched:
        return (
            "Power: fewer than 3 tasks have both outcomes, so runs are not compared within tasks: this can rank a "
            "change and refute it, never support it."
        )
    if contrast.p is None or contrast.attainable_p is None:
        return "Power: it was not tested."
    tasks = f"{contrast.informative_tasks} informative {'task' if contrast.informative_tasks == 1 else 'tasks'}"
    best = f"Power: the clearest outcome that {tasks} allow has p = {contrast.attainable_p:.2g}"
    if contrast.q is None:
        return f"{best}; it is not one of the corrected tests."
    if CANNOT_DECIDE in contrast.words:
        return f"{best}, too weak after correction for {contrast.m} tests: this corpus cannot decide it."
    return f"{best}, which would pass the correction for {contrast.m} tests: this corpus can decide it."


def explained_by(table: ContrastTable, fact: str) -> tuple[Contrast, ...]:
    """The behaviours that go with failure only because this fact does, strongest first."""
    return tuple(one for one in table.contrasts if one.explained_by == fact)


def in_words(predicate: str) -> str:
    """What a run did, for a person."""
    return behaviours.phrase(predicate).occurs
