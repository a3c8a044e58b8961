"""The gate against people in words and as data, for the app, the report and the export. Counts nothing itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from refiner.codec import to_plain
from refiner.gate.heldout import clopper_pearson

if TYPE_CHECKING:
    from refiner.review.ledger import Ledger, Tally

QUESTIONS = {
    "occurs": "occurs",
    "causes": "causes the failures",
    "general": "is general",
    "covered": "is covered already",
    "harmful": "is harmful",
}


def rate(part: int, whole: int) -> str:
    """`2 of 9 (22%; 95 % interval 3% to 60%)`."""
    if not whole:
        return "nothing to compare"
    low, high = clopper_pearson(part, whole)
    return f"{part} of {whole} ({part / whole:.0%}; 95 % interval {low:.0%} to {high:.0%})"


def second_words(found: Ledger) -> str:
    """How far second looks agree with the first decision, in one sentence; empty before the first one."""
    if not found.looks:
        return ""
    agreed = sum(one.agrees for one in found.looks)
    looked = len(found.looks)
    changes = "change" if looked == 1 else "changes"
    return (
        f"Second look, without verdict and earlier answer, at {looked} accepted {changes}: accepted again in "
        f"{rate(agreed, looked)}."
    )


def people_words(found: Ledger) -> list[str]:
    """One sentence a reviewer."""
    return [
        f"{one.name or 'Somebody'} decided on {one.decided} {'change' if one.decided == 1 else 'changes'} "
        f"({one.accepted} accepted, {one.rejected} rejected), against the gate in {rate(one.against, one.ruled)}."
        for one in found.people
    ]


def rows(found: Ledger) -> list[tuple[str, str]]:
    """(criterion, overridden) of the criteria that met a decision."""
    return [(QUESTIONS[one.name], rate(one.overridden, one.met)) for one in found.criteria if one.met]


def as_plain(found: Ledger) -> dict[str, Any]:
    """Criteria, people and second looks as numbers, with exact 95 % intervals of the override rates."""
    agreed = sum(one.agrees for one in found.looks)
    return {
        "criteria": [{**to_plain(one), "interval": _interval(one)} for one in found.criteria],
        "people": to_plain(found.people),
        "second_look": {"looks": to_plain(found.looks), "agreed": agreed, "waiting": list(found.due)},
    }


def _interval(one: Tally) -> list[float] | None:
    return [round(edge, 4) for edge in clopper_pearson(one.overridden, one.met)] if one.met else None
