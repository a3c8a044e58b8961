"""OpenHands: events of all ages as calls with their observations, and what its results state."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from format_samples import lines, steps

from refiner import ingest, registry
from refiner.formats.openhands import FORMAT
from refiner.ports import Source
from refiner.types import BadRecord, EvaluatorNote, Outcome

STAMP = "2026-01-31T12:00:00.5"


def parse(data: bytes, path: str = "run/events.json") -> list[Any]:
    known = registry.detect(data)
    assert known is FORMAT
    return list(FORMAT.parse(io.BytesIO(data), Source("corpus", path)))


def action(number: int, kind: str, source: str = "agent", **args: Any) -> dict[str, Any]:
    return {"id": number, "timestamp": STAMP, "source": source, "action": kind, "args": args}


def seen(number: int, kind: str, cause: int | None, content: str, **extras: Any) -> dict[str, Any]:
    event = {"id": number, "timestamp": STAMP, "source": "agent", "observation": kind, "content": content}
    return {**event, "extras": extras} if cause is None else {**event, "cause": cause, "extras": extras}


def test_a_list_of_events_is_one_trace_and_what_the_platform_tells_itself_is_no_step() -> None:
    events = [
        action(0, "message", "user", content="Mend it"),
        action(1, "change_agent_state", "environment", agent_state="init"),
        seen(2, "null", 1, ""),
        action(3, "run", thought="Hm.", command="ls", is_input=False, blocking=False, hidden=False),
        action(4, "run", command="pwd"),
        seen(5, "run", 4, "/", metadata={"exit_code": 0}),
        seen(6, "run", 3, "ls: no", metadata={"exit_code": 2}),
        seen(7, "error", None, "The model is gone"),
        action(8, "finish", final_thought="Done.", outputs={}),
    ]
    (trace,) = parse(json.dumps(events).encode())
    assert steps(trace) == [
        ("user", "", "Mend it"),
        ("assistant", "", "Hm."),
        ("execute_bash", '{"command": "ls", "is_input": false}', "ls: no"),
        ("execute_bash", '{"command": "pwd"}', "/"),
        ("error", "", "The model is gone"),
        ("assistant", "", "Done."),
    ]
    assert [span.error for span in trace.spans] == [None, None, "ls: no", None, "The model is gone", None]
    assert (trace.external_id, trace.task, trace.spans[2].started_at) == (
        *("run/events", "Mend it"),
        "2026-01-31T12:00:00.500000Z",
    )


def test_the_model_s_own_arguments_win() -> None:
    call = {"id": "c1", "function": {"name": "editor", "arguments": '{"command": "view"}'}}
    told = {
        "function_name": "editor",
        "tool_call_id": "c1",
        "model_response": {"model": "model-1", "choices": [{"message": {"tool_calls": [call]}}]},
    }
    events = [
        action(0, "message", "user", content="Look"),
        {**action(1, "read", path="/a", start=0), "tool_call_metadata": told},
        {**seen(2, "read", 1, "words"), "tool_call_metadata": told},
    ]
    (trace,) = parse(json.dumps(events).encode())
    assert steps(trace)[1:] == [("editor", '{"command": "view"}', "words")]
    assert trace.model == "model-1" and trace.spans[1].span_id == "c1"


def test_a_command_that_still_runs_has_not_failed() -> None:
    events = [
        action(0, "message", "user", content="Serve"),
        action(1, "run", command="serve"),
        {**seen(2, "run", 1, "Serving", metadata={"exit_code": -1}), "success": False},
    ]
    assert parse(json.dumps(events).encode())[0].spans[1].error is None


def test_an_edit_that_was_refused_is_an_error() -> None:
    said = "[No exact match found in /a.py for\n```\nx\n```\n]"
    events = [action(0, "message", "user", content="Mend"), action(1, "run_ipython", code="e()")]
    (trace,) = parse(json.dumps([*events, seen(2, "run_ipython", 1, said)]).encode())
    assert trace.spans[1].error == "No exact match found in /a.py for"


def replied(event: dict[str, Any], reply: str, **usage: Any) -> dict[str, Any]:
    told = {"function_name": "execute_bash", "tool_call_id": reply}
    return {**event, "tool_call_metadata": {**told, "model_response": {"id": reply, "usage": usage}}}


RUN = [
    action(0, "message", "user", content="Look"),
    replied(action(1, "run", command="ls"), "r1", prompt_tokens=9, completion_tokens=2, cache_read_input_tokens=4),
    replied(seen(2, "run", 1, "a"), "r1", prompt_tokens=9, completion_tokens=2, cache_read_input_tokens=4),
    replied(action(3, "finish", outputs={}), "r2", prompt_tokens=11, completion_tokens=1),
]


def test_tokens_of_the_replies_are_counted_once_each() -> None:
    (trace,) = parse(json.dumps(RUN).encode())
    assert trace.meta == {"input_tokens": "20", "output_tokens": "3", "cached_tokens": "4"}


def test_a_reply_that_the_file_does_not_hold_leaves_the_tokens_unknown() -> None:
    (trace,) = parse(json.dumps([*RUN, action(4, "message", content="Done.")]).encode())
    assert trace.meta == {}


def test_the_totals_that_an_event_states_win_over_its_replies() -> None:
    totals = {"accumulated_cost": 0.5, "accumulated_token_usage": {"prompt_tokens": 40, "completion_tokens": 4}}
    (trace,) = parse(json.dumps([*RUN, {**action(4, "message", content="Done."), "llm_metrics": totals}]).encode())
    assert trace.meta == {"cost_usd": "0.5", "input_tokens": "40", "output_tokens": "4"}


OLD = [
    {"content": "Mend it", "action": "message", "wait_for_response": False},
    {"command": "ls", "thought": "Hm.", "keep_prompt": True, "action": "run", "is_confirmed": "confirmed"},
    {"content": "a.py", "command_id": -1, "command": "ls", "exit_code": 0, "observation": "run"},
]


def test_a_resolver_s_success_is_a_judge_s_and_its_explanation_feedback() -> None:
    issue = {"owner": "o", "repo": "r", "number": 5}
    record = {"issue": issue, "history": OLD, "success": False, "result_explanation": "Nothing done.", "error": None}
    trace, outcome = parse(lines(record), "run/output.jsonl")
    assert steps(trace)[1:] == [("assistant", "", "Hm."), ("execute_bash", '{"command": "ls"}', "a.py")]
    assert (trace.external_id, trace.task_id) == ("run/o/r#5", "o/r#5")
    assert outcome == Outcome(trace.id, "fail", origin="judge", feedback="Nothing done.")


def test_pairs_of_the_first_files_and_what_only_the_evaluator_knows() -> None:
    record = {"instance_id": "i-1", "history": [[OLD[0], {"observation": "null", "content": ""}], OLD[1:]]}
    trace, note = parse(lines({**record, "instance": {"patch": "+right"}, "metrics": {"accumulated_cost": 0.5}}))
    assert steps(trace)[-1] == ("execute_bash", '{"command": "ls"}', "a.py")
    assert trace.meta == {"cost_usd": "0.5"}
    assert isinstance(note, EvaluatorNote) and (note.kind, note.text) == ("gold", "+right")


@pytest.mark.parametrize(
    ("error", "status", "ended"),
    [
        ("STATUS$ERROR_LLM_SERVICE_UNAVAILABLE", "infrastructure", None),
        ("RuntimeError: Agent reached maximum iteration", None, "limit"),
        ("AgentStuckInLoopError: Agent got stuck in a loop", None, None),
    ],
)
def test_limits_and_loops_are_the_agent_s_and_other_errors_the_harness_s(
    error: str, status: str | None, ended: str | None
) -> None:
    trace, *outcomes = parse(lines({"instance_id": "i-1", "history": OLD, "error": error}))
    assert [outcome.status for outcome in outcomes] == ([status] if status else [])
    assert trace.meta.get("ended") == ended


@pytest.mark.parametrize(
    ("more", "status"),
    [
        ({"report": {"resolved": True}}, "pass"),
        ({"test_result": {"git_patch": "+x", "report": {"resolved": False, "empty_generation": True}}}, "fail"),
        ({"report": {"resolved": False, "test_timeout": True}}, "infrastructure"),
        ({"report": {"resolved": None}}, None),
        ({"report": {}}, None),
    ],
)
def test_a_report_that_was_written_into_the_output_is_the_outcome(more: dict[str, Any], status: str | None) -> None:
    _, *outcomes = parse(lines({"instance_id": "i-1", "history": OLD, **more}))
    assert [(outcome.status, outcome.origin) for outcome in outcomes] == ([(status, "environment")] if status else [])


@pytest.mark.parametrize(
    ("state", "reason", "status"),
    [
        ("error", "AuthenticationError: no key", "infrastructure"),
        ("error", "Agent reached maximum iteration", None),
        ("error", "", None),
        ("finished", "AuthenticationError: no key", None),
    ],
)
def test_a_session_that_ends_in_the_state_of_an_error_says_why(state: str, reason: str, status: str | None) -> None:
    changed = seen(1, "agent_state_changed", None, "", agent_state=state, reason=reason)
    trace, *outcomes = parse(json.dumps([action(0, "message", "user", content="Look"), changed]).encode())
    assert [outcome.status for outcome in outcomes] == ([status] if status else [])
    assert [span.error for span in trace.spans[1:]] == ([reason] if state == "error" and reason else [])


def test_what_a_browser_could_not_do_is_an_error_and_a_delegate_s_outputs_are_seen() -> None:
    events = [
        action(0, "message", "user", content="Look"),
        action(1, "browse", url="x"),
        seen(2, "browse", 1, "a page", error=True, last_browser_action_error="Timed out"),
        action(3, "delegate", agent="Other", inputs={"task": "Look"}),
        seen(4, "delegate", 3, "", outputs={"answer": "7"}),
    ]
    (trace,) = parse(json.dumps(events).encode())
    assert [(span.output, span.error) for span in trace.spans[1:]] == [
        ("a page", "Timed out"),
        ('{"answer": "7"}', None),
    ]


def test_the_same_task_twice_in_a_file_is_two_traces() -> None:
    record = {"instance_id": "i-1", "history": OLD, "success": True}
    first, yes, second, no = parse(lines(record, {**record, "success": False}), "output.jsonl")
    assert [first.external_id, second.external_id] == ["i-1", "i-1#2"]
    assert (yes.trace_id, no.trace_id, no.status) == (first.id, second.id, "fail")


def test_a_folder_of_events_is_one_session(tmp_path: Path) -> None:
    events = [
        action(0, "message", "user", content="Mend it"),
        *(action(n, "run", command=f"{n}") for n in range(1, 12)),
    ]
    folder = tmp_path / "sessions" / "s-1" / "events"
    folder.mkdir(parents=True)
    for number, event in enumerate(events):
        (folder / f"{number}.json").write_text(json.dumps(event))
    (folder / "12.json").write_text("{broken")
    (trace,) = ingest.load([tmp_path], corpus="corpus").traces
    assert trace.external_id == "sessions/s-1"
    assert [call.input for call in trace.spans[1:]] == [json.dumps({"command": f"{n}"}) for n in range(1, 12)]
    (alone,) = ingest.load([folder], corpus="corpus").traces
    assert alone.external_id.startswith("openhands-") and alone.spans == trace.spans


def test_a_single_event_says_where_the_session_is() -> None:
    (bad,) = parse(json.dumps(action(3, "run", command="ls")).encode())
    assert isinstance(bad, BadRecord) and "begins with 0.json" in bad.reason


@pytest.mark.corpora
def test_real_events_and_resolver_runs(corpora: Path) -> None:
    loaded = ingest.load([corpora / "openhands"], corpus="corpus")
    assert [len(trace.spans) for trace in loaded.traces] == [4, 10, 6, 8, 44, 8]
    assert [(outcome.status, outcome.origin) for outcome in loaded.outcomes] == [("pass", "judge")] * 2
    assert all(outcome.feedback for outcome in loaded.outcomes) and loaded.rejected == ()
    calls = [span for trace in loaded.traces for span in trace.spans if span.kind == "tool_call"]
    used = [(trace.meta.get("input_tokens"), trace.meta.get("cost_usd")) for trace in loaded.traces]
    assert used == [("8132", None), *[(None, None)] * 2, ("14828", None), (None, "1.152933"), (None, "0.070713")]
    assert sum(span.error is not None for span in calls) == 11, "edits that were refused"
    assert len(calls) == 32 and not any(span.kind == "tool_result" for trace in loaded.traces for span in trace.spans)
