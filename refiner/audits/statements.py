"""What two rules say to each other: the same, the opposite, or nothing. Compares words; asks nobody and edits nothing.

Rules that say the same in wholly other words are not found here: that takes a reader.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import combinations

from refiner.audits.added import prose_lines
from refiner.audits.said import Said, opposed, said, says_already
from refiner.merge.placement import stated
from refiner.merge.wording import sentences
from refiner.types import Change, Finding, SkillVersion


def duplicates(change: Change, base: SkillVersion) -> list[Finding]:
    """A flag for every added line of which the base says a sentence, or all of it, already."""
    known = [said(one) for path in _markdown(base) for one in stated(base.files[path])]
    found = []
    for edit, line in prose_lines(change):
        kept = {" ".join(one.split()) for one in sentences(edit.old)}
        others = [one for one in known if one.text not in edit.old]
        for one in _parts(line):
            twin = next((other for other in others if says_already(other, one)), None)
            if twin is not None and " ".join(one.text.split()) not in kept:
                found.append(_duplicate(change, line, one, twin))
                break
    return found


def contradictions(changes: Sequence[Change]) -> list[Finding]:
    """What the added lines of several changes say against each other, and what two of them say twice.

    At most one finding for two lines, filed on the first of the two changes in the order given.
    """
    return list(_contradictions(tuple(changes)))


@lru_cache(maxsize=16)
def _contradictions(changes: tuple[Change, ...]) -> tuple[Finding, ...]:
    """Remembered: a page asks for the same set at every step of a person."""
    added = [(change, [(line, _about(line)) for _, line in prose_lines(change)]) for change in changes]
    found: list[Finding] = []
    for (one, ours), (other, theirs) in combinations(added, 2):
        for (line, about), (their, others) in ((a, b) for a in ours for b in theirs):
            if len(about & others) > 1:  # what shares hardly a word says nothing to each other
                found += _between(one, other, line, their)
    return tuple(found)


@lru_cache(maxsize=4096)
def _about(line: str) -> frozenset[str]:
    return frozenset().union(*(part.about for part in _parts(line)))


def _between(one: Change, other: Change, line: str, their: str) -> list[Finding]:
    pairs = [(a, b) for a in _parts(line) for b in _parts(their)]
    for first, second in pairs:
        if why := opposed(first, second):
            return [_opposite(one, other, line, first, second, why)]
    for first, second in pairs:
        if says_already(first, second) or says_already(second, first):
            return [_twice(one, other, line, first, second)]
    return []


@lru_cache(maxsize=4096)
def _parts(line: str) -> tuple[Said, ...]:
    """The sentences of a line, then the line as a whole when it has several."""
    parts = sentences(line)
    whole = (said(line.strip()),) if len(parts) > 1 else ()
    return (*map(said, parts), *whole)


def _markdown(base: SkillVersion) -> list[str]:
    return sorted(path for path in base.files if path == base.main or path.lower().endswith(".md"))


def _duplicate(change: Change, line: str, new: Said, known: Said) -> Finding:
    words, fix = f"the skill says it already: {known.text}", "sharpen that line, or reject this one"
    return Finding(change.key, "duplicate", "flag", new.text, "base skill", words, line.strip(), fix)


def _opposite(one: Change, other: Change, line: str, first: Said, second: Said, why: str) -> Finding:
    words = f"contradicts another accepted change ({why}): {first.text} / {second.text}"
    fix = "keep one of the two, or name the condition that tells them apart"
    return Finding(one.key, "contradiction", "warning", first.text, f"change {other.key}", words, line.strip(), fix)


def _twice(one: Change, other: Change, line: str, first: Said, second: Said) -> Finding:
    words = f"two accepted changes say the same: {first.text} / {second.text}"
    return Finding(one.key, "duplicate", "warning", first.text, f"change {other.key}", words, line.strip(), "keep one")
