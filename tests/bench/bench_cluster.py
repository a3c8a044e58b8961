"""Clustering against the published recipe: seconds of a fresh and of a warm process, and agreement with known clusters.

The recipe is umap-learn with its own neighbour search to 20 dimensions, hdbscan on that, and a second umap fit to 2 for
the picture. Both sides run in processes of their own on the same vectors with the same parameters; seconds of a fresh
process count from its start, imports included. The compile cache is filled before, as `make setup` leaves it; what
umap-learn and its helpers keep by themselves is filled for the recipe too. Seconds are the best of three processes,
taken by turns (one process for the largest size), since other programs only ever add to them.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np

SIZES = (200, 2000, 20000)
SEEDS = (0, 1, 2, 3, 4)
METHODS = ("refiner", "recipe")
_STABILITY_UP_TO = 500
_LABELLED_UP_TO = 2000  # agreement is measured over all seeds up to this size
_ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Measured:
    """One method on several data sets of one size: seconds on the first, and a label per row for each.

    `cpu`: processor seconds of the fresh run, which other programs on the machine hardly change. `bare`: seconds of a
    warm process for the recipe's own work only, without the further fits that tell stability.
    """

    fresh: float
    cpu: float
    warm: float
    bare: float
    labels: list[np.ndarray]


def run(quick: bool = False, sizes: Sequence[int] | None = None) -> list[dict[str, Any]]:
    """The rows of the bench. `quick`: the smallest size and two seeds only."""
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        for method in METHODS:  # fills what either keeps on disk
            _measure(method, Path(folder), 30, (0,))
        for size in sizes or (SIZES[:1] if quick else SIZES):
            seeds = SEEDS[:2] if quick else SEEDS if size <= _LABELLED_UP_TO else SEEDS[:1]
            rows += _compare(Path(folder), size, seeds, repeats=1 if quick or size > _LABELLED_UP_TO else 3)
    return rows


def _compare(folder: Path, size: int, seeds: Sequence[int], repeats: int) -> list[dict[str, Any]]:
    turns = [[_measure(method, folder, size, seeds) for method in METHODS]]
    turns += [[_measure(method, folder, size, seeds[:1]) for method in METHODS] for _ in range(repeats - 1)]
    ours, recipe = (_best(runs) for runs in zip(*turns, strict=True))
    truth = [known_clusters(size, seed)[1] for seed in seeds]
    ours_ari, recipe_ari = (mean(map(agreement, truth, one.labels)) for one in (ours, recipe))
    return [
        _row(f"fresh_n{size}", ours.fresh, "s", recipe.fresh, recipe.fresh / ours.fresh),
        _row(f"fresh_cpu_n{size}", ours.cpu, "processor s", recipe.cpu, recipe.cpu / ours.cpu),
        _row(f"warm_n{size}", ours.warm, "s", recipe.warm, recipe.warm / ours.warm),
        _row(f"warm_without_stability_n{size}", ours.bare, "s", recipe.bare, recipe.bare / ours.bare),
        _row(f"ari_n{size}", ours_ari, "ARI against known clusters", recipe_ari, ours_ari / recipe_ari),
        _row(f"ari_loss_n{size}", recipe_ari - ours_ari, "ARI below the recipe's", 0.03, None),
        _row(
            f"ari_between_n{size}", mean(map(agreement, ours.labels, recipe.labels)), "ARI against the recipe", 1, None
        ),
    ]


def _best(runs: Sequence[Measured]) -> Measured:
    """The shortest seconds of all runs, with the labels of the first."""
    return Measured(
        *(min(getattr(run, name) for run in runs) for name in ("fresh", "cpu", "warm", "bare")), runs[0].labels
    )


def _row(name: str, value: float, unit: str, against: float, ratio: float | None) -> dict[str, Any]:
    return {
        "name": name,
        "value": round(value, 4),
        "unit": unit,
        "against": round(against, 4),
        "ratio": None if ratio is None else round(ratio, 3),
    }


def known_clusters(
    size: int, seed: int, *, clusters: int | None = None, noise: float = 0.1, spread: float = 0.7, width: int = 256
) -> tuple[np.ndarray, np.ndarray]:
    """Unit vectors (size, width) float32 around centres on the sphere, and each row's centre (-1 = none, noise)."""
    random = np.random.default_rng(seed)
    centres = random.normal(size=(clusters or max(4, int(size**0.5 / 2)), width))
    centres /= np.linalg.norm(centres, axis=1, keepdims=True)
    of_row = random.integers(0, len(centres), size)
    rows = centres[of_row] + random.normal(size=(size, width)) * spread / width**0.5
    lost = random.random(size) < noise
    rows[lost] = random.normal(size=(int(lost.sum()), width))
    of_row[lost] = -1
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32), of_row


def agreement(first: np.ndarray, second: np.ndarray) -> float:
    """The adjusted Rand index of two labellings; what belongs to no cluster is a cluster of its own."""
    from sklearn.metrics import adjusted_rand_score

    return float(adjusted_rand_score(*(_singled(labels) for labels in (first, second))))


def _singled(labels: np.ndarray) -> np.ndarray:
    return np.where(labels < 0, labels.max() + 1 + np.arange(len(labels)), labels)


def _measure(method: str, folder: Path, size: int, seeds: Sequence[int]) -> Measured:
    data = [folder / f"{size}-{seed}.npy" for seed in seeds]
    for path, seed in zip(data, seeds, strict=True):
        if not path.exists():
            np.save(path, known_clusters(size, seed)[0])
    out = folder / f"{method}.json"
    environment = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    command = [sys.executable, "-W", "ignore", __file__, method, repr(time.time()), str(out), *map(str, data)]
    subprocess.run(command, check=True, cwd=_ROOT, env={**environment, "PYTHONPATH": str(_ROOT)})
    measured = json.loads(out.read_text())
    labels = [np.array(one) for one in measured.pop("labels")]
    return Measured(**measured, labels=labels)


def _child(method: str, started: float, out: Path, paths: Sequence[Path]) -> None:
    """Runs in a process of its own: the first data set again and again for the clock, the others once."""
    cluster = {"refiner": _refiner, "recipe": _recipe}[method]
    vectors = np.load(paths[0])
    labels = [cluster(vectors)]
    seconds = {"fresh": time.time() - started, "cpu": time.process_time()}
    seconds["warm"] = _seconds(cluster, vectors)
    # The recipe has nothing to leave out, nor has this product where it fits no further seeds.
    comparable = method == "refiner" and len(vectors) <= _STABILITY_UP_TO
    seconds["bare"] = _seconds(partial(_refiner, further_seeds=0), vectors) if comparable else seconds["warm"]
    labels += [cluster(np.load(path)) for path in paths[1:]]
    out.write_text(json.dumps({**seconds, "labels": [one.tolist() for one in labels]}))


def _seconds(cluster: Callable[[np.ndarray], np.ndarray], vectors: np.ndarray) -> float:
    begun = time.perf_counter()
    cluster(vectors)
    return time.perf_counter() - begun


def _refiner(vectors: np.ndarray, further_seeds: int = 3) -> np.ndarray:
    from refiner.clustering.params import ClusterParams
    from refiner.clustering.side import cluster_side

    names = [f"{row:06d}" for row in range(len(vectors))]
    found = cluster_side(vectors, names, names, ClusterParams(further_seeds=further_seeds))
    labels = np.full(len(vectors), -1)
    for number, group in enumerate(found.groups):
        labels[list(group.members)] = number
    return labels


def _recipe(vectors: np.ndarray) -> np.ndarray:
    import hdbscan
    import umap

    shared = {"n_neighbors": 15, "min_dist": 0.1, "metric": "cosine", "random_state": 42}
    projected = umap.UMAP(n_components=20, **shared).fit_transform(vectors)
    labels = hdbscan.HDBSCAN(
        min_cluster_size=2, min_samples=1, metric="euclidean", cluster_selection_method="eom"
    ).fit_predict(projected)
    umap.UMAP(n_components=2, **shared).fit_transform(vectors)
    return np.asarray(labels)


if __name__ == "__main__":
    _child(sys.argv[1], float(sys.argv[2]), Path(sys.argv[3]), [Path(name) for name in sys.argv[4:]])
