"""What leaves the product: the merged files, without sections of a skeleton that are still empty. Writes nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from refiner.merge.algebra import LineRange, Merged
from refiner.skills import is_skeleton, sections
from refiner.skills.skeleton import SECTIONS
from refiner.types import SkillVersion

Gap = tuple[int, int]


def export_files(files: Mapping[str, bytes], base: SkillVersion) -> dict[str, bytes]:
    """The files as they are written out: over a skeleton without its empty sections, else as they are."""
    data = files[base.main]
    return {**files, base.main: _without(data, _empty_sections(data, base))}


def export(base: SkillVersion, merged: Merged) -> Merged:
    """The result with the files of `export_files` and line numbers that fit them."""
    data, path = merged.files[merged.main], merged.main
    gone = _empty_sections(data, base)
    lines = tuple(_shifted(found, data, gone) if found.path == path else found for found in merged.lines)
    return replace(merged, files=export_files(merged.files, base), lines=lines)


def _empty_sections(data: bytes, base: SkillVersion) -> list[Gap]:
    """Byte ranges of the skeleton's own sections that nothing was added to; none when the base is no skeleton."""
    if not is_skeleton(base):
        return []
    own = [part for part in sections(data) if len(part.path) == 2 and part.path[-1] in SECTIONS]
    return [(part.start, part.end) for part in own if not data[part.own_start : part.end].strip()]


def _without(data: bytes, gone: Sequence[Gap]) -> bytes:
    for start, end in reversed(gone):
        data = data[:start] + data[end:]
    return data.rstrip(b"\n") + b"\n" if gone else data


def _shifted(lines: LineRange, data: bytes, gone: Sequence[Gap]) -> LineRange:
    starts = [0, *(at + 1 for at, byte in enumerate(data) if byte == 10)]

    def moved(number: int) -> int:
        return number - sum(data[first:last].count(b"\n") for first, last in gone if first < starts[number - 1])

    return replace(lines, start_line=moved(lines.start_line), end_line=moved(lines.end_line))
