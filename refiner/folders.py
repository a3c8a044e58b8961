"""Runs that lie in several files: which file speaks for which others, and reading what lies beside a file."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from refiner import registry
from refiner.ports import HEAD, TraceFormat

_LARGEST = 1 << 28


@dataclass(frozen=True, slots=True)
class BesideFile:
    """What lies in a folder and below it; not what is hidden, over 256 MiB, or behind a link that leads out of it."""

    folder: Path

    def names(self) -> list[str]:
        """The names of the files, relative to the folder, sorted."""
        found = (path.relative_to(self.folder) for path in self.folder.rglob("*") if path.is_file())
        return sorted(name.as_posix() for name in found if not any(part.startswith(".") for part in name.parts))

    def read(self, name: str) -> bytes | None:
        """The bytes of a file, or None when it is not there."""
        try:
            path = (self.folder / name).resolve()
            inside = path.is_relative_to(self.folder.resolve())
            return path.read_bytes() if inside and path.is_file() and path.stat().st_size <= _LARGEST else None
        except (OSError, ValueError):
            return None


def led(paths: Iterable[Path]) -> set[Path]:
    """The files that another one of them speaks for."""
    files = sorted(set(paths))
    leading: dict[Path, list[tuple[Path, re.Pattern[str]]]] = {}
    for path in files:
        for name, known, pattern in registry.leaders():
            if _is(path, name, known):
                leading.setdefault(path.parent, []).append((path, pattern))
    found = {path: leader for path in files if (leader := _leader(path, leading))}
    return {path for path, leader in found.items() if leader not in found}


def _leader(path: Path, leading: dict[Path, list[tuple[Path, re.Pattern[str]]]]) -> Path | None:
    for folder in reversed(path.parents):
        for leader, pattern in leading.get(folder, ()):
            if path != leader and pattern.fullmatch(path.relative_to(folder).as_posix()):
                return leader
    return None


def _is(path: Path, name: str, known: TraceFormat) -> bool:
    if not re.fullmatch(name, path.name):
        return False
    try:
        with path.open("rb") as stream:
            return known.sniff(stream.read(HEAD)) >= registry.SURE_ENOUGH
    except OSError:
        return False
