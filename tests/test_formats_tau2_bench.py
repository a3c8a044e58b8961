"""The tau2-bench reader: whose call it was, the task a simulation really is of, missed checks in words, ends."""

from __future__ import annotations

import io
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from format_samples import tau2_results, tau2_simulation

from refiner import ingest
from refiner.formats.tau2_bench import FORMAT
from refiner.ports import Source
from refiner.types import BadRecord, EvaluatorNote, Outcome, Span, Trace


def parse(record: dict[str, Any]) -> list[Any]:
    return list(FORMAT.parse(io.BytesIO(json.dumps(record).encode()), Source("corpus", "results.json")))


def outcome(**more: Any) -> Outcome:
    (found,) = [item for item in parse(tau2_results(tau2_simulation("s", 0.0, **more))) if isinstance(item, Outcome)]
    return found


def feedback(**reward: Any) -> list[str]:
    return (outcome(reward_info={"reward": 0.0, **reward}).feedback or "").splitlines()


def test_the_golden_sample() -> None:
    trace, stated, *notes = parse(tau2_results(tau2_simulation("s", 0.0)))
    assert trace.spans == (
        Span(0, "s0", "message", "system", "system", output="Be kind to plants."),
        Span(1, "s1", "message", "assistant", "assistant", output="How can I help?"),
        Span(2, "s2", "message", "user", "user", output="Repot it\n[image png 3 KB]"),
        Span(3, "c1", "tool_call", "repot", "", '{"plant": "fern"}', "Error: no pot", "Error: no pot"),
        Span(4, "c2", "event", "open_window", "user", '{"wide": true}', "Error: it sticks"),
    )
    assert (trace.external_id, trace.task, trace.model) == ("s", "Repot it\n[image png 3 KB]", "model-1")
    assert (trace.task_id, trace.task_id_origin) == ("garden/9", "file")
    assert trace.meta == {"trial": "0", "stated_task_id": "0", "input_tokens": "7"}
    assert (stated.status, stated.score) == ("fail", 0.0)
    assert stated.feedback == ('Missing action: repot(plant="palm")\nExpected output not given: "12"')
    assert [(note.kind, note.text) for note in notes if isinstance(note, EvaluatorNote)] == [
        ("goal", '{"instructions": "Hidden wish"}'),
        ("gold", '{"requestor": "assistant", "name": "repot", "arguments": {"plant": "palm"}}'),
        ("expected", "12"),
    ]
    assert "Hidden" not in repr(trace) and "palm" not in repr(trace)


def test_the_stated_task_counts_where_nothing_was_checked_or_checks_are_equal() -> None:
    unchecked = tau2_simulation("s", 0.0, reward_info={"reward": 0.0})
    assert parse(tau2_results(unchecked))[0].task_id == "garden/0"
    results = tau2_results(tau2_simulation("s", 0.0), tau2_simulation("t", 0.0, task_id="10"))
    results["tasks"].append({**results["tasks"][1], "id": "10"})
    assert [item.task_id for item in parse(results) if hasattr(item, "spans")] == ["garden/9+10", "garden/10"]


def test_a_simulation_that_stands_alone_is_read() -> None:
    trace, stated = parse(tau2_simulation("s", 1.0))[:2]
    assert (trace.task_id, trace.external_id, stated.status, stated.feedback) == ("0", "s", "pass", None)
    assert FORMAT.sniff(json.dumps(tau2_simulation("s", 1.0)).encode()) == 1.0


ACTION = {"action": {"name": "water", "arguments": {"plant": "fern"}}, "action_match": False}


@pytest.mark.parametrize(
    ("reward", "said"),
    [
        ({"db_check": {"db_match": True}, "action_checks": [ACTION], "reward_basis": ["DB"]}, []),
        (
            {"action_checks": [ACTION], "reward_basis": ["ACTION"]},
            ['Missing action: water(plant="fern")'],
        ),
        (
            {"db_check": {"db_match": False}, "action_checks": [], "reward_basis": ["DB"]},
            ["Final state of the database differs from the expected one"],
        ),
        (
            {
                "action_checks": [{"action": {**ACTION["action"], "requestor": "user"}}],  # type: ignore[dict-item]
                "reward_basis": ["ACTION"],
            },
            [],
        ),
        (
            {"nl_assertions": [{"nl_assertion": "Says sorry", "met": False, "justification": "It\ndid not."}]},
            ["Assertion not met: Says sorry (It did not.)"],
        ),
        ({"nl_assertions": [{"nl_assertion": "x", "met": False}], "reward_basis": ["DB"]}, []),
        (
            {"env_assertions": [{"env_assertion": {"func_name": "is_wet", "arguments": {"n": 1}}, "met": False}]},
            ['State not reached: is_wet({"n": 1})'],
        ),
        ({"communicate_checks": [{"info": "5", "met": True}]}, []),
    ],
)
def test_checks_that_were_missed_are_said_when_the_reward_rests_on_them(reward: Any, said: list[str]) -> None:
    assert [line for line in feedback(**reward) if not line.startswith("Unexpected")] == said


@pytest.mark.parametrize(
    ("reason", "reward", "status"),
    [
        ("user_stop", None, "unknown"),
        ("max_steps", {"reward": 0.0}, "fail"),
        ("infrastructure_error", {"reward": 0.0}, "infrastructure"),
        ("agent_stop", {"reward": 1.0}, "pass"),
    ],
)
def test_how_it_ended(reason: str, reward: Any, status: str) -> None:
    found = outcome(termination_reason=reason, reward_info=reward)
    assert found.status == status
    assert (found.feedback or "").startswith("Stopped by the limit") == (reason == "max_steps")


def test_what_cannot_be_read_is_said_and_stops_nothing() -> None:
    results = tau2_results({"id": "v", "task_id": "1", "ticks": []}, tau2_simulation("s", 1.0))
    first, second = parse(results)[:2]
    assert isinstance(first, BadRecord) and "voice" in first.reason and second.external_id == "s"
    (empty,) = parse(tau2_results())
    assert isinstance(empty, BadRecord) and "no simulations" in empty.reason


def test_simulations_in_files_of_their_own_belong_to_their_results(tmp_path: Path) -> None:
    results = tau2_results()
    del results["simulations"]
    files = {"results.json": results, "simulations/a.json": tau2_simulation("a", 1.0), "simulations/b.json": None}
    for name, value in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(json.dumps(value) if value else "{")
    loaded = ingest.load([tmp_path], corpus="corpus")
    (trace,) = loaded.traces
    assert (trace.external_id, trace.task_id, trace.model) == ("a", "garden/9", "model-1")
    assert [note.kind for note in loaded.notes] == ["goal", "gold", "expected"]
    assert [(bad.path, "simulations/b.json" in bad.reason) for bad in loaded.rejected] == [("results.json", True)]


def test_how_long_it_took_is_kept_unless_all_are_said_to_begin_at_one_moment() -> None:
    def seconds(*starts: str) -> list[str | None]:
        runs = [tau2_simulation(f"s{at}", 1.0, start_time=start, duration=12.5) for at, start in enumerate(starts)]
        found = parse(tau2_results(*runs))
        return [item.meta.get("seconds") for item in found if isinstance(item, Trace)]

    assert seconds("2026-01-31T12:00:00") == ["12.5"]
    assert seconds("2026-01-31T12:00:00", "2026-01-31T12:00:07") == ["12.5", "12.5"]
    assert seconds("2025-01-01T00:00:00", "2025-01-01T00:00:00") == [None, None]


def test_the_real_retail_runs(corpora: Path) -> None:
    loaded = ingest.load([corpora / "tau2-bench"], corpus="corpus")
    assert len(loaded.traces) == len({trace.external_id for trace in loaded.traces}) == 114
    assert Counter(stated.status for stated in loaded.outcomes) == {"pass": 96, "fail": 18}
    assert all(stated.feedback for stated in loaded.outcomes if stated.status == "fail")
    stated = Counter(trace.meta.get("stated_task_id") is None for trace in loaded.traces)
    assert stated == {True: 2, False: 112}
    goals = {note.trace_id for note in loaded.notes if note.kind == "goal"}
    assert goals == {trace.id for trace in loaded.traces}
