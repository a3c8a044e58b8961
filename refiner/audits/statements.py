"""What two rules say to each other: the same, the opposite, or nothing. Reads words; asks nobody and edits nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations

from refiner.audits.added import written_lines
from refiner.merge.placement import stated
from refiner.merge.wording import is_name, is_negative, names, order_of, sentences, topics
from refiner.types import Change, Finding, SkillVersion

SAME = 0.75
"""Jaccard index of the topics from which two sentences speak of the same thing."""
HELD = 0.9
"""Share of an added rule's topics that one unconditional sentence must hold to say it already."""
LEAST = 2
"""Topics that two sentences must share at least."""
_CONDITION = re.compile(r"\b(?:if|when|whenever|unless|where|while|except|only)\b", re.IGNORECASE)
_NUMBER = re.compile(r"(?<![\w.])\d+(?:[.,]\d+)*")


@dataclass(frozen=True, slots=True)
class Said:
    """One sentence as it is compared. `about` holds topics and tool names, numbers apart."""

    text: str
    about: frozenset[str]
    tools: frozenset[str]
    numbers: tuple[str, ...]
    negative: bool
    conditional: bool


def duplicates(change: Change, base: SkillVersion) -> list[Finding]:
    """A flag for every added sentence that a sentence of the base says already."""
    found = []
    known = [said(one) for path in _markdown(base) for one in stated(base.files[path])]
    for edit, line in written_lines(change):
        kept = {" ".join(one.split()) for one in sentences(edit.old)}
        for one in map(said, sentences(line)):
            twin = next((other for other in known if says_already(other, one)), None)
            if twin is not None and " ".join(one.text.split()) not in kept and twin.text not in edit.old:
                found.append(_duplicate(change, line, one, twin))
    return found


def contradictions(changes: Sequence[Change]) -> list[Finding]:
    """What the added lines of several changes say against each other, and what two of them say twice.

    One finding a pair, filed on the first of the two in the order given.
    """
    added = [(change, list(_sentences(change))) for change in changes]
    found = []
    for (one, ours), (other, theirs) in combinations(added, 2):
        for (line, first), (_, second) in ((a, b) for a in ours for b in theirs):
            if why := opposed(first, second):
                found.append(_opposite(one, other, line, first, second, why))
            elif says_already(first, second) or says_already(second, first):
                found.append(_twice(one, other, line, first, second))
    return found


def _sentences(change: Change) -> Iterator[tuple[str, Said]]:
    for _, line in written_lines(change):
        for sentence in sentences(line):
            yield line, said(sentence)


@lru_cache(maxsize=4096)
def said(sentence: str) -> Said:
    """The sentence, ready to be compared."""
    tools = frozenset(names(sentence))
    about = frozenset(one for one in topics(sentence) if not one.isdigit()) | tools
    numbers = tuple(sorted(_NUMBER.findall(sentence)))
    return Said(sentence, about, tools, numbers, is_negative(sentence), bool(_CONDITION.search(sentence)))


def says_already(known: Said, new: Said) -> bool:
    """Whether the first sentence states the second: same direction, numbers and order, and most of its words."""
    if known.negative != new.negative or known.numbers != new.numbers or not new.tools <= known.tools:
        return False
    shared = len(known.about & new.about)
    if shared < LEAST or not new.about or _ordered(known, new) == "opposite":
        return False
    alike = shared / len(known.about | new.about) >= SAME
    held = shared / len(new.about) >= HELD and (new.conditional or not known.conditional)
    return alike or (held and shared > LEAST)


def opposed(one: Said, other: Said) -> str:
    """How two sentences contradict each other, in words; empty when they do not."""
    if not _same_subject(one, other):
        return ""
    if one.negative != other.negative and not (one.conditional or other.conditional):
        return "one says to do it, the other not to"
    if one.negative == other.negative and _ordered(one, other) == "opposite":
        return "they ask for opposite orders"
    if one.negative == other.negative and one.numbers and other.numbers and one.numbers != other.numbers:
        return f"one says {', '.join(one.numbers)}, the other {', '.join(other.numbers)}"
    return ""


def _same_subject(one: Said, other: Said) -> bool:
    shared, union = len(one.about & other.about), len(one.about | other.about)
    if shared < LEAST:
        return False
    smaller = min(len(one.about), len(other.about))
    return shared / union >= SAME or (one.tools == other.tools and shared / smaller >= HELD)


def _ordered(one: Said, other: Said) -> str:
    tools = sorted(name.strip("`") for name in one.tools | other.tools if is_name(name.strip("`")))
    first, second = order_of(one.text, tools), order_of(other.text, tools)
    if first is None or second is None:
        return ""
    return "same" if first == second else "opposite" if first == second[::-1] else "other"


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
