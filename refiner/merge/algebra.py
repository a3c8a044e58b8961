"""A merged skill as a function of a base and a *set* of accepted changes. No I/O, no opinion on what to accept."""

from __future__ import annotations

import posixpath
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from refiner.errors import Conflict, StaleEdit
from refiner.merge.operations import File, Located, locate
from refiner.merge.overlap import changes_overlap, edits_overlap, in_order, unmet_requirements
from refiner.merge.weave import Segment, Task, weave
from refiner.skills import document
from refiner.skills.lines import ends_line, split
from refiner.types import Change, Edit, SkillVersion


@dataclass(frozen=True, slots=True, order=True)
class LineRange:
    """Lines `start_line` to `end_line` (from 1, both included) of a file and the change they belong to."""

    path: str
    start_line: int
    end_line: int
    change_id: str


@dataclass(frozen=True, slots=True)
class Merged:
    """The files of the result. `lines` are the lines added or changed, `removed` those of the base that were cut."""

    files: dict[str, bytes]
    main: str
    lines: tuple[LineRange, ...]
    removed: tuple[LineRange, ...]
    parent: str
    change_ids: tuple[str, ...]

    def version(self) -> SkillVersion:
        return SkillVersion(self.files, self.main, (self.parent,), self.change_ids)


def resolve(base: SkillVersion, edit: Edit) -> Edit:
    """The edit with its anchor in the base, its section path and `old` as they stand there.

    Raises StaleEdit with the reason and what would help when it cannot be placed.
    """
    return locate(base, edit).edit


def settle(base: SkillVersion, changes: Sequence[Change]) -> tuple[Change, ...]:
    """The changes with all edits resolved, in the given order. One that cannot be placed says why in `unplaced`."""
    renamed: dict[str, str] = {}
    settled = [_settled(base, change, renamed) for change in changes]
    return tuple(replace(change, edits=tuple(_renamed(edit, renamed) for edit in change.edits)) for change in settled)


def _settled(base: SkillVersion, change: Change, renamed: dict[str, str]) -> Change:
    if change.unplaced is not None:
        return change
    try:
        located = _placed(base, change)
    except StaleEdit as error:
        return replace(change, unplaced=str(error))
    renamed |= {edit.key: found.edit.key for edit, found in zip(change.edits, located, strict=True)}
    return replace(change, edits=tuple(found.edit for found in located))


def _renamed(edit: Edit, renamed: dict[str, str]) -> Edit:
    """The edit with requirements that name repaired edits by their new keys."""
    requires = tuple(renamed.get(key, key) for key in edit.requires)
    return edit if requires == edit.requires else replace(edit, requires=requires)


def _placed(base: SkillVersion, change: Change) -> list[Located]:
    if not change.edits:
        raise StaleEdit("the change has no edit")
    located = [locate(base, edit) for edit in change.edits]
    if any(edits_overlap(one.edit, other.edit) for one, other in combinations(located, 2)):
        raise StaleEdit("two edits of this change touch the same text: make them one")
    for found in located:
        if isinstance(found.operation, File) and not _is_linked(found.edit.path, change.edits):
            raise StaleEdit(f"{found.edit.path} would be a file that nothing links to: add the link in the same change")
    return located


def _is_linked(path: str, edits: Iterable[Edit]) -> bool:
    others = (edit for edit in edits if edit.path != path)
    return any(posixpath.relpath(path, posixpath.dirname(edit.path) or ".") in edit.new for edit in others)


def apply(base: SkillVersion, changes: Iterable[Change]) -> Merged:
    """The base with these changes, whatever their order; equal edits of several changes are applied once.

    Raises StaleEdit when an edit cannot be placed in this base, and Conflict when two changes touch the same text or a
    required edit is missing.
    """
    accepted = in_order(list({change.key: change for change in settle(base, list(changes))}.values()))
    _check(accepted)
    tasks: dict[str, dict[str, _Wanted]] = {}
    for change in accepted:
        for edit in change.edits:
            wanted = tasks.setdefault(edit.path, {}).setdefault(edit.key, _Wanted(locate(base, edit), change.rank, []))
            wanted.change_ids.append(change.key)
    files, lines, removed = dict(base.files), list[LineRange](), list[LineRange]()
    for path, wanted_here in sorted(tasks.items()):
        files[path], segments = _edited(base, path, wanted_here)
        old = base.files.get(path, b"")
        segments = _in_one_line_joined(old, files[path], segments)
        lines += _added_lines(path, old, files[path], segments)
        removed += _removed_lines(path, old, files[path], segments)
    change_ids = tuple(sorted(change.key for change in accepted))
    return Merged(files, base.main, tuple(sorted(set(lines))), tuple(sorted(set(removed))), base.key, change_ids)


@dataclass(frozen=True, slots=True)
class _Wanted:
    located: Located
    rank: tuple[int, int]
    change_ids: list[str]


def _check(accepted: Sequence[Change]) -> None:
    for change in accepted:
        if change.unplaced is not None:
            raise StaleEdit(f"change {change.key} cannot be applied: {change.unplaced}")
        missing = unmet_requirements(change, accepted)
        if missing:
            raise Conflict(f"change {change.key} needs edit {missing[0]}, which is not accepted: accept that one too")
    for one, other in combinations(accepted, 2):
        if changes_overlap(one, other):
            raise Conflict(f"changes {one.key} and {other.key} edit the same text: accept one of them")


def _edited(base: SkillVersion, path: str, wanted: dict[str, _Wanted]) -> tuple[bytes, list[Segment]]:
    tasks = []
    for key, want in wanted.items():
        operation = want.located.operation
        if isinstance(operation, File):
            return operation.data, [Segment(0, len(operation.data), 0, 0, tuple(want.change_ids))]
        tasks.append(Task(operation, want.rank, key, tuple(want.change_ids)))
    return weave(document(base.files[path]), tasks)


class _LineNumbers:
    def __init__(self, data: bytes) -> None:
        self.starts = [0, *(line.next for line in split(data) if line.next > line.end)]

    def of(self, offset: int) -> int:
        """The line (from 1) that holds the byte at `offset`."""
        return bisect_right(self.starts, offset)


def _in_one_line_joined(old: bytes, new: bytes, segments: Sequence[Segment]) -> list[Segment]:
    """The segments, a cut and what follows it inside of one line made one: what becomes of that line is up to both."""
    joined: list[Segment] = []
    for segment in segments:
        last = joined[-1] if joined else None
        if last and last.old_start < last.old_end == segment.old_start and not _clean(old, new, last):
            ids = tuple(dict.fromkeys((*last.change_ids, *segment.change_ids)))
            joined[-1] = Segment(last.start, segment.end, last.old_start, segment.old_end, ids)
        else:
            joined.append(segment)
    return joined


def _clean(old: bytes, new: bytes, segment: Segment) -> bool:
    """Whether what follows a segment starts a line, in the base and in the result."""
    return _starts_line(old, segment.old_end) and _starts_line(new, segment.end)


def _added_lines(path: str, old: bytes, new: bytes, segments: Sequence[Segment]) -> list[LineRange]:
    numbers = _LineNumbers(new)
    found = []
    for segment in segments:
        first, last = _touched(old, new, segment)
        if first < last:
            start, end = numbers.of(first), numbers.of(last - 1)
            found += [LineRange(path, start, end, change_id) for change_id in segment.change_ids]
    return found


def _touched(old: bytes, new: bytes, segment: Segment) -> tuple[int, int]:
    """The bytes of the result whose lines a segment adds or changes; none for a clean removal of whole lines."""
    first, last = segment.start, segment.end
    if segment.old_start == len(old):
        return first + (0 if _starts_line(new, first) else _line_end_at(new, first)), last
    if first == last and _starts_line(old, segment.old_start) and not _tail_changes(old, new, segment):
        return first, last
    return first, last + (1 if first == last or _tail_changes(old, new, segment) else 0)


def _tail_changes(old: bytes, new: bytes, segment: Segment) -> bool:
    """Whether the base goes on after the segment in the middle of a line, of the base or of the result."""
    return segment.old_end < len(old) and not _clean(old, new, segment)


def _line_end_at(data: bytes, offset: int) -> int:
    """Length of the line ending at `offset`: ending the unfinished last line of a file changes no line's text."""
    return 2 if data.startswith(b"\r\n", offset) else 1 if data[offset : offset + 1] in (b"\r", b"\n") else 0


def _starts_line(data: bytes, offset: int) -> bool:
    return ends_line(data[max(0, offset - 3) : offset]) and data[offset - 1 : offset + 1] != b"\r\n"


def _removed_lines(path: str, old: bytes, new: bytes, segments: Sequence[Segment]) -> list[LineRange]:
    numbers = _LineNumbers(old)
    found = []
    for segment in segments:
        first, last = _taken(old, new, segment)
        if first < last:
            start, end = numbers.of(first), numbers.of(last - 1)
            found += [LineRange(path, start, end, change_id) for change_id in segment.change_ids]
    return found


def _taken(old: bytes, new: bytes, segment: Segment) -> tuple[int, int]:
    """The bytes of the base whose lines are gone or changed, the line that now ends in an earlier one included."""
    first, last = segment.old_start, segment.old_end
    return first, last + (1 if _tail_changes(old, new, segment) else 0)
