"""The tau-bench reader: spans joined by id and order, outcomes, evaluator notes and the checker's diff."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from refiner import ingest
from refiner.formats.tau_bench import FORMAT
from refiner.ports import Source
from refiner.types import BadRecord, EvaluatorNote, Outcome, Trace

Call = tuple[str, dict[str, Any], str]


def messages(*calls: Call) -> list[dict[str, Any]]:
    traj: list[dict[str, Any]] = [
        {"role": "system", "content": "Policy."},
        {"role": "user", "content": "Please repot my fern."},
    ]
    for number, (name, arguments, answer) in enumerate(calls):
        function = {"name": name, "arguments": json.dumps(arguments)}
        call = {"id": f"c{number}", "type": "function", "function": function}
        traj.append({"role": "assistant", "content": None, "tool_calls": [call]})
        traj.append({"role": "tool", "tool_call_id": f"c{number}", "name": name, "content": answer})
    return [*traj, {"role": "assistant", "content": "It costs 1,286 in all."}]


def run(
    traj: list[dict[str, Any]],
    gold: list[dict[str, Any]] | None = None,
    outputs: list[str] | None = None,
    **record: Any,
) -> dict[str, Any]:
    task = {"user_id": "u", "actions": gold or [], "instruction": "You are a gardener.", "outputs": outputs or []}
    info = {"task": task, "reward_info": {"reward": 0.0, "info": {"r_actions": 0.0}, "actions": []}}
    return {"task_id": 3, "reward": 0.0, "info": info, "traj": traj, "trial": 1, **record}


def parse(*records: dict[str, Any]) -> list[Any]:
    return list(FORMAT.parse(io.BytesIO(json.dumps(records).encode()), Source("corpus", "x.json")))


def feedback(calls: list[Call], gold: list[tuple[str, dict[str, Any]]], outputs: list[str] | None = None) -> list[str]:
    wanted = [{"name": name, "kwargs": kwargs} for name, kwargs in gold]
    (outcome,) = [item for item in parse(run(messages(*calls), wanted, outputs)) if isinstance(item, Outcome)]
    return (outcome.feedback or "").splitlines()


def test_a_record_becomes_a_trace_with_id_task_and_spans() -> None:
    trace = parse(run(messages(("repot", {"plant": "fern"}, "done"))))[0]
    assert (trace.external_id, trace.task_id, trace.task_id_origin) == ("task3-trial1", "3", "file")
    assert trace.task == "Please repot my fern."
    assert [(s.kind, s.name, s.role, s.input, s.output) for s in trace.spans] == [
        ("message", "system", "system", "", "Policy."),
        ("message", "user", "user", "", "Please repot my fern."),
        ("tool_call", "repot", "", '{"plant": "fern"}', "done"),
        ("message", "assistant", "assistant", "", "It costs 1,286 in all."),
    ]
    assert [s.span_id for s in trace.spans] == ["s0", "s1", "c0", "s3"]


def test_what_only_the_evaluator_knows_is_a_note_and_nowhere_in_the_trace() -> None:
    items = parse(run(messages(), [{"name": "repot", "kwargs": {"plant": "fern"}}], ["1286"]))
    notes = [(note.kind, note.text) for note in items if isinstance(note, EvaluatorNote)]
    assert notes == [
        ("goal", "You are a gardener."),
        ("gold", '{"name": "repot", "kwargs": {"plant": "fern"}}'),
        ("expected", "1286"),
    ]
    assert "gardener" not in repr(items[0]) and "kwargs" not in repr(items[0])


def call(name: str, call_id: str | None) -> dict[str, Any]:
    return {"id": call_id, "function": {"name": name, "arguments": "{}"}}


def answer(text: str, call_id: str | None) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "name": "x", "content": text}


def joined(*turns: Any) -> list[tuple[str, str]]:
    traj = [{"role": "assistant", "content": None, "tool_calls": t} if isinstance(t, list) else t for t in turns]
    return [(span.name, span.output) for span in parse(run(traj))[0].spans]


def test_calls_and_observations_are_joined_by_id_even_when_ids_repeat() -> None:
    assert joined([call("a", "1")], answer("A", "1"), [call("b", "1")], answer("B", "1")) == [("a", "A"), ("b", "B")]
    assert joined([call("a", "1"), call("b", "2")], answer("B", "2"), answer("A", "1")) == [("a", "A"), ("b", "B")]
    assert joined([call("a", "1")], [call("b", "1")], answer("B", "1")) == [("a", ""), ("b", "B")]


def test_without_ids_the_order_joins_and_a_lone_observation_stays() -> None:
    assert joined([call("a", None), call("b", None)], answer("A", None), answer("B", None)) == [("a", "A"), ("b", "B")]
    (span,) = parse(run([answer("late", "9")]))[0].spans
    assert (span.kind, span.output) == ("tool_result", "late")


def test_repeated_call_ids_give_distinct_span_ids() -> None:
    trace = parse(run([{"role": "assistant", "tool_calls": [call("a", "1"), call("b", "1")]}]))[0]
    assert [span.span_id for span in trace.spans] == ["1", "s1"]


@pytest.mark.parametrize(
    ("reward", "status", "score"),
    [(1.0, "pass", 1.0), (0.999, "fail", 0.999), (None, "unknown", None), (1, "pass", 1.0)],
)
def test_the_reward_decides(reward: Any, status: str, score: float | None) -> None:
    outcome = parse(run(messages(), reward=reward))[1]
    assert (outcome.status, outcome.score, outcome.origin) == (status, score, "environment")


def test_a_run_stopped_at_the_limit_fails_by_its_reward_and_says_so() -> None:
    record = run(messages())
    record["info"]["reward_info"] = None
    trace, outcome = parse(record)[:2]
    assert (outcome.status, trace.meta["ended"]) == ("fail", "limit")
    assert "ended" not in parse(run(messages()))[0].meta


def test_a_crashed_harness_is_infrastructure() -> None:
    record = {"task_id": 1, "reward": 0.0, "info": {"error": "rate limit", "traceback": "..."}, "traj": [], "trial": 0}
    trace, outcome = parse(record)
    assert (outcome.status, outcome.feedback, trace.spans[0].error) == ("infrastructure", None, "rate limit")


def test_records_that_cannot_be_used_do_not_stop_the_file() -> None:
    items = parse(run([]), {"task_id": 2, "reward": 1}, run("text"), run(messages()))  # type: ignore[arg-type]
    assert [type(item) for item in items[:4]] == [BadRecord, BadRecord, BadRecord, Trace]
    assert "no messages" in items[0].reason and "no `traj`" in items[1].reason


def test_equal_actions_in_any_order_are_no_difference() -> None:
    done: list[Call] = [("water", {"l": 2.0, "x": {"a": 1, "b": 2}}, "ok"), ("repot", {"plant": "fern"}, "ok")]
    assert feedback(done, [("repot", {"plant": "fern"}), ("water", {"l": 2, "x": {"b": 2, "a": 1}})]) == []


def test_missing_unexpected_and_wrong_arguments_are_named() -> None:
    done: list[Call] = [
        ("get_plant", {"id": 1}, "{}"),
        ("water", {"plant": "fern", "l": 2}, "ok"),
        ("water", {"plant": "palm", "l": 9, "warm": True}, "ok"),
        ("prune", {"plant": "é"}, "ok"),
    ]
    gold = [("water", {"plant": "palm", "l": 1}), ("water", {"plant": "fern", "l": 3}), ("repot", {"pot": [1, "a"]})]
    assert feedback(done, gold) == [
        'Missing action: repot(pot=[1, "a"])',
        'Unexpected action: prune(plant="é")',
        "Wrong argument: water.l: expected 3, got 2",
        "Wrong argument: water.l: expected 1, got 9",
        "Wrong argument: water.warm: expected nothing, got true",
    ]


def test_only_actions_that_change_the_world_count_and_a_failed_call_did_not_happen() -> None:
    reads = [("get_plant", {}), ("search_pots", {}), ("list_all", {}), ("find_x", {}), ("calculate", {}), ("think", {})]
    assert feedback([], reads) == []
    assert feedback([("repot", {"p": 1}, "Error: no pot")], [("repot", {"p": 1})]) == ["Missing action: repot(p=1)"]


def test_a_hand_over_counts_but_its_prose_is_not_compared() -> None:
    over = "transfer_to_human_agents"
    assert feedback([(over, {"summary": "a"}, "ok")], [(over, {"summary": "b"})]) == []
    assert feedback([(over, {"summary": "a"}, "ok")], []) == [f'Unexpected action: {over}(summary="a")']


def test_equal_actions_taken_twice_leave_one_over() -> None:
    done: list[Call] = [("repot", {"p": 1}, "ok"), ("repot", {"p": 1}, "ok")]
    assert feedback(done, [("repot", {"p": 1})]) == ["Unexpected action: repot(p=1)"]


def test_expected_outputs_are_looked_for_in_what_the_agent_said() -> None:
    assert feedback([], [], ["1286", "77"]) == ['Expected output not given: "77"']


def test_the_checkers_own_finding_about_outputs_wins() -> None:
    record = run(messages(), [], ["1286"])
    record["info"]["reward_info"]["info"] = {"r_outputs": 0.0, "outputs": {"1286": False}}
    assert parse(record)[1].feedback == 'Expected output not given: "1286"'


def test_a_list_lines_and_a_single_object_are_one_format() -> None:
    records = [run(messages(), trial=trial) for trial in range(3)]
    as_lines = "\n".join(json.dumps(record) for record in records).encode()
    for data in (json.dumps(records).encode(), as_lines, json.dumps(records, indent=1).encode()):
        assert FORMAT.sniff(data) == 1.0
        found = [x.external_id for x in FORMAT.parse(io.BytesIO(data), Source("c", "x")) if isinstance(x, Trace)]
        assert found == ["task3-trial0", "task3-trial1", "task3-trial2"]
    assert FORMAT.sniff(json.dumps(records[0], indent=1).encode()) == 1.0


def test_a_first_record_longer_than_the_head_is_still_recognised() -> None:
    data = json.dumps([run([{"role": "system", "content": "x" * 90_000}, *messages()])]).encode()
    assert FORMAT.sniff(data[: 1 << 16]) == 1.0
    assert FORMAT.sniff(b'[{"task_id": 1, "is_resolved": true}]') == 0.0


@pytest.mark.corpora
def test_the_real_airline_runs(corpora: Path) -> None:
    path = corpora / "tau-bench" / "gpt-4o-airline.json"
    loaded = ingest.load([path], corpus="corpus")
    (report,) = loaded.files
    assert (report.format, report.traces, report.rejected) == ("tau-bench", 200, ())
    assert report.outcomes == {"pass": 84, "fail": 116, "unknown": 0, "infrastructure": 0}
    assert len({trace.external_id for trace in loaded.traces}) == 200
    assert len({trace.task_id for trace in loaded.traces}) == 50
    assert sum(trace.meta.get("ended") == "limit" for trace in loaded.traces) == 5
    assert sum(bool(span.error) for trace in loaded.traces for span in trace.spans) == 73
    failures = [outcome for outcome in loaded.outcomes if outcome.status == "fail"]
    assert sum(bool(outcome.feedback) for outcome in failures) == 114
    goals = {note.trace_id: note.text for note in loaded.notes if note.kind == "goal"}
    assert len(goals) == 200 and all(goals[trace.id] != trace.task for trace in loaded.traces)
    leading = {trace.spans[0].output for trace in loaded.traces}
    assert leading == {(path.parent / "initial_skill" / "airline_wiki.md").read_text(encoding="utf-8")}
