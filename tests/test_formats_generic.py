"""The last resort: messages found in records of unknown shape, and the formats that have no reader of their own."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from format_samples import generic, lines, steps

from refiner import ingest, registry
from refiner.formats.generic import FORMAT
from refiner.ports import Source
from refiner.types import BadRecord, Span, Trace


def parse(data: bytes) -> list[Any]:
    return list(FORMAT.parse(io.BytesIO(data), Source("corpus", "x.json")))


def one(*records: Any) -> Trace:
    (trace,) = [item for item in parse(lines(*records)) if isinstance(item, Trace)]
    return trace


def test_the_golden_sessions_of_gemini_cli() -> None:
    first, second = parse(generic())
    assert first.spans == (
        Span(0, "s0", "message", "user", "user", output="Read a", started_at="2026-01-31T12:00:00Z"),
        Span(1, "s1", "message", "assistant", "assistant", output="Done."),
        Span(2, "t1", "tool_call", "read_file", "", '{"path": "a"}', "words"),
        Span(3, "s3", "message", "user", "user", output="[image png 3 KB]"),
    )
    assert (first.external_id, first.task, first.model, first.meta["read_as"]) == ("g1", "Read a", "model-1", "generic")
    assert second.external_id == "g2"


def test_a_session_of_pi() -> None:
    call = {"type": "toolCall", "id": "c", "name": "read", "arguments": {"path": "a"}}
    result = {"role": "toolResult", "toolCallId": "c", "toolName": "read", "content": "gone", "isError": True}
    shell = {"role": "bashExecution", "command": "ls", "output": "a.txt", "exitCode": 0}
    said = [
        {"role": "user", "content": [{"type": "text", "text": "Read a"}]},
        {"role": "assistant", "content": [{"type": "thinking", "thinking": "hm"}, call], "model": "model-1"},
        result,
        shell,
        {"role": "assistant", "content": [], "stopReason": "aborted"},
    ]
    about = {"type": "session", "id": "p1", "cwd": "x"}
    trace = one(about, *({"type": "message", "message": message} for message in said), {"type": "model_change"})
    assert (trace.external_id, trace.task, trace.model) == ("p1", "Read a", "model-1")
    assert steps(trace) == [
        ("user", "", "Read a"),
        ("read", '{"path": "a"}', "gone"),
        ("bash", '{"command": "ls"}', "a.txt"),
        ("interruption", "", "[interrupted]"),
    ]
    assert (trace.spans[1].error, trace.spans[2].error) == ("gone", None)


def test_how_replies_of_pi_end_and_what_they_used() -> None:
    def reply(number: int, **more: Any) -> dict[str, Any]:
        usage = {"input": 2, "output": 3, "cacheRead": 5, "cacheWrite": 7, "cost": {"input": 0.1, "total": 0.25}}
        message = {
            "role": "assistant",
            "content": [{"type": "text", "text": f"Reply {number}"}],
            "usage": usage,
            **more,
        }
        return {"type": "message", "timestamp": f"2026-01-31T12:00:0{number}Z", "message": message}

    shell = {"type": "message", "message": {"role": "bashExecution", "command": "ls", "output": "no", "exitCode": 2}}
    user = {"type": "message", "message": {"role": "user", "content": "Go"}}
    ends = {"stopReason": "error", "errorMessage": "Overloaded"}
    stops = {"stopReason": "aborted", "errorMessage": "Request was aborted."}
    trace = one({"type": "session", "id": "p"}, user, reply(1, **ends), reply(2, **stops), shell)
    assert [(span.name, span.output, span.error) for span in trace.spans] == [
        ("user", "Go", None),
        ("assistant", "Reply 1", None),
        ("error", "Overloaded", "Overloaded"),
        ("assistant", "Reply 2", None),
        ("interruption", "[interrupted: Request was aborted.]", None),
        ("bash", "no", "no"),
    ]
    assert trace.spans[4].started_at == "2026-01-31T12:00:02Z"
    used = {"input_tokens": "4", "output_tokens": "6", "cached_tokens": "10", "cache_write_tokens": "14"}
    assert used.items() <= trace.meta.items() and trace.meta["cost_usd"] == "0.5"


def test_errors_and_tokens_of_gemini_cli() -> None:
    tokens = {"input": 4, "output": 6}
    said = [
        {"id": "a", "type": "user", "content": "Go", "timestamp": "2026-01-31T12:00:00Z"},
        {"id": "b", "type": "gemini", "content": "Half", "tokens": {"input": 1, "output": 2}},
        {
            "id": "b",
            "type": "gemini",
            "content": "Whole",
            "tokens": {**tokens, "cached": 3, "thoughts": 9},
        },
        {"id": "c", "type": "error", "content": "Quota exceeded", "timestamp": "2026-01-31T12:00:01Z"},
    ]
    trace = one({"sessionId": "g", "projectHash": "x", "messages": said})
    last = trace.spans[-1]
    assert (last.kind, last.error, last.started_at) == ("event", "Quota exceeded", "2026-01-31T12:00:01Z")
    used = {"input_tokens": "4", "output_tokens": "6", "cached_tokens": "3", "reasoning_tokens": "9"}
    assert used.items() <= trace.meta.items() and "cost_usd" not in trace.meta


def test_a_failed_call_of_gemini_cli_names_its_error() -> None:
    failed = [{"functionResponse": {"id": "r", "name": "read", "response": {"error": "File not found"}}}]
    call = {"id": "r", "name": "read", "args": {"path": "a"}, "result": failed, "status": "error"}
    said = [{"type": "user", "content": "Read a"}, {"type": "gemini", "content": "", "toolCalls": [call]}]
    span = one({"sessionId": "g", "projectHash": "x", "messages": said}).spans[-1]
    assert (span.output, span.error) == ("File not found", "File not found")


def test_an_error_alone_is_no_conversation() -> None:
    (bad,) = parse(lines({"sessionId": "g", "projectHash": "x", "messages": [{"type": "error", "content": "Quota"}]}))
    assert isinstance(bad, BadRecord)


def test_conversations_of_the_sharegpt_kind() -> None:
    said = [{"from": "human", "value": "Hello"}, {"from": "gpt", "value": "Hi"}]
    assert steps(one({"id": "a", "conversations": said})) == [("user", "", "Hello"), ("assistant", "", "Hi")]


def test_contents_of_the_google_kind() -> None:
    said = [
        {"role": "user", "parts": [{"text": "Read a"}]},
        {"role": "model", "parts": [{"functionCall": {"name": "read", "args": {"path": "a"}}}]},
        {"role": "user", "parts": [{"functionResponse": {"name": "read", "response": {"output": "words"}}}]},
    ]
    assert steps(one({"contents": said})) == [("user", "", "Read a"), ("read", '{"path": "a"}', "words")]


def test_every_trace_says_how_it_was_read_and_nothing_is_a_bad_record() -> None:
    items = parse(generic())
    assert [item.meta["read_as"] for item in items] == ["generic", "generic"]


def test_a_record_without_a_conversation_is_reported() -> None:
    (bad,) = parse(lines({"a": 1}))
    assert isinstance(bad, BadRecord) and bad.line == 1


def test_it_comes_last_and_leaves_known_formats_without_a_reader_alone() -> None:
    said = [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hi"}]
    known = registry.detect(json.dumps(said).encode())
    assert known is not None and known.name == "chat"
    assert FORMAT.sniff(json.dumps({"log": {"said": said}}).encode()) == 0.5
    for other in (
        {"info": {}, "data": {"spans": [{"messages": said}]}},
        {"users": [{"role": "admin", "name": "x"}]},
        {"openapi": "3", "paths": {"type": "object", "text": "x"}},
        {"role": "system"},
        {"a": True},
    ):
        assert FORMAT.sniff(json.dumps(other).encode()) == 0.0


@pytest.mark.corpora
def test_a_real_session_of_pi(corpora: Path) -> None:
    loaded = ingest.load([corpora / "pi-agent" / "large-session.jsonl"], corpus="corpus")
    (trace,) = loaded.traces
    calls = [span for span in trace.spans if span.kind == "tool_call"]
    assert (trace.external_id, len(trace.spans), len(calls)) == ("d703a1a9-1b7b-4fb1-b512-c9738b1fe617", 745, 391)
    assert all(call.started_at and call.name != "unnamed" for call in calls)
    assert sum(span.name == "interruption" for span in trace.spans) == 21  # replies that the user stopped
    assert (trace.meta["output_tokens"], trace.meta["cost_usd"]) == ("83156", "30.330198")
    assert loaded.rejected == () and loaded.outcomes == ()
