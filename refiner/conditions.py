"""When a behaviour fails only in some tasks: the word of the request that tells those tasks apart."""

from __future__ import annotations

import re
from collections.abc import Sequence

from refiner import behaviours
from refiner.mining import RECURS_TASKS
from refiner.ports import Labelled
from refiner.sides import tasks_of

CARRIED = 0.8  # share of the failing tasks that must carry the word
ELSEWHERE = 0.2  # largest share of the tasks where the behaviour did no harm
_WORD = re.compile(r"[a-z]{3,20}")


def breakers_elsewhere(items: Sequence[Labelled], predicate: str) -> list[Labelled]:
    """Passing traces with the behaviour in tasks where no failing trace shows it, if they make 3 tasks or more."""
    parsed = behaviours.parse(predicate)
    failing = {item.trace.task_id for item in items if item.outcome.status == "fail" and parsed.holds(item.trace)}
    found = [
        item
        for item in items
        if item.outcome.status == "pass" and item.trace.task_id not in failing and parsed.holds(item.trace)
    ]
    return found if len(tasks_of(found)) >= RECURS_TASKS else []


def condition(items: Sequence[Labelled], predicate: str) -> str | None:
    """`When the request mentions "W"`, or None when no common word separates the tasks (or none is needed)."""
    harmless = breakers_elsewhere(items, predicate)
    if not harmless:
        return None
    parsed = behaviours.parse(predicate)
    harmed = [item for item in items if item.outcome.status == "fail" and parsed.holds(item.trace)]
    found = _separating(_words_by_task(harmed), _words_by_task(harmless), _words_by_task(items))
    return f'When the request mentions "{found}"' if found else None


def _words_by_task(items: Sequence[Labelled]) -> list[set[str]]:
    by_task: dict[str, set[str]] = {}
    for item in items:
        by_task.setdefault(item.trace.task_id, set()).update(_WORD.findall(item.trace.task.lower()))
    return [by_task[task] for task in sorted(by_task)]


def _separating(harmed: list[set[str]], harmless: list[set[str]], everywhere: list[set[str]]) -> str | None:
    """The word with the largest gap in shares; one of at least a quarter of all tasks, so that it names none."""
    common = {word for word in set().union(*everywhere) if 4 * _count(word, everywhere) >= len(everywhere)}
    good = [
        word
        for word in common
        if _count(word, harmed) >= CARRIED * len(harmed) and _count(word, harmless) <= ELSEWHERE * len(harmless)
    ]
    gap = {word: _count(word, harmed) / len(harmed) - _count(word, harmless) / len(harmless) for word in good}
    return min(gap, key=lambda word: (-gap[word], word), default=None)


def _count(word: str, tasks: list[set[str]]) -> int:
    return sum(word in words for words in tasks)
