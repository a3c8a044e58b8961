"""How much text a model can take, and traces made to fit: what matters is pinned, the largest parts are trimmed first.

Token counts are estimates, the same on every machine: what is sent may not depend on what an endpoint answered before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from refiner.analysts.model.redaction import Redactor
from refiner.rendering import SPAN_LIMIT, render_span
from refiner.transports.tokens import estimate
from refiner.types import Span

REPLY_TOKENS = 6_000
"""Kept for the reply, as published."""
_LIMITS = (SPAN_LIMIT, 2_000, 1_000, 500, 250)
_LAST = 3  # spans at the end that keep their full length while others are trimmed
_LEAST = 100
_PINNED = 0.25  # the most that one pinned text may take of the room


def tokens(text: str) -> int:
    """Tokens of a text, estimated, above rather than below what common tokenizers count."""
    return estimate(text)


def room(window: int, *texts: str) -> int:
    """Tokens left in a window beside the reply and the given texts; never less than 1,000."""
    return max(window - REPLY_TOKENS - sum(map(tokens, texts)), 1_000)


def head_and_tail(text: str, most: int) -> str:
    """The text in at most about `most` tokens: its beginning and its end with a mark between them."""
    if tokens(text) <= most:
        return text
    half = max(int(len(text) * most / tokens(text)) // 2 - 30, 20)
    return f"{text[:half]}[... {len(text) - 2 * half:,} characters left out ...]{text[-half:]}"


def head(text: str, most: int) -> str:
    """The text cut at its end to at most about `most` tokens."""
    if tokens(text) <= most:
        return text
    return text[: max(int(len(text) * most / tokens(text)) - 1, 0)]


@dataclass(frozen=True, slots=True)
class Fitted:
    """The parts of a summary's prompt. `chunks` are rendered pieces of a trace that is far too long, else empty."""

    task: str
    feedback: str
    notes: str
    trace: str
    chunks: tuple[str, ...] = ()


def fit(task: str, feedback: str, notes: str, spans: Sequence[Span], redactor: Redactor, most: int) -> Fitted:
    """Feedback, notes and task stay; the longest inputs and outputs lose their middles; the last spans go last.

    What is still too long with every part at 250 signs comes back in `chunks`.
    """
    part = int(most * _PINNED)
    task, feedback, notes = (head_and_tail(text, part) for text in (task, feedback, notes))
    for limit in _LIMITS:
        trace = "\n\n".join(_rendered(spans, redactor, limit))
        if sum(map(tokens, (task, feedback, notes, trace))) <= most:
            return Fitted(task, feedback, notes, trace)
    return Fitted(task, feedback, notes, "", _chunks(_rendered(spans, redactor, 1_000), most - 2 * part))


def cut(task: str, feedback: str, notes: str, spans: Sequence[Span], redactor: Redactor, most: int) -> Fitted:
    """The published way: everything in order, cut from the end, so that a long trace loses its feedback first."""
    texts = []
    for text in (task, "\n\n".join(_rendered(spans, redactor, 10**9)), notes, feedback):
        texts.append(head(text, max(most, 0)))
        most -= tokens(texts[-1])
    return Fitted(task=texts[0], feedback=texts[3], notes=texts[2], trace=texts[1])


def _rendered(spans: Sequence[Span], redactor: Redactor, limit: int) -> list[str]:
    last = len(spans) - _LAST
    return [shown(span, redactor, limit if at < last else max(limit, 1_000)) for at, span in enumerate(spans)]


def shown(span: Span, redactor: Redactor, limit: int = SPAN_LIMIT) -> str:
    """One span as it is sent: its id in brackets, then its rendered text, redacted before it is trimmed."""
    return f"[{span.span_id}]\n{render_span(redacted(span, redactor), limit).text}"


def redacted(span: Span, redactor: Redactor) -> Span:
    """The span with input and output as they may be sent."""
    return replace(span, name=redactor(span.name), input=redactor(span.input), output=redactor(span.output))


def _chunks(spans: Sequence[str], most: int) -> tuple[str, ...]:
    """Consecutive spans in as few pieces of at most `most` tokens as their order allows."""
    chunks: list[list[str]] = [[]]
    used = 0
    for text in spans:
        text = head_and_tail(text, most)
        size = tokens(text) + 2
        if chunks[-1] and used + size > most:
            chunks.append([])
            used = 0
        chunks[-1].append(text)
        used += size
    return tuple("\n\n".join(chunk) for chunk in chunks)


def packed(texts: Sequence[str], most: int, share: float = 1 / 3) -> list[str]:
    """The first texts that fit into `most` tokens; none may take more than its `share` of them."""
    found: list[str] = []
    left = most
    for text in texts:
        text = head_and_tail(text, max(int(most * share) - 2, _LEAST))
        left -= tokens(text) + 2
        if left < 0 and found:
            break
        found.append(text)
    return found
