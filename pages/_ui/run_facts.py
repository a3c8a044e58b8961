"""What a run says about itself beside its messages, in a few words each: origin, time, tokens, cost, score."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from pages._ui.text import duration, when

if TYPE_CHECKING:
    from refiner.types import Trace
    from refiner.views import TraceView

_GENERIC = "read by the generic walker: roles and contents, no more"


def facts(view: TraceView) -> list[str]:
    """What is known of the run; what its file does not say is left out."""
    trace, score = view.trace, view.outcome.score
    found = (
        f"task {trace.task_id}" if trace.task_id else "",
        trace.model or "",
        _GENERIC if trace.format == "generic" else f"read as {trace.format}",
        trace.source,
        when(_begin(trace)),
        _lasted(trace),
        _tokens(trace.meta),
        f"${cost:.4g}" if (cost := _number(trace.meta, "cost_usd")) is not None else "",
        "" if score is None else f"score {score:g}",
    )
    return [one for one in found if one]


def _begin(trace: Trace) -> str | None:
    return min((span.started_at for span in trace.spans if span.started_at), default=None)


def _lasted(trace: Trace) -> str:
    """How long the run took: as its file says, else from its first to its last time."""
    seconds = _number(trace.meta, "seconds")
    times = sorted(time for span in trace.spans for time in (span.started_at, span.ended_at) if time)
    if seconds is None and len(times) > 1:
        seconds = _between(times[0], times[-1])
    return f"took {duration(seconds)}" if seconds else ""


def _tokens(meta: dict[str, str]) -> str:
    named = (("input_tokens", "in"), ("cached_tokens", "from a cache"), ("output_tokens", "out"))
    known = [(_number(meta, name), words) for name, words in named]
    parts = [f"{number:,.0f} {words}" for number, words in known if number]
    return f"tokens: {', '.join(parts)}" if parts else ""


def _number(meta: dict[str, str], name: str) -> float | None:
    try:
        return float(meta[name])
    except (KeyError, ValueError):
        return None


def _between(first: str, last: str) -> float | None:
    try:
        ends = [datetime.fromisoformat(one) for one in (first, last)]
    except ValueError:
        return None
    start, end = (one if one.tzinfo else one.replace(tzinfo=UTC) for one in ends)
    return (end - start).total_seconds()
