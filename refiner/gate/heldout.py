"""What held-out tasks say of changes: coverage and exposure by task, with exact intervals. Opens and decides nothing.

Coverage = failing held-out tasks where the behaviour holds; exposure = passing ones where it does. A task with runs of
both outcomes is one of each. Intervals are Clopper and Pearson's (1934), the exact binomial ones.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from refiner import behaviours
from refiner.ports import Labelled
from refiner.types import HeldOutCount

LEVEL = 0.95
LEAST_FAILING = 10
"""Failing held-out tasks from which intervals are given; with fewer only the counts are."""


def clopper_pearson(hits: int, total: int, level: float = LEVEL) -> tuple[float, float]:
    """The exact two-sided interval of a share; (0, 1) for no trial. Raises ValueError when hits exceed the total."""
    from scipy.stats import beta

    if not 0 <= hits <= total:
        raise ValueError(f"{hits} of {total} is no share")
    tail = (1 - level) / 2
    low = float(beta.ppf(tail, hits, total - hits + 1)) if hits else 0.0
    high = float(beta.ppf(1 - tail, hits + 1, total - hits)) if hits < total else 1.0
    return low, high


def estimate(
    faults: Mapping[str, Sequence[str]], accepted: Collection[str], items: Sequence[Labelled]
) -> tuple[tuple[HeldOutCount, ...], HeldOutCount]:
    """One count a change in the order of `faults` (predicates by change id, in the direction of failure), one for all.

    The last is of the accepted changes together: a task counts when any of their behaviours holds. A change without a
    predicate is not measured.
    """
    shown = {change_id: _showing(predicates, items) for change_id, predicates in faults.items()}
    single = tuple(_count(one, bool(faults[one]), shown[one], items) for one in faults)
    inside = [one for one in faults if one in accepted]
    together: set[str] = set().union(*(shown[one] for one in inside)) if inside else set()
    return single, _count("", any(faults[one] for one in inside), together, items)


def _showing(predicates: Sequence[str], items: Sequence[Labelled]) -> set[str]:
    parsed = [behaviours.parse(one) for one in predicates]
    return {item.trace.id for item in items if any(one.holds(item.trace) for one in parsed)}


def _count(change_id: str, is_measured: bool, showing: Collection[str], items: Sequence[Labelled]) -> HeldOutCount:
    failing = [item for item in items if item.outcome.status == "fail"]
    passing = [item for item in items if item.outcome.status == "pass"]
    all_failing, all_passing = _tasks(failing), _tasks(passing)
    if not is_measured:
        return HeldOutCount(change_id, len(all_failing), None, len(all_passing), None, None, None, "not measured")
    covered = len(_tasks(item for item in failing if item.trace.id in showing))
    exposed = len(_tasks(item for item in passing if item.trace.id in showing))
    has_intervals = len(all_failing) >= LEAST_FAILING
    coverage = clopper_pearson(covered, len(all_failing)) if has_intervals else None
    exposure = clopper_pearson(exposed, len(all_passing)) if has_intervals and all_passing else None
    words = (
        f"holds in {_share(covered, len(all_failing), coverage)} failing and in "
        f"{_share(exposed, len(all_passing), exposure)} passing held-out tasks"
    )
    return HeldOutCount(change_id, len(all_failing), covered, len(all_passing), exposed, coverage, exposure, words)


def _tasks(items: Iterable[Labelled]) -> set[str]:
    return {behaviours.task_of(item.trace) for item in items}


def _share(hits: int, total: int, interval: tuple[float, float] | None) -> str:
    if interval is None:
        return f"{hits} of {total}"
    return f"{hits} of {total} ({interval[0]:.0%} to {interval[1]:.0%})"
