"""The output folder: whether it may be written. Knows the names of what lies there, not what they hold."""

from __future__ import annotations

import json
from pathlib import Path

from refiner.errors import OutputError
from refiner.reporting.tree import DRAFT, RUN

DATABASE = "refiner.duckdb"


def prepare(out: Path, *, fresh: bool = False) -> None:
    """Makes the output folder. Raises OutputError when it holds something that is not an earlier result."""
    try:
        _refuse_what_is_not_ours(out, fresh)
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"{out} cannot be used ({error.strerror}); choose another folder with --out") from error


def _refuse_what_is_not_ours(out: Path, fresh: bool) -> None:
    if out.exists() and not out.is_dir():
        raise OutputError(f"{out} is a file; --out needs a folder")
    if out.is_dir() and any(out.iterdir()) and (fresh or not _holds_result(out)):
        raise OutputError(f"{out} holds other files, so nothing was written; choose an empty or new folder with --out")


def _holds_result(out: Path) -> bool:
    """Whether a folder holds a result of this product, whole or interrupted."""
    return any((out / name).exists() for name in (DATABASE, f"{DATABASE}.new", DRAFT)) or _is_run(out / RUN)


def _is_run(path: Path) -> bool:
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return False
    return isinstance(found, dict) and "refinement" in found
