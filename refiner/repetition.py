"""Whether equal words of a user, in two parts of one run, were said once or twice. Reads no files, stores nothing.

They were said twice where a reply lies between them: one that stands behind the earlier and before the later, or, where
the later was given to a model without any history, one that was over by then. Words under another system prompt are not
said again: a router, or what writes titles, is asked about the same request.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from refiner.types import Span


@dataclass(frozen=True, slots=True)
class _Part:
    spans: Sequence[Span]
    replies: dict[tuple[str, int], int]
    """The place of each reply by its words and how often they were said. Calls of tools tell no order: one that a tool
    recorded stands where it ran, before the history that was read with it."""


def numbers(first: Sequence[Span], second: Sequence[Span]) -> dict[int, int]:
    """Which of the equal messages of the first part each user message of the second is, counted from 0, by its place in
    the second; a number beyond them for one that the first part does not hold."""
    one, other = _part(first), _part(second)
    equal: dict[str, list[int]] = {}
    for place, span in enumerate(first):
        if _is_asked(span):
            equal.setdefault(span.output.strip(), []).append(place)
    chosen: dict[int, int] = {}
    taken: dict[str, set[int]] = {}
    for place, span in enumerate(second):
        if _is_asked(span):
            held, used = equal.get(span.output.strip(), []), taken.setdefault(span.output.strip(), set())
            free = (at for at in range(len(held)) if at not in used and not _are_two(one, held[at], other, place))
            number = next(free, max([len(held) - 1, *used]) + 1)
            used.add(number)
            chosen[place] = number
    return chosen


def time_of(span: Span) -> str:
    """The time of a step as a text that sorts: "01.5Z" stands before "01Z" as it is written."""
    return (span.started_at or "").removesuffix("Z")


def _part(spans: Sequence[Span]) -> _Part:
    counts: Counter[str] = Counter()
    replies: dict[tuple[str, int], int] = {}
    for place, span in enumerate(spans):
        if span.kind == "message" and span.role == "assistant":
            words = span.output.strip()
            counts[words] += 1
            replies[words, counts[words]] = place
    return _Part(spans, replies)


def _is_asked(span: Span) -> bool:
    return span.kind == "message" and span.role == "user"


def _are_two(one: _Part, at: int, other: _Part, there: int) -> bool:
    """Whether the equal messages at these places of two parts were said at two times."""
    if time_of(one.spans[at]) == time_of(other.spans[there]):
        return False
    if time_of(one.spans[at]) > time_of(other.spans[there]):
        one, at, other, there = other, there, one, at
    if any(place < there and one.replies.get(reply, -1) > at for reply, place in other.replies.items()):
        return True
    return _is_prompt(one, other, there) and _is_answered(one, at, time_of(other.spans[there]))


def _is_prompt(earlier: _Part, part: _Part, place: int) -> bool:
    """Whether a message was given to a model without a history, and under no system prompt that is new."""
    given = [span for span in part.spans if span.started_at == part.spans[place].started_at]
    known = {span.output for span in earlier.spans if span.role == "system"}
    return all(_is_asked(span) or (span.role == "system" and span.output in known) for span in given)


def _is_answered(part: _Part, place: int, by: str) -> bool:
    """Whether the last that happened behind a message, and before a time, are words: a call of a tool ends no turn."""
    behind = [span for span in part.spans[place + 1 :] if span.role not in ("system", "user") and time_of(span) <= by]
    return bool(behind) and behind[-1].role == "assistant"
