"""The messages of a run as HTML for `st.html`: every string escaped, cited places marked. Reads nothing."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, NamedTuple

from pages._ui.text import esc
from refiner.types import Citation, Outcome, Span, Trace

FEEDBACK: Final = -1
"""The ordinal of citations that quote the feedback of a run, not one of its messages."""
ROLES: Final = ("user", "assistant", "tool", "system")
STATUS_WORDS: Final = {"pass": "passed", "fail": "failed", "unknown": "not labelled", "infrastructure": "broke off"}
Range = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of a span as it is shown: `start` is its place in the span's whole text."""

    label: str
    start: int
    text: str


class Blamed(NamedTuple):
    """The message where a run went wrong, by its ordinal, and in words who says so."""

    ordinal: int
    words: str


def role(span: Span) -> str:
    """Who speaks: user, assistant, tool or system; an event counts as system."""
    if span.kind in ("tool_call", "tool_result"):
        return "tool"
    return span.role if span.role in ROLES else "system"


def whole(span: Span) -> str:
    """The span as the text that citations quote: its name, then input and output on lines of their own."""
    return span.name + "".join(f"\n{part}: {text}" for part, text in _fields(span))


def _fields(span: Span) -> list[tuple[str, str]]:
    return [(name, text) for name, text in (("input", span.input), ("output", span.output)) if text]


def parts(span: Span) -> tuple[Part, ...]:
    """Input, output and error of a span, each with its place in `whole(span)`; the error lies outside of it."""
    found, at = [], len(span.name)
    for name, text in _fields(span):
        at += len(f"\n{name}: ")
        found.append(Part(name, at, text))
        at += len(text)
    if span.error:
        found.append(Part("error", at + 1, span.error))
    return tuple(found)


def places(text: str, citations: Iterable[Citation]) -> tuple[Range, ...]:
    """Where the verified citations stand in a text, merged and in order; a long text shown in full still finds them."""
    ranges = sorted(place for one in citations if one.verified and (place := _place(text, one)))
    merged: list[Range] = []
    for start, end in ranges:
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return tuple(merged)


def _place(text: str, citation: Citation) -> Range | None:
    words = citation.quote.split()
    if not words:
        return None
    pattern = re.compile(r"\s+".join(re.escape(word) for word in words))
    found = pattern.match(text, citation.start) or pattern.search(text)
    return found.span() if found else None


def found(text: str, needle: str) -> tuple[Range, ...]:
    """Every place of a searched word, upper and lower case alike."""
    return tuple(match.span() for match in re.finditer(re.escape(needle), text, re.IGNORECASE)) if needle else ()


def marked(text: str, cited: Sequence[Range] = (), hits: Sequence[Range] = (), offset: int = 0) -> str:
    """The text escaped, with `<mark>` around what is cited or was searched for. Ranges count from `-offset`."""
    cuts = sorted({0, len(text), *_clipped([*cited], len(text), offset), *_clipped([*hits], len(text), 0)})
    pieces = []
    for start, end in pairwise(cuts):
        inner = esc(text[start:end])
        if any(one <= start and end <= other for one, other in hits):
            inner = f'<mark class="rv-hit">{inner}</mark>'
        if any(one - offset <= start and end <= other - offset for one, other in cited):
            inner = f'<mark class="rv-cited">{inner}</mark>'
        pieces.append(inner)
    return "".join(pieces)


def _clipped(ranges: Sequence[Range], length: int, offset: int) -> Iterable[int]:
    return (min(max(edge - offset, 0), length) for found_range in ranges for edge in found_range)


def message(
    span: Span,
    citations: Sequence[Citation] = (),
    *,
    needle: str = "",
    limit: int = 0,
    here: bool = False,
    blamed: Blamed | None = None,
) -> str:
    """One message as an article. `limit` shortens what is not cited; `here` marks the message a link points at."""
    cited = places(whole(span), citations)
    speaker = role(span)
    name = f" <code>{esc(span.name, 80)}</code>" if speaker == "tool" or span.name not in ("", *ROLES) else ""
    body = "".join(_part(part, cited, needle, limit, alone=speaker != "tool") for part in parts(span))
    classes = f"rv-msg rv-{speaker}{' rv-here' if here else ''}{' rv-has-cite' if cited else ''}"
    quoted = '<span class="rv-flag">cited</span>' if cited else ""
    at = f'<span class="rv-at">{esc(span.started_at[11:19])}</span>' if span.started_at else ""
    head = f'<header><b>{speaker}</b>{name}{at}<span class="rv-no">#{span.ordinal + 1}</span>{quoted}</header>'
    wrong = f'<p class="rv-blamed">{esc(blamed.words)}</p>' if blamed and blamed.ordinal == span.ordinal else ""
    return f'<article class="{classes}">{head}{wrong}{body or "<p class=sr-muted>(empty)</p>"}</article>'


def _part(part: Part, cited: Sequence[Range], needle: str, limit: int, *, alone: bool) -> str:
    text, note = part.text, ""
    inside = any(start < part.start + len(text) and part.start < end for start, end in cited)
    if limit and len(text) > limit and not inside:
        note = f'<span class="rv-cut">… {len(text) - limit:,} more characters</span>'
        text = text[:limit]
    ranges = () if part.label == "error" else cited
    label = "" if alone and part.label != "error" else f'<span class="rv-label">{part.label}</span>'
    body = marked(text, ranges, found(text, needle), part.start)
    return f'<div class="rv-part">{label}<div class="rv-text">{body}{note}</div></div>'


def feedback(outcome: Outcome, citations: Sequence[Citation] = ()) -> str:
    """What the evaluator, or a person, said of the run, cited places marked; empty when nobody said anything."""
    if not outcome.feedback:
        return ""
    text = f'<div class="rv-text">{marked(outcome.feedback, places(outcome.feedback, citations))}</div>'
    who = "person" if outcome.origin == "human" else "evaluator"
    head = f"<header><b>{who}</b><span class=rv-no>feedback</span></header>"
    return f'<article class="rv-msg rv-evaluator">{head}<div class="rv-part">{text}</div></article>'


def outcome_chip(outcome: Outcome) -> str:
    """How the run ended, as a small label in words."""
    tone = {"pass": "good", "fail": "bad"}.get(outcome.status, "plain")
    return f'<span class="rv-chip {tone}">{esc(STATUS_WORDS.get(outcome.status, outcome.status))}</span>'


def window(trace: Trace, ordinal: int, around: int = 2) -> tuple[Span, ...]:
    """The span with this ordinal and its neighbours; the last ones of the run for a place outside of it."""
    at = next((place for place, span in enumerate(trace.spans) if span.ordinal == ordinal), None)
    if at is None:
        return trace.spans[-(around + 1) :]
    return trace.spans[max(0, at - around) : at + around + 1]


def excerpt(
    trace: Trace,
    outcome: Outcome,
    citations: Sequence[Citation],
    *,
    around: int = 2,
    limit: int = 420,
    blamed: Blamed | None = None,
) -> str:
    """The first cited message open with its neighbours, further cited ones after it, and cited feedback on top.

    The message where the run went wrong comes before all of them, unless it is one of them.
    """
    mine = [one for one in citations if one.trace_id == trace.id]
    quoted = [one for one in mine if one.ordinal == FEEDBACK]
    ordinals = sorted({one.ordinal for one in mine if one.ordinal != FEEDBACK})
    shown: dict[int, Span] = {}
    for place, ordinal in enumerate(ordinals[:3]):
        for span in window(trace, ordinal, around if place == 0 else 0):
            shown[span.ordinal] = span
    if not ordinals:
        shown = {span.ordinal: span for span in window(trace, FEEDBACK, around)}
    cited = {key: [one for one in mine if one.ordinal == key] for key in sorted(shown)}
    body = [message(shown[key], cited[key], limit=limit, blamed=blamed) for key in cited]
    apart = [span for span in trace.spans if blamed and span.ordinal == blamed.ordinal and span.ordinal not in shown]
    first = "".join(message(span, limit=limit, blamed=blamed) for span in apart)
    said = feedback(outcome, quoted) if quoted or not ordinals else ""
    return first + ('<p class="rv-gap">quoted from the run</p>' if first else "") + said + _with_gaps(body, [*cited])


def _with_gaps(body: Sequence[str], ordinals: Sequence[int]) -> str:
    pieces = []
    for place, (html, ordinal) in enumerate(zip(body, ordinals, strict=True)):
        if place and ordinal - ordinals[place - 1] > 1:
            pieces.append(f'<p class="rv-gap">{ordinal - ordinals[place - 1] - 1} messages between</p>')
        pieces.append(html)
    return "".join(pieces)
