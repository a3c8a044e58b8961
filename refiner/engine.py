"""Runs stages over one refinement: asks for steps, skips finished ones, commits what arrives, tells what happens.

Knows neither files nor databases nor consoles: a `Ledger` keeps results, `emit` hears events. Skipping finished step
keys is resume, caching and staleness in one mechanism.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from refiner.errors import RefinerError, WaitingForReplies
from refiner.ports import Done, Executor, Foreseen, Labelled, Ledger, Stage, Tools
from refiner.types import SkillVersion, Step

COMMIT_SECONDS = 0.2
COMMIT_STEPS = 64


@dataclass(frozen=True, slots=True)
class Notice:
    """What a person should know before the stages start."""

    words: str


@dataclass(frozen=True, slots=True)
class StageStarted:
    stage: str
    total: int
    reused: int


@dataclass(frozen=True, slots=True)
class StageProgress:
    stage: str
    done: int
    total: int


@dataclass(frozen=True, slots=True)
class StepFailed:
    stage: str
    label: str
    error: str


@dataclass(frozen=True, slots=True)
class StageEnded:
    stage: str
    seconds: float
    failed: int


Event = Notice | StageStarted | StageProgress | StepFailed | StageEnded
Emit = Callable[[Event], None]


@dataclass(slots=True)
class RefinementRecords:
    """The `Records` view of one refinement: its training traces, its base skill, and what its stages have produced."""

    items: Sequence[Labelled]
    base: SkillVersion
    ledger: Ledger
    keys: dict[str, list[str]] = field(default_factory=dict)
    cache: dict[str, list[Any]] = field(default_factory=dict)

    def labelled(self) -> Sequence[Labelled]:
        return self.items

    def skill(self) -> SkillVersion:
        return self.base

    def produced(self, stage: str) -> list[Any]:
        """The records of a finished stage, in the order of its steps whatever order they ended in."""
        if stage not in self.cache:
            self.cache[stage] = self.ledger.outputs(self.keys.get(stage, []))
        return self.cache[stage]


def batches(arriving: Iterable[Done], clock: Callable[[], float], most: int = COMMIT_STEPS) -> Iterator[list[Done]]:
    """Groups what arrives for committing: at most 64 steps or 200 ms of work may be lost with the process.

    What came before an error that stops everything (a refused key, a spent budget) is still yielded.
    """
    batch: list[Done] = []
    since = clock()
    try:
        for done in arriving:
            batch.append(done)
            if len(batch) >= most or clock() - since >= COMMIT_SECONDS:
                yield batch
                batch, since = [], clock()
    except RefinerError:
        if batch:
            yield batch
        raise
    if batch:
        yield batch


@dataclass(frozen=True, slots=True)
class Engine:
    """One writer: only the driver commits. `run` raises what would stop every step; single failures are events.

    `batch`: the most steps committed at once; 1 for an analyst that is paid, so that no reply is paid for twice, and
    in the stages named in `singly` whoever the analyst is.
    """

    ledger: Ledger
    executor: Executor
    tools: Tools
    emit: Emit
    clock: Callable[[], float] = time.monotonic
    batch: int = COMMIT_STEPS
    singly: tuple[str, ...] = ()

    def run(self, refinement_id: str, stages: Sequence[Stage], records: RefinementRecords) -> dict[str, float]:
        """Seconds by stage, once every stage is through. Raises WaitingForReplies after a stage that waits for some."""
        seconds = {}
        for stage, following in zip(stages, (*stages[1:], None), strict=True):
            try:
                seconds[stage.name] = self._stage(refinement_id, stage, records)
            except Awaited as awaited:
                more = self._ahead(refinement_id, following, records)
                raise waiting_for([*awaited.steps, *more]) from None
        return seconds

    def _ahead(self, refinement_id: str, stage: Stage | None, records: RefinementRecords) -> list[Done]:
        """Asks what the next stage can ask already; those of its steps that wait now. Its failures are not news yet."""
        if stage is None or not isinstance(stage, Foreseen):
            return []
        steps = list({step.key: step for step in stage.ahead(records)}.values())
        finished = self.ledger.finished([step.key for step in steps])
        todo = [step for step in steps if step.key not in finished]
        came = list(self.executor.map(stage.run, todo, self.tools))
        self.ledger.commit(refinement_id, [one for one in came if not one.waiting_in and one.error is None])
        return [one for one in came if one.waiting_in]

    def _stage(self, refinement_id: str, stage: Stage, records: RefinementRecords) -> float:
        started = self.clock()
        steps = list({step.key: step for step in stage.steps(records)}.values())
        keys = [step.key for step in steps]
        self.ledger.link_steps(refinement_id, stage.name, keys)
        finished = self.ledger.finished(keys)
        self.emit(StageStarted(stage.name, len(steps), len(finished)))
        failed = self._work(refinement_id, stage, [step for step in steps if step.key not in finished], len(steps))
        records.keys[stage.name] = keys
        seconds = self.clock() - started
        self.emit(StageEnded(stage.name, seconds, failed))
        return seconds

    def _work(self, refinement_id: str, stage: Stage, todo: Sequence[Step], total: int) -> int:
        done = total - len(todo)
        failed = 0
        waiting: list[Done] = []
        most = 1 if stage.name in self.singly else self.batch
        for arrived in batches(self.executor.map(stage.run, todo, self.tools), self.clock, most):
            waiting += (one for one in arrived if one.waiting_in)
            batch = [one for one in arrived if not one.waiting_in]
            if not batch:
                continue
            self.ledger.commit(refinement_id, batch)
            done += len(batch)
            for step in (one for one in batch if one.error is not None):
                failed += 1
                self.emit(StepFailed(stage.name, step.step.label, step.error or ""))
            self.emit(StageProgress(stage.name, done, total))
        if waiting:
            raise Awaited(waiting)
        return failed


class Awaited(Exception):
    """A stage is through but for the steps whose replies come later."""

    def __init__(self, steps: Sequence[Done]) -> None:
        super().__init__(f"{len(steps)} steps wait")
        self.steps = steps


def waiting_for(waiting: Sequence[Done]) -> WaitingForReplies:
    """The error that says how many replies are waited for, and where their requests lie."""
    places = ", ".join(sorted({one.waiting_in for one in waiting}))
    stages = " and ".join(dict.fromkeys(one.step.stage for one in waiting))
    replies = "1 reply is" if len(waiting) == 1 else f"{len(waiting)} replies are"
    return WaitingForReplies(
        f"{replies} waited for (stage {stages}): the requests lie in {places}; answer them, then run the same command "
        "again",
        len(waiting),
    )
