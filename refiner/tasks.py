"""What counts as one task, and what is held out together. Pure: requests and names only."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence

from refiner.types import Trace

COMMON = 4
"""A request that opens more than one in four traces says nothing about the task."""
CONVERSATION = "conversation"
"""The key of a trace's `meta` with the external id of the conversation it is a piece of."""
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")


def folded(request: str) -> str:
    """A request without what varies between trials of one task: case, white space, numbers."""
    return " ".join(_NUMBER.sub("#", request.casefold()).split())


def split_units(traces: Sequence[Trace]) -> Mapping[str, str]:
    """What is held out together, by trace id: the task; for episodes their conversations, joined where they share a
    task (named after the first of them)."""
    leader: dict[str, str] = {}

    def find(name: str) -> str:
        while leader.setdefault(name, name) != name:
            name = leader[name]
        return name

    of_task: dict[str, list[str]] = defaultdict(list)
    for trace in traces:
        if CONVERSATION in trace.meta:
            of_task[trace.task_id].append(trace.meta[CONVERSATION])
    for names in of_task.values():
        for name in names:
            low, high = sorted((find(names[0]), find(name)))
            leader[high] = low
    return {
        trace.id: find(trace.meta[CONVERSATION]) if CONVERSATION in trace.meta else trace.task_id for trace in traces
    }
