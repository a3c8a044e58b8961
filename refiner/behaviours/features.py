"""What the vocabulary sees of one trace, read once: which plain atoms are true and where, and the order of the calls.

Reads spans and how the run ended; never outcome, feedback, evaluator notes, task or model.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from sys import intern

from refiner.behaviours.literals import signature
from refiner.behaviours.names import call_names, clean
from refiner.behaviours.values import argument_types, result_types
from refiner.types import Span, Trace

HAND_OVER = re.compile(r"transfer|escalat|hand_?off|hand_?over|human", re.I)
MAX_REPEATS = 9
_CACHED_TRACES = 4_096


@dataclass(frozen=True, slots=True)
class Features:
    """`true` = canonical plain atoms -> ordinal of the span that shows them first; `words` = atoms on words, alike.

    `calls` = (name, span ordinal) in order; `first` and `last` = positions in `calls`, by name.
    """

    true: dict[str, int]
    words: dict[str, int]
    calls: tuple[tuple[str, int], ...]
    first: dict[str, int]
    last: dict[str, int]
    end: int


class _ByIdentity:
    """A cache key for a trace (a record with a dictionary inside has no hash)."""

    __slots__ = ("trace",)

    def __init__(self, trace: Trace) -> None:
        self.trace = trace

    def __hash__(self) -> int:
        return id(self.trace)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _ByIdentity) and other.trace is self.trace


def features(trace: Trace) -> Features:
    """The features of a trace; kept for the last few thousand traces."""
    return _features(_ByIdentity(trace))


@lru_cache(maxsize=_CACHED_TRACES)
def _features(key: _ByIdentity) -> Features:
    trace = key.trace
    named = [(span, _names(span)) for span in trace.spans if span.kind in ("tool_call", "tool_result")]
    true: dict[str, int] = {}
    words: dict[str, int] = {}
    for span, names in named:
        for text in _span_atoms(span, names):
            (words if ": word " in text else true).setdefault(intern(text), span.ordinal)
    true.update(_repeats(named))
    end = trace.spans[-1].ordinal if trace.spans else 0
    true[f"ended({ending(trace)})"] = end
    calls = tuple((name, span.ordinal) for span, names in named if span.kind == "tool_call" for name in names)
    last = {name: position for position, (name, _) in enumerate(calls)}
    first = {name: position for position, (name, _) in reversed(tuple(enumerate(calls)))}
    return Features(true, words, calls, first, last, end)


def _names(span: Span) -> tuple[str, ...]:
    return tuple(intern(name) for name in call_names(span.name, span.input))


def _span_atoms(span: Span, names: Sequence[str]) -> Iterator[str]:
    if span.kind == "tool_call":
        yield from (f"called({name})" for name in names)
        arguments = list(dict.fromkeys(argument_types(span.input)))
        yield from (f"called({name}, {field}: {kind})" for name in names for field, kind in arguments)
    results = list(dict.fromkeys(result_types(span.output or span.error or "")))
    yield from (f"result({name}, {field}: {kind})" for name in names for field, kind in results)
    if span.error is not None:
        yield f"error({signature(span.error) or 'no message'})"


def _repeats(named: Sequence[tuple[Span, tuple[str, ...]]]) -> dict[str, int]:
    """`repeated_call(k)` -> the span of the first k-th call with equal tool and arguments."""
    seen: Counter[tuple[str, str]] = Counter()
    found: dict[str, int] = {}
    for span, _ in named:
        if span.kind != "tool_call":
            continue
        call = (clean(span.name), _canonical(span.input))
        seen[call] += 1
        if 2 <= seen[call] <= MAX_REPEATS:
            found.setdefault(f"repeated_call({seen[call]})", span.ordinal)
    return found


def _canonical(arguments: str) -> str:
    try:
        return json.dumps(json.loads(arguments), sort_keys=True)
    except (ValueError, RecursionError):
        return arguments.strip()


def ending(trace: Trace) -> str:
    """How a run ended: `limit`, `hand-over`, `error`, `tool call` or `answer`, the first that applies."""
    if trace.meta.get("ended") == "limit":
        return "limit"
    steps = [span for span in trace.spans if span.kind != "event"]
    calls = [index for index, span in enumerate(steps) if span.kind == "tool_call"]
    if not calls:
        return "answer"
    last, after = steps[calls[-1]], steps[calls[-1] + 1 :]
    if HAND_OVER.search(last.name) and all(span.kind == "message" for span in after):
        return "hand-over"
    is_answered = any(span.kind == "message" and span.role == "assistant" for span in after)
    if last.error is not None and not is_answered:
        return "error"
    others = [span for span in steps if span.role != "user"]
    return "tool call" if others[-1].kind == "tool_call" else "answer"
