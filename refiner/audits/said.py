"""One sentence of a skill as it is compared with another: what it is about, its direction, its limits, its order."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from refiner.merge.wording import is_name, is_negative, names, order_of, stem, topics

SAME = 0.75
"""Jaccard index of the topics from which a sentence that holds all of another says the same."""
HELD = 0.9
"""Share of an added rule's topics that one unconditional sentence must hold to say it already."""
NEAR = 0.6
"""Share of the shorter sentence's topics, at least three of them, from which two directions are compared."""
_CONDITION = re.compile(
    r"\b(?:if|when|whenever|unless|where|while|except|only|wenn|falls|sofern|nur|si|cuando|quand|lorsque)\b",
    re.IGNORECASE,
)
_WORD_NUMBERS = {
    "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10, "twelve": 12,
}  # fmt: skip
_NUMBER = re.compile(r"(?<![\w.])(\d+(?:[.,]\d+)*)(?:\s*(%|[a-zäöüáéíóúñç]+))?", re.IGNORECASE)
_UPPER = re.compile(
    r"\b(?:at most|no more than|not more than|never (?:\w+ )?(?:longer|more) than|up to|maximum|max\.?|not exceed"
    r"|within|höchstens|maximal|bis zu|como máximo|máximo|hasta|au plus|maximum de|jusqu'à)\b",
    re.IGNORECASE,
)
_LOWER = re.compile(
    r"\b(?:at least|no less than|not less than|minimum|min\.?|mindestens|por lo menos|al menos|como mínimo|au moins)\b",
    re.IGNORECASE,
)
_LEAVE_OUT = re.compile(
    r"\b(?:leav(?:e|es|ing) (?:\w+ )?out|omit(?:s|ted)?|exclud(?:e|es|ing)|drop|skip)\b", re.IGNORECASE
)
_INCLUDE = re.compile(r"\b(?:includ(?:e|es|ing)|list|show|mention|keep|contain)\b", re.IGNORECASE)
_CODE = re.compile(r"`([\w.:-]+)`")
_CUE = re.compile(r"\b(before|until|after|once)\b", re.IGNORECASE)
_REASON = re.compile(r",?\s+(?:so that|because|since|damit|weil|para que|porque|afin que)\b.*", re.IGNORECASE)
_FILLER_WORDS = """
    instead also too please just simply straight away right take takes get gets allow allowed keep keeps
    en un una uno el la los las de del al y o que se su sus por para con sin lo es son
    der die das ein eine einen einem einer und oder zu zum zur im in am ist sind wird werden mit für von dem den des
    le les une du et ou pour avec dans est sont
"""
_FILLERS = frozenset(stem(word) for word in _FILLER_WORDS.split())


@dataclass(frozen=True, slots=True)
class Limit:
    """A number with its unit (a stem; may be empty), and which side of it is allowed."""

    value: float
    unit: str
    bound: Literal["upper", "lower", "exact"]


@dataclass(frozen=True, slots=True)
class Said:
    """One sentence. `about` holds topics and tool names; `order`: the topics of what comes first, and of the rest."""

    text: str
    about: frozenset[str]
    tools: frozenset[str]
    limits: tuple[Limit, ...]
    negative: bool
    conditional: bool
    order: tuple[frozenset[str], frozenset[str]] | None


@lru_cache(maxsize=4096)
def said(sentence: str) -> Said:
    """The sentence, ready to be compared."""
    main = _REASON.sub("", sentence)
    bound = _UPPER.search(main)
    plain = _UPPER.sub(" ", main) if bound and is_negative(bound.group()) else main
    leaves = bool(_LEAVE_OUT.search(plain))
    return Said(
        text=sentence,
        about=_about(plain),
        tools=_tools(main),
        limits=tuple(_limits(main)),
        negative=is_negative(plain) != leaves,
        conditional=bool(_CONDITION.search(sentence)),
        order=_order(main),
    )


def _about(text: str) -> frozenset[str]:
    text = _INCLUDE.sub(" include ", _LEAVE_OUT.sub(" include ", text))
    found = (one for one in topics(text) if not one.isdigit() and one not in _FILLERS and one not in _WORD_NUMBERS)
    return frozenset(found) | _tools(text)


def _tools(text: str) -> frozenset[str]:
    """Names of tools, and single words that stand in code marks."""
    return frozenset(names(text)) | {f"`{one.lower()}`" for one in _CODE.findall(text)}


def _limits(text: str) -> list[Limit]:
    for word, value in _WORD_NUMBERS.items():
        text = re.sub(rf"\b{word}\b", str(value), text, flags=re.IGNORECASE)
    found = []
    for match in _NUMBER.finditer(text):
        before = text[: match.start()]
        upper, lower = _last(_UPPER, before), _last(_LOWER, before)
        bound: Literal["upper", "lower", "exact"] = "exact"
        if max(upper, lower) >= 0:
            bound = "upper" if upper > lower else "lower"
        digits = match[1].replace(",", ".")
        if digits.count(".") <= 1:
            found.append(Limit(float(digits), stem((match[2] or "").lower()), bound))
    return found


def _last(pattern: re.Pattern[str], text: str) -> int:
    """Where the pattern ends for the last time, if that is close to the end of the text; else -1."""
    ends = [match.end() for match in pattern.finditer(text)]
    return ends[-1] if ends and len(text) - ends[-1] <= 3 else -1


def _order(text: str) -> tuple[frozenset[str], frozenset[str]] | None:
    cue = _CUE.search(text)
    if cue is None or len(_CUE.findall(text)) > 1:
        return None
    word, before, after = cue[1].lower(), text[: cue.start()], text[cue.end() :]
    if not _about(before):
        after, comma, before = after.partition(",")
        if not comma:
            return None
    first, second = _about(before), _about(after)
    return (first, second) if word in ("before", "until") else (second, first)


def says_already(known: Said, new: Said) -> bool:
    """Whether the first sentence states the second: same direction, numbers and order, and most of its words."""
    numbers = [sorted(limit.value for limit in one.limits) for one in (known, new)]
    if known.negative != new.negative or numbers[0] != numbers[1] or not new.tools <= known.tools:
        return False
    shared = len(known.about & new.about)
    if shared < 2 or _is_reversed(known, new):
        return False
    if known.conditional and not new.conditional:
        return False
    one_holds_the_other = known.about <= new.about or new.about <= known.about
    alike = shared / len(known.about | new.about) >= SAME and one_holds_the_other
    return alike or (shared / len(new.about) >= HELD and shared > 2)


def opposed(one: Said, other: Said) -> str:
    """How two sentences contradict each other, in words; empty when they do not."""
    if one.tools != other.tools and (one.tools - other.tools and other.tools - one.tools):
        return ""
    if why := _limits_clash(one, other):
        return why
    shared = len(one.about & other.about)
    smaller = min(len(one.about), len(other.about)) or 1
    is_near = (shared > 2 and shared / smaller >= NEAR) or (shared > 1 and shared / smaller >= HELD)
    if is_near and _is_reversed(one, other):
        return "they ask for opposite orders"
    if is_near and one.negative != other.negative and not (one.conditional or other.conditional):
        return "one says to do it, the other not to"
    return ""


def _is_reversed(one: Said, other: Said) -> bool:
    tools = sorted(name.strip("`") for name in one.tools | other.tools if is_name(name.strip("`")))
    first, second = order_of(one.text, tools), order_of(other.text, tools)
    if first and second:
        return first == second[::-1]
    if one.order is None or other.order is None or one.tools or other.tools:
        return False
    forward = bool(one.order[0] & other.order[0]) and bool(one.order[1] & other.order[1])
    backward = bool(one.order[0] & other.order[1]) and bool(one.order[1] & other.order[0])
    return backward and not forward


def _limits_clash(one: Said, other: Said) -> str:
    """Two limits of the same unit on the same thing that cannot both hold, in words."""
    for ours in one.limits:
        for theirs in other.limits:
            things = (one.about & other.about) - {ours.unit}
            is_same_thing = bool(things) and ours.unit == theirs.unit and _is_limit(ours, theirs)
            if is_same_thing and _cannot_both_hold(ours, theirs):
                return f"one says {ours.value:g}, the other {theirs.value:g}"
    return ""


def _is_limit(ours: Limit, theirs: Limit) -> bool:
    return "exact" not in (ours.bound, theirs.bound) and bool(ours.unit)


def _cannot_both_hold(ours: Limit, theirs: Limit) -> bool:
    if ours.bound == theirs.bound:
        return ours.value != theirs.value
    upper, lower = (ours, theirs) if ours.bound == "upper" else (theirs, ours)
    return lower.value > upper.value
