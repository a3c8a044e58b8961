"""Puts operations into one file's bytes, in an order that depends on nothing but the operations themselves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from refiner.merge.operations import Cut, Piece
from refiner.skills import Document
from refiner.skills.lines import ends_line, is_blank
from refiner.skills.markdown import Style

_HIGHEST_NUMBER = 999_999_999
"""CommonMark allows nine digits in a list marker."""


@dataclass(frozen=True, slots=True)
class Task:
    """An operation with what decides its place among others at one point, and the changes that asked for it."""

    operation: Cut | Piece
    rank: tuple[int, int]
    edit_key: str
    change_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Segment:
    """Bytes `start` to `end` of the result stand for `old_start` to `old_end` of the base."""

    start: int
    end: int
    old_start: int
    old_end: int
    change_ids: tuple[str, ...]


def weave(doc: Document, tasks: Sequence[Task]) -> tuple[bytes, list[Segment]]:
    """The new bytes and where each task's text lies in them. Ranges must be disjoint (see `overlap`)."""
    return _Weaver(doc).run(tasks)


def _position(task: Task) -> tuple[int, int]:
    """Pieces at a point go after a cut that ends there and before one that starts there."""
    operation = task.operation
    return (operation.start, 1) if isinstance(operation, Cut) else (operation.point, 0)


def _turn(task: Task) -> tuple[tuple[int, int], tuple[int, int], str]:
    order = task.operation.order if isinstance(task.operation, Piece) else (0, 0)
    return order, task.rank, task.edit_key


class _Weaver:
    def __init__(self, doc: Document) -> None:
        self.doc, self.out, self.at = doc, bytearray(), 0
        self.segments: list[Segment] = []

    def run(self, tasks: Sequence[Task]) -> tuple[bytes, list[Segment]]:
        ordered = sorted(tasks, key=lambda task: (_position(task), _turn(task)))
        for (point, _), group in groupby(ordered, key=_position):
            self.copy(point)
            self.place(point, list(group))
        self.copy(len(self.doc.data))
        return bytes(self.out), self.segments

    def copy(self, until: int) -> None:
        self.out += self.doc.data[self.at : until]
        self.at = max(self.at, until)

    def place(self, point: int, group: list[Task]) -> None:
        if isinstance(group[0].operation, Cut):
            self.write(group[0], group[0].operation.new, group[0].operation.end)
            return
        pieces = [task.operation for task in group if isinstance(task.operation, Piece)]
        counted: dict[tuple[str, int] | None, int] = {}
        for at, (task, piece) in enumerate(zip(group, pieces, strict=True)):
            number = counted.get(piece.join, 0)
            counted[piece.join] = number + len(piece.items)
            lines = _rendered(piece, number)
            if self.gap(pieces[at - 1] if at else None, piece):
                lines.insert(0, _empty(piece.style))
            if at == len(pieces) - 1 and piece.gap_after and self.meets_text(point):
                lines.append("")
            self.write(task, self.joined(point, lines, last=at == len(pieces) - 1), point)

    def write(self, task: Task, data: bytes, old_end: int) -> None:
        start = len(self.out)
        self.out += data
        self.segments.append(Segment(start, len(self.out), self.at, old_end, task.change_ids))
        self.at = old_end

    def joined(self, point: int, lines: list[str], *, last: bool) -> bytes:
        """Lines with the file's endings; at the end of a file without a final one, the last stays open too."""
        eol = self.doc.eol
        data = eol.join(line.encode("utf-8", "replace") for line in lines)
        lead = b"" if ends_line(self.out) else eol
        stays_open = last and point == len(self.doc.data) and not ends_line(self.doc.data)
        return lead + data + (b"" if stays_open else eol)

    def gap(self, previous: Piece | None, piece: Piece) -> bool:
        if previous is not None and piece.join is not None and previous.join == piece.join:
            return piece.style is not None and piece.style.loose
        wanted = piece.gap_before or (previous is not None and previous.gap_after)
        return wanted and not self.after_blank()

    def after_blank(self) -> bool:
        """Whether the line before this place is blank, or there is none."""
        done = bytes(self.out).lstrip(b"\xef\xbb\xbf")
        lines = done.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        before = lines[-2] if len(lines) > 1 and not lines[-1] else lines[-1]
        return is_blank(before)

    def meets_text(self, point: int) -> bool:
        line = next((line for line in self.doc.lines if line.start >= point), None)
        return line is not None and not is_blank(self.doc.data[line.start : line.end])


def _rendered(piece: Piece, number: int) -> list[str]:
    """The piece's lines; an item of an ordered list takes the number after those already placed."""
    style = piece.style
    if style is None:
        return [line for item in piece.items for line in item]
    lines: list[str] = []
    for at, item in enumerate(piece.items):
        if at and style.loose:
            lines.append(_empty(style))
        this = _counted(style, number + at)
        lines.append(this.prefix + this.marker + this.pad + item[0])
        lines += [this.hang + line if line else _empty(style) for line in item[1:]]
    return lines


def _counted(style: Style, offset: int) -> Style:
    if style.number is None:
        return style
    number = min(style.number + offset + 1, _HIGHEST_NUMBER)
    return replace(style, marker=f"{number}{style.marker[-1]}")


def _empty(style: Style | None) -> str:
    return style.prefix.rstrip() if style is not None and ">" in style.prefix else ""
