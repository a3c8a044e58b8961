"""Which step decided a failure, told by marks alone: a call that failed or gave nothing, else the first thing done.

A guess, and often wrong: `make bench BENCH=attribution` measures it against steps that people marked.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from refiner.types import Span, Trace

_NOTHING = re.compile(r"(?:.*\boutput:)?\s*(?:\[\]|\{\}|None|null)?\s*", re.DOTALL | re.IGNORECASE)


def decisive_span(trace: Trace) -> str | None:
    """The id of the step; None when the trace holds nothing but the request.

    The first call that failed or gave nothing counts, and where it only ran what a message before it wrote, that
    message. Without such a call it is the first step after the request, or the request's own message if it acted.
    """
    steps = [span for span in trace.spans if span.role != "system" and span.kind != "event"]
    calls = [place for place, span in enumerate(steps) if span.kind == "tool_call"]
    marked = next((place for place in calls if steps[place].error or _gave_nothing(steps[place])), None)
    if marked is not None:
        return steps[_cause(steps, marked)].span_id
    if calls and _cause(steps, calls[0]) == 0:
        return steps[0].span_id
    return next((span.span_id for span in steps[1:] if span.kind != "tool_result" and span.role != "user"), None)


def _gave_nothing(call: Span) -> bool:
    """An observation that is there and says nothing. One that was never recorded is no mark."""
    return bool(call.output) and _NOTHING.fullmatch(call.output) is not None


def _cause(steps: Sequence[Span], place: int) -> int:
    """The place of the message that wrote what a call ran; of the call itself where it was not written there."""
    before = place - 1
    written = [line.strip() for line in steps[place].input.splitlines() if line.strip()]
    if before < 0 or not written or steps[before].kind != "message":
        return place
    return before if all(line in steps[before].output for line in written) else place
