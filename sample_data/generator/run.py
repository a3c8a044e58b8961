"""Runs scripted agents on a pack's tasks: draws what goes wrong, executes the plan, asks the checker. Writes no corpus.

Draws are independent of each other: each has its own random source, named by seed, task, run and subject. So leaving a
fault out (a heeded rule) changes no other draw, and the same seed always gives the same corpus.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from sample_data.generator.checker import check
from sample_data.generator.desk import Desk
from sample_data.generator.heeding import heeded
from sample_data.generator.pack import Accident, Fault, Habit, Pack, Task

Part = Fault | Habit | Accident
MODEL = "scripted-agent"
OPENINGS = ("", "", "I will open the workbook and go through the request in order.", "Let me look at the table first.")
CLOSINGS = (
    "Done: I made the changes you asked for and saved the workbook.",
    "The workbook is updated and saved.",
    "All the changes are in. The file is saved under the same name.",
)


@dataclass(frozen=True, slots=True)
class Corpus:
    """Executed runs. `acted` = name of a fault, habit or accident -> ids of the runs that acted it out (the truth)."""

    traces: list[dict[str, Any]] = field(default_factory=list)
    rewards: dict[str, bool] = field(default_factory=dict)
    feedback: dict[str, str] = field(default_factory=dict)
    acted: dict[str, list[str]] = field(default_factory=dict)


def generate(
    pack: Pack, seed: int, tasks: int = 60, trials: int = 4, tasks_offset: int = 0, skill: str | None = None
) -> Corpus:
    """Runs `trials` agents on each of `tasks` tasks, in order. The same arguments give the same corpus.

    `skill`: a refined SKILL.md; agents no longer act out the faults whose rule its added lines state. `tasks_offset`
    moves to other tasks: 0 and 60 have none in common.
    """
    parts: list[Part] = [*pack.faults, pack.stated, *pack.habits, *pack.accidents]
    corpus = Corpus(acted={part.name: [] for part in parts})
    shown = pack.skill if skill is None else skill
    spared = heeded(pack, pack.skill, shown)
    numbers = range(tasks_offset, tasks_offset + tasks)
    accidents = _place(pack, seed, numbers, trials)
    with tempfile.TemporaryDirectory() as folder:
        for number in numbers:
            task = pack.task(Random(f"{pack.name}/{seed}/task {number}"), number)
            start = _start_file(task, Path(folder))
            for trial in range(trials):
                drawn = _draw(pack, task, f"{pack.name}/{seed}/{number}/{trial}", accidents.get((number, trial)))
                acted = [part for part in drawn if part.name not in spared]
                run = _Run(pack, task, shown, f"{number}/{trial}", seed)
                trace_id = f"sheet-{number + 1:03d}-{trial + 1}"
                _record(corpus, trace_id, run.execute(acted, Path(folder), start), acted, task)
    return corpus


def problems(pack: Pack, corpus: Corpus) -> list[str]:
    """What a pack's corpus breaks of the outcome rules in `pack.py`, in words; empty when all is well.

    That each predicate holds exactly where its fault was acted out needs the behaviour vocabulary: see the tests.
    """
    causes: list[Part] = [*pack.faults, pack.stated, *pack.accidents]
    blamed = {trace_id for cause in causes for trace_id in corpus.acted[cause.name]}
    passed = {trace_id for trace_id, reward in corpus.rewards.items() if reward}
    return [f"{one}: passes although a fault was acted out" for one in sorted(blamed & passed)] + [
        f"{one}: fails although nothing was acted out" for one in sorted(set(corpus.rewards) - blamed - passed)
    ]


@dataclass(frozen=True, slots=True)
class _Run:
    """One agent at one task."""

    pack: Pack
    task: Task
    skill: str
    name: str
    seed: int

    def execute(self, parts: Iterable[Part], folder: Path, start: bytes) -> tuple[list[dict[str, str]], list[str]]:
        """The spans of the run, and the checker's lines."""
        plan = self.task.plan
        for part in parts:
            plan = part.act(plan, self.task, self._random(part.name))
        path = folder / self.task.file_name
        path.write_bytes(start)
        desk = Desk(folder, self.pack.tools)
        calls = [(step.tool, json.dumps(step.arguments), desk.call(step.tool, step.arguments)) for step in plan]
        desk.close()
        opening, closing = self._random("opening").choice(OPENINGS), self._random("closing").choice(CLOSINGS)
        before = [("system", "", _body(self.skill)), ("user", "", self.task.request)]
        spans = [*before, *([("assistant", "", opening)] if opening else []), *calls, ("assistant", "", closing)]
        return [_span(index, *span) for index, span in enumerate(spans, start=1)], check(path, self.task.checks)

    def _random(self, subject: str) -> Random:
        return Random(f"{self.pack.name}/{self.seed}/{self.name}/act {subject}")


def _draw(pack: Pack, task: Task, source: str, accident: Accident | None) -> list[Part]:
    """What this run acts out: each habit on its own, then its accident or else each fault on its own."""
    habits = [one for one in pack.habits if Random(f"{source}/{one.name}").random() < one.probability]
    if accident:
        return [*habits, accident]
    chances = {one: one.probability * task.difficulty for one in (*pack.faults, pack.stated)}
    return [*habits, *(one for one, chance in chances.items() if Random(f"{source}/{one.name}").random() < chance)]


def _place(pack: Pack, seed: int, numbers: range, trials: int) -> dict[tuple[int, int], Accident]:
    """Which run has which accident: every accident gets a task of its own."""
    random = Random(f"{pack.name}/{seed}/accidents from {numbers.start}")
    hit = random.sample(numbers, k=min(len(numbers), len(pack.accidents)))
    placed: dict[tuple[int, int], Accident] = {}
    for accident, number in zip(pack.accidents, hit, strict=False):
        runs = range(trials) if accident.scope == "task" else [random.randrange(trials)]
        placed.update({(number, trial): accident for trial in runs})
    return placed


def _record(corpus: Corpus, trace_id: str, ran: tuple[Any, list[str]], parts: Iterable[Part], task: Task) -> None:
    spans, lines = ran
    task_id = trace_id.rpartition("-")[0]
    corpus.traces.append(
        {"trace_id": trace_id, "task_id": task_id, "task": task.request, "model": MODEL, "spans": spans}
    )
    corpus.rewards[trace_id] = not lines
    if lines:
        corpus.feedback[trace_id] = "\n".join(lines)
    for part in parts:
        corpus.acted[part.name].append(trace_id)


def _start_file(task: Task, folder: Path) -> bytes:
    path = folder / "start.xlsx"
    task.workbook().save(path)
    return path.read_bytes()


def _body(skill: str) -> str:
    """A skill without its front matter: what an agent is shown."""
    parts = skill.split("---\n", 2)
    return (parts[2] if skill.startswith("---\n") and len(parts) == 3 else skill).strip()


def _span(index: int, name: str, input_text: str, output_text: str) -> dict[str, str]:
    return {"span_id": f"s{index}", "name": name, "input_text": input_text, "output_text": output_text}
