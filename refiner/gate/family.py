"""The family of tests: one distinct set of runs each, fixed before anything else is looked at. No outcomes here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from refiner.behaviours import negate
from refiner.gate.cohort import Bools, Cohort

MIN_COUNT = 5
"""Runs that must show a behaviour, and runs that must not, before it is tested (either fewer: no test has power)."""


@dataclass(frozen=True, slots=True)
class Member:
    """A distinct set of runs: `plain` atoms hold exactly there, `opposite` ones in the rest of where it applies."""

    holds: Bools
    applies: Bools
    plain: tuple[str, ...]
    opposite: tuple[str, ...]

    def statement(self, *, holds: bool) -> str:
        """The best text that says "in the set" (`holds`) or "in the rest"."""
        same, other = (self.plain, self.opposite) if holds else (self.opposite, self.plain)
        return min([*same, *map(negate, other)], key=preference)


def preference(text: str) -> tuple[int, int, str]:
    """Sort key of statements about one set of runs: what was called, then results, then negations; short first."""
    kind = text.split("(", 1)[0]
    ranks = {"called": 0, "absent": 0, "result": 2, "not": 3}
    return ranks.get(kind, 1), len(text), text


def members(cohort: Cohort, atoms: Sequence[str], holds: Bools, applies: Bools) -> list[Member]:
    """The testable distinct sets up to complement, in the order of their first atom."""
    tested_holds, tested_applies = holds[cohort.tested], applies[cohort.tested]
    counts, runs = tested_holds.sum(axis=0), tested_applies.sum(axis=0)
    columns = np.flatnonzero((counts >= MIN_COUNT) & (counts <= runs - MIN_COUNT)).tolist()
    found: dict[tuple[bytes, bytes], tuple[int, list[str], list[str]]] = {}
    for column in columns:
        held, applied = holds[:, column], applies[:, column]
        reach = np.packbits(applied).tobytes()
        key, opposite_key = (np.packbits(held).tobytes(), reach), (np.packbits(applied & ~held).tobytes(), reach)
        if opposite_key in found:
            found[opposite_key][2].append(atoms[column])
        else:
            found.setdefault(key, (column, [], []))[1].append(atoms[column])
    return [
        Member(holds[:, column], applies[:, column], tuple(plain), tuple(opposite))
        for column, plain, opposite in found.values()
    ]
