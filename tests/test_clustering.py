"""From vectors to groups: exact neighbours, the rules for few, equal, alike and unrelated traces, and what is kept."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from refiner.clustering import groups, project, quality
from refiner.clustering.neighbours import fold, nearest
from refiner.clustering.params import ClusterParams
from refiner.clustering.side import Group, SideGroups, cluster_side
from tests.bench.bench_cluster import known_clusters

DEFAULT = ClusterParams()
FAST = ClusterParams(further_seeds=0)


def unit(rows: Any) -> np.ndarray:
    rows = np.asarray(rows, dtype=np.float64)
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def names(vectors: np.ndarray) -> list[str]:
    return [f"t{row:05d}" for row in range(len(vectors))]


def clustered(vectors: np.ndarray, params: ClusterParams = FAST, tasks: list[str] | None = None) -> SideGroups:
    return cluster_side(vectors, names(vectors), tasks or names(vectors), params)


def members(found: SideGroups) -> list[tuple[int, ...]]:
    return [group.members for group in found.groups]


def check_complete(found: SideGroups, size: int) -> None:
    """Every row is in one group or in none; groups have two members at least; every row is in the picture."""
    inside = [row for group in found.groups for row in group.members]
    assert sorted([*inside, *found.unclustered]) == list(range(size))
    assert all(len(group.members) >= 2 for group in found.groups)
    assert len(found.picture) == size
    assert np.isfinite(found.picture).all()
    for group in found.groups:
        check_group(group)


def check_group(group: Group) -> None:
    assert list(group.members) == sorted(group.members)
    assert len(group.probabilities) == len(group.members)
    assert all(0 <= value <= 1 for value in group.probabilities)
    assert group.medoid in group.members
    assert len(group.border) <= 3
    assert {*group.border} <= {*group.members} - {group.medoid}


# --- neighbours


def by_hand(vectors: np.ndarray, k: int) -> np.ndarray:
    """The k nearest by sorting everything: itself, then by similarity as computed, then by index."""
    similar = np.vstack([vectors[start : start + 256] @ vectors.T for start in range(0, len(vectors), 256)])
    np.fill_diagonal(similar, 2)
    return np.argsort(-similar, axis=1, kind="stable")[:, :k]


@pytest.mark.parametrize(("size", "k"), [(2, 1), (8, 7), (300, 15), (300, 300), (2100, 15), (2100, 65), (2100, 66)])
def test_neighbours_are_exact(size: int, k: int) -> None:
    vectors = known_clusters(size, 3, width=24)[0]
    near = nearest(vectors, k)
    assert (near.indices == by_hand(vectors, k)).all()
    assert (near.indices[:, 0] == np.arange(size)).all()
    assert (near.distances[:, 0] == 0).all()
    assert (np.diff(near.distances, axis=1) >= 0).all()
    assert near.distances[0, -1] == pytest.approx(1 - vectors[0] @ vectors[near.indices[0, -1]], abs=1e-6)


def test_neighbours_at_one_distance_go_by_index() -> None:
    crosses = np.tile(np.eye(4, dtype=np.float32), (525, 1))  # 2,100 rows, each equal to 525 others
    assert (nearest(crosses, 5).indices == by_hand(crosses, 5)).all()
    assert nearest(np.eye(9, dtype=np.float32), 4).indices[5].tolist() == [5, 0, 1, 2]


def test_equal_rows_fold_into_one_point_each_in_order_of_appearance() -> None:
    points = fold(np.array([[1, 0], [0, 1], [1, -0.0], [0, 1], [0.6, 0.8]], dtype=np.float32))
    assert points.vectors.tolist() == np.array([[1, 0], [0, 1], [0.6, 0.8]], dtype=np.float32).tolist()
    assert points.of_row.tolist() == [0, 1, 0, 1, 2]
    assert points.weights.tolist() == [2, 2, 1]


# --- few traces


@pytest.mark.parametrize("size", [1, 2, 3, 5, 7, 8, 9, 13, 22, 23])
def test_any_small_number_of_unrelated_traces_is_met(size: int) -> None:
    vectors = unit(np.random.default_rng(size).normal(size=(size, 256)))
    found = clustered(vectors)
    check_complete(found, size)
    if size < 8:  # nothing is alike and there is no projection that could say otherwise
        assert found.groups == ()


def test_one_trace_is_no_group_and_two_equal_ones_are() -> None:
    row = unit([[3.0, 4.0]])
    assert clustered(row).unclustered == (0,)
    pair = clustered(np.vstack([row, row]))
    assert members(pair) == [(0, 1)]
    assert pair.groups[0].note == groups.EQUAL
    assert pair.groups[0].border == ()
    assert pair.picture == ((0.0, 0.0), (0.0, 0.0))


def test_few_traces_are_linked_at_a_similarity_of_four_fifths() -> None:
    def at(angle: float) -> list[float]:
        return [np.cos(angle), np.sin(angle)]

    step = np.arccos(0.81)
    chain = unit([at(0), at(step), at(2 * step), at(2 * step + np.arccos(0.79)), at(np.pi)])
    found = clustered(chain)
    assert members(found) == [(0, 1, 2)]
    assert found.groups[0].medoid == 1
    assert found.unclustered == (3, 4)
    assert found.groups[0].persistence is found.groups[0].stability is None


def test_few_traces_need_the_smallest_size_in_traces_not_in_points() -> None:
    alike = unit([[1, 0], [1, 0], [1, 0.1], [0, 1], [0, 1]])
    assert members(clustered(alike, ClusterParams(min_cluster_size=3))) == [(0, 1, 2)]
    assert members(clustered(alike)) == [(0, 1, 2), (3, 4)]


# --- equal, alike, unrelated


@pytest.mark.parametrize("size", [2, 6, 40])
def test_identical_traces_are_one_group_however_many(size: int) -> None:
    found = clustered(np.tile(unit([[1, 2, 3]]), (size, 1)), DEFAULT, tasks=["a", "b"] * (size // 2))
    assert members(found) == [tuple(range(size))]
    assert found.groups[0].tasks == 2
    assert (found.distinct, found.unclustered) == (1, ())


def test_side_without_density_is_one_group_only_when_its_traces_are_alike() -> None:
    noise = np.random.default_rng(1).normal(size=(10, 256))
    too_large = ClusterParams(min_cluster_size=9, further_seeds=0)
    alike = clustered(unit(1.0 + 0.2 * noise), too_large)
    assert (members(alike), alike.groups[0].note) == ([tuple(range(10))], groups.WHOLE)
    apart = clustered(unit(noise), too_large)
    assert (members(apart), apart.unclustered) == ([], tuple(range(10)))


def test_equal_traces_among_noise_are_a_group_of_their_own() -> None:
    rows = unit(np.random.default_rng(2).normal(size=(9, 256)))
    repeated = np.vstack([rows, rows[4:5], rows[4:5]])
    found = clustered(repeated, ClusterParams(min_cluster_size=3, n_neighbors=4, further_seeds=0))
    check_complete(found, 11)
    home = next(group for group in found.groups if 4 in group.members)
    assert {4, 9, 10} <= {*home.members}


def test_point_of_equal_traces_that_is_noise_gets_its_own_label() -> None:
    points = fold(unit([[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 1]]))
    labels = groups.dense(points, np.array([[0.0, 0], [50, 0], [0, 90]], dtype=np.float32), 3)
    assert labels.of_point.tolist() == [-1, -1, -1]
    labels = groups.dense(points, np.array([[0.0, 0], [50, 0], [0, 90]], dtype=np.float32), 2)
    assert (labels.of_point.tolist(), labels.notes) == ([-1, -1, 0], (groups.EQUAL,))


# --- many traces


def test_known_clusters_are_found_and_never_mixed() -> None:
    vectors, truth = known_clusters(90, 0, clusters=4, noise=0.0, spread=0.4)
    found = clustered(vectors, DEFAULT)
    check_complete(found, 90)
    assert all(len({*truth[list(group.members)]}) == 1 for group in found.groups)
    assert len(found.unclustered) <= 9
    largest = found.groups[0]
    assert largest.persistence is not None
    assert all(0 <= (group.stability or 0.0) <= 1 for group in found.groups)
    assert largest.stability is not None and largest.stability > 0.5
    sizes = [len(group.members) for group in found.groups]
    assert sizes == sorted(sizes, reverse=True)


def test_order_of_the_rows_changes_nothing() -> None:
    vectors = np.vstack([known_clusters(60, 5)[0], known_clusters(6, 6)[0], known_clusters(6, 6)[0]])
    ids = names(vectors)
    order = np.random.default_rng(0).permutation(len(ids))
    straight = cluster_side(vectors, ids, ids, DEFAULT)
    turned = cluster_side(vectors[order], [ids[row] for row in order], [ids[row] for row in order], DEFAULT)

    def told(found: SideGroups, of: Any) -> Any:
        rows = [[ids[of[row]] for row in (group.medoid, *group.border, *group.members)] for group in found.groups]
        return rows, [group.probabilities for group in found.groups], [ids[of[row]] for row in found.unclustered]

    assert told(straight, np.arange(len(ids))) == told(turned, order)
    assert [straight.picture[row] for row in order] == list(turned.picture)


def test_equal_traces_lie_at_one_place_of_the_picture() -> None:
    vectors = known_clusters(20, 5)[0]
    found = clustered(np.vstack([vectors, vectors[:3]]))
    assert found.picture[20:] == found.picture[:3]
    assert found.distinct == 20


def test_two_sides_at_once_get_what_each_gets_alone() -> None:
    sides = [known_clusters(50, seed)[0] for seed in (7, 8)]
    alone = [clustered(side) for side in sides]
    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(clustered, sides)) == alone


def test_projection_starts_at_random_where_the_spectrum_cannot_be_had(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[str] = []
    whole = project._layout

    def without_spectrum(source: project.Graph, fit: project.Fit, start: str) -> Any:
        tried.append(start)
        if start == "spectral":
            raise ValueError("no spectrum")
        return whole(source, fit, start)

    monkeypatch.setattr(project, "_layout", without_spectrum)
    monkeypatch.setattr(project.os, "cpu_count", lambda: 1)
    check_complete(clustered(known_clusters(30, 1)[0]), 30)
    assert tried == ["spectral", "random", "spectral", "random"]


def test_seed_changes_the_picture() -> None:
    vectors = known_clusters(30, 1)[0]
    assert clustered(vectors).picture == clustered(vectors).picture
    assert clustered(vectors).picture != clustered(vectors, ClusterParams(seed=7, further_seeds=0)).picture


def test_clustering_can_be_switched_off() -> None:
    vectors = known_clusters(30, 1)[0]
    found = clustered(vectors, ClusterParams(method="single"))
    check_complete(found, 30)
    assert (members(found), found.groups[0].note) == ([tuple(range(30))], groups.OFF)


# --- what is kept of a group


def test_medoid_is_the_closest_to_all_and_border_the_least_probable() -> None:
    fan = unit([[np.cos(angle), np.sin(angle)] for angle in (0.0, 0.3, 0.5, 0.8, 1.0)])
    close = quality.closeness(fan)
    assert quality.medoid(close) == 2
    rows = np.arange(5)
    assert quality.border(close, np.array([1, 0.2, 1, 1, 0.9]), rows, 2) == (1, 4, 0)
    assert quality.border(close, np.ones(5), rows, 2) == (0, 4, 3)
    assert quality.border(close, np.ones(5), np.array([2, 2, 2, 3, 2]), 2) == (3,)


def test_stability_is_the_share_of_pairs_that_stay_together() -> None:
    inside = np.array([0, 1, 2, 3])
    assert quality.kept_together(inside, []) is None
    assert quality.kept_together(inside, [np.array([0, 0, 0, 0, 1])]) == 1
    assert quality.kept_together(inside, [np.array([-1, -1, -1, -1])]) == 0
    halves, rest = np.array([0, 0, 1, 1]), np.array([5, 5, 5, -1])
    assert quality.kept_together(inside, [halves, rest]) == pytest.approx((2 / 6 + 3 / 6) / 2)


def test_picture_of_a_few_shows_the_largest_spread_first() -> None:
    line = unit([[1, 0, 0], [1, 0.5, 0], [1, 1.5, 0.1]])
    picture = project.flat_picture(line)
    assert picture.shape == (3, 2)
    assert np.ptp(picture[:, 0]) > np.ptp(picture[:, 1])
    assert np.allclose(np.linalg.norm(picture[0] - picture[2]), np.linalg.norm(line[0] - line[2]), atol=1e-3)
