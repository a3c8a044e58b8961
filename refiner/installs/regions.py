"""Where two developments of one list of lines agree, where one of them changed something, and where both did.

The textbook three-way merge: lines that the base shares with both sides hold the rest in place; what lies between two
such stretches is taken from the side that changed it, and is a conflict when both did.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal

Kind = Literal["kept", "mine", "theirs", "conflict"]
"""kept: in all three. mine, theirs: that side's lines stand; equal changes of both count as mine."""


@dataclass(frozen=True, slots=True)
class Region:
    """A stretch of each list. Together the regions cover all three, in order."""

    kind: Kind
    base: slice
    mine: slice
    theirs: slice


def regions(base: Sequence[bytes], mine: Sequence[bytes], theirs: Sequence[bytes]) -> Iterator[Region]:
    """The regions of two developments of `base`."""
    at = (0, 0, 0)
    for start, length in [*_shared(base, mine, theirs), ((len(base), len(mine), len(theirs)), 0)]:
        if start != at:
            spans = [slice(first, last) for first, last in zip(at, start, strict=True)]
            yield Region(_kind(base[spans[0]], mine[spans[1]], theirs[spans[2]]), *spans)
        at = (start[0] + length, start[1] + length, start[2] + length)
        if length:
            yield Region("kept", *(slice(first, last) for first, last in zip(start, at, strict=True)))


def _kind(base: Sequence[bytes], mine: Sequence[bytes], theirs: Sequence[bytes]) -> Kind:
    if theirs in (base, mine):
        return "mine"
    return "theirs" if mine == base else "conflict"


def _shared(
    base: Sequence[bytes], mine: Sequence[bytes], theirs: Sequence[bytes]
) -> Iterator[tuple[tuple[int, int, int], int]]:
    """Stretches of the base that stand in both sides: where they start in each list, and how long they are."""
    ours, others = _matches(base, mine), _matches(base, theirs)
    while ours and others:
        (in_base, in_mine, size), (other_base, in_theirs, other_size) = ours[0], others[0]
        start, end = max(in_base, other_base), min(in_base + size, other_base + other_size)
        if start < end:
            yield (start, in_mine + start - in_base, in_theirs + start - other_base), end - start
        (ours if in_base + size <= other_base + other_size else others).pop(0)


def _matches(base: Sequence[bytes], other: Sequence[bytes]) -> list[tuple[int, int, int]]:
    """Frequent lines (blank ones, in a long skill) are matched like any other."""
    blocks = SequenceMatcher(None, base, other, autojunk=False).get_matching_blocks()
    return [(block.a, block.b, block.size) for block in blocks if block.size]
