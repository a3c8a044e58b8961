"""Codex: wrapped and bare rollouts and the events of `codex exec --json`."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from format_samples import codex, lines

from refiner import ingest
from refiner.formats.codex import FORMAT
from refiner.ports import Source
from refiner.types import BadRecord, Outcome, Span, Trace

STAMP = "2026-01-31T12:00:0{}Z"
META = {"timestamp": STAMP.format(0), "type": "session_meta", "payload": {"id": "s1", "instructions": None}}


def parse(data: bytes) -> list[Any]:
    return list(FORMAT.parse(io.BytesIO(data), Source("corpus", "rollout.jsonl")))


def one(*records: Any) -> Trace:
    (trace,) = [item for item in parse(lines(*records)) if isinstance(item, Trace)]
    return trace


def item(second: int, **payload: Any) -> dict[str, Any]:
    return {"timestamp": STAMP.format(second), "type": "response_item", "payload": payload}


def event(**payload: Any) -> dict[str, Any]:
    return {"timestamp": STAMP.format(9), "type": "event_msg", "payload": payload}


def message(role: str, words: str) -> dict[str, Any]:
    kind = "output_text" if role == "assistant" else "input_text"
    return {"type": "message", "role": role, "content": [{"type": kind, "text": words}]}


def call(call_id: str, name: str = "shell", arguments: str = "{}") -> dict[str, Any]:
    return {"type": "function_call", "name": name, "arguments": arguments, "call_id": call_id}


def output(call_id: str, text: Any) -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": call_id, "output": text}


def test_the_golden_rollout() -> None:
    first, second = parse(codex())
    at = "2026-01-31T12:00:00Z"
    assert first.spans == (
        Span(0, "s0", "message", "system", "system", output="Be brief."),
        Span(1, "s1", "message", "system", "system", output="<environment_context>x", started_at=at),
        Span(2, "s2", "message", "user", "user", output="List it\n[image png 3 KB]", started_at=at),
        Span(
            *(3, "c1", "tool_call", "shell", "", '{"command": ["ls"]}', "ls: no", "ls: no"),
            started_at=at,
            ended_at=at,
        ),
        Span(4, "s4", "message", "assistant", "assistant", output="There is nothing.", started_at=at),
    )
    assert (first.external_id, first.task, first.model) == ("rollout-1", "List it\n[image png 3 KB]", "model-1")
    assert (second.external_id, second.source) == ("rollout-2", "rollout.jsonl:9")


def test_events_repeat_items_and_give_tokens_alone() -> None:
    usage = {"input_tokens": 9, "cached_input_tokens": 4, "output_tokens": 2, "reasoning_output_tokens": 0}
    trace = one(
        META,
        item(1, **message("user", "Go")),
        event(type="user_message", message="Go"),
        event(type="token_count", info=None),
        event(type="token_count", info={"total_token_usage": usage, "last_token_usage": {"input_tokens": 1}}),
        event(type="agent_message", message="Done"),
        item(2, **message("assistant", "Done")),
    )
    assert [span.output for span in trace.spans] == ["Go", "Done"]
    assert trace.meta == {"input_tokens": "9", "output_tokens": "2", "cached_tokens": "4"}


@pytest.mark.parametrize(
    ("reason", "shown"),
    [("interrupted", ("interruption", "[interrupted]")), ("replaced", ("turn_aborted", "replaced"))],
)
def test_a_turn_that_the_user_stopped(reason: str, shown: tuple[str, str]) -> None:
    trace = one(META, item(1, **message("user", "Go")), event(type="turn_aborted", reason=reason))
    assert (trace.spans[-1].name, trace.spans[-1].output) == shown


@pytest.mark.parametrize(
    "wrapper",
    [
        "<user_instructions>\nBe brief.",
        "<environment_context>\n<cwd>/x</cwd>",
        "# AGENTS.md instructions for /x",
        "<turn_aborted>",
    ],
)
def test_what_the_tool_says_in_the_users_name_is_no_goal(wrapper: str) -> None:
    trace = one(META, item(1, **message("user", wrapper)), item(2, **message("user", "<b>Mend</b> it")))
    assert (trace.task, [span.role for span in trace.spans]) == ("<b>Mend</b> it", ["system", "user"])


@pytest.mark.parametrize(
    ("given", "text", "error"),
    [
        ('{"output": "ok", "metadata": {"exit_code": 0, "duration_seconds": 1}}', "ok", None),
        (
            "Chunk ID: a1\nWall time: 0.1 seconds\nProcess exited with code 2\nOriginal token count: 1\nOutput:\nboom",
            "Chunk ID: a1\nWall time: 0.1 seconds\nProcess exited with code 2\nOriginal token count: 1\nOutput:\nboom",
            "boom",
        ),
        ("Process exited with code 0\nOutput:\nfine", "Process exited with code 0\nOutput:\nfine", None),
        ('{"output": "", "metadata": {"exit_code": 3}}', "", "exit code 3"),
        ("Exit code: 1\nWall time: 0 seconds\nOutput:\nno such file", None, "no such file"),
        ("Exit code: 0\nWall time: 0 seconds\nOutput:\nError codes: none", None, None),
        ({"content": "denied", "success": False}, "denied", "denied"),
        ([{"type": "input_text", "text": "words"}], "words", None),
        ('{"output": broken', '{"output": broken', None),
    ],
)
def test_observations_and_their_exit_codes(given: Any, text: str | None, error: str | None) -> None:
    span = one(META, item(1, **call("c")), item(2, **output("c", given))).spans[0]
    assert (span.output, span.error) == (given if text is None else text, error)


def test_calls_of_every_kind() -> None:
    trace = one(
        META,
        item(1, type="custom_tool_call", name="apply_patch", input="*** Begin Patch", call_id="a"),
        item(2, type="local_shell_call", call_id="b", action={"type": "exec", "command": ["ls"]}),
        item(3, type="web_search_call", action={"type": "search", "query": "fern"}),
        item(4, type="custom_tool_call_output", call_id="a", output='{"output": "Success"}'),
        item(5, **output("b", "a.txt")),
    )
    assert [(span.name, span.input, span.output) for span in trace.spans] == [
        ("apply_patch", "*** Begin Patch", "Success"),
        ("local_shell", '{"type": "exec", "command": ["ls"]}', "a.txt"),
        ("web_search", '{"type": "search", "query": "fern"}', ""),
    ]


def test_reasoning_and_snapshots_are_no_steps() -> None:
    silent = [item(1, type="reasoning", summary=[], encrypted_content="gAAA"), item(1, type="ghost_snapshot")]
    assert len(one(META, *silent, item(2, **message("user", "Go"))).spans) == 1


def test_a_forked_session_keeps_its_own_name() -> None:
    parent = {**META, "payload": {"id": "parent"}}
    assert one(META, parent, item(1, **message("user", "Go"))).external_id == "s1"


def test_bare_rollouts() -> None:
    head = {"id": "old", "timestamp": STAMP.format(0), "instructions": "Be brief.", "git": {}}
    state = {"record_type": "state"}
    done = output("c", json.dumps({"output": "x", "metadata": {"exit_code": 0}}))
    data = lines(head, state, message("user", "Go"), state, call("c"), done, state, message("assistant", "Done"))
    (trace,) = parse(data)
    assert (trace.external_id, trace.task, trace.model) == ("old", "Go", None)
    assert [(span.role, span.name, span.output) for span in trace.spans] == [
        ("system", "system", "Be brief."),
        ("user", "user", "Go"),
        ("", "shell", "x"),
        ("assistant", "assistant", "Done"),
    ]
    assert FORMAT.sniff(data) == 1.0
    assert FORMAT.sniff(lines(call("c"), done)) == 1.0


def executed(*endings: dict[str, Any]) -> bytes:
    def done(**inner: Any) -> dict[str, Any]:
        return {"type": "item.completed", "item": inner}

    command = {"id": "i1", "type": "command_execution", "command": "ls", "aggregated_output": "a.txt\n"}
    return lines(
        {"type": "thread.started", "thread_id": "t1"},
        {"type": "turn.started"},
        done(id="i0", type="reasoning", text="hm"),
        {"type": "item.started", "item": {**command, "status": "in_progress"}},
        done(**command, exit_code=0, status="completed"),
        done(id="i2", type="command_execution", command="cat b", aggregated_output="cat: b: gone", exit_code=1),
        done(id="i3", type="mcp_tool_call", server="s", tool="find", arguments={"q": "x"}, result={"content": "none"}),
        done(id="i4", type="file_change", changes=[{"path": "a", "kind": "update"}], status="completed"),
        done(id="i5", item_type="assistant_message", text="Done"),
        *endings,
    )


def test_the_events_of_exec() -> None:
    usage = {"input_tokens": 5, "output_tokens": 1}
    turn = {"type": "turn.completed", "usage": usage}
    (trace,) = parse(executed(turn, turn))
    assert (trace.external_id, trace.meta) == ("t1", {"input_tokens": "10", "output_tokens": "2"})
    assert [(span.name, span.input, span.output, span.error) for span in trace.spans] == [
        ("shell", '{"command": "ls"}', "a.txt\n", None),
        ("shell", '{"command": "cat b"}', "cat: b: gone", "cat: b: gone"),
        ("find", '{"q": "x"}', "none", None),
        ("file_change", '{"changes": [{"path": "a", "kind": "update"}]}', "", None),
        ("assistant", "", "Done", None),
    ]


def test_a_call_of_exec_stands_where_it_began_and_one_that_was_cut_off_is_not_lost() -> None:
    def told(kind: str, name: str, **more: Any) -> dict[str, Any]:
        item = {"id": name, "type": "command_execution", "command": f"make {name}", **more}
        return {"type": f"item.{kind}", "item": item}

    ended = told("completed", "b", aggregated_output="built", exit_code=0)
    events = [{"type": "thread.started", "thread_id": "t"}, told("started", "a"), told("started", "b"), ended]
    (trace,) = parse(lines(*events))
    assert [(span.span_id, span.input, span.output) for span in trace.spans] == [
        ("a", '{"command": "make a"}', ""),
        ("b", '{"command": "make b"}', "built"),
    ]


def test_a_rollout_without_its_first_line_is_known_by_the_name_of_its_file() -> None:
    name = "019b06aa-d59e-79a1-8d46-96c7c5dd63cb"
    source = Source("corpus", f"2026/01/01/rollout-2026-01-01T10-00-00-{name}.jsonl")
    (trace,) = FORMAT.parse(io.BytesIO(lines(item(1, **message("user", "Go")))), source)
    assert isinstance(trace, Trace) and trace.external_id == name


def test_a_turn_that_fails_is_infrastructure_unless_a_later_one_ends_well() -> None:
    failed = {"type": "turn.failed", "error": {"message": "stream disconnected"}}
    trace, outcome = parse(executed(failed))
    assert isinstance(outcome, Outcome) and outcome.status == "infrastructure"
    assert trace.spans[-1].error == "stream disconnected"
    assert [type(found) for found in parse(executed(failed, {"type": "turn.completed", "usage": {}}))] == [Trace]


def test_a_session_without_words_is_reported() -> None:
    (bad,) = parse(lines(META, event(type="token_count", info=None)))
    assert isinstance(bad, BadRecord) and "without any words" in bad.reason


def test_only_codex_is_recognised() -> None:
    for other in (
        {"type": "message", "message": {"role": "user", "content": "x"}},
        {"type": "error", "message": "x"},
        {"type": "session", "id": "x", "timestamp": "y"},
        {"type": "user", "sessionId": "x", "uuid": "y"},
        {"type": "message", "role": "user", "content": "x"},
    ):
        assert FORMAT.sniff(lines(other)) == 0.0
    assert FORMAT.sniff(executed()) == FORMAT.sniff(codex()) == 1.0


@pytest.mark.corpora
def test_the_real_rollout(corpora: Path) -> None:
    loaded = ingest.load([corpora / "codex" / "anycode-py"], corpus="corpus")
    (trace,) = loaded.traces
    assert trace.external_id == "019b06aa-d59e-79a1-8d46-96c7c5dd63ca"
    assert [span.kind for span in trace.spans] == ["message"] * 4 + ["tool_call"]
    assert trace.spans[0].role == "system" and trace.task == trace.spans[1].output
    assert (trace.model, trace.meta["input_tokens"]) == ("gpt-5.1-codex-max", "3110")
    assert loaded.outcomes == () and loaded.rejected == ()
