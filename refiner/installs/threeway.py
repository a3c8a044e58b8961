"""Two developments of one package put together: what only one side changed is taken, the rest are hunks to decide on.

Pure; lines are compared without their endings, and what stays keeps the endings of `mine`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from refiner.errors import Conflict
from refiner.installs.records import Files
from refiner.installs.regions import regions
from refiner.skills.lines import ending

Choice = Literal["mine", "theirs", "both"]
CHOICES: tuple[Choice, ...] = ("mine", "theirs", "both")


@dataclass(frozen=True, slots=True)
class Hunk:
    """A place that both sides changed. `line` counts from 1 in `mine`; None = the file is not there on that side."""

    number: int
    path: str
    line: int
    base: bytes | None
    mine: bytes | None
    theirs: bytes | None

    def taken(self, choice: Choice) -> bytes | None:
        """The text that a choice leaves; both = mine, then theirs."""
        if choice != "both" or self.mine is None or self.theirs is None:
            chosen = self.theirs if choice == "theirs" else self.mine
            return (self.mine or self.theirs) if choice == "both" else chosen
        between = b"" if not self.mine or self.mine.endswith((b"\n", b"\r")) else ending(self.theirs)
        return self.mine + between + self.theirs


Part = bytes | Hunk


@dataclass(frozen=True, slots=True)
class Woven:
    """The result by path, each file as pieces in order; a piece is text or an open hunk."""

    parts: Mapping[str, tuple[Part, ...]]

    @property
    def hunks(self) -> tuple[Hunk, ...]:
        """The open places, numbered from 1 in the order of paths and lines."""
        return tuple(part for path in sorted(self.parts) for part in self.parts[path] if isinstance(part, Hunk))

    def files(self, choices: Mapping[int, Choice]) -> dict[str, bytes]:
        """The package with every hunk decided. Raises Conflict naming those that are not."""
        open_ = [hunk for hunk in self.hunks if hunk.number not in choices]
        if open_:
            raise Conflict(f"{len(open_)} places were changed on both sides; decide on each: {_places(open_)}")
        decided = {path: [_decided(part, choices) for part in parts] for path, parts in sorted(self.parts.items())}
        return {path: b"".join(one or b"" for one in parts) for path, parts in decided.items() if parts != [None]}


def _decided(part: Part, choices: Mapping[int, Choice]) -> bytes | None:
    return part.taken(choices[part.number]) if isinstance(part, Hunk) else part


def _places(hunks: Sequence[Hunk]) -> str:
    return ", ".join(f"{hunk.number} ({hunk.path}:{hunk.line})" for hunk in hunks)


def weave(base: Files, mine: Files, theirs: Files) -> Woven:
    """`mine` and `theirs`, which both come from `base`, file by file."""
    paths = sorted({*base, *mine, *theirs})
    parts = {path: _file(path, base.get(path), mine.get(path), theirs.get(path)) for path in paths}
    return Woven(_numbered({path: found for path, found in parts.items() if found is not None}))


def _numbered(parts: Mapping[str, tuple[Part, ...]]) -> dict[str, tuple[Part, ...]]:
    numbers = iter(range(1, sum(map(len, parts.values())) + 1))
    return {
        path: tuple(replace(part, number=next(numbers)) if isinstance(part, Hunk) else part for part in parts[path])
        for path in sorted(parts)
    }


def _file(path: str, base: bytes | None, mine: bytes | None, theirs: bytes | None) -> tuple[Part, ...] | None:
    """One file; None = it is in neither result."""
    if _same(mine, theirs) or _same(base, theirs):
        return None if mine is None else (mine,)
    if _same(base, mine):
        return None if theirs is None else (_ended_like(theirs, mine),)
    if mine is None or theirs is None or any(b"\0" in one for one in (base or b"", mine, theirs)):
        return (Hunk(0, path, 1, base, mine, theirs),)
    return tuple(_text(path, base or b"", mine, theirs))


def _same(one: bytes | None, other: bytes | None) -> bool:
    """Whether two files are equal but for their line endings."""
    if one is None or other is None or b"\0" in one:
        return one == other
    return one == other or _bare(one) == _bare(other)


def _ended_like(data: bytes, other: bytes | None) -> bytes:
    eol = ending(other) if other else b"\n"
    return data if b"\0" in data or eol == b"\n" else b"".join(_closed(data.splitlines(keepends=True), eol, data))


def _bare(data: bytes) -> list[bytes]:
    return [line.rstrip(b"\r\n") for line in data.splitlines(keepends=True)]


def _text(path: str, base: bytes, mine: bytes, theirs: bytes) -> Iterator[Part]:
    old, ours, new = (one.splitlines(keepends=True) for one in (base, mine, theirs))
    eol = ending(mine)
    found = list(regions(_bare(base), _bare(mine), _bare(theirs)))
    for at, region in enumerate(found):
        last = at == len(found) - 1
        taken = ours[region.mine]
        if region.kind == "conflict":
            given = b"".join(_closed(new[region.theirs], eol, theirs))
            yield Hunk(0, path, region.mine.start + 1, b"".join(old[region.base]), b"".join(taken), given)
        elif region.kind == "theirs":
            yield b"".join(_closed(new[region.theirs], eol, theirs if last else b""))
        else:
            yield b"".join(taken) if last else b"".join(_open_ended(taken, eol))


def _closed(lines: Sequence[bytes], eol: bytes, whole: bytes) -> Iterator[bytes]:
    """Lines with one ending; the last one stays open when it ends a file that has no final line ending."""
    for at, line in enumerate(lines):
        bare = line.rstrip(b"\r\n")
        ends_file = at == len(lines) - 1 and bare == line and whole.endswith(line)
        yield bare if ends_file else bare + eol


def _open_ended(lines: Sequence[bytes], eol: bytes) -> Iterator[bytes]:
    """Lines as they are; one that ended its file gets an ending, as more follows."""
    for line in lines:
        yield line if line.endswith((b"\n", b"\r")) else line + eol
