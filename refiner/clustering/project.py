"""Projections of the neighbour graph to fewer dimensions, and the plain picture of a few points. No groups here.

The graph is built once from exact neighbours; every fit starts from it with a seed of its own.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from refiner import compile_cache
from refiner.clustering.neighbours import nearest

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from refiner.clustering.neighbours import Floats

_graph_lock = Lock()  # umap builds graphs with numba's threads, which two callers may not share


@dataclass(frozen=True, slots=True)
class Graph:
    """umap's fuzzy neighbour graph over unit vectors (n, d), with the curve that `min_dist` gives."""

    vectors: Floats
    edges: Any
    curve: tuple[float, float]


@dataclass(frozen=True, slots=True)
class Fit:
    """One projection that is wanted: how many dimensions, from which seed."""

    dimensions: int
    seed: int


def graph(vectors: Floats, n_neighbors: int, min_dist: float) -> Graph:
    """The neighbour graph of unit vectors (n, d) with n > `n_neighbors`, from exact neighbours by cosine."""
    umap = _umap()
    near = nearest(vectors, n_neighbors)
    with _graph_lock:
        edges, _, _ = umap.fuzzy_simplicial_set(
            vectors, n_neighbors, None, "cosine", knn_indices=near.indices, knn_dists=near.distances
        )
        curve = umap.find_ab_params(1.0, min_dist)
    return Graph(vectors, edges, (float(curve[0]), float(curve[1])))


def project(source: Graph, fits: Sequence[Fit]) -> list[Floats]:
    """One (n, dimensions) float32 array for each fit, in order. Each depends on the graph and its fit alone."""
    with ThreadPoolExecutor(min(len(fits), os.cpu_count() or 1)) as pool:
        return list(pool.map(lambda fit: _project(source, fit), fits))


def _project(source: Graph, fit: Fit) -> Floats:
    """Starts from the graph's spectrum, as published; from random places where the spectrum cannot be had."""
    try:
        placed = _layout(source, fit, "spectral")
    except (ValueError, TypeError, ArithmeticError, np.linalg.LinAlgError):
        placed = _layout(source, fit, "random")
    return placed if np.isfinite(placed).all() else _layout(source, fit, "random")


def _layout(source: Graph, fit: Fit, start: str) -> Floats:
    placed, _ = _umap().simplicial_set_embedding(
        data=source.vectors,
        graph=source.edges,
        n_components=fit.dimensions,
        initial_alpha=1.0,
        a=source.curve[0],
        b=source.curve[1],
        gamma=1.0,
        negative_sample_rate=5,
        n_epochs=None,
        init=start,
        random_state=np.random.RandomState(fit.seed),
        metric="cosine",
        metric_kwds={},
        densmap=False,
        densmap_kwds={},
        output_dens=False,
    )
    return np.asarray(placed, dtype=np.float32)


def flat_picture(vectors: Floats) -> Floats:
    """The first two principal components of (n, d): (n, 2), each turned so that its largest entry is positive."""
    centred = vectors.astype(np.float64) - vectors.mean(axis=0, dtype=np.float64)
    left, sizes, _ = np.linalg.svd(centred, full_matrices=False)
    axes = (left * sizes)[:, :2].round(6)
    turned = np.sign(np.take_along_axis(axes, np.abs(axes).argmax(axis=0)[None], axis=0))
    picture: NDArray[np.float64] = np.zeros((len(vectors), 2))
    picture[:, : axes.shape[1]] = axes * turned
    return picture.astype(np.float32)


def _umap() -> Any:
    compile_cache.enable()
    import umap.umap_

    return umap.umap_
