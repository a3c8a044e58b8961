"""Runs stages over one refinement: asks for steps, skips finished ones, commits what arrives, tells what happens.

Knows neither files nor databases nor consoles: a `Ledger` keeps results, `emit` hears events. Skipping finished step
keys is resume, caching and staleness in one mechanism.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from refiner.ports import Done, Executor, Labelled, Ledger, Stage, Tools
from refiner.types import SkillVersion, Step

COMMIT_SECONDS = 0.2
COMMIT_STEPS = 64


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


Event = StageStarted | StageProgress | StepFailed | StageEnded
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


def batches(arriving: Iterable[Done], clock: Callable[[], float]) -> Iterator[list[Done]]:
    """Groups what arrives for committing: at most 64 steps or 200 ms of work may be lost with the process."""
    batch: list[Done] = []
    since = clock()
    for done in arriving:
        batch.append(done)
        if len(batch) >= COMMIT_STEPS or clock() - since >= COMMIT_SECONDS:
            yield batch
            batch, since = [], clock()
    if batch:
        yield batch


@dataclass(frozen=True, slots=True)
class Engine:
    """One writer: only the driver commits. `run` raises what would stop every step; single failures are events."""

    ledger: Ledger
    executor: Executor
    tools: Tools
    emit: Emit
    clock: Callable[[], float] = time.monotonic

    def run(self, refinement_id: str, stages: Sequence[Stage], records: RefinementRecords) -> dict[str, float]:
        """Seconds by stage, once every stage is through."""
        return {stage.name: self._stage(refinement_id, stage, records) for stage in stages}

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
        for batch in batches(self.executor.map(stage.run, todo, self.tools), self.clock):
            self.ledger.commit(refinement_id, batch)
            done += len(batch)
            for step in (one for one in batch if one.error is not None):
                failed += 1
                self.emit(StepFailed(stage.name, step.step.label, step.error or ""))
            self.emit(StageProgress(stage.name, done, total))
        return failed
