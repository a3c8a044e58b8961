"""SWE-agent trajectories: steps in order, demonstrations left out, no outcome but trouble with the harness."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from format_samples import lines, steps

from refiner import ingest
from refiner.formats.swe_agent import FORMAT
from refiner.ports import Source
from refiner.types import Outcome

TOLD = [
    {"role": "system", "content": "You have a shell.", "agent": "main"},
    {"role": "user", "content": "A demonstration", "agent": "main", "is_demo": True},
    {"role": "user", "content": "Mend it", "agent": "main"},
]


def parse(record: Any, path: str = "runs/task-1/task-1.traj") -> list[Any]:
    return list(FORMAT.parse(io.BytesIO(json.dumps(record).encode()), Source("corpus", path)))


def step(action: str, observation: str, thought: str = "Hm.") -> dict[str, Any]:
    return {"action": action, "observation": observation, "response": thought, "thought": thought, "state": "{}"}


def run(*steps: dict[str, Any], status: str | None = "submitted", **more: Any) -> dict[str, Any]:
    return {"trajectory": list(steps), "history": TOLD, "info": {"exit_status": status}, **more}


def test_actions_are_lines_for_the_shell_and_demonstrations_are_left_out() -> None:
    trace, *others = parse(run(step("ls\n", "a.py"), step("cat a.py", "Error: gone", "Read it.")))
    assert steps(trace) == [
        ("system", "", "You have a shell."),
        ("user", "", "Mend it"),
        ("assistant", "", "Hm."),
        ("bash", '{"command": "ls"}', "a.py"),
        ("assistant", "", "Read it."),
        ("bash", '{"command": "cat a.py"}', "Error: gone"),
    ]
    assert trace.spans[-1].error == "Error: gone"
    assert (trace.external_id, trace.task, trace.task_id, trace.task_id_origin) == (
        *("runs/task-1", "Mend it"),
        *("task-1", "file"),
    )
    assert others == [], "submitted says nothing about the outcome"


def test_calls_of_tools_keep_their_names_and_a_missing_reply_shifts_nothing() -> None:
    call = {"id": "c1", "function": {"name": "open", "arguments": '{"path": "a"}'}}
    replies = [{"role": "assistant", "content": "x", "action": "open a", "tool_calls": [call]}]
    (trace,) = parse({**run(step("ls", ""), step("open a", "words")), "history": [*TOLD, *replies]})
    assert [span.name for span in trace.spans if span.kind == "tool_call"] == ["bash", "open"]
    assert steps(trace)[-1] == ("open", '{"path": "a"}', "words")


def test_handing_in_among_tools_is_a_tool_though_the_history_leaves_it_out() -> None:
    call = {"id": "c1", "function": {"name": "open", "arguments": '{"path": "a"}'}}
    replies = [{"role": "assistant", "content": "x", "action": "open a", "tool_calls": [call]}]
    (trace,) = parse({**run(step("open a", "words"), step("submit", "+x")), "history": [*TOLD, *replies]})
    assert steps(trace)[-1] == ("submit", "{}", "+x")
    (shell,) = parse(run(step("submit", "+x")))
    assert steps(shell)[-1] == ("bash", '{"command": "submit"}', "+x")


@pytest.mark.parametrize("bracket", ["", "["])
def test_an_edit_that_was_refused_and_a_command_that_was_stopped_are_errors(bracket: str) -> None:
    said = f"{bracket}Your proposed edit has introduced new syntax error(s). Read on.\n\n- E999"
    (trace,) = parse(run(step("edit 1:1", said), step("sleep 999", "\nEXECUTION TIMED OUT")))
    errors = [span.error for span in trace.spans if span.kind == "tool_call"]
    assert errors == ["Your proposed edit has introduced new syntax error(s). Read on.", "EXECUTION TIMED OUT"]
    reply = {"role": "assistant", "content": "x", "action": "edit 1:1", "agent": "main"}
    (demo,) = parse({"history": [*TOLD, reply, {"role": "user", "content": said, "agent": "main"}]}, "demo.traj")
    assert demo.spans[-1].error == errors[0]


@pytest.mark.parametrize("status", ["submitted", "submitted (exit_cost)", "exit_cost", "exit_format", None])
def test_no_exit_of_the_agent_is_an_outcome(status: str | None) -> None:
    (trace,) = parse(run(step("ls", ""), status=status))
    assert trace.meta.get("ended") == ("limit" if "exit_cost" in str(status) else None)


def test_trouble_with_the_harness_stands_apart() -> None:
    trace, outcome = parse(run(step("ls", ""), status="exit_environment_error"))
    assert isinstance(outcome, Outcome) and outcome.status == "infrastructure"
    assert trace.spans[-1].error == "exit_environment_error"


def test_a_history_alone_is_read_as_the_demonstration_it_is() -> None:
    reply = {"role": "assistant", "content": "Look.\nls", "thought": "Look.", "action": "ls", "agent": "main"}
    (trace,) = parse({"history": [*TOLD, reply, {"role": "user", "content": "a.py", "agent": "main"}]}, "demo.traj")
    assert steps(trace)[2:] == [("assistant", "", "Look."), ("bash", '{"command": "ls"}', "a.py")]
    assert trace.external_id == "demo"


def test_costs_tokens_and_the_model_are_kept() -> None:
    stats = {"instance_cost": 0.25, "tokens_sent": 9, "tokens_received": 0, "api_calls": 2}
    replay = {"agent": {"model": {"name": "model-1"}}}
    record = {**run(step("ls", "")), "info": {"exit_status": None, "model_stats": stats}, "replay_config": replay}
    (trace,), (written,) = parse(record), parse({**record, "replay_config": json.dumps(replay)})
    assert trace.model == written.model == "model-1"
    assert trace.meta == {"cost_usd": "0.25", "input_tokens": "9", "api_calls": "2"}


def test_records_of_one_file_have_names_of_their_own() -> None:
    data = lines(run(step("ls", "")), run(step("pwd", "")))
    found = list(FORMAT.parse(io.BytesIO(data), Source("corpus", "all.jsonl")))
    assert len({trace.external_id for trace in found}) == 2
    assert all(trace.task_id == "" for trace in found), "a file of several runs names no task"


@pytest.mark.corpora
def test_every_real_trajectory_is_read_without_an_outcome(corpora: Path) -> None:
    loaded = ingest.load([corpora / "swe-agent"], corpus="corpus")
    assert len({trace.external_id for trace in loaded.traces}) == len(loaded.traces) == 22
    assert {trace.format for trace in loaded.traces} == {"swe-agent"}
    assert loaded.outcomes == () and loaded.rejected == ()
    assert not any("demonstration" in span.output[:200] for trace in loaded.traces for span in trace.spans[:3])
    calls = [span for trace in loaded.traces for span in trace.spans if span.kind == "tool_call"]
    assert len(calls) == 232
    assert sum(span.error is not None for span in calls) == 18
    assert sum(span.name == "submit" for span in calls) == 5
