"""What is kept of an installed skill, as plain values: versions and trees. Touches no file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from refiner.errors import SkillError
from refiner.ids import content_key

Files = Mapping[str, bytes]
"""Relative path -> bytes of a package: SKILL.md, references, scripts."""

Source = Literal["adopted", "hand", "installed", "rollback", "merge", "imported"]
WORDS: dict[str, str] = {
    "adopted": "found without a history",
    "hand": "edited by hand",
    "installed": "installed",
    "rollback": "rolled back",
    "merge": "merged with another skill",
    "imported": "imported from another tool",
}


@dataclass(frozen=True, slots=True)
class Tree:
    """A package as it lies in a folder: its bytes, and which of its files may be executed."""

    files: Files
    executable: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Version:
    """One state of a package. `number` is its place in the log, from 1; `files` maps paths to SHA-256 sums.

    `origin` is the sum of the provenance that belongs to it, or None. `more` holds what only some sources have:
    an override with its reason, the folder of a merge, the number that another tool gave it.
    """

    number: int
    parents: tuple[str, ...]
    at: str
    source: Source
    note: str
    files: Mapping[str, str]
    executable: frozenset[str] = frozenset()
    origin: str | None = None
    more: Mapping[str, Any] = field(default_factory=dict)

    @property
    def id(self) -> str:
        """Equal for equal content with an equal past; its place in a log does not matter."""
        files, executable = dict(self.files), sorted(self.executable)
        return content_key(
            "version", self.parents, self.at, self.source, self.note, files, executable, self.origin, dict(self.more)
        )

    def plain(self) -> dict[str, Any]:
        """The version as one line of a log."""
        return {
            "version": self.number,
            "id": self.id,
            "parents": list(self.parents),
            "at": self.at,
            "source": self.source,
            "note": self.note,
            "files": {path: self.files[path] for path in sorted(self.files)},
            "executable": sorted(self.executable),
            "origin": self.origin,
            "more": dict(self.more),
        }


def from_plain(number: int, line: Mapping[str, Any]) -> Version:
    """The version that a line of a log holds, at place `number`. Raises SkillError saying what is wrong with it."""
    try:
        source: Source = line["source"]
        if source not in get_args(Source):
            raise SkillError(f"line {number}: {str(source)[:40]!r} is no source of a version")
        made = Version(
            number=number,
            parents=tuple(map(str, line["parents"])),
            at=str(line["at"]),
            source=source,
            note=str(line["note"]),
            files={str(path): str(line["files"][path]) for path in sorted(line["files"])},
            executable=frozenset(map(str, line["executable"])),
            origin=None if line["origin"] is None else str(line["origin"]),
            more=dict(line["more"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise SkillError(f"line {number} is no version of a skill ({type(error).__name__}: {error})") from error
    if line.get("id") != made.id:
        raise SkillError(f"line {number} was changed by hand: its id does not fit its content")
    return made


def numbered(versions: tuple[Version, ...], number: int) -> Version:
    """The version at this place. Raises SkillError naming the places there are."""
    if not 1 <= number <= len(versions):
        there = f"there are 1 to {len(versions)}" if versions else "nothing was kept yet"
        raise SkillError(f"there is no version {number}: {there}")
    return versions[number - 1]
