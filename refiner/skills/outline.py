"""Sections of a skill by its headings, as paths and byte ranges. Only top-level headings open a section."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from refiner.skills.markdown import Document, Heading, document
from refiner.types import SkillVersion

FRONT_MATTER = ("---",)


@dataclass(frozen=True, slots=True)
class Section:
    """`path` from the outermost heading down; the n-th sibling of one name is `Name [n]` from n = 2.

    Byte offsets: heading `start` to `own_start`, own text to `own_end` (the next heading of any level), with all
    sub-sections to `end`. The text before the first heading has path () and level 0, the front matter ("---",).
    """

    path: tuple[str, ...]
    level: int
    start: int
    own_start: int
    own_end: int
    end: int


def sections(text: str | bytes) -> list[Section]:
    """Front matter (if any), the part before the first heading, then every section in order of appearance.

    Raises SkillError when the bytes are not UTF-8.
    """
    data = text.encode("utf-8", "replace") if isinstance(text, str) else text
    return list(_sections(data))


@lru_cache(maxsize=128)
def _sections(data: bytes) -> tuple[Section, ...]:
    read = document(data)
    paths = _paths(read.headings, reserved=FRONT_MATTER if read.front else ())
    starts = [heading.start for heading in read.headings] + [len(data)]
    found = [*_front(read), Section((), 0, read.body, read.body, starts[0], len(data))]
    for at, (heading, path) in enumerate(zip(read.headings, paths, strict=True)):
        following = read.headings[at + 1 :]
        end = next((other.start for other in following if other.level <= heading.level), len(data))
        found.append(Section(path, heading.level, heading.start, heading.end, starts[at + 1], end))
    return tuple(found)


def _front(read: Document) -> list[Section]:
    front = read.front
    return [Section(FRONT_MATTER, 0, front.start, front.own_start, front.own_end, front.end)] if front else []


def _paths(headings: Sequence[Heading], reserved: tuple[str, ...]) -> list[tuple[str, ...]]:
    paths: list[tuple[str, ...]] = []
    taken = {reserved}
    open_: list[tuple[int, tuple[str, ...]]] = []
    for heading in headings:
        while open_ and open_[-1][0] >= heading.level:
            open_.pop()
        parent = open_[-1][1] if open_ else ()
        path, n = (*parent, heading.text), 1
        while path in taken:
            n += 1
            path = (*parent, f"{heading.text} [{n}]")
        taken.add(path)
        paths.append(path)
        open_.append((heading.level, path))
    return paths


def find_section(data: bytes, path: Sequence[str]) -> Section | None:
    """The section of this exact path, else the only one whose path ends so (case and white space folded), else None."""
    found = _sections(data)
    exact = next((section for section in found if section.path == tuple(path)), None)
    if exact or not path:
        return exact
    wanted = _folded(path)
    alike = [section for section in found if _folded(section.path)[-len(wanted) :] == wanted]
    return alike[0] if len(alike) == 1 else None


def _folded(path: Sequence[str]) -> list[str]:
    return [" ".join(part.lstrip("#").split()).casefold() for part in path]


def body_lines(skill: SkillVersion) -> list[str]:
    """The non-blank lines of the main file below its front matter, in order."""
    read = document(skill.files[skill.main])
    lines = (read.text(line.start, line.end) for line in read.lines if line.start >= read.body)
    return [line for line in lines if line.strip()]
