"""What one group of traces is about: a fact, a recurring feedback subject or behaviour. Chosen by counting."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from refiner.mining import RECURS_TASKS, classes_of, subject_of
from refiner.ports import Focus, Labelled, ProposalRequest
from refiner.sides import tasks_of
from refiner.types import Contrast


@dataclass(frozen=True, slots=True)
class Topic:
    """`items`: the group's traces that show it. `contrast`: its measurement, where it is a predicate."""

    kind: Literal["fact", "feedback", "predicate"]
    name: str
    items: tuple[Labelled, ...]
    classes: tuple[str, ...] = ()
    passing: int = 0
    contrast: Contrast | None = None

    @property
    def tasks(self) -> int:
        return len(tasks_of(self.items))


def topic_of(request: ProposalRequest) -> Topic | None:
    """The focus when there is one, else the best of: facts, feedback subjects, other predicates (in this order)."""
    if request.focus is not None:
        return _focused(request, request.focus)
    for candidates in (_facts(request), _subjects(request), _predicates(request)):
        recurring = [topic for topic in candidates if topic.tasks >= RECURS_TASKS]
        if recurring:
            return min(recurring, key=lambda topic: (-topic.tasks, -len(topic.items), topic.name))
    return None


def nearest_misses(request: ProposalRequest) -> list[Topic]:
    """What came closest to recurring in the group, at most three, most tasks first."""
    candidates = [*_facts(request), *_subjects(request), *_predicates(request)]
    return sorted(candidates, key=lambda topic: (-topic.tasks, topic.name))[:3]


def _focused(request: ProposalRequest, focus: Focus) -> Topic:
    if focus.kind == "feedback":
        return Topic("feedback", focus.name, request.members, focus.classes, focus.passing)
    contrast = next(one for one in request.contrasts if one.predicate == focus.name)
    return Topic("fact", focus.name, request.members, contrast=contrast)


def _facts(request: ProposalRequest) -> Iterable[Topic]:
    for contrast in request.contrasts:
        if contrast.is_fact and (items := _showing(request, contrast)) and _twice(request, contrast, items):
            yield Topic("fact", contrast.predicate, items, contrast=contrast)


def _subjects(request: ProposalRequest) -> Iterable[Topic]:
    if request.group.side != "failure":
        return
    for focus in request.recurring:
        items = tuple(item for item in request.members if focus.name in map(subject_of, classes_of(item)))
        if items:
            yield Topic("feedback", focus.name, items, focus.classes, focus.passing)


def _predicates(request: ProposalRequest) -> Iterable[Topic]:
    """Behaviours of at least half the group that nothing measured explains or refutes."""
    for contrast in request.contrasts:
        if contrast.is_fact or contrast.explained_by or contrast.causes != "unknown":
            continue
        items = _showing(request, contrast)
        if 2 * len(items) >= len(request.members) and _twice(request, contrast, items) and _recurs(request, contrast):
            yield Topic("predicate", contrast.predicate, items, contrast=contrast)


def _showing(request: ProposalRequest, contrast: Contrast) -> tuple[Labelled, ...]:
    """Members with the behaviour (failure), or to which it applies and that do without it (success)."""
    holds, applies = set(contrast.holds), set(contrast.applies)
    wanted = holds if request.group.side == "failure" else applies - holds
    return tuple(item for item in request.members if item.trace.id in wanted)


def _twice(request: ProposalRequest, contrast: Contrast, items: Sequence[Labelled]) -> bool:
    """Whether the group's share is at least twice the other side's."""
    share = len(items) / max(len(request.members), 1)
    return share >= 2 * _other_share(request, contrast)


def _recurs(request: ProposalRequest, contrast: Contrast) -> bool:
    """The same over the whole side: a small group alone can show twice the share of anything."""
    if request.group.side == "failure":
        own = contrast.failures_with / max(contrast.failures, 1)
    else:
        own = 1 - contrast.passes_with / max(contrast.passes, 1)
    return own >= 2 * _other_share(request, contrast)


def _other_share(request: ProposalRequest, contrast: Contrast) -> float:
    if request.group.side == "failure":
        return contrast.passes_with / max(contrast.passes, 1)
    return 1 - contrast.failures_with / max(contrast.failures, 1)
