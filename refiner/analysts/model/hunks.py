"""A rewritten file as edits of the one it was made from: one hunk for each run of changed lines. Attributes nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from refiner.skills import FRONT_MATTER, Section, document, sections
from refiner.types import Edit, SkillVersion


@dataclass(frozen=True, slots=True)
class Hunk:
    """`lines`: what it adds, or takes away where it adds nothing. `unplaced` says why it cannot be an edit."""

    edits: tuple[Edit, ...]
    lines: tuple[str, ...]
    added: str
    unplaced: str | None = None


@dataclass(frozen=True, slots=True)
class _Base:
    """The file by lines, each with the section whose own text or heading it is."""

    path: str
    lines: tuple[str, ...]
    of_line: tuple[Section, ...]
    headings: frozenset[int]

    def near(self, at: int) -> Section:
        """The section that text inserted before line `at` belongs to: that of the line above."""
        return self.of_line[max(min(at, len(self.lines)) - 1, 0)]


def hunks(skill: SkillVersion, rewritten: str) -> list[Hunk]:
    """The differences between the skill's main file and a rewritten text, in order; blank lines alone are none."""
    base = _read(skill)
    new = rewritten.replace("\r\n", "\n").strip("\n").split("\n")
    old = [line.rstrip() for line in base.lines]
    matcher = SequenceMatcher(None, old, [line.rstrip() for line in new], autojunk=False)
    found = []
    for tag, start, end, first, last in matcher.get_opcodes():
        if tag != "equal" and any(line.strip() for line in (*old[start:end], *new[first:last])):
            found.append(_hunk(base, start, end, new[first:last]))
    return found


def _read(skill: SkillVersion) -> _Base:
    data = skill.files[skill.main]
    read = document(data)
    found = sections(data)
    lines = [line for line in read.lines if line.start < len(data)]
    of_line = tuple(_holding(found, line.start) for line in lines)
    starts = {section.start for section in found if section.level}
    headings = frozenset(at for at, line in enumerate(lines) if line.start in starts)
    return _Base(skill.main, tuple(read.text(line.start, line.end) for line in lines), of_line, headings)


def _holding(found: Sequence[Section], offset: int) -> Section:
    inside = [section for section in found if section.start <= offset < max(section.own_end, section.start + 1)]
    return inside[-1] if inside else found[-1]


def _hunk(base: _Base, start: int, end: int, new: Sequence[str]) -> Hunk:
    added = "\n".join(new).strip("\n")
    lines = tuple(line for line in (new if added.strip() else base.lines[start:end]) if line.strip())
    lost = [base.lines[at].strip() for at in range(start, end) if at in base.headings]
    if lost:
        words = f"the rewrite changes the heading {lost[0]!r}, which is left to a person"
        edit = Edit(base.path, "replace", base.near(start).path, "\n".join(base.lines[start:end]), added)
        return Hunk((edit,), lines, added, words)
    if len({base.of_line[at].path for at in range(start, end)}) > 1:
        edit = Edit(base.path, "replace", base.of_line[start].path, "\n".join(base.lines[start:end]), added)
        return Hunk((edit,), lines, added, "the rewrite changes text across two sections at once")
    return Hunk(tuple(_edits(base, start, end, new)), lines, added)


def _edits(base: _Base, start: int, end: int, new: Sequence[str]) -> Iterator[Edit]:
    """The text up to the first new heading in its place, then each new section under its parent."""
    section = base.of_line[start] if start < end else base.near(start)
    heads = [] if section.path == FRONT_MATTER else _headings(new)
    text = "\n".join(new[: heads[0] if heads else None]).strip("\n")
    old = "\n".join(base.lines[start:end]).strip("\n")
    if old.strip():
        yield Edit(base.path, "replace" if text.strip() else "delete", section.path, old, text)
    elif text.strip():
        yield _insert(base, section, start, text)
    for at, until in zip(heads, [*heads, len(new)][1:], strict=True):
        body = "\n".join(new[at:until]).strip("\n")
        level = len(new[at]) - len(new[at].lstrip("#"))
        yield Edit(base.path, "add_section", _parent(section, level), "", body)


def _headings(lines: Sequence[str]) -> list[int]:
    """The outermost headings among new lines: a deeper one goes with the one above it. Lines in a fence are none."""
    data = "\n".join(lines).encode("utf-8", "replace")
    starts = {data[: heading.start].count(b"\n"): heading.level for heading in document(data).headings}
    found: list[int] = []
    for at, level in sorted(starts.items()):
        if lines[at].lstrip().startswith("#") and (not found or level <= starts[found[-1]]):
            found.append(at)
    return found


def _parent(section: Section, level: int) -> tuple[str, ...]:
    """The path that a heading of `level` stands under, seen from a section."""
    up = max(section.level - level + 1, 0)
    return section.path[: len(section.path) - up] if up else section.path


def _insert(base: _Base, section: Section, at: int, text: str) -> Edit:
    """After the nearest line above in the section, before the nearest below, else at the section's end."""
    own = [line for line, other in enumerate(base.of_line) if other is section and line not in base.headings]
    above = [line for line in own if line < at and base.lines[line].strip()]
    below = [line for line in own if line >= at and base.lines[line].strip()]
    if above and _is_single(base, own, above[-1]):
        return Edit(base.path, "insert_after", section.path, base.lines[above[-1]], text)
    if below and _is_single(base, own, below[0]):
        return Edit(base.path, "insert_before", section.path, base.lines[below[0]], text)
    return Edit(base.path, "append_to_section", section.path, "", text)


def _is_single(base: _Base, own: Sequence[int], line: int) -> bool:
    return sum(base.lines[other].strip() == base.lines[line].strip() for other in own) == 1
