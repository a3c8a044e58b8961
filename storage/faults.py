"""DuckDB's errors in words for people. Nothing here opens, reads or writes a database."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb

from refiner.errors import StoreBusy, StoreError

_FULL = ("File too large", "No space left on device", "Disk quota exceeded", "not enough space on the disk")
_HELD = ("Could not set lock", "Conflicting lock", "used by another process")
_FOREIGN = ("not a valid DuckDB database", "Could not read enough bytes", "Corrupt database file", "checksum")
_ELSEWHERE = "use another folder with --out, or another database with --db"


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """Raises StoreBusy, StoreError or KeyboardInterrupt in place of DuckDB's own errors; messages name `path`."""
    try:
        yield
    except duckdb.Error as error:
        raise explain(path, error) from error
    except RuntimeError as error:
        if str(error) == "Query interrupted":  # what a Ctrl-C during a query comes out as
            raise KeyboardInterrupt from error
        raise


def explain(path: Path, error: duckdb.Error) -> StoreError:
    """The error to show for what DuckDB said about the database at `path`."""
    text = str(error)
    if any(sign in text for sign in _HELD):
        return StoreBusy(busy_message(path, _holder(text)))
    if any(sign in text for sign in _FULL):
        return StoreError(
            f"disk full while writing {path}. Nothing of the last commit was kept, everything before it is safe. "
            "Free some space (or lift the file-size limit) and run the same command again."
        )
    if "has been invalidated" in text:
        return StoreError(f"{path} must be opened again after an earlier write error; committed work is safe: {text}")
    if any(sign in text for sign in _FOREIGN):
        return StoreError(
            f"{path} cannot be read as a database of Skill Refiner, and was left as it is. "
            f"Move it away, or {_ELSEWHERE}. ({_first_line(text)})"
        )
    return StoreError(f"the database {path} cannot be used: {_first_line(text)}")


def busy_message(path: Path, holder: str) -> str:
    """Who holds the database, and the ways out."""
    return f"{path} is in use by {holder}. Stop it or wait until it ends, or {_ELSEWHERE}."


def _holder(text: str) -> str:
    found = re.search(r"PID (\d+)", text)
    if not found:
        return "another process"
    command = _command_line(found[1])
    return f"process {found[1]}" + (f" (`{command}`)" if command else "")


def _command_line(pid: str) -> str:
    try:
        raw = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return ""
    words = raw.decode(errors="replace").replace("\0", " ").strip()
    return words if len(words) <= 160 else words[:157] + "..."


def _first_line(text: str) -> str:
    return text.strip().splitlines()[0] if text.strip() else "no reason given"
