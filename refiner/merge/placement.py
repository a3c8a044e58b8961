"""Where in a skill a rule belongs: the nearest section, and the line that speaks of the same thing. Edits nothing."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache

from refiner.merge.wording import is_directive, is_name, is_negative, names, order_of, sentences, stems, topics, words
from refiner.skills import FRONT_MATTER, Document, Section, document, sections
from refiner.skills.lines import is_blank
from refiner.types import SkillVersion

OWN_HEADING, OUTER_HEADING, OWN_TEXT, ONE_STATEMENT, FROM_TEXT = 3.0, 2.0, 1.0, 0.5, 0.1
"""Weights: a section's heading, the headings above it, its own text, its best single statement; and the factor for
words that come only from the rule's sentence."""
LITERAL, LATER_NAME = 2.0, 0.5
"""Factors: a tool's name as written against each of its words; a tool that the rule does not name first."""
_SATURATION, _LENGTH = 1.2, 0.75
"""k1 and b of BM25 at their usual values."""
SAME_BEHAVIOUR = 0.6
"""Share (by rarity) of the terms, at least two of them, that a line must hold to speak of the same behaviour."""
_LEAD = 6
_FALLBACKS = (
    ("avoid", "dont", "never", "pitfall", "mistake", "warning", "caution", "limit"),
    ("check", "verif", "valid", "test", "review"),
    ("step", "workflow", "process", "procedure", "instruction", "guid", "how"),
)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a rule belongs. `line` is the text that states the same behaviour; `endorses`: it asks for or allows it."""

    path: str
    section: tuple[str, ...]
    line: str | None
    endorses: bool


@dataclass(frozen=True, slots=True)
class _Profile:
    section: Section
    own: frozenset[str]
    outer: frozenset[str]
    text: Counter[str]
    statements: tuple[frozenset[str], ...]


def place(base: SkillVersion, terms: Collection[str], *, text: str = "") -> Place:
    """The nearest section of the main file for a rule about `terms` (words and tool names), worded as `text`.

    Headings weigh more than own text, rare words more than common ones; ties go to the deeper, then earlier section.
    When no section holds a term, one for cautions, checks or steps is taken by the kind of rule.
    """
    data = base.files[base.main]
    profiles = _profiles(data)
    wanted = _wanted(terms, text)
    extra = {topic: FROM_TEXT for topic in topics(text) if topic not in wanted}
    if any(_scores(profiles, wanted)):
        scores = _scores(profiles, {**extra, **wanted})
        best = max(range(len(profiles)), key=lambda at: (round(scores[at], 9), profiles[at].section.level, -at))
    else:
        best = _fallback(profiles, text)
    section = profiles[best].section
    known = [topic for topic in wanted if not topic.startswith("`") or any(topic in one.text for one in profiles)]
    weights = {topic: wanted[topic] * _rarity(profiles, topic) for topic in known}
    line = _same_behaviour(statements(document(data), section), terms, weights)
    return Place(base.main, section.path, line, line is not None and _endorses(line, weights))


def _wanted(terms: Collection[str], text: str) -> dict[str, float]:
    """Weights of the terms' topics and names; a tool that the text names after another one counts half."""
    named = names(text)
    first = named[0] if named else ""
    wanted: dict[str, float] = {}
    for term in sorted(terms):
        comes_later = bool(set(names(term)) & set(named)) and first not in names(term)
        weight = LATER_NAME if comes_later else 1.0
        for topic, factor in [*((topic, 1.0) for topic in topics(term)), *((name, LITERAL) for name in names(term))]:
            wanted[topic] = max(wanted.get(topic, 0.0), weight * factor)
    return wanted


def _all_topics(text: str) -> list[str]:
    return [*topics(text), *names(text)]


@lru_cache(maxsize=32)
def _profiles(data: bytes) -> tuple[_Profile, ...]:
    doc = document(data)
    found = [part for part in sections(data) if part.path != FRONT_MATTER]
    useful = [part for part in found if part.path or not is_blank(data[part.own_start : part.own_end])] or found
    return tuple(_profile(doc, part) for part in useful)


def _profile(doc: Document, section: Section) -> _Profile:
    own = frozenset(_all_topics(section.path[-1])) if section.path else frozenset()
    outer = frozenset(topic for heading in section.path[:-1] for topic in topics(heading))
    text = Counter(_all_topics(doc.text(section.own_start, section.own_end)))
    said = tuple(frozenset(_all_topics(statement)) for statement in statements(doc, section))
    return _Profile(section, own, outer - own, text, said)


def _scores(profiles: Sequence[_Profile], wanted: dict[str, float]) -> list[float]:
    """BM25 of each section's own text, plus matches of headings and of its best statement, by rarity of topics."""
    rarity = {topic: _rarity(profiles, topic) for topic in wanted}
    in_headings = {topic: _inverse(len(profiles), sum(topic in one.own for one in profiles)) for topic in wanted}
    sizes = [sum(profile.text.values()) for profile in profiles]
    average = (sum(sizes) / len(sizes)) or 1.0
    scores = []
    for profile, size in zip(profiles, sizes, strict=True):
        norm = _SATURATION * (1 - _LENGTH + _LENGTH * size / average)
        score = 0.0
        for topic, weight in wanted.items():
            count = profile.text[topic]
            heading = OWN_HEADING * (topic in profile.own) + OUTER_HEADING * (topic in profile.outer)
            text = OWN_TEXT * count * (_SATURATION + 1) / (count + norm)
            score += weight * (in_headings[topic] * heading + rarity[topic] * text)
        together = (sum(wanted[topic] * rarity[topic] for topic in said & wanted.keys()) for said in profile.statements)
        scores.append(score + ONE_STATEMENT * max(together, default=0.0))
    return scores


def _rarity(profiles: Sequence[_Profile], topic: str) -> float:
    holding = sum(topic in profile.own or topic in profile.outer or topic in profile.text for profile in profiles)
    return _inverse(len(profiles), holding)


def _inverse(total: int, holding: int) -> float:
    return math.log(1 + (total - holding + 0.5) / (holding + 0.5))


def _fallback(profiles: Sequence[_Profile], text: str) -> int:
    for openings in _FALLBACKS if is_negative(text) else _FALLBACKS[1:]:
        for at, profile in enumerate(profiles):
            if profile.section.path and any(word.startswith(openings) for word in words(profile.section.path[-1])):
                return at
    titled = [at for at, profile in enumerate(profiles) if profile.section.path]
    return titled[0] if titled else 0


def statements(doc: Document, section: Section) -> list[str]:
    """What a section's own text says, piece by piece: its list items (own lines) and other blocks, code left out."""
    spans = _statement_spans(doc.data)
    first, last = (bisect_left(spans, (edge, 0)) for edge in (section.own_start, section.own_end))
    return [doc.text(*span).strip() for span in spans[first:last]]


@lru_cache(maxsize=32)
def _statement_spans(data: bytes) -> tuple[tuple[int, int], ...]:
    """Sorted byte ranges; no statement crosses a heading. A quotation counts as one unless it holds items."""
    doc = document(data)
    items = [(item.start, item.own_end) for item in doc.items]
    starts = sorted(start for start, _ in items)
    blocks = [
        (block.start, block.end)
        for block in doc.blocks
        if block.kind in ("paragraph_open", "blockquote_open")
        and bisect_left(starts, block.start) == bisect_left(starts, block.end)
    ]
    return tuple(sorted(items + blocks))


def _same_behaviour(said: Sequence[str], terms: Collection[str], weights: dict[str, float]) -> str | None:
    """The statement that names a tool of the terms (or holds all its words), else most of the terms; the best one.

    A statement that opens with the terms (`Change flights: ...`) goes before one that only mentions them.
    """
    groups = [set(topics(term)) for term in sorted(terms) if is_name(term)]
    best: tuple[float, int] | None = None
    for at, statement in enumerate(said):
        counts = Counter(_all_topics(statement))
        share = _share(counts, weights)
        shared = sum(topic in counts for topic in weights)
        if any(group and group <= counts.keys() for group in groups) or (share >= SAME_BEHAVIOUR and shared > 1):
            lead = _share(_all_topics(_lead(statement)), weights)
            score = share + lead / 2 + sum(min(counts[topic], 5) for topic in weights) / 100
            best = max(best or (score, -at), (score, -at))
    return said[-best[1]] if best else None


def _share(found: Collection[str], weights: dict[str, float]) -> float:
    return sum(weight for topic, weight in weights.items() if topic in found) / (sum(weights.values()) or 1.0)


def _lead(statement: str) -> str:
    """How a statement opens: its label up to a colon, else its first words."""
    label, colon, _ = statement.partition(":")
    return label if colon and len(label.split()) <= _LEAD else " ".join(statement.split()[:_LEAD])


def _endorses(line: str, weights: dict[str, float]) -> bool:
    """Whether a sentence of the line that speaks of the terms tells to do it, or allows it."""
    shares = [(_share(_all_topics(sentence), weights), sentence) for sentence in sentences(line)]
    highest = max(share for share, _ in shares)
    return any(not is_negative(sentence) for share, sentence in shares if share >= highest / 2)


def covered(base: SkillVersion, rule: str, terms: Collection[str]) -> str | None:
    """The sentence of the skill that already states the rule, or None.

    It must be a directive of the rule's polarity that holds every term, and the same order when the rule gives one. A
    sentence that states only a part of the rule does not cover it.
    """
    tools = sorted(term for term in terms if is_name(term))
    essential = {found for term in terms for found in stems(term)}
    if not essential:
        return None
    wanted = (is_negative(rule), order_of(rule, tools))
    for path in sorted(base.files, key=lambda path: (path != base.main, path)):
        if path == base.main or path.lower().endswith(".md"):
            for sentence in stated(base.files[path]):
                if _states(sentence, tools, essential, wanted):
                    return sentence
    return None


@lru_cache(maxsize=32)
def stated(data: bytes) -> tuple[str, ...]:
    """Every sentence of a skill's file below its front matter, code left out; none when it is no UTF-8."""
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return ()
    doc = document(data)
    parts = [part for part in sections(data) if part.path != FRONT_MATTER]
    return tuple(sentence for part in parts for text in statements(doc, part) for sentence in sentences(text))


def _states(
    sentence: str, tools: Sequence[str], essential: set[str], wanted: tuple[bool, tuple[str, str] | None]
) -> bool:
    if not essential <= set(stems(sentence)) or not is_directive(sentence):
        return False
    negative, order = wanted
    return is_negative(sentence) == negative and (order is None or order_of(sentence, tools) == order)
