"""What one set of counts says: whether it is a cause, and the words for it. No selection, no other predicates."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from refiner.gate.cohort import Bools, Cohort, Counts
from refiner.gate.statistics import Tails
from refiner.types import Answer, Contrast

CANNOT_DECIDE = "this corpus cannot decide it"
MIN_TASKS = 3
"""Distinct tasks from which anything counts as more than one repeated or poisoned task."""
MIN_REFUTING_TASKS = 6
"""Informative tasks from which a difference of zero or less refutes a cause."""
MIN_REFUTING_TRACES = 10
"""The same where runs are not matched: tested runs of each outcome."""


@dataclass(frozen=True, slots=True)
class Measured:
    """A predicate with its counts, in the direction that goes with failure or is claimed to. `tails.upper` is its p.

    `atoms` = the atoms that hold exactly where it does. `holds`, `applies`: one entry a run of the cohort.
    """

    predicate: str
    holds: Bools
    applies: Bools
    counts: Counts
    tails: Tails
    atoms: tuple[str, ...] = ()

    @property
    def p(self) -> float:
        return self.tails.upper


def turned(counts: Counts, tails: Tails) -> tuple[Counts, Tails]:
    """The same counts and p values for the opposite statement."""
    opposite = replace(
        counts,
        strata=tuple((n, f, n - h) for n, f, h in counts.strata),
        observed=sum(f for _, f, _ in counts.strata) - counts.observed,
        excess=-counts.excess,
        failures_with=counts.failures - counts.failures_with,
        passes_with=counts.passes - counts.passes_with,
    )
    return opposite, Tails(tails.lower, tails.upper, tails.lower_least, tails.upper_least)


def contrast(
    cohort: Cohort, found: Measured, *, q: float | None, m: int, gate_q: float, decidable: bool = True
) -> Contrast:
    """The record of a measured predicate. q None = it is not one of the corrected tests."""
    runs = found.holds & cohort.failing
    causes = _causes(cohort, found, q, gate_q)
    applying = found.applies & cohort.failing, found.applies & ~cohort.failing
    return Contrast(
        predicate=found.predicate,
        failures=int(np.count_nonzero(applying[0])),
        failures_with=int(np.count_nonzero(runs)),
        passes=int(np.count_nonzero(applying[1])),
        passes_with=int(np.count_nonzero(found.holds & ~cohort.failing)),
        tasks_with=len(np.unique(cohort.tasks[runs])),
        informative_tasks=found.counts.informative if cohort.matched else 0,
        matched=cohort.matched,
        p=found.p,
        q=q,
        m=m,
        attainable_p=found.tails.upper_least,
        causes=causes,
        words=_words(cohort, found, q, m, causes, decidable=decidable),
        holds=_ids(cohort, found.holds),
        applies=_ids(cohort, found.applies),
    )


def _ids(cohort: Cohort, rows: Bools) -> tuple[str, ...]:
    return tuple(cohort.ids[row] for row in np.flatnonzero(rows))


def _causes(cohort: Cohort, found: Measured, q: float | None, gate_q: float) -> Answer:
    counts = found.counts
    if cohort.matched:
        if q is not None and q <= gate_q and counts.informative >= MIN_TASKS:
            return "yes"
        is_enough = counts.informative >= MIN_REFUTING_TASKS
    else:
        is_enough = min(counts.failures, counts.passes) >= MIN_REFUTING_TRACES
    difference = counts.excess if cohort.matched else counts.lean
    return "no" if is_enough and difference <= 1e-9 else "unknown"


def _words(cohort: Cohort, found: Measured, q: float | None, m: int, causes: Answer, *, decidable: bool) -> str:
    counts = found.counts
    if not cohort.matched:
        shares = f"{counts.failures_with} of {counts.failures} against {counts.passes_with} of {counts.passes}"
        goes = "goes with failure" if counts.lean > 1e-9 else "does not go with failure"
        return f"{goes} ({shares}{_sample(cohort)}), not matched by task"
    shares = (
        f"{counts.failures_with} of {counts.failures} failing and {counts.passes_with} of {counts.passes} passing runs"
    )
    test = f"p = {found.p:.2g}, q = {q:.2g} (m = {m})" if q is not None else f"p = {found.p:.2g}, uncorrected"
    refuted = ", no excess in failing runs" if causes == "no" else ""
    if decidable:
        return f"{shares}; within {counts.informative} {_noun(counts.informative)} {test}{refuted}"
    return f"{shares}; {CANNOT_DECIDE} ({counts.informative} informative {_noun(counts.informative)})"


def _sample(cohort: Cohort) -> str:
    return "" if cohort.tested.all() else ", one run a task"


def _noun(number: int) -> str:
    return "task" if number == 1 else "tasks"
