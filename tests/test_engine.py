"""The engine: finished steps are never repeated, order never depends on arrival, a failing step stops nothing else."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import Any

import pytest
from memory import NO_TOOLS, MemoryLedger, skill

from refiner.engine import Engine, RefinementRecords, StageEnded, StageProgress, StageStarted, StepFailed, batches
from refiner.errors import AuthFailed, BadReply, BudgetSpent, RateLimited, Waiting, WaitingForReplies
from refiner.executors import local
from refiner.executors.local import InlineExecutor, ThreadExecutor
from refiner.ports import Done, Executor, Records, Tools
from refiner.types import Shortfall, Step


def note(subject: str) -> Shortfall:
    return Shortfall("failure", "near_miss", subject, 1, 1, subject)


@dataclass
class Counting:
    """A stage of `n` steps that remembers what it ran; `fail` maps a label to the error it raises."""

    n: int = 5
    fail: dict[str, Exception] = field(default_factory=dict)
    ran: list[str] = field(default_factory=list)
    name: str = "counting"
    version: int = 1

    def steps(self, records: Records) -> Iterable[Step]:
        return [Step(self.name, f"l{number}", f"k{number}", number) for number in range(self.n)]

    def run(self, step: Step, tools: Tools) -> tuple[Any, ...]:
        self.ran.append(step.label)
        if step.label in self.fail:
            raise self.fail[step.label]
        return (note(step.label),)


def drive(stage: Any, ledger: MemoryLedger, executor: Executor | None = None) -> tuple[RefinementRecords, list[Any]]:
    events: list[Any] = []
    records = RefinementRecords([], skill(), ledger)
    Engine(ledger, executor or InlineExecutor(), NO_TOOLS, events.append).run("r", [stage], records)
    return records, events


def test_finished_steps_are_not_run_again() -> None:
    ledger, first, second = MemoryLedger(), Counting(3), Counting(5)
    drive(first, ledger)
    records, events = drive(second, ledger)
    assert second.ran == ["l3", "l4"]
    assert [one.subject for one in records.produced("counting")] == ["l0", "l1", "l2", "l3", "l4"]
    assert events[0] == StageStarted("counting", 5, 3)


def test_results_come_in_the_order_of_steps_whatever_order_they_ended_in() -> None:
    @dataclass
    class Backwards:
        def map(self, run: Callable[..., Any], steps: Iterable[Step], tools: Tools) -> Iterable[Done]:
            return (Done(step, run(step, tools)) for step in reversed(list(steps)))

    records, _ = drive(Counting(4), MemoryLedger(), Backwards())  # type: ignore[arg-type]
    assert [one.subject for one in records.produced("counting")] == ["l0", "l1", "l2", "l3"]


@pytest.mark.parametrize("executor", [InlineExecutor(), ThreadExecutor(3)])
def test_a_failing_step_is_told_and_tried_again_next_time(executor: Executor) -> None:
    ledger = MemoryLedger()
    broken = Counting(4, fail={"l1": BadReply("no JSON in the reply")})
    records, events = drive(broken, ledger, executor)
    assert StepFailed("counting", "l1", "no JSON in the reply") in events
    assert [event.failed for event in events if isinstance(event, StageEnded)] == [1]
    assert [one.subject for one in records.produced("counting")] == ["l0", "l2", "l3"]
    healed = Counting(4)
    records, _ = drive(healed, ledger, executor)
    assert healed.ran == ["l1"]
    assert [one.subject for one in records.produced("counting")] == ["l0", "l1", "l2", "l3"]


@pytest.mark.parametrize("executor", [InlineExecutor(), ThreadExecutor(2)])
@pytest.mark.parametrize(
    "error",
    [
        AuthFailed("the key was refused"),
        RateLimited("come back tomorrow", systemic=True),
        BudgetSpent("no money left"),
        OSError("disk"),
        ZeroDivisionError(),
    ],
)
def test_what_would_fail_every_step_stops_the_stage(executor: Executor, error: Exception) -> None:
    with pytest.raises(type(error)):
        drive(Counting(50, fail={"l0": error}), MemoryLedger(), executor)


def test_an_interruption_keeps_what_was_committed() -> None:
    ledger = MemoryLedger()

    class Stopped(Counting):
        def run(self, step: Step, tools: Tools) -> tuple[Any, ...]:
            if step.label == "l70":
                raise KeyboardInterrupt
            return super().run(step, tools)

    with pytest.raises(KeyboardInterrupt):
        drive(Stopped(100), ledger)
    resumed = Counting(100)
    drive(resumed, ledger)
    assert resumed.ran == [f"l{number}" for number in range(64, 100)]


def test_steps_are_committed_after_64_or_200_ms() -> None:
    step = Step("s", "l", "k", None)
    times = iter([0.0, 0.05, 0.1, 0.25, 0.25, 0.3, 0.4])
    by_time = [len(batch) for batch in batches([Done(step)] * 5, lambda: next(times))]
    assert by_time == [3, 2]
    assert [len(batch) for batch in batches([Done(step)] * 130, lambda: 0.0)] == [64, 64, 2]


def test_progress_counts_what_was_kept_from_before() -> None:
    ledger = MemoryLedger()
    drive(Counting(2), ledger)
    _, events = drive(Counting(4), ledger)
    assert [event.done for event in events if isinstance(event, StageProgress)][-1] == 4


def test_two_steps_with_one_key_are_one_step() -> None:
    class Twice(Counting):
        def steps(self, records: Records) -> Iterable[Step]:
            return [Step(self.name, "l0", "k", 0), Step(self.name, "l0", "k", 0)]

    stage = Twice()
    records, _ = drive(stage, MemoryLedger())
    assert stage.ran == ["l0"]
    assert len(records.produced("counting")) == 1


def test_threads_run_no_more_steps_than_workers_at_a_time() -> None:
    lock, running, most = threading.Lock(), 0, 0
    gate = threading.Barrier(4)

    def run(step: Step, tools: Tools) -> tuple[Any, ...]:
        nonlocal running, most
        with lock:
            running, most = running + 1, max(most, running + 1)
        gate.wait(timeout=20)  # passes only when four steps are here together
        with lock:
            running -= 1
        return ()

    steps = [Step("s", str(number), str(number), None) for number in range(12)]
    assert len(list(ThreadExecutor(4).map(run, steps, NO_TOOLS))) == 12
    assert most == 4


@pytest.mark.parametrize("executor", [InlineExecutor(), ThreadExecutor(3)])
def test_a_step_that_waits_is_neither_done_nor_failed(executor: Executor) -> None:
    ledger = MemoryLedger()
    waits = {label: Waiting("no reply yet", "out/handoff/requests") for label in ("l1", "l3")}
    stage, after = Counting(5, fail={**waits, "l4": BadReply("no JSON")}), Counting(name="after")
    events: list[Any] = []
    with pytest.raises(WaitingForReplies, match=r"^2 replies are waited for \(stage counting\)") as caught:
        Engine(ledger, executor, NO_TOOLS, events.append).run(
            "r", [stage, after], RefinementRecords([], skill(), ledger)
        )
    assert (caught.value.count, caught.value.exit_code) == (2, 3)
    assert "the requests lie in out/handoff/requests; answer them, then run the same command" in str(caught.value)
    assert set(stage.ran) == {"l0", "l1", "l2", "l3", "l4"}
    assert after.ran == []
    assert set(ledger.rows) == {"k0", "k2", "k4"}
    assert [event.label for event in events if isinstance(event, StepFailed)] == ["l4"]
    assert [event.done for event in events if isinstance(event, StageProgress)][-1] == 3
    answered = Counting(5)
    records, _ = drive(answered, ledger, executor)
    assert sorted(answered.ran) == ["l1", "l3", "l4"]
    assert len(records.produced("counting")) == 5


def test_one_step_that_waits_is_one_reply() -> None:
    with pytest.raises(WaitingForReplies, match=r"^1 reply is waited for"):
        drive(Counting(1, fail={"l0": Waiting("", "requests")}), MemoryLedger())


@pytest.mark.parametrize("error", [BudgetSpent("no money left"), AuthFailed("the key was refused")])
def test_what_arrived_before_the_end_of_the_budget_is_kept(error: Exception) -> None:
    ledger = MemoryLedger()
    with pytest.raises(type(error)):
        drive(Counting(10, fail={"l7": error}), ledger)
    resumed = Counting(10)
    drive(resumed, ledger)
    assert resumed.ran == ["l7", "l8", "l9"]


def test_replies_that_are_under_way_when_the_budget_ends_are_kept_and_nothing_more_is_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ledger, together, told = MemoryLedger(), threading.Barrier(4), threading.Event()

    class Telling(SimpleQueue[Future[Done]]):
        def put(self, item: Future[Done], *args: Any) -> None:
            super().put(item)
            if item.exception():
                told.set()

    class Paid(Counting):
        def run(self, step: Step, tools: Tools) -> tuple[Any, ...]:
            together.wait(timeout=20)  # all four are under way before one of them stops the stage
            assert step.label == "l1" or told.wait(timeout=20)
            return super().run(step, tools)

    monkeypatch.setattr(local, "SimpleQueue", Telling)
    stage = Paid(40, fail={"l1": BudgetSpent("no money left")})
    with pytest.raises(BudgetSpent):
        drive(stage, ledger, ThreadExecutor(4))
    assert sorted(stage.ran) == ["l0", "l1", "l2", "l3"]
    assert set(ledger.rows) == {"k0", "k2", "k3"}


def test_each_step_of_a_paid_analyst_is_committed_at_once() -> None:
    ledger = MemoryLedger()
    Engine(ledger, InlineExecutor(), NO_TOOLS, lambda event: None, batch=1).run(
        "r", [Counting(5)], RefinementRecords([], skill(), ledger)
    )
    assert ledger.commits == 5
