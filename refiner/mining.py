"""What recurs in the evaluator's feedback: classes counted by trace and by distinct task. No wording, no edits."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from refiner import behaviours, feedback
from refiner.ports import Focus, Labelled
from refiner.sides import side_of
from refiner.types import Proposal

RECURS_TASKS = (
    3  # distinct tasks from which something counts as recurring: one repeated or poisoned task is never enough
)


@dataclass(frozen=True, slots=True)
class FeedbackClass:
    """One class of feedback, with the failing and passing traces that carry it, in external-id order."""

    name: str
    failing: tuple[Labelled, ...]
    passing: tuple[Labelled, ...]

    @property
    def tasks(self) -> int:
        return len({item.trace.task_id for item in self.failing})

    @property
    def ids(self) -> frozenset[str]:
        return frozenset(item.trace.id for item in self.failing)


def classes_of(item: Labelled) -> tuple[str, ...]:
    """The distinct feedback classes of one trace."""
    return feedback.classes(item.outcome.feedback) if item.outcome.feedback else ()


def feedback_classes(items: Iterable[Labelled]) -> dict[str, FeedbackClass]:
    """Every class by name, names in alphabetical order."""
    found: dict[str, dict[str, list[Labelled]]] = defaultdict(lambda: {"failure": [], "success": []})
    for item in items:
        for name in classes_of(item):
            found[name][side_of(item)].append(item)
    return {
        name: FeedbackClass(name, tuple(sides["failure"]), tuple(sides["success"]))
        for name, sides in sorted(found.items())
    }


@dataclass(frozen=True, slots=True)
class Subject:
    """What one proposal about feedback is about: a class, or the opposite classes of one action (`when X`)."""

    name: str
    classes: tuple[FeedbackClass, ...]

    @property
    def items(self) -> tuple[Labelled, ...]:
        """The failing traces that carry any of the classes, in external-id order."""
        by_id = {item.trace.external_id: item for one in self.classes for item in one.failing}
        return tuple(by_id[key] for key in sorted(by_id))

    @property
    def passing(self) -> int:
        """How many passing traces carry any of the classes."""
        return len({item.trace.id for one in self.classes for item in one.passing})

    @property
    def focus(self) -> Focus:
        return Focus("feedback", self.name, tuple(one.name for one in self.classes), self.passing)


def subject_of(class_name: str) -> str:
    """`when X` for `missing X` and `unexpected X`; any other class is its own subject."""
    kind, _, action = class_name.partition(" ")
    return f"when {action}" if kind in ("missing", "unexpected") and action else class_name


def recurring_subjects(items: Sequence[Labelled], least: int = RECURS_TASKS) -> list[Subject]:
    """The subjects with at least one class over `least` distinct failing tasks, by name.

    That passing traces carry it too does not silence it: feedback is seldom written for both; a reader is told.
    """
    grouped: dict[str, list[FeedbackClass]] = defaultdict(list)
    for one in feedback_classes(items).values():
        grouped[subject_of(one.name)].append(one)
    return [
        Subject(name, tuple(group))
        for name, group in sorted(grouped.items())
        if any(one.tasks >= least for one in group)
    ]


def fault_of(proposal: Proposal) -> str | None:
    """The proposal's behaviour in the direction that goes with failure: a success proposal asks for its opposite."""
    if proposal.behaviour is None or proposal.side == "failure":
        return proposal.behaviour
    return behaviours.negate(proposal.behaviour)
