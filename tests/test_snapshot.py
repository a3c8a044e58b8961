"""What a refinement sees: held-out tasks, limits, statuses. The choice never depends on the order of traces."""

from __future__ import annotations

from collections import Counter

from memory import call, trace

from refiner.config import PRESETS, held_out_share
from refiner.snapshot import held_out, known_tasks, limited, take
from refiner.types import Outcome, Status


def corpus(tasks: int, trials: int = 2) -> list:
    return [
        trace(f"t{task:03d}-{trial}", [call("save")], f"task{task}") for task in range(tasks) for trial in range(trials)
    ]


def outcomes(traces: list, status: Status = "pass") -> dict[str, Outcome]:
    return {one.id: Outcome(one.id, status) for one in traces}


def test_a_task_is_held_out_with_all_its_traces_or_not_at_all() -> None:
    traces = corpus(200, 3)
    snapshot = take(traces, outcomes(traces), {}, 0.2)
    kept = Counter(item.trace.task_id for item in snapshot.training)
    assert set(kept.values()) == {3}
    assert snapshot.held_out_tasks + len(kept) == 200
    assert 20 <= snapshot.held_out_tasks <= 60
    assert snapshot.held_out_traces == 3 * snapshot.held_out_tasks


def test_a_larger_share_holds_out_more_of_the_same_tasks() -> None:
    small = {task for task in map(str, range(300)) if held_out(task, 0.1)}
    large = {task for task in map(str, range(300)) if held_out(task, 0.4)}
    assert small < large
    assert not any(held_out(task, 0.0) for task in map(str, range(300)))


def test_the_default_holds_out_a_fifth_from_100_known_tasks_on() -> None:
    standard = PRESETS["standard"]
    assert held_out_share(standard, None, 99) == 0
    assert held_out_share(standard, None, 100) == 0.2
    assert held_out_share(standard, 0.5, 3) == 0.5
    assert known_tasks(corpus(7)) == 7


def test_only_passes_and_failures_are_learned_from_and_the_rest_is_counted() -> None:
    traces = corpus(2)
    stated = outcomes(traces)
    stated[traces[0].id] = Outcome(traces[0].id, "infrastructure")
    del stated[traces[1].id]
    snapshot = take(traces, stated, {}, 0)
    assert snapshot.statuses == {"infrastructure": 1, "pass": 2, "unknown": 1}
    assert len(snapshot.training) == 2


def test_a_limit_takes_the_same_traces_whatever_their_order() -> None:
    traces = corpus(20)
    chosen = limited(traces, 7)
    assert len(chosen) == 7
    assert chosen == limited(reversed(traces), 7)
    assert chosen == sorted(chosen, key=lambda one: one.external_id)
    assert {one.external_id for one in limited(traces, 3)} < {one.external_id for one in chosen}
    assert limited(traces, None) == traces


def test_a_changed_label_is_another_snapshot() -> None:
    traces = corpus(2)
    first = take(traces, outcomes(traces), {}, 0)
    assert take(list(traces), outcomes(traces), {}, 0).key == first.key
    assert take(traces, outcomes(traces, "fail"), {}, 0).key != first.key


def test_tasks_tried_twice_are_counted() -> None:
    traces = [*corpus(3, 2), *corpus(0), trace("single", [call("save")], "alone")]
    assert take(traces, outcomes(traces), {}, 0).tried_twice == 3
