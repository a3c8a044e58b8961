"""When one recording of a run is the beginning of another: sessions are read while they still go on. Stores nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import takewhile

from refiner.types import Span, Trace

BEGINS = "begins_with"
"""The fact of a trace that names the first line of its session. A copy under another session id has the same."""


LEFT_BEHIND = "left_behind"
"""The fact that names the prompts (their span ids, with spaces between) that were taken back and asked anew."""


def grows(old: Trace, new: Trace) -> bool:
    """Whether `new` holds all of `old`, except for what came after a prompt that has been taken back since."""
    taken_back = set(new.meta.get(LEFT_BEHIND, "").split())
    kept = list(takewhile(lambda span: span.span_id not in taken_back, old.spans))
    return _continues(kept, new.spans)


def _continues(old: Sequence[Span], new: Sequence[Span]) -> bool:
    """Whether `new` begins with all of `old`; a call that had no observation yet may have one by now."""
    return len(old) <= len(new) and all(_same_step(*pair) for pair in zip(old, new, strict=False))


def progress(trace: Trace) -> tuple[int, int]:
    """How far a recording goes: its steps, and those of them that are over. What continues another is not behind it."""
    return len(trace.spans), sum(not _is_open(span) for span in trace.spans)


def _same_step(old: Span, new: Span) -> bool:
    return old == new or (_is_open(old) and old == replace(new, output="", error=None, ended_at=None))


def _is_open(span: Span) -> bool:
    return span.kind == "tool_call" and not span.output and span.error is None and span.ended_at is None
