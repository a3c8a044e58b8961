"""One run whose steps lie in several files: the parts that were read, put together in order of time. Stores nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from refiner.formats import otel
from refiner.formats._common import unique_ids
from refiner.formats._messages import parsed
from refiner.formats._steps import opening
from refiner.ids import canonical_json
from refiner.repetition import numbers, time_of
from refiner.types import Span, Trace

IN_PARTS = frozenset({otel.FORMAT.name})
"""The formats whose exporters may spread one run over files."""
_COUNTS = ("input_tokens", "output_tokens", "cost_usd")
_ORIGINS = ("file", "text", "none")


def together(one: Trace, other: Trace) -> Trace | None:
    """The run that two parts make, whichever comes first; None where steps without a time cannot be put in order.

    A step of both (later parts repeat what a model was told before) is told once, at its earliest time. Equal words of
    a user are two steps where a reply lies between them (see `refiner.repetition`).
    """
    spans = (*one.spans, *other.spans)
    if one.format not in IN_PARTS or one.format != other.format or not all(span.started_at for span in spans):
        return None
    first, second = sorted((one, other), key=lambda trace: (time_of(trace.spans[0]), trace.revision))
    joined = _numbered(_answered(sorted(_joined(first.spans, second.spans), key=_order)))
    named = min((first, second), key=lambda trace: _ORIGINS.index(trace.task_id_origin))
    return replace(
        first,
        spans=joined,
        task=opening(joined) or first.task,
        task_id=named.task_id,
        task_id_origin=named.task_id_origin,
        model=first.model or second.model,
        meta={**second.meta, **first.meta, **_counts(first, second)},
    )


def _order(span: Span) -> tuple[str, int, str, str]:
    return time_of(span), span.ordinal, span.kind, span.output


def _is_made(span: Span) -> bool:
    """Whether the id of a span is only its place in its part."""
    return span.span_id.rstrip("_") == f"s{span.ordinal}"


def _call(span: Span) -> tuple[str, str]:
    """What was called, its arguments in one spelling."""
    value = parsed(span.input)
    return span.name, span.input.strip() if value is None else canonical_json(value)


def _key(span: Span) -> tuple[Any, ...]:
    if span.kind == "tool_call":
        return (span.kind, *_call(span)) if _is_made(span) else (span.kind, span.span_id)
    if span.kind == "message":
        return span.kind, span.role, span.output.strip()
    return span.kind, span.name, span.output, span.started_at


def _joined(first: Sequence[Span], second: Sequence[Span]) -> list[Span]:
    """Every step of both, a step of both once. A call may have been recorded under another id than it was told by."""
    held: dict[tuple[Any, ...], list[Span]] = {}
    recorded: dict[tuple[Any, ...], tuple[Any, ...]] = {}
    asked = numbers(first, second)
    for part in (first, second):
        here: Counter[Any] = Counter()
        for place, span in enumerate(part):
            facts = (*_call(span), span.started_at, span.ended_at)
            key = recorded.get(facts, _key(span)) if span.ended_at else _key(span)
            recorded.setdefault(facts, key)
            number = asked.get(place, here[key]) if part is second else here[key]
            here[key] += 1
            same = held.setdefault(key, [])
            if number < len(same):
                same[number] = _fuller(same[number], span)
            else:
                same.append(span)
    return [span for same in held.values() for span in same]


def _fuller(one: Span, other: Span) -> Span:
    chosen = max((one, other), key=lambda span: (bool(span.output.strip()), bool(span.ended_at), span.output))
    return replace(chosen, started_at=min((one, other), key=time_of).started_at, input=one.input or other.input)


def _is_open(span: Span) -> bool:
    return span.kind == "tool_call" and not span.output and span.ended_at is None


def _answered(spans: list[Span]) -> list[Span]:
    """A call that a model told of, and the one that a tool recorded under an id of its own, as one step."""
    taken: set[int] = set()
    told = list(spans)
    for at, span in enumerate(spans):
        free = (place for place in range(len(spans)) if place not in taken) if _is_open(span) else ()
        found = next((place for place in free if _answers(spans[place], span)), None)
        if found is not None:
            taken.add(found)
            told[at] = replace(spans[found], span_id=span.span_id, input=span.input, ordinal=span.ordinal)
    return sorted((span for at, span in enumerate(told) if at not in taken), key=_order)


def _answers(span: Span, told: Span) -> bool:
    is_over = span.kind == "tool_call" and not _is_open(span) and time_of(span) >= time_of(told)
    return is_over and _call(span) == _call(told)


def _numbered(spans: Iterable[Span]) -> tuple[Span, ...]:
    kept = list(spans)
    ids = unique_ids(["" if _is_made(span) else span.span_id for span in kept])
    return tuple(replace(span, ordinal=at, span_id=ids[at]) for at, span in enumerate(kept))


def _counts(first: Trace, second: Trace) -> dict[str, str]:
    """Tokens and cost of both; where the same words stand at the same time in both, they overlap: the larger counts."""
    said = [{(_key(one), one.started_at) for one in part.spans if one.kind == "message"} for part in (first, second)]
    told = ((name, [float(part.meta[name]) for part in (first, second) if name in part.meta]) for name in _COUNTS)
    add = max if said[0] & said[1] else sum
    return {name: f"{round(add(values), 9):.10g}" for name, values in told if values}
