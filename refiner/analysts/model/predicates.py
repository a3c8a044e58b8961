"""The vocabulary that a model may pick a behaviour from, and whether its pick holds where it says it does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from refiner import behaviours
from refiner.ports import Labelled, ProposalRequest
from refiner.types import Contrast, Side

MOST = 100  # predicates; those that mark the group less are no choice
MARK = " | "
"""Between a predicate and its counts, in the list that a model is shown."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """A canonical predicate, or None; `note` says why a pick was dropped."""

    predicate: str | None
    note: str = ""

    @classmethod
    def of_fact(cls, name: str, side: Side) -> Chosen:
        return cls(behaviours.negate(name) if side == "success" else name)


def offered(request: ProposalRequest) -> list[str]:
    """The measured predicates in the direction of the group's side, those that mark the group most first."""
    rows = [row for contrast in request.contrasts if (row := _row(request, contrast)) is not None]
    return [line for _, line in sorted(rows)][:MOST]


def _row(request: ProposalRequest, contrast: Contrast) -> tuple[tuple[float, str], str] | None:
    """Sort key and line; None for a predicate that is as common on the other side."""
    failing = request.group.side == "failure"
    holds, applies = set(contrast.holds), set(contrast.applies)
    wanted = holds if failing else applies - holds
    here = sum(item.trace.id in wanted for item in request.members)
    if not here:
        return None
    text = contrast.predicate if failing else behaviours.negate(contrast.predicate)
    there, of = (
        (contrast.passes_with, contrast.passes)
        if failing
        else (contrast.failures - contrast.failures_with, contrast.failures)
    )
    gap = here / len(request.members) - there / max(of, 1)
    if gap <= 0:
        return None
    who = "passing" if failing else "failing"
    fact = "; goes with the outcome within tasks" if contrast.is_fact else ""
    line = f"{text}{MARK}{here} of {len(request.members)} here, {there} of {of} {who} runs{fact}"
    return (-round(gap, 6), text), line


def choose(picked: str | None, items: Sequence[Labelled], *, named: str) -> Chosen:
    """The predicate that a model picked, canonical; dropped with a note when it is none or fails on most `items`."""
    text = (picked or "").split(MARK)[0].strip(" `")
    if not text or text.lower() in ("null", "none"):
        return Chosen(None)
    try:
        predicate = behaviours.parse(text)
    except behaviours.PredicateError as error:
        return Chosen(None, f"(Its behaviour was dropped: {error}.)")
    shown = sum(predicate.holds(item.trace) is True for item in items)
    if 2 * (len(items) - shown) > len(items):
        where = f"{len(items) - shown} of the {len(items)} {named} runs"
        return Chosen(None, f"(Its behaviour {predicate} was dropped: it does not hold in {where}.)")
    return Chosen(str(predicate))
