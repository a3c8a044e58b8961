"""From significant behaviours to facts: one statement a set of runs, and only what no stronger fact explains."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from refiner.gate.cohort import Bools, Cohort, Ints, count, jaccard
from refiner.gate.family import preference

SAME_SET = 0.8
"""Jaccard index from which two sets of runs count as one."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A behaviour that reached significance, stated in the direction that goes with failure, with its p."""

    predicate: str
    holds: Bools
    applies: Bools
    p: float


@dataclass(frozen=True, slots=True)
class Facts:
    """`order` = the facts as they were taken; `explained` = every other candidate -> the fact that explains it."""

    order: tuple[str, ...]
    explained: dict[str, str]


def select(cohort: Cohort, candidates: Sequence[Candidate], gate_q: float) -> Facts:
    """Merges equal sets of runs, then takes facts one by one, each time dropping what the taken ones explain."""
    standing, merged = _merge(candidates)
    order, dropped = _forward(cohort, standing, gate_q)
    final = {predicate: dropped.get(stand, stand) for predicate, stand in merged.items()}
    return Facts(tuple(order), {**dropped, **final})


def _merge(candidates: Sequence[Candidate]) -> tuple[list[Candidate], dict[str, str]]:
    """The candidates whose statement stands, and for each other one the statement that stands for it."""
    standing: list[Candidate] = []
    merged: dict[str, str] = {}
    for candidate in sorted(candidates, key=lambda one: preference(one.predicate)):
        same = [one for one in standing if jaccard(one.holds, candidate.holds) >= SAME_SET]
        if same:
            merged[candidate.predicate] = same[0].predicate
        else:
            standing.append(candidate)
    return standing, merged


def _forward(cohort: Cohort, standing: Sequence[Candidate], gate_q: float) -> tuple[list[str], dict[str, str]]:
    strata = cohort.strata
    rest = [(candidate.p, candidate) for candidate in standing]
    order: list[str] = []
    dropped: dict[str, str] = {}
    while rest:
        _, taken = min(rest, key=lambda pair: (pair[0], preference(pair[1].predicate)))
        order.append(taken.predicate)
        strata = _split(strata, taken)
        left = [candidate for _, candidate in rest if candidate is not taken]
        rest = []
        for candidate, p in zip(left, _conditional(cohort, left, strata), strict=True):
            if p > gate_q:
                dropped[candidate.predicate] = taken.predicate
            else:
                rest.append((p, candidate))
    return order, dropped


def _split(strata: Ints, fact: Candidate) -> Ints:
    """Strata divided by whether the fact holds, does not hold, or does not apply."""
    codes = strata * 3 + np.where(fact.applies, np.where(fact.holds, 2, 1), 0)
    return np.unique(codes, return_inverse=True)[1].astype(np.int64)


def _conditional(cohort: Cohort, candidates: Sequence[Candidate], strata: Ints) -> list[float]:
    if not candidates:
        return []
    holds = np.column_stack([candidate.holds for candidate in candidates])
    applies = np.column_stack([candidate.applies for candidate in candidates])
    return [counts.tails.upper for counts in count(cohort, holds, applies, strata)]
