"""The compile cache: where it lies, that it saves compiling and changes nothing, and that it never stands in the way.

Some cases need processes of their own, since numba decides once a process. They start from a copy of the cache in use,
so that only umap's main loop, which makes every coordinate, is compiled anew.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from refiner import compile_cache
from refiner.clustering.params import ClusterParams
from refiner.clustering.side import cluster_side
from tests.bench.bench_cluster import known_clusters

ROOT = Path(__file__).resolve().parents[1]
SCRIPT = """
import json, sys
from pathlib import Path
if sys.argv[2] == "numba first":
    import numba
from refiner import compile_cache
if sys.argv[2] == "read-only":
    compile_cache._writable = lambda folder: False
kept = compile_cache.enable(Path(sys.argv[1]))
from tests.test_compile_cache import told
answer = told()
from umap import layouts, umap_
stats = [layouts._nb_optimize_layout_euclidean_single_epoch.stats, umap_.smooth_knn_dist.stats]
misses = sum(sum(one.cache_misses.values()) for one in stats)
hits = sum(sum(one.cache_hits.values()) for one in stats)
from numba import config
print(json.dumps([str(kept) if kept else None, misses, hits, answer, config.CACHE_DIR]))
"""


def told() -> str:
    """Every number that clustering some vectors gives."""
    vectors = known_clusters(40, 1, width=32)[0]
    names = [f"{row:02d}" for row in range(40)]
    return repr(cluster_side(vectors, names, names, ClusterParams(further_seeds=1)))


def started(folder: Path, mode: str = "") -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", SCRIPT, str(folder), mode],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )


def answer(process: subprocess.Popen[str]) -> tuple[Any, ...]:
    out, problem = process.communicate(timeout=120)
    assert process.returncode == 0, problem
    return tuple(json.loads(out))


@pytest.fixture(scope="module")
def filled() -> Path:
    folder = compile_cache.fill()
    assert folder is not None
    return folder


def copy_of(filled: Path, folder: Path) -> Path:
    shutil.copytree(filled, folder)
    return folder


def test_filled_cache_saves_all_compiling_and_changes_no_number(filled: Path, tmp_path: Path) -> None:
    """Two processes fill one cold folder at once; a third finds all of it; all agree with this process."""
    cold = copy_of(filled, tmp_path / "cache")
    for compiled in cold.glob("umap_*/layouts.*"):
        compiled.unlink()
    both = [answer(process) for process in [started(cold), started(cold)]]
    warm = answer(started(cold, "numba first"))
    assert [one[:3] for one in both] == [(str(cold), 1, 1)] * 2
    assert warm[:3] == (str(cold), 0, 2)
    assert {one[3] for one in (*both, warm)} == {told()}


def test_read_only_folder_is_used_through_a_private_copy_that_goes_with_the_process(filled: Path) -> None:
    kept, misses, hits, numbers, used = answer(started(filled, "read-only"))
    assert (kept, misses, hits, numbers) == (None, 0, 2, told())
    assert Path(used) != filled
    assert not Path(used).exists()


def test_folder_that_cannot_be_made_leaves_an_empty_private_one(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    impossible = tmp_path / "file" / "cache"
    assert not compile_cache._writable(impossible)
    assert list(compile_cache._private_copy(impossible).iterdir()) == []
    assert compile_cache._writable(tmp_path / "new" / "cache")


def test_folder_is_named_by_versions_and_can_be_moved(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "user"))
    monkeypatch.delenv(compile_cache.FOLDER_VARIABLE, raising=False)
    usual = compile_cache.default_folder()
    for name in ("numba", "umap-learn", "numpy"):
        assert compile_cache.version(name) in usual.name
    monkeypatch.setenv(compile_cache.FOLDER_VARIABLE, str(tmp_path / "moved"))
    assert compile_cache.default_folder() == tmp_path / "moved" / usual.name
    monkeypatch.setattr(compile_cache, "version", lambda name: "9.9")
    assert compile_cache.default_folder().name != usual.name


def test_first_call_of_a_process_decides(filled: Path, tmp_path: Path) -> None:
    assert compile_cache.enable(tmp_path / "other") == filled
    assert not (tmp_path / "other").exists()
