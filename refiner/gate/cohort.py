"""The runs a contrast compares, and the counts of a behaviour over them, stratum by stratum. No words, no decisions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from refiner.behaviours import table, task_of
from refiner.gate.statistics import Stratum, Tails, conditional_tails, is_informative
from refiner.ids import unit_hash
from refiner.ports import Labelled
from refiner.types import Trace

MIN_MIXED_TASKS = 3
"""Tasks with both outcomes from which runs are compared within tasks; fewer, and one run a task is compared."""

Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Cohort:
    """The passing and failing runs in external-id order. All arrays have one entry a run.

    `tasks` = index of the run's task; `tested` = the run takes part in the tests; `strata` = what runs are compared
    within: the task when matched, else everything.
    """

    traces: tuple[Trace, ...]
    ids: tuple[str, ...]
    failing: Bools
    tasks: Ints
    tested: Bools
    strata: Ints
    matched: bool


@dataclass(frozen=True, slots=True)
class Counts:
    """One behaviour over a cohort. `strata` have runs of both outcomes; `excess` = observed minus expected failures.

    `failures` and `passes` are the tested runs it applies to, `..._with` those that show it.
    """

    strata: tuple[Stratum, ...]
    observed: int
    excess: float
    failures: int
    failures_with: int
    passes: int
    passes_with: int

    @property
    def informative(self) -> int:
        return sum(map(is_informative, self.strata))

    @property
    def tails(self) -> Tails:
        return conditional_tails(self.strata, self.observed)

    @property
    def lean(self) -> float:
        """Above zero when the behaviour goes with failure: within strata, and where these are silent, overall."""
        if abs(self.excess) > 1e-9 or not self.failures or not self.passes:
            return 0.0 if abs(self.excess) <= 1e-9 else self.excess
        return self.failures_with / self.failures - self.passes_with / self.passes


def cohort_of(labelled: Iterable[Labelled]) -> Cohort:
    """The cohort of all runs that passed or failed."""
    items = [item for item in labelled if item.outcome.status in ("pass", "fail")]
    items.sort(key=lambda item: item.trace.external_id)
    traces = tuple(item.trace for item in items)
    failing = np.array([item.outcome.status == "fail" for item in items], dtype=bool)
    names = [task_of(trace) for trace in traces]
    numbers = {name: number for number, name in enumerate(dict.fromkeys(names))}
    tasks = np.array([numbers[name] for name in names], dtype=np.int64)
    mixed = len(set(tasks[failing].tolist()) & set(tasks[~failing].tolist()))
    matched = mixed >= MIN_MIXED_TASKS
    tested = np.ones(len(traces), dtype=bool) if matched else _one_a_task(traces, names)
    strata = tasks if matched else np.zeros_like(tasks)
    return Cohort(traces, tuple(trace.id for trace in traces), failing, tasks, tested, strata, matched)


def _one_a_task(traces: Sequence[Trace], names: Sequence[str]) -> Bools:
    """The run with the smallest hash of its external id, of each task."""
    chosen: dict[str, tuple[int, str, int]] = {}
    for row, (trace, name) in enumerate(zip(traces, names, strict=True)):
        rank = (unit_hash(trace.external_id), trace.external_id, row)
        chosen[name] = min(chosen.get(name, rank), rank)
    tested = np.zeros(len(traces), dtype=bool)
    tested[[row for _, _, row in chosen.values()]] = True
    return tested


def truth(cohort: Cohort, predicates: Sequence[str]) -> tuple[Bools, Bools]:
    """`(holds, applies)`, `(runs, predicates) bool` each."""
    return table(cohort.traces, predicates)


def count(cohort: Cohort, holds: Bools, applies: Bools, strata: Ints | None = None) -> list[Counts]:
    """The counts of each column of `holds` and `applies` (runs, columns) over the tested runs."""
    codes = (cohort.strata if strata is None else strata)[cohort.tested]
    if not len(codes):
        return [Counts((), 0, 0.0, 0, 0, 0, 0) for _ in range(holds.shape[1])]
    order = np.argsort(codes, kind="stable")
    starts = np.flatnonzero(np.r_[True, np.diff(codes[order]) != 0])
    failing = cohort.failing[cohort.tested][order][:, None]
    applied, held = applies[cohort.tested][order], holds[cohort.tested][order]
    sums = [
        np.add.reduceat(part.astype(np.int32), starts, axis=0)
        for part in (applied, applied & failing, held, held & failing)
    ]
    return [_counts(*(part[:, column].tolist() for part in sums)) for column in range(holds.shape[1])]


def _counts(runs: list[int], failures: list[int], held: list[int], failing_held: list[int]) -> Counts:
    rows = list(zip(runs, failures, held, failing_held, strict=True))
    mixed = [(n, f, h, x) for n, f, h, x in rows if 0 < f < n]
    all_runs, all_failures, all_held, all_both = sum(runs), sum(failures), sum(held), sum(failing_held)
    return Counts(
        strata=tuple((n, f, h) for n, f, h, _ in mixed),
        observed=sum(x for *_, x in mixed),
        excess=sum(x - f * h / n for n, f, h, x in mixed),
        failures=all_failures,
        failures_with=all_both,
        passes=all_runs - all_failures,
        passes_with=all_held - all_both,
    )


def jaccard(first: Bools, second: Bools) -> float:
    """Shared over all members of two sets of runs; two empty sets are equal."""
    union = int(np.count_nonzero(first | second))
    return int(np.count_nonzero(first & second)) / union if union else 1.0
