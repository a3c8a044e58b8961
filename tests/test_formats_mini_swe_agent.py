"""mini-swe-agent: commands in blocks, in actions and in calls; exits that say nothing; bare lists."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from refiner import ingest, registry
from refiner.formats.mini_swe_agent import FORMAT
from refiner.ports import Source
from refiner.types import Outcome, Trace


def run(*said: dict[str, Any], status: str = "Submitted", **info: Any) -> dict[str, Any]:
    asked = [{"role": "system", "content": "A shell."}, {"role": "user", "content": "Mend it"}]
    whole = {"exit_status": status, "mini_version": "2.0.0", **info}
    return {"info": whole, "messages": [*asked, *said], "trajectory_format": "mini-swe-agent-1.1"}


def parse(record: Any) -> list[Any]:
    return list(FORMAT.parse(io.BytesIO(json.dumps(record).encode()), Source("corpus", "t-1/t-1.traj.json")))


def steps(trace: Trace) -> list[tuple[str, str, str]]:
    return [(span.name, span.input, span.output) for span in trace.spans][2:]


SEEN = {"role": "user", "content": "<returncode>2</returncode>\n<output>\nls: no x\n</output>"}


def test_a_command_in_a_block_is_a_call_and_its_code_an_error() -> None:
    (trace,) = parse(run({"role": "assistant", "content": "Look.\n\n```bash\nls x\n```"}, SEEN))
    assert steps(trace) == [("assistant", "", "Look."), ("bash", '{"command": "ls x"}', SEEN["content"])]
    assert trace.spans[-1].error == "ls: no x"
    assert (trace.external_id, trace.task) == ("t-1", "Mend it")


def test_a_command_that_was_killed_is_an_error() -> None:
    said = "The last command <command>sleep\n99</command> timed out and has been killed.\nThe output was:\n"
    reply = {"role": "assistant", "content": "```bash\nsleep\n99\n```"}
    (trace,) = parse(run(reply, {"role": "user", "content": said}))
    assert trace.spans[-1].error == "timed out and has been killed"


def test_actions_that_the_file_states_win_over_the_text_and_bring_their_times() -> None:
    reply = {
        "role": "assistant",
        "content": "```mswea_bash_command\nls\n```",
        "extra": {"actions": [{"command": "ls"}], "timestamp": 1769860800.5},
    }
    answer = {"role": "user", "content": "a.py", "extra": {"returncode": 0, "timestamp": 1769860802}}
    (trace,) = parse(run(reply, answer))
    (call,) = trace.spans[2:]
    assert (call.input, call.output, call.error) == ('{"command": "ls"}', "a.py", None)
    assert (call.started_at, call.ended_at) == ("2026-01-31T12:00:00.500000Z", "2026-01-31T12:00:02Z")


def test_calls_of_tools_are_told_once() -> None:
    call = {"id": "c1", "function": {"name": "bash", "arguments": '{"command": "ls"}'}}
    actions = [{"command": "ls", "tool_call_id": "c1"}]
    reply = {"role": "assistant", "content": None, "tool_calls": [call], "extra": {"actions": actions}}
    answer = {"role": "tool", "tool_call_id": "c1", "content": "a.py", "extra": {"returncode": 0}}
    (trace,) = parse(run(reply, answer, {"role": "exit", "content": "patch", "extra": {}}))
    assert steps(trace) == [("bash", '{"command": "ls"}', "a.py")]


@pytest.mark.parametrize("status", ["Submitted", "LimitsExceeded", ""])
def test_exits_of_the_agent_are_no_outcome(status: str) -> None:
    (trace,) = parse(run(SEEN, status=status))
    assert trace.meta.get("ended") == ("limit" if status == "LimitsExceeded" else None)


def test_an_exception_is_the_harness_and_not_the_agent() -> None:
    trace, outcome = parse(run(SEEN, status="APIError", traceback="Traceback\nAPIError: gone"))
    assert isinstance(outcome, Outcome) and outcome.status == "infrastructure"
    assert trace.spans[-1].output == "Traceback\nAPIError: gone"


def test_model_and_cost_are_kept() -> None:
    stats, config = {"instance_cost": 0.5, "api_calls": 3}, {"model": {"model_name": "model-1"}}
    (trace,) = parse(run(SEEN, model_stats=stats, config=config))
    assert trace.model == "model-1" and (trace.meta["cost_usd"], trace.meta["api_calls"]) == ("0.5", "3")


def test_the_wrapper_wins_over_the_messages_in_it() -> None:
    known = registry.detect(json.dumps(run(SEEN)).encode())
    assert known is FORMAT


def test_tokens_are_kept_where_every_reply_tells_its_own() -> None:
    def reply(*counts: int) -> dict[str, Any]:
        usage = dict(zip(("prompt_tokens", "completion_tokens"), counts, strict=False))
        return {"role": "assistant", "content": "```bash\nls\n```", "extra": {"response": {"usage": usage}}}

    (trace,) = parse(run(reply(9, 2), SEEN, reply(12, 1), SEEN))
    assert (trace.meta["input_tokens"], trace.meta["output_tokens"]) == ("21", "3")
    (partly,) = parse(run(reply(9, 2), SEEN, reply(12), SEEN))
    assert (partly.meta["input_tokens"], partly.meta.get("output_tokens")) == ("21", None)


def test_a_bare_list_of_the_first_version_is_a_run_and_other_lists_stay_chat() -> None:
    said = [
        {"role": "user", "content": "Mend it"},
        {"role": "assistant", "content": "Look.\n\n```mswea_bash_command\nls x\n```"},
        SEEN,
        {"role": "assistant", "content": "```bash\necho DONE\n```"},
        {"role": "user", "content": "+a patch"},
    ]
    for text in (json.dumps(said), "\ufeff" + json.dumps(said, indent=2)):
        assert registry.detect(text.encode()) is FORMAT
    (trace,) = parse(said)
    assert [(span.name, span.output) for span in trace.spans] == [
        ("user", "Mend it"),
        ("assistant", "Look."),
        ("bash", SEEN["content"]),
        ("bash", "+a patch"),
    ]
    assert (trace.external_id, trace.task, trace.spans[2].error) == ("t-1", "Mend it", "ls: no x")
    for others in ([said[0], said[3], said[4]], [said[0], SEEN]):
        known = registry.detect(json.dumps(others).encode())
        assert known is not None and known.name == "chat"


def test_a_list_that_was_cut_off_and_messages_by_line_are_one_run_too() -> None:
    said = [{"role": "user", "content": "Mend it"}, {"role": "assistant", "content": "```bash\nls x\n```"}, SEEN]
    cut = json.dumps([*said, *said])[:-30].encode()
    for data, left_out in ((cut, 1), ("\n".join(map(json.dumps, said)).encode(), 0)):
        assert registry.detect(data) is FORMAT
        items = list(FORMAT.parse(io.BytesIO(data), Source("corpus", "a/t.traj.json")))
        (trace,) = (item for item in items if isinstance(item, Trace))
        assert (trace.external_id, trace.spans[1].error, len(items)) == ("a/t", "ls: no x", 1 + left_out)


@pytest.mark.parametrize(
    "prompt",
    [
        "Please solve this issue: It {broke}\r\nagain\n\nYou can execute bash commands and edit files.\n## Rules",
        "<pr_description>\nConsider the following PR description:\nIt {broke}\r\nagain\n</pr_description>\n<rules>",
    ],
)
def test_the_task_is_what_is_asked_and_not_the_rules_around_it(prompt: str) -> None:
    record = run(SEEN)
    record["messages"][1]["content"] = prompt
    (trace,) = parse(record)
    assert (trace.task, trace.spans[1].output) == ("It {broke}\r\nagain", prompt)


@pytest.mark.corpora
def test_the_real_bare_lists_have_their_commands(corpora: Path) -> None:
    loaded = ingest.load([corpora / "mini-swe-agent"], corpus="corpus")
    assert [(trace.external_id, trace.format) for trace in loaded.traces] == [
        ("github_issue", "mini-swe-agent"),
        ("local", "mini-swe-agent"),
    ]
    calls = [[span for span in trace.spans if span.name == "bash"] for trace in loaded.traces]
    assert [len(found) for found in calls] == [10, 2]
    assert [sum(span.error is not None for span in found) for found in calls] == [2, 0]
    assert not any("You can execute" in trace.task or "Please solve" in trace.task for trace in loaded.traces)
