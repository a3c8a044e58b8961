"""What a fault pack is: the interface between the generator and one set of tasks, faults, habits and accidents.

A pack is written from this file and `desk.py` (tools) and `checker.py` (checks) alone. It holds no measuring, no file
writing and no random state of its own: every function gets the random source it may use.

How one run comes about: the pack makes a `Task` with the *right* plan; each habit, fault and accident that is drawn for
the run rewrites that plan; the generator executes the plan, call by call, on a real workbook; the task's checks look at
the saved file. So a fault is a change of plan, never a statement about the outcome.

Rules a pack keeps, each covered by `problems()` in `run.py` on an executed corpus:
- the predicate of a fault is ONE atom of the behaviour vocabulary and holds exactly in the runs that act the fault out;
- a run that acts out a fault fails, a run that acts out habits alone passes;
- acting out a fault changes as little else of the plan as possible (same tools, same order, same number of calls).
A word can only be used in a predicate if at least a quarter of the tasks see it, so a fault known by a word in a result
needs a probability of about 0.12 or more with four runs a task; 0.09 will do for the others. Aim for half of the runs
to pass: faults are drawn independently, and where several meet in most runs none of them can be told apart.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from openpyxl import Workbook

    from sample_data.generator.checker import Check
    from sample_data.generator.desk import Tool


@dataclass(frozen=True, slots=True)
class Step:
    """One tool call an agent is going to make. `key` names it inside the plan and appears in no trace."""

    key: str
    tool: str
    arguments: dict[str, Any]


Plan = tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Task:
    """One request with the workbook it is about.

    `plan` does everything right. `checks` look at the saved file. `facts` is whatever the pack's own acts need to know.
    `difficulty` multiplies every fault's probability (0.8 to 1.2 is plenty: a task that always fails teaches nothing).
    """

    request: str
    file_name: str
    workbook: Callable[[], Workbook]
    plan: Plan
    checks: tuple[Check, ...]
    facts: dict[str, Any] = field(default_factory=dict)
    difficulty: float = 1.0


Act = Callable[[Plan, Task, Random], Plan]


@dataclass(frozen=True, slots=True)
class Heed:
    """One way to state a rule. A sentence states it when every group has a word in it and the polarity is right.

    `groups`: in each, any of the words will do (lower case; `*` at the end: any ending; blanks allowed). The LAST group
    names the thing that is wanted or banned. `do` wants an even number of negations around it, `avoid` an odd one;
    `heeding.py` says how they are counted.
    """

    polarity: Literal["do", "avoid"]
    groups: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Fault:
    """Something an agent does that makes its run fail.

    `sentence` says it in words, `consequence` what the checker finds in the file, `predicate` is the one atom that
    marks it in a trace, `probability` is its chance in one run, `act` turns a right plan into a faulty one. `heeds`: an
    agent heeds the rule when lines added to the skill state it in one of these ways, fixed before any result is seen.
    `endorsed_by`: the line of the weak skill that leads agents into it, if there is one.
    """

    name: str
    sentence: str
    consequence: str
    predicate: str
    probability: float
    act: Act
    heeds: tuple[Heed, ...]
    endorsed_by: str = ""


@dataclass(frozen=True, slots=True)
class Habit:
    """Something an agent does that does no harm, equally often in passing and failing runs."""

    name: str
    sentence: str
    predicate: str
    probability: float
    act: Act


@dataclass(frozen=True, slots=True)
class Accident:
    """A failure that happens once: in one run, or (scope `task`) in all runs of one task. Nothing to learn from it."""

    name: str
    sentence: str
    act: Act
    scope: Literal["trace", "task"] = "trace"


@dataclass(frozen=True, slots=True)
class Pack:
    """Six faults, one fault whose rule the weak skill states in full (`stated`, never heeded), habits and accidents.

    `skill` is the weak SKILL.md. `task(random, index)` makes a task. `tools` are added to those of `desk.TOOLS`.
    """

    name: str
    skill: str
    task: Callable[[Random, int], Task]
    faults: tuple[Fault, ...]
    stated: Fault
    habits: tuple[Habit, ...]
    accidents: tuple[Accident, ...]
    tools: dict[str, Tool] = field(default_factory=dict)


def position(plan: Plan, key: str) -> int:
    """Where the step named `key` is. Raises StopIteration when there is none: a mistake in the pack."""
    return next(index for index, step in enumerate(plan) if step.key == key)


def changed(plan: Plan, key: str, *, tool: str | None = None, **arguments: Any) -> Plan:
    """The plan with another tool or other arguments in step `key`; with a tool, `arguments` are all there are."""
    index = position(plan, key)
    step = plan[index]
    merged = arguments if tool else {**step.arguments, **arguments}
    return (*plan[:index], dataclasses.replace(step, tool=tool or step.tool, arguments=merged), *plan[index + 1 :])


def without(plan: Plan, key: str) -> Plan:
    """The plan with step `key` left out."""
    return tuple(step for step in plan if step.key != key)


def followed(plan: Plan, key: str, step: Step) -> Plan:
    """The plan with `step` put right after step `key`."""
    index = position(plan, key)
    return (*plan[: index + 1], step, *plan[index + 1 :])
