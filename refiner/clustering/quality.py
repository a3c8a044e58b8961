"""What a person is told about a group: its typical and its edge traces, and whether another seed keeps it together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from refiner.clustering.neighbours import Floats, Integers

BORDER = 3


def closeness(vectors: Floats) -> NDArray[np.float64]:
    """Each row's mean cosine to all rows of unit vectors (n, d), rounded so that equal ones compare equal."""
    rows = vectors.astype(np.float64)
    return np.asarray((rows @ rows.mean(axis=0)).round(6))


def medoid(close: NDArray[np.float64]) -> int:
    """The row that is closest to all others; the first of equals."""
    return int(close.argmax())


def border(
    close: NDArray[np.float64], probabilities: NDArray[np.float64], points: Integers, centre: int
) -> tuple[int, ...]:
    """Up to three rows at the edge: lowest probability, then least close. `centre` and rows equal to it are no edge."""
    order = np.lexsort((np.arange(len(close)), close, probabilities.round(6)))
    return tuple(int(row) for row in order if points[row] != points[centre])[:BORDER]


def kept_together(members: Integers, others: Sequence[Integers]) -> float | None:
    """The share of pairs of `members` (rows) with one label in the labellings of `others`; None without any."""
    pairs = len(members) * (len(members) - 1) // 2
    if not others or not pairs:
        return None
    return float(np.mean([_together(labels[members]) / pairs for labels in others]))


def _together(labels: Integers) -> int:
    sizes = np.unique(labels[labels >= 0], return_counts=True)[1]
    return int((sizes * (sizes - 1) // 2).sum())
