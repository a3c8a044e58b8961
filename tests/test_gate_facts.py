"""Facts from significant candidates: equal sets merge into the best statement, explained ones go."""

from __future__ import annotations

import numpy as np
import pytest

from refiner.gate.cohort import Bools, Cohort
from refiner.gate.facts import Candidate, select

TASKS, TRIALS = 20, 4


@pytest.fixture
def cohort() -> Cohort:
    """20 tasks x 4 runs, the first two of each failing."""
    runs = TASKS * TRIALS
    failing = np.arange(runs) % TRIALS < 2
    tasks = np.arange(runs) // TRIALS
    return Cohort((), (), failing, tasks, np.ones(runs, dtype=bool), tasks, matched=True)


def candidate(text: str, holds: Bools, p: float) -> Candidate:
    return Candidate(text, holds, np.ones_like(holds), p)


def test_the_best_statement_of_one_set_stands_whatever_its_p(cohort: Cohort) -> None:
    holds = cohort.failing.copy()
    nearly = holds.copy()
    nearly[np.flatnonzero(holds)[:6]] = False  # Jaccard 0.85
    found = select(
        cohort,
        [
            candidate("not(called(read))", holds, 1e-9),
            candidate("result(save, text: word fast)", holds, 1e-9),
            candidate("absent(read after save)", nearly, 1e-6),
            candidate("called(save, mode: word fast)", holds, 1e-9),
        ],
        0.05,
    )
    stand = "absent(read after save)"
    assert found.order == (stand,)
    assert set(found.explained) == {
        "not(called(read))",
        "result(save, text: word fast)",
        "called(save, mode: word fast)",
    }
    assert set(found.explained.values()) == {stand}


def test_equal_length_goes_by_the_alphabet(cohort: Cohort) -> None:
    pair = [candidate("called(bb)", cohort.failing, 1e-9), candidate("called(aa)", cohort.failing, 1e-9)]
    assert select(cohort, pair, 0.05).order == select(cohort, pair[::-1], 0.05).order == ("called(aa)",)


def test_what_a_fact_explains_points_to_it_and_independent_ones_stay(cohort: Cohort) -> None:
    tasks = cohort.tasks
    first = cohort.failing & (tasks < 10)
    second = cohort.failing & (tasks >= 10)
    shadow = first.copy()
    shadow[np.flatnonzero(~cohort.failing & (tasks < 10))[:12]] = True  # follows the first, with passes
    found = select(
        cohort,
        [
            candidate("called(a)", first, 1e-6),
            candidate("called(b)", second, 1e-5),
            candidate("called(c)", shadow, 1e-4),
        ],
        0.05,
    )
    assert found.order == ("called(a)", "called(b)")
    assert found.explained == {"called(c)": "called(a)"}


def test_no_candidates_no_facts(cohort: Cohort) -> None:
    assert select(cohort, [], 0.05).order == ()
