"""The exact tests against independent oracles: enumeration, scipy, and known closed forms."""

from __future__ import annotations

from itertools import combinations, product
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from refiner.gate.statistics import bh, conditional_p, conditional_tails, could_reach


def enumerated(strata: list[tuple[int, int, int]], observed: int) -> tuple[float, float]:
    """(upper, lower) by listing every equally likely assignment of failures within every stratum."""
    options = [[sum(run < h for run in chosen) for chosen in combinations(range(n), f)] for n, f, h in strata]
    sums = [sum(choice) for choice in product(*options)]
    return sum(x >= observed for x in sums) / len(sums), sum(x <= observed for x in sums) / len(sums)


stratum = st.integers(1, 5).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n), st.integers(0, n)))


@settings(max_examples=60, deadline=None)
@given(st.lists(stratum, min_size=1, max_size=4), st.data())
def test_conditional_test_equals_enumeration(strata: list[tuple[int, int, int]], data: st.DataObject) -> None:
    least = sum(max(0, f + h - n) for n, f, h in strata)
    most = sum(min(f, h) for _, f, h in strata)
    observed = data.draw(st.integers(least, most))
    tails = conditional_tails(strata, observed)
    assert (tails.upper, tails.lower) == pytest.approx(enumerated(strata, observed))
    assert tails.upper_least == pytest.approx(enumerated(strata, most)[0])
    assert tails.lower_least == pytest.approx(enumerated(strata, least)[1])


@pytest.mark.parametrize(("a", "b", "c", "d"), [(8, 2, 1, 9), (3, 3, 3, 3), (15, 15, 3, 27), (0, 5, 5, 0)])
def test_one_stratum_is_fishers_test(a: int, b: int, c: int, d: int) -> None:
    from scipy.stats import fisher_exact

    n, failing, shown = a + b + c + d, a + b, a + c
    tails = conditional_tails([(n, failing, shown)], a)
    assert tails.upper == pytest.approx(fisher_exact([[a, b], [c, d]], alternative="greater").pvalue, rel=1e-9, abs=0)
    assert tails.lower == pytest.approx(fisher_exact([[a, b], [c, d]], alternative="less").pvalue, rel=1e-9, abs=0)


@pytest.mark.parametrize(("pairs", "discordant"), [(12, 10), (40, 31), (7, 0)])
def test_one_to_one_pairs_are_a_sign_test(pairs: int, discordant: int) -> None:
    from scipy.stats import binomtest

    strata = [(2, 1, 1)] * pairs + [(2, 1, 2)] * 5 + [(2, 1, 0)] * 4  # concordant pairs say nothing
    expected = binomtest(discordant, pairs, 0.5, alternative="greater").pvalue
    assert conditional_p(strata, discordant + 5) == pytest.approx(expected)


def test_far_tails_keep_their_relative_precision() -> None:
    assert conditional_p([(2, 1, 1)] * 200, 200) == pytest.approx(0.5**200, rel=1e-9, abs=0)
    exact = sum(comb(200, x) for x in range(190, 201)) / 2**200
    assert conditional_p([(2, 1, 1)] * 200, 190) == pytest.approx(exact, rel=1e-9, abs=0)
    assert conditional_p([(4, 2, 2)] * 100, 200) == pytest.approx((1 / comb(4, 2)) ** 100, rel=1e-9, abs=0)


def test_large_strata_are_exact_too() -> None:
    from scipy.stats import hypergeom

    assert conditional_p([(2_000, 900, 400)], 230) == pytest.approx(hypergeom.sf(229, 2_000, 400, 900), rel=1e-8, abs=0)


def test_a_count_that_cannot_occur_is_refused() -> None:
    with pytest.raises(ValueError, match="outside"):
        conditional_p([(4, 2, 2)], 3)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=40))
def test_bh_equals_scipy(ps: list[float]) -> None:
    from scipy.stats import false_discovery_control

    assert bh(ps) == pytest.approx(false_discovery_control(np.array(ps)))


def test_bh_of_nothing_is_nothing() -> None:
    assert bh([]).shape == (0,)


def test_whether_a_smaller_p_would_do_depends_on_the_other_tests() -> None:
    ps = [0.02, 0.5, 0.6, 0.7]
    assert not could_reach(ps, 0, 0.0126, 0.05)  # alone it needs 0.05 / 4
    assert could_reach(ps, 0, 0.0125, 0.05)
    assert could_reach([0.02, 0.001, 0.002, 0.7], 0, 0.03, 0.05)  # two strong neighbours make room
