"""One side of a corpus from vectors to groups: the order of the rules and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from refiner.clustering import groups, quality
from refiner.clustering.neighbours import fold
from refiner.clustering.project import Fit, flat_picture, graph, project

if TYPE_CHECKING:
    from refiner.clustering.groups import Labels
    from refiner.clustering.neighbours import Floats, Integers, Points
    from refiner.clustering.params import ClusterParams

PROJECTED_FROM = 8  # distinct points below which there is no projection
PUBLISHED_FROM = 3  # the same as published: two points have no neighbour graph
STABILITY_UP_TO = 500  # distinct points; further fits take about 0.1 s each at 120 and grow with n


@dataclass(frozen=True, slots=True)
class Group:
    """One group: `members` are row numbers in external-id order, `probabilities` run beside them."""

    members: tuple[int, ...]
    probabilities: tuple[float, ...]
    medoid: int
    border: tuple[int, ...]
    tasks: int
    persistence: float | None
    stability: float | None
    note: str


@dataclass(frozen=True, slots=True)
class SideGroups:
    """Groups (largest first), the rows of none, one (x, y) a row in row order, and the number of distinct points."""

    groups: tuple[Group, ...]
    unclustered: tuple[int, ...]
    picture: tuple[tuple[float, float], ...]
    distinct: int


@dataclass(frozen=True, slots=True)
class _Found:
    """Labels of the distinct points, further labellings of them by other seeds, and their places in the picture."""

    labels: Labels
    others: tuple[Labels, ...]
    picture: Floats


def cluster_side(
    vectors: Floats, external_ids: Sequence[str], tasks: Sequence[str], params: ClusterParams
) -> SideGroups:
    """Groups the rows of `vectors` (n, d) float32 of unit norm, n >= 1. The order of the rows changes nothing.

    Fewer than eight distinct rows are linked by similarity; from eight on they are projected and grouped by density.
    """
    order = np.array(sorted(range(len(external_ids)), key=external_ids.__getitem__))
    points = fold(vectors[order])
    found = _find(points, params)
    rows = found.labels.of_point[points.of_row]
    members = [(number, np.flatnonzero(rows == number)) for number in range(len(found.labels.notes))]
    members.sort(key=lambda pair: (-len(pair[1]), pair[1][0]))
    picture = np.empty((len(order), 2), dtype=np.float32)
    picture[order] = found.picture[points.of_row]
    return SideGroups(
        groups=tuple(_group(number, inside, points, found, order, tasks) for number, inside in members),
        unclustered=tuple(order[rows < 0].tolist()),
        picture=tuple((float(x), float(y)) for x, y in picture),
        distinct=len(points),
    )


def _find(points: Points, params: ClusterParams) -> _Found:
    if params.method == "single":
        return _Found(groups.one_group(points, groups.OFF), (), _flat(points))
    if len(points) < projected_from(params):
        return _Found(groups.linked(points, params.min_cluster_size), (), _flat(points))
    return _projected(points, params)


def projected_from(params: ClusterParams) -> int:
    """The number of distinct points from which a side is projected."""
    return PUBLISHED_FROM if params.small_n == "published" else PROJECTED_FROM


def _flat(points: Points) -> Floats:
    return flat_picture(points.vectors)


def _projected(points: Points, params: ClusterParams) -> _Found:
    n = len(points)
    dimensions = min(params.n_components, max(1, n - 2))
    seeds = range(params.seed, params.seed + 1 + (params.further_seeds if n <= STABILITY_UP_TO else 0))
    source = graph(points.vectors, min(params.n_neighbors, n - 1), params.min_dist)
    picture, *projected = project(source, [Fit(2, params.seed), *(Fit(dimensions, seed) for seed in seeds)])
    labels, *others = (groups.dense(points, places, params.min_cluster_size) for places in projected)
    return _Found(labels, tuple(others), picture)


def _group(
    number: int, inside: Integers, points: Points, found: _Found, order: Integers, tasks: Sequence[str]
) -> Group:
    at = points.of_row[inside]
    close, probabilities = quality.closeness(points.vectors[at]), found.labels.probabilities[at]
    centre = quality.medoid(close)
    edge = quality.border(close, probabilities, at, centre)
    rows = order[inside].tolist()
    return Group(
        members=tuple(rows),
        probabilities=tuple(round(float(value), 6) for value in probabilities),
        medoid=rows[centre],
        border=tuple(rows[place] for place in edge),
        tasks=len({tasks[row] for row in rows}),
        persistence=found.labels.persistence[number],
        stability=quality.kept_together(inside, [other.of_point[points.of_row] for other in found.others]),
        note=found.labels.notes[number],
    )
