"""Which distinct points belong together. A label per point, -1 = none; nothing about quality.

Two rules beyond the published recipe: a point that stands for `min_cluster_size` traces or more is a group of its own
when it would be noise (equal traces are as close as traces can be, whatever lies around them); and when there is no
group at all but everything is alike, the whole side is one group, which HDBSCAN can never say.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from refiner.clustering.neighbours import Floats, Integers, Points

ALIKE = 0.8  # cosine similarity from which traces count as alike where there are too few for a density
WHOLE = "the whole side: its traces are alike and no denser group stands out"
EQUAL = "equal summaries"
OFF = "every trace of the side: clustering is off"


@dataclass(frozen=True, slots=True)
class Labels:
    """A group number per distinct point (-1 = none), each point's probability, and per group persistence and note."""

    of_point: Integers
    probabilities: NDArray[np.float64]
    persistence: tuple[float | None, ...]
    notes: tuple[str, ...]


def one_group(points: Points, note: str) -> Labels:
    """Every point in one group."""
    return Labels(np.zeros(len(points), dtype=np.int64), np.ones(len(points)), (None,), (note,))


def linked(points: Points, min_cluster_size: int) -> Labels:
    """Groups of a few points: chains of neighbours that are alike, holding `min_cluster_size` traces or more."""
    from scipy.sparse.csgraph import connected_components

    alike = points.vectors @ points.vectors.T >= ALIKE
    _, chains = connected_components(alike, directed=False)
    large = np.bincount(chains, weights=points.weights)[chains] >= min_cluster_size
    found, numbers = np.unique(chains[large], return_inverse=True)
    of_point = np.full(len(points), -1, dtype=np.int64)
    of_point[large] = numbers
    notes = tuple(EQUAL if size == 1 else "" for size in np.bincount(numbers))
    return Labels(of_point, large.astype(np.float64), (None,) * len(found), notes)


def dense(points: Points, projected: Floats, min_cluster_size: int) -> Labels:
    """Groups by density of the projection (n, dimensions), then the two rules of this module."""
    import hdbscan

    fitted = hdbscan.HDBSCAN(
        min_cluster_size=min_cluster_size,
        min_samples=1,
        metric="euclidean",
        cluster_selection_method="eom",
        core_dist_n_jobs=1,
    ).fit(projected.astype(np.float64))
    persistence = tuple(float(value) for value in fitted.cluster_persistence_)
    labels = Labels(fitted.labels_.astype(np.int64), fitted.probabilities_, persistence, ("",) * len(persistence))
    if not persistence and _mean_similarity(points.vectors) >= ALIKE:
        return one_group(points, WHOLE)
    return _with_equal_traces(labels, points, min_cluster_size)


def _with_equal_traces(labels: Labels, points: Points, min_cluster_size: int) -> Labels:
    own = np.flatnonzero((labels.of_point < 0) & (points.weights >= min_cluster_size))
    of_point, probabilities = labels.of_point.copy(), labels.probabilities.copy()
    of_point[own] = len(labels.notes) + np.arange(len(own))
    probabilities[own] = 1.0
    return Labels(
        of_point, probabilities, (*labels.persistence, *[None] * len(own)), (*labels.notes, *[EQUAL] * len(own))
    )


def _mean_similarity(vectors: Floats) -> float:
    """Mean cosine over all pairs of two or more unit rows, without forming the pairs."""
    n, total = len(vectors), vectors.sum(axis=0, dtype=np.float64)
    return float((total @ total - n) / (n * (n - 1)))
