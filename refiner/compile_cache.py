"""Keeps what numba compiles for umap between processes: about 20 s saved in each. No clustering logic may live here.

`python -m refiner.compile_cache` fills the cache and says where it lies.
"""

from __future__ import annotations

import atexit
import os
import shutil
import sys
import tempfile
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from threading import Lock
from typing import Any

FOLDER_VARIABLE = "REFINER_CACHE_DIR"
_VERSIONED = ("numba", "llvmlite", "numpy", "umap-learn", "pynndescent")
_COMPILED = ("umap.umap_", "umap.layouts", "umap.utils", "umap.distances", "umap.sparse")
# Its loop touches arrays only, so it may run without the interpreter's lock: two fits then share two cores.
_LOOP = ("umap.layouts", "_nb_optimize_layout_euclidean_single_epoch")
_lock = Lock()
_ready: dict[str, Path | None] = {}


def default_folder() -> Path:
    """Where the cache lies: a folder named by the versions, below REFINER_CACHE_DIR or else the user's cache folder."""
    named = os.environ.get(FOLDER_VARIABLE)
    return (Path(named) if named else _user_cache() / "skill-refiner") / _versions()


def enable(folder: Path | None = None) -> Path | None:
    """Imports umap with numba's on-disk cache switched on for all its functions. Safe to call often and from threads.

    Returns the folder in use, or None when it cannot be written and nothing that is compiled now will be there next
    time: then a copy of what it holds, private to this process, is used. The first call of a process decides.
    """
    with _lock:
        if "folder" not in _ready:
            _ready["folder"] = _enable(folder or default_folder())
        return _ready["folder"]


def fill() -> Path | None:
    """Compiles everything a refinement needs by clustering a few made-up points. Returns what `enable` returns."""
    import numpy as np

    from refiner.clustering.params import ClusterParams
    from refiner.clustering.side import cluster_side

    points = np.random.default_rng(0).normal(size=(24, 32)).astype(np.float32)
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    names = [str(number) for number in range(len(points))]
    cluster_side(points, names, names, ClusterParams())
    return enable()


def _enable(folder: Path) -> Path | None:
    kept = _writable(folder)
    _point_numba_at(folder if kept else _private_copy(folder))
    for name in _COMPILED:
        _keep_compiled(vars(import_module(name)))
    loop = getattr(import_module(_LOOP[0]), _LOOP[1], None)
    if loop is not None:
        loop.targetoptions["nogil"] = True
    return folder if kept else None


def _keep_compiled(names: dict[str, Any]) -> None:
    from numba.core.dispatcher import Dispatcher

    for value in list(names.values()):
        if isinstance(value, Dispatcher):
            value.enable_caching()


def _point_numba_at(folder: Path) -> None:
    os.environ["NUMBA_CACHE_DIR"] = str(folder)
    if "numba" in sys.modules:  # it has read its environment already
        sys.modules["numba"].config.CACHE_DIR = str(folder)


def _writable(folder: Path) -> bool:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def _private_copy(folder: Path) -> Path:
    copy = Path(tempfile.mkdtemp(prefix="skill-refiner-"))
    atexit.register(shutil.rmtree, copy, ignore_errors=True)
    if folder.is_dir():
        shutil.copytree(folder, copy, dirs_exist_ok=True)
    return copy


def _user_cache() -> Path:
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")


def _versions() -> str:
    python = f"py{sys.version_info.major}.{sys.version_info.minor}"
    return "-".join([python, *(f"{name}{_version(name)}" for name in _VERSIONED)])


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ""


if __name__ == "__main__":
    # `python -m` runs a second copy of this module; the one that clustering imports is the one to ask.
    filled = import_module("refiner.compile_cache").fill()
    print(
        f"compile cache: {filled}" if filled else f"compile cache: {default_folder()} cannot be written; none is kept"
    )
