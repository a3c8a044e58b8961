"""One trace in a few counted sentences: request, tool signature, errors, last write, ending, normalised feedback."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import groupby

from refiner import behaviours, feedback
from refiner.analysts.offline.decisive import decisive_span
from refiner.mining import classes_of
from refiner.ports import Labelled, SummaryRequest
from refiner.rendering import cite as cite_span
from refiner.rendering import cite_feedback, fold, render_span, without_skill
from refiner.sides import side_of
from refiner.types import Citation, Span, Summary, Trace

QUOTE = 160
REQUEST = 240
_READS = re.compile(r"^(get|read|list|search|find|show|view|check|look|fetch|calc|think|count|open|describe)", re.I)


def summarise(request: SummaryRequest) -> Summary:
    """The summary of one labelled trace. Deterministic; literals of the task are typed, never copied."""
    item = request.item
    trace = without_skill(item.trace, request.skill_lines)
    calls = [span for span in trace.spans if span.kind == "tool_call"]
    failed = [span for span in calls if span.error]
    sentences = [_request(trace), _signature(calls), _errors(failed), _last_write(calls), _ending(trace), _said(item)]
    return Summary(
        trace_id=trace.id,
        revision=item.trace.revision,
        polarity=side_of(item),
        summary=" ".join(sentence for sentence in sentences if sentence),
        observations=_observations(item, trace, failed),
        decisive_span_id=decisive_span(trace) if side_of(item) == "failure" else None,
        evidence=tuple(quote_span(trace, span.ordinal) for span in failed[:2]) + quote_feedback(item),
    )


def quote_span(trace: Trace, ordinal: int) -> Citation:
    """A citation of the first line or two of a span, as rendered."""
    rendered = render_span(trace.spans[ordinal]).text
    return cite_span(trace, ordinal, rendered[:QUOTE].strip())


def quote_feedback(item: Labelled, wanted: Sequence[str] = ()) -> tuple[Citation, ...]:
    """Citations of the feedback lines that carry one of the `wanted` classes (every line when none is named)."""
    lines = [line.strip() for line in (item.outcome.feedback or "").splitlines() if line.strip()]
    chosen = [line for line in lines if not wanted or set(feedback.classes(line)) & set(wanted)]
    text = item.outcome.feedback or ""
    return tuple(cite_feedback(item.trace, text, line[:QUOTE]) for line in chosen[:3])


def _request(trace: Trace) -> str:
    return f"Request: {feedback.normalise(fold(trace.task))[:REQUEST]}." if trace.task else ""


def _signature(calls: Sequence[Span]) -> str:
    runs = [(name, sum(1 for _ in group)) for name, group in groupby(span.name for span in calls)]
    steps = ", ".join(name if count == 1 else f"{name} x{count}" for name, count in runs)
    return f"Steps: {steps}." if steps else "No tool was called."


def _errors(failed: Sequence[Span]) -> str:
    texts = sorted({feedback.normalise(fold(span.error or "")[:120]) for span in failed})
    return f"Errors: {'; '.join(texts[:3])}." if texts else ""


def _last_write(calls: Sequence[Span]) -> str:
    writes = [index for index, span in enumerate(calls) if not _READS.match(span.name)]
    if not writes:
        return ""
    later = [span.name for span in calls[writes[-1] + 1 :]]
    return f"Last write {calls[writes[-1]].name}, {'then ' + later[0] if later else 'nothing read after it'}."


def _ending(trace: Trace) -> str:
    return f"Ended with {behaviours.ending(trace)}."


def _said(item: Labelled) -> str:
    names = classes_of(item)
    return f"Evaluator: {'; '.join(names)}." if names else ""


def _observations(item: Labelled, trace: Trace, failed: Sequence[Span]) -> tuple[str, ...]:
    errors = sorted({f"error {feedback.normalise(fold(span.error or '')[:80])}" for span in failed})
    return (*classes_of(item), *errors[:3], f"ended with {behaviours.ending(trace)}")
