"""Distinct points and their exact nearest neighbours by cosine. No graph, no groups."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]
    Integers = NDArray[np.int64]

BLOCK = 256  # rows a matrix product: 256 x 20,000 float32 are 20 MB
SLICES = 32  # a row is looked through as this many slices once it is long enough to gain by it
_SLICED_FROM = 2048


@dataclass(frozen=True, slots=True)
class Points:
    """The distinct rows of a matrix, in order of first appearance.

    `vectors` is (n, d) float32, `of_row` the distinct point of each original row, `weights` (n,) how many rows a point
    stands for.
    """

    vectors: Floats
    of_row: Integers
    weights: Integers

    def __len__(self) -> int:
        return len(self.vectors)


@dataclass(frozen=True, slots=True)
class Neighbours:
    """The k nearest points of each, itself first: `indices` (n, k) int32, `distances` (n, k) float32, 1 - cosine."""

    indices: NDArray[np.int32]
    distances: Floats


def fold(vectors: Floats) -> Points:
    """Folds equal rows of `vectors` (rows, d) into one weighted point each."""
    number: dict[bytes, int] = {}
    firsts: list[int] = []
    of_row = np.empty(len(vectors), dtype=np.int64)
    for row, vector in enumerate(vectors + np.float32(0)):  # adding zero turns -0.0 into 0.0
        of_row[row] = number.setdefault(vector.tobytes(), len(number))
        if of_row[row] == len(firsts):
            firsts.append(row)
    return Points(vectors[firsts], of_row, np.bincount(of_row, minlength=len(firsts)))


def nearest(vectors: Floats, k: int) -> Neighbours:
    """The exact `k` nearest rows of each row of unit vectors (n, d), k <= n. Ties go to the smaller index."""
    n = len(vectors)
    indices, distances = np.empty((n, k), dtype=np.int32), np.empty((n, k), dtype=np.float32)
    for start in range(0, n, BLOCK):
        similar = vectors[start : start + BLOCK] @ vectors.T
        rows = np.arange(len(similar))
        similar[rows, start + rows] = 2.0  # a point comes before its closest neighbour, whatever the rounding
        found = _largest(similar, k)
        indices[start : start + len(rows)] = found
        closest = np.take_along_axis(similar, found, axis=1)
        distances[start : start + len(rows)] = np.clip(1.0 - closest, 0.0, None)
    return Neighbours(indices, distances)


def _largest(values: Floats, k: int) -> NDArray[np.int64]:
    """The columns of the `k` largest values of each row, largest first; exact, and several times faster than a sort."""
    rows, columns = np.nonzero(values >= _lower_bounds(values, k)[:, None])
    order = np.lexsort((columns, -values[rows, columns], rows))
    starts = np.searchsorted(rows, np.arange(len(values)))
    return np.asarray(columns[order][starts[:, None] + np.arange(k)])


def _lower_bounds(values: Floats, k: int) -> Floats:
    """A number per row that at least `k` of its values reach: the k-th largest maximum of disjoint parts of the row."""
    width = values.shape[1]
    if width >= _SLICED_FROM and width // SLICES >= k:
        even = width // SLICES * SLICES
        values = values[:, :even].reshape(len(values), SLICES, -1).max(axis=1)
    place = values.shape[1] - k
    return np.asarray(np.partition(values, place, axis=1)[:, place])
