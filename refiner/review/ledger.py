"""What people made of the gate's answers, by criterion and by reviewer, and how far second looks agree with the first.

Pure: a board and a decision log in, counts out. A person who decides an undecided change overrides nobody.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

from refiner.ids import unit_hash
from refiner.review.board import Board
from refiner.review.log import Standing, effect
from refiner.types import Criterion, Decision, Verdict

CRITERIA = ("occurs", "causes", "general", "covered", "harmful")
GOOD = {"occurs": "yes", "causes": "yes", "general": "yes", "covered": "no", "harmful": "no"}
"""The answer of each criterion that speaks for a change."""
MEANS = {
    "not_supported": ("occurs", "causes"),
    "too_specific": ("general",),
    "already_covered": ("covered",),
    "harmful": ("harmful",),
}
"""The criteria that a reason for a rejection is about."""
SHARE = 0.1
"""The share of accepted changes that come back for a second look."""


@dataclass(frozen=True, slots=True)
class Tally:
    """How often an answer of the gate met a person's decision, and how often that went the other way."""

    name: str
    met: int
    overridden: int


@dataclass(frozen=True, slots=True)
class Person:
    """One reviewer: decisions that count, and those against a supported or an unsupported verdict."""

    name: str
    decided: int
    accepted: int
    rejected: int
    against: int
    ruled: int
    """Of the decisions, those on changes that the gate supported or did not support."""


@dataclass(frozen=True, slots=True)
class Look:
    """A second look at an accepted change: what was said without seeing the verdict or the first answer."""

    change_id: str
    answer: str
    reviewer: str
    at: str
    first_reviewer: str

    @property
    def agrees(self) -> bool:
        return self.answer == "accept"


@dataclass(frozen=True, slots=True)
class Ledger:
    """The gate against people. `looks`: second looks; `due`: changes that wait for one, in the order they come back."""

    criteria: tuple[Tally, ...]
    people: tuple[Person, ...]
    looks: tuple[Look, ...]
    due: tuple[str, ...]


def ledger(board: Board, now: Standing, looks: Sequence[Look]) -> Ledger:
    """The ledger of a review as it stands; what was carried over from an earlier refinement counts there."""
    made = [one for key, one in now.latest.items() if key in board.rows and one.action != "carried"]
    made = [one for one in made if effect(one) in ("accept", "amend", "reject")]
    made.sort(key=lambda one: (one.decided_at, one.change_id))
    tallies = tuple(_tally(name, board, made) for name in CRITERIA)
    people = tuple(_person(name, board, made) for name in sorted({one.reviewer for one in made}))
    return Ledger(tallies, people, tuple(looks), due(board, now, looks))


def _tally(name: str, board: Board, made: Sequence[Decision]) -> Tally:
    met = overridden = 0
    for decision in made:
        for verdict in board.rows[decision.change_id].verdicts:
            found = _overrides(decision, verdict, name)
            met += found is not None
            overridden += bool(found)
    return Tally(name, met, overridden)


def _overrides(decision: Decision, verdict: Verdict, name: str) -> bool | None:
    """Whether a decision goes against one answer; None when the gate had none, or the decision says nothing of it."""
    criterion = next((one for one in verdict.criteria if one.name == name), None)
    if criterion is None or criterion.answer == "unknown":
        return None
    speaks_for = _speaks_for(criterion)
    if effect(decision) in ("accept", "amend"):
        return not speaks_for
    if name in MEANS.get(decision.reason_code, ()):
        return speaks_for
    return None if speaks_for else False


def _speaks_for(criterion: Criterion) -> bool:
    return criterion.answer == GOOD[criterion.name]


def _person(name: str, board: Board, made: Sequence[Decision]) -> Person:
    mine = [one for one in made if one.reviewer == name]
    rejected = sum(effect(one) == "reject" for one in mine)
    ruled = [one for one in mine if board.rows[one.change_id].result in ("supported", "unsupported")]
    against = sum((effect(one) == "reject") == (board.rows[one.change_id].result == "supported") for one in ruled)
    return Person(name, len(mine), len(mine) - rejected, rejected, against, len(ruled))


def due(board: Board, now: Standing, looks: Sequence[Look]) -> tuple[str, ...]:
    """The accepted changes that come back: a tenth of them, at least one, by a seeded choice; once nothing is open."""
    if any(change_id not in now.latest for change_id in board.rows):
        return ()
    inside = [one for one in board.rows if effect(now.latest.get(one)) in ("accept", "amend")]
    order = sorted(inside, key=lambda one: (unit_hash(f"second look {board.report.refinement_id} {one}"), one))
    looked = {one.change_id for one in looks}
    return tuple(one for one in order[: ceil(len(inside) * SHARE)] if one not in looked)
