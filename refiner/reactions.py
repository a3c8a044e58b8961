"""How a user takes what an agent did: corrects, approves, interrupts, goes on, or asks for something else.

Read from the opening words of a turn, by phrases of several languages. It understands nothing, so what it finds is a
suggestion. No whole traces here, no outcomes.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from refiner.types import Span

Kind = Literal["correction", "approval", "interruption", "continuation", "request"]

PHRASES = Path(__file__).with_name("reactions.toml")
OPENING = 240
"""Characters in which a reaction shows; what comes later is a log, a file or a new request."""
SHORT = 25
"""Words up to which a turn after a question counts as its answer."""
_INTERRUPTED = re.compile(
    r"(?:\[(?:request interrupted|interrupted|stopped by (?:the )?user)[^\]\n]*\]"
    r"|request interrupted by (?:the )?user\.?)[ \t]*(?:\n|\Z)|<turn_aborted>",
    re.I,
)
"""A marker that has its line for itself; within a sentence it is quoted."""
_HOUSEKEEPING = re.compile(r"/(?:compact|model|cost|status|help|config|resume|context|usage|login|permissions)\b|! ")
_LEAVING = re.compile(r"/(?:exit|quit|clear|new|bye|logout)")
_PICTURES = re.compile(r"\[image(?: #\d+| [\w.+-]+ \d+ KB)\]\s*", re.I)
_SENTENCES = re.compile(r"(?:[.!?…]+\s+|[。！？]\s*|\s*[\n;]+\s*|\s+[-–—]+\s+)")
_TURN = r"but|however|aber|mais|pero|ma|mas|now|and|then|next|also|can|could|please"
_JOINED = re.compile(rf"[,、，]\s*(?=(?:{_TURN})\b|但)", re.I)
_QUESTION = re.compile(r"[?？][\"'”’)\]*_\s]*(?:$|[^?？]{0,80}$)")


@dataclass(frozen=True, slots=True)
class Reaction:
    """`sign`: the words that show it, empty for a request. `rest`: what an approving turn asks for next, or nothing."""

    kind: Kind
    sign: str = ""
    rest: str = ""


def read(text: str, *, answers: str = "") -> Reaction:
    """What a turn of a user is, after the words `answers` of the agent. A turn that shows nothing is a request."""
    if is_interruption(text):
        return Reaction("interruption", text.strip())
    words = _PICTURES.sub("", text)
    opening = _folded(words)[:OPENING]
    if _HOUSEKEEPING.match(opening) or (text.strip() and not opening):
        return Reaction("continuation", opening)
    asked = _asked(answers)
    whole = re.sub(r"[\s.!,。！]+$", "", opening)
    if any(pattern.fullmatch(whole) for pattern in _patterns("goes_on")) and (asked or not _bare_no(whole)):
        return Reaction("continuation", whole)
    sentences = _sentences(words)
    correction = _correction(sentences, asked)
    if correction:
        return Reaction("correction", correction)
    if asked and _is_answer(opening, sentences):
        return Reaction("continuation", opening)
    return _approval(sentences)


def is_interruption(text: str) -> bool:
    """Whether a text is what a tool writes down when its user stops the agent."""
    return bool(_INTERRUPTED.match(text.lstrip()))


def says_nothing(text: str) -> bool:
    """Whether a turn asks nothing of the agent: a command to the tool itself, a farewell, a picture without words."""
    words = _PICTURES.sub("", text).strip()
    return not words or bool(_HOUSEKEEPING.match(words) or _LEAVING.fullmatch(words))


def is_said(span: Span) -> bool:
    """Whether a step is a turn of the user; an interruption counts, whoever wrote it down."""
    by_user = span.kind == "message" and span.role == "user"
    by_tool = span.kind == "event" or span.role == "system"
    return by_user or (by_tool and is_interruption(span.output))


def _asked(answers: str) -> bool:
    """Whether the agent waits for an answer. An offer of more help is no question about the task."""
    end = answers[-OPENING:]
    if _found(_patterns("offers"), end):
        return False
    return bool(_QUESTION.search(end) or _found(_patterns("asks"), end))


def _is_answer(opening: str, sentences: Sequence[str]) -> bool:
    """Whether a turn after a question answers it: a yes that bids go on, or a few words that are no thanks."""
    if _opens(_patterns("agrees"), opening) and _found(_patterns("bids"), opening):
        return True
    return len(opening.split()) <= SHORT and not _sign(sentences, "approves")


def _correction(sentences: Sequence[str], asked: bool) -> str:
    """The words that correct, in the first sentences; a no to a question is an answer."""
    for place, sentence in enumerate(sentences):
        plain = _without(sentence)
        found = _found(_patterns("corrects_anywhere"), plain)
        opens = "" if place == 0 and asked else _opens(_patterns("corrects"), plain)
        if found or opens:
            return sentence
    return ""


def _approval(sentences: Sequence[str]) -> Reaction:
    """An approval with what it goes on to ask, else a request."""
    first = sentences[0] if sentences else ""
    if not _sign(sentences, "approves"):
        return Reaction("request")
    following = [one for one in sentences[1:] if not _sign([one], "approves")]
    return Reaction("approval", first, " ".join(following))


def _sign(sentences: Sequence[str], name: str) -> str:
    first = sentences[0] if sentences else ""
    return _opens(_patterns(name), first) or _found(_patterns(f"{name}_anywhere"), first)


def _bare_no(text: str) -> bool:
    return bool(_opens(_patterns("corrects"), text))


def _sentences(text: str) -> list[str]:
    """The first sentences of a turn, within its opening; a clause that turns the first around counts as one."""
    opening = text.strip()[:OPENING]
    parts = [part for whole in _SENTENCES.split(opening) for part in _JOINED.split(whole)]
    return [folded for part in parts if (folded := _folded(part).strip(" .!,。！"))]


def _without(sentence: str) -> str:
    for pattern in _patterns("neither"):
        sentence = pattern.sub("", sentence).strip(" ,.!")
    return sentence


def _folded(text: str) -> str:
    return " ".join(text.split())


def _opens(patterns: Sequence[re.Pattern[str]], text: str) -> str:
    return next((match[0] for pattern in patterns if (match := pattern.match(text))), "")


def _found(patterns: Sequence[re.Pattern[str]], text: str) -> str:
    return next((match[0] for pattern in patterns if (match := pattern.search(text))), "")


@cache
def _patterns(name: str) -> tuple[re.Pattern[str], ...]:
    """The phrases of one kind in every language, in the order of the file."""
    languages = tomllib.loads(PHRASES.read_text(encoding="utf-8")).values()
    return tuple(re.compile(rf"(?:{one})", re.I) for language in languages for one in language.get(name, ()))
