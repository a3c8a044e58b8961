"""The exact tests behind every measured cause. Numbers in, numbers out: no traces, no predicates, no words.

A stratum is (n, f, h): n runs, f of them failing, h of them showing the behaviour. Under the null hypothesis of one
common odds ratio of 1 the number of failing runs that show it is a sum of independent hypergeometric variables, so its
distribution is the convolution of theirs. All terms are positive and tails are summed from the far end: no
cancellation, no asymptotic branch.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import comb

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Stratum = tuple[int, int, int]
Margins = tuple[tuple[Stratum, int], ...]


@dataclass(frozen=True, slots=True)
class Tails:
    """One-sided p values of an observed count: `upper` = as many or more, `lower` = as many or fewer.

    `upper_least` and `lower_least` are the smallest p values that the margins allow in each direction.
    """

    upper: float
    lower: float
    upper_least: float
    lower_least: float


def is_informative(stratum: Stratum) -> bool:
    """Whether the margins leave the count of failing runs with the behaviour open."""
    n, f, h = stratum
    return 0 < f < n and 0 < h < n


def margins(strata: Iterable[Stratum]) -> Margins:
    """The informative strata with their multiplicities, in a canonical order."""
    return tuple(sorted(Counter(stratum for stratum in strata if is_informative(stratum)).items()))


def conditional_tails(strata: Sequence[Stratum], observed: int) -> Tails:
    """The exact conditional test of `observed` failing runs with the behaviour over all strata.

    Strata that are not informative add a constant to the count and nothing to the distribution. Raises ValueError
    when `observed` cannot occur under the margins.
    """
    fixed = sum(max(0, f + h - n) for n, f, h in strata)
    return _tails(margins(strata), observed - fixed)


def conditional_p(strata: Sequence[Stratum], observed: int) -> float:
    """P(at least `observed` failing runs show the behaviour), given all margins."""
    return conditional_tails(strata, observed).upper


def _tails(groups: Margins, index: int) -> Tails:
    upper, lower = _cumulated(groups)
    if not 0 <= index < len(upper):
        raise ValueError(f"count {index} is outside of the {len(upper)} values that the margins allow")
    return Tails(float(upper[index]), float(lower[index]), float(upper[-1]), float(lower[0]))


@lru_cache(maxsize=65_536)
def _cumulated(groups: Margins) -> tuple[Floats, Floats]:
    """(upper, lower) tails of every possible count, counted from the smallest possible one."""
    pmf = null_distribution(groups)
    upper = np.minimum(np.cumsum(pmf[::-1])[::-1], 1.0)
    lower = np.minimum(np.cumsum(pmf), 1.0)
    return upper, lower


def null_distribution(groups: Margins) -> Floats:
    """Probabilities of the summed count, from its smallest possible value on; `[1.0]` for no informative stratum."""
    total = np.ones(1)
    for stratum, times in groups:
        total = np.convolve(total, _power(stratum, times))
    return total


@lru_cache(maxsize=65_536)
def _power(stratum: Stratum, times: int) -> Floats:
    """The distribution of the sum of `times` equal strata, by repeated squaring."""
    if times == 1:
        return hypergeometric(stratum)
    half = _power(stratum, times // 2)
    square = np.convolve(half, half)
    return np.convolve(square, hypergeometric(stratum)) if times % 2 else square


@lru_cache(maxsize=65_536)
def hypergeometric(stratum: Stratum) -> Floats:
    """Probabilities of x failing runs with the behaviour, x from max(0, f + h - n) to min(f, h)."""
    n, f, h = stratum
    first, last = max(0, f + h - n), min(f, h)
    ways = [comb(h, first) * comb(n - h, f - first)]
    for x in range(first, last):  # exact: the products are whole multiples of the divisors
        ways.append(ways[-1] * (h - x) * (f - x) // ((x + 1) * (n - h - f + x + 1)))
    total = comb(n, f)
    return np.array([way / total for way in ways])


def bh(ps: Sequence[float]) -> Floats:
    """Benjamini-Hochberg adjusted p values (q), in the order given."""
    values = np.asarray(ps, dtype=np.float64)
    m = len(values)
    if m == 0:
        return values
    order = np.argsort(values, kind="stable")
    scaled = values[order] * m / np.arange(1, m + 1)
    q = np.empty(m)
    q[order] = np.minimum(np.minimum.accumulate(scaled[::-1])[::-1], 1.0)
    return q


def could_reach(ps: Sequence[float], index: int, p: float, level: float) -> bool:
    """Whether test `index` would reach q <= `level` with `p` in its place and all other p values as they are."""
    changed = np.array(ps, dtype=np.float64)
    changed[index] = p
    return bool(bh(changed.tolist())[index] <= level)
