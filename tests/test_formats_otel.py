"""OpenTelemetry: spans of all conventions and exports as runs; evaluations as a judge's outcomes."""

from __future__ import annotations

import base64
import io
import json
from pathlib import Path
from typing import Any

import pytest
from format_samples import envelope, lines, otel, otel_run, otlp, steps

from refiner import ingest
from refiner.formats.otel import FORMAT
from refiner.ports import Source
from refiner.types import BadRecord, Outcome, Span, Trace


def parse(data: bytes) -> list[Any]:
    assert FORMAT.sniff(data) == 1.0
    return list(FORMAT.parse(io.BytesIO(data), Source("corpus", "spans.json", "garden.task")))


def run(*spans: dict[str, Any]) -> Trace:
    (trace,) = parse(lines(envelope(*spans)))
    assert isinstance(trace, Trace)
    return trace


READ = [("user", "", "Read a"), ("read", '{"path": "a"}', "words"), ("assistant", "", "It says words.")]


def test_the_golden_run_of_otlp_lines() -> None:
    first, second = parse(otel())
    at = "2026-01-31T12:00:0"
    assert first.spans == (
        Span(0, "s0", "message", "user", "user", output="Read a\n[image png 3 KB]", started_at=f"{at}1Z"),
        Span(1, "c1", "tool_call", "read", "", '{"path": "a"}', "words", started_at=f"{at}2Z", ended_at=f"{at}3Z"),
        Span(2, "s2", "message", "assistant", "assistant", output="It says words.", started_at=f"{at}4Z"),
    )
    assert (first.external_id, first.model) == ("ab" * 16, "model-1")
    assert first.meta == {"name": "invoke_agent", "service": "garden", "session": "s1", "input_tokens": "14"}
    assert (second.external_id, second.spans) == ("cd" * 16, first.spans)


def test_a_trace_that_is_spread_over_lines_is_one() -> None:
    (trace,) = parse(lines(*(envelope(span) for span in otel_run("ab" * 16))))
    assert trace.spans == parse(otel())[0].spans


def test_open_inference_flattens_its_messages() -> None:
    asked, called = "llm.input_messages.0.message", "llm.output_messages.0.message"
    first = {
        "openinference.span.kind": "LLM",
        "llm.model_name": "model-1",
        f"{asked}.role": "user",
        f"{asked}.contents.0.message_content.type": "text",
        f"{asked}.contents.0.message_content.text": "Read a",
        f"{called}.role": "assistant",
        f"{called}.tool_calls.0.tool_call.id": "c1",
        f"{called}.tool_calls.0.tool_call.function.name": "read",
        f"{called}.tool_calls.0.tool_call.function.arguments": '{"path": "a"}',
        "llm.token_count.prompt": 5,
    }
    tool = {"openinference.span.kind": "TOOL", "tool.name": "read", "input.value": '{"path": "a"}'}
    last = {
        "openinference.span.kind": "LLM",
        f"{asked}.role": "user",
        f"{asked}.content": "Read a",
        f"{called}.role": "assistant",
        f"{called}.content": "It says words.",
    }
    trace = run(otlp("a", "", 1, first), otlp("b", "", 2, {**tool, "output.value": "words"}), otlp("c", "", 3, last))
    assert steps(trace) == READ
    assert (trace.model, trace.meta["input_tokens"]) == ("model-1", "5")


def test_traceloop_indexes_its_messages() -> None:
    first = {
        "llm.request.type": "chat",
        "gen_ai.prompt.0.role": "user",
        "gen_ai.prompt.0.content": '[{"type": "text", "text": "Read a"}]',
        "gen_ai.completion.0.role": "assistant",
        "gen_ai.completion.0.tool_calls.0.id": "c1",
        "gen_ai.completion.0.tool_calls.0.name": "read",
        "gen_ai.completion.0.tool_calls.0.arguments": '{"path": "a"}',
    }
    tool = {
        "traceloop.span.kind": "tool",
        "traceloop.entity.name": "read",
        "traceloop.entity.input": '{"path": "a"}',
        "traceloop.entity.output": "words",
    }
    last = {**first, "gen_ai.completion.0.content": "It says words."}
    last = {key: value for key, value in last.items() if "tool_calls" not in key}
    trace = run(otlp("a", "", 1, first), otlp("read.tool", "", 2, tool), otlp("c", "", 3, last))
    assert steps(trace) == READ


def js(name: str, start: int, told: dict[str, Any], parent: str = "") -> dict[str, Any]:
    times = {"startTime": [1769860800 + start, 500_000_000], "endTime": [1769860801 + start, 0]}
    context = {"traceId": "ab" * 16, "spanId": f"{name}{start}"}
    more = {"parentSpanContext": {"spanId": parent}} if parent else {}
    return {
        "name": name,
        "spanContext": context,
        "attributes": told,
        "status": {"code": 0},
        "events": [],
        **times,
        **more,
    }


def test_the_ai_sdk_in_memory_export_tells_inner_calls_once() -> None:
    calls = json.dumps([{"toolCallId": "c1", "toolName": "read", "input": '{"path": "a"}'}])
    prompt = [{"role": "user", "content": [{"type": "text", "text": "Read a"}]}]
    called = [
        {
            "role": "assistant",
            "content": [{"type": "tool-call", "toolCallId": "c1", "toolName": "read", "input": {"path": "a"}}],
        },
        {
            "role": "tool",
            "content": [
                {
                    "type": "tool-result",
                    "toolCallId": "c1",
                    "toolName": "read",
                    "output": {"type": "text", "value": "words"},
                }
            ],
        },
    ]
    inner = {"ai.operationId": "ai.generateText.doGenerate", "ai.model.id": "model-1"}
    spans = [
        js("ai.generateText", 0, {"ai.operationId": "ai.generateText", "ai.prompt": '{"prompt": "Read a"}'}),
        js(
            "one",
            1,
            {**inner, "ai.prompt.messages": json.dumps(prompt), "ai.response.toolCalls": calls},
            "ai.generateText0",
        ),
        js(
            "ai.toolCall",
            2,
            {
                "ai.toolCall.name": "read",
                "ai.toolCall.id": "c1",
                "ai.toolCall.args": '{"path": "a"}',
                "ai.toolCall.result": '"words"',
            },
            "ai.generateText0",
        ),
        js(
            "two",
            3,
            {**inner, "ai.prompt.messages": json.dumps(prompt + called), "ai.response.text": "It says words."},
            "ai.generateText0",
        ),
    ]
    (trace,) = parse(json.dumps(spans).encode())
    assert steps(trace) == READ
    assert trace.spans[1].started_at == "2026-01-31T12:00:02.500000Z"


def test_messages_that_are_events_of_a_span() -> None:
    def event(name: str, **told: str) -> dict[str, Any]:
        return {
            "name": name,
            "attributes": [{"key": key, "value": {"stringValue": text}} for key, text in told.items()],
        }

    call = [{"id": "c1", "function": {"name": "read", "arguments": '{"path": "a"}'}}]
    events = [
        event("gen_ai.user.message", content="Read a"),
        event("gen_ai.assistant.message", tool_calls=json.dumps(call)),
        event("gen_ai.tool.message", id="c1", content="words"),
        event("gen_ai.choice", message='{"role": "assistant", "content": "It says words."}'),
    ]
    assert steps(run(otlp("chat", "", 1, {"gen_ai.system": "x"}, events=events))) == READ


def test_snake_case_base64_ids_and_nested_values() -> None:
    inner = {
        "arrayValue": {
            "values": [
                {
                    "kvlistValue": {
                        "values": [
                            {"key": "role", "value": {"stringValue": "user"}},
                            {"key": "content", "value": {"stringValue": "Hi"}},
                        ]
                    }
                }
            ]
        }
    }
    span = {
        "trace_id": base64.b64encode(bytes([0xAB] * 16)).decode(),
        "span_id": base64.b64encode(bytes([1] * 8)).decode(),
        "name": "chat",
        "start_time_unix_nano": "1769860801000000000",
        "attributes": [
            {"key": "gen_ai.operation.name", "value": {"string_value": "chat"}},
            {"key": "gen_ai.input.messages", "value": inner},
        ],
    }
    (trace,) = parse(json.dumps({"resource_spans": [{"scope_spans": [{"spans": [span]}]}]}).encode())
    assert trace.external_id == "ab" * 16 and steps(trace) == [("user", "", "Hi")]


def test_rows_of_a_table_and_the_python_console_form() -> None:
    told = {"openinference.span.kind": "LLM", "input.value": "Hi", "output.value": "Hello"}
    row = {
        "context.trace_id": "ab" * 16,
        "context.span_id": "1",
        "name": "x",
        **{f"attributes.{k}": v for k, v in told.items()},
    }
    console = {
        "name": "x",
        "context": {"trace_id": "0x" + "cd" * 16, "span_id": "0x1"},
        "parent_id": None,
        "attributes": told,
    }
    first, second = parse(lines(row, console))
    assert (first.external_id, second.external_id) == ("ab" * 16, "cd" * 16)
    assert steps(first) == steps(second) == [("user", "", "Hi"), ("assistant", "", "Hello")]


def test_phoenix_nests_what_spans_flatten_and_states_failures_in_a_column() -> None:
    ids = {"context.trace_id": "t1", "name": "x", "start_time": "2026-01-31T12:00:00Z"}
    call = {"tool_call.id": "c1", "tool_call.function.name": "read", "tool_call.function.arguments": '{"path": "a"}'}
    model = {
        "attributes.openinference.span.kind": "LLM",
        "attributes.llm.input_messages": [{"message.role": "user", "message.content": "Read a"}],
        "attributes.llm.output_messages": [{"message.role": "assistant", "message.tool_calls": [call]}],
    }
    tool = {
        "attributes": {
            "openinference": {"span": {"kind": "TOOL"}},
            "tool": {"name": "read", "parameters": {"path": "a"}},
            "output": {"value": "words"},
        }
    }
    late = {"context.span_id": "2", "start_time": "2026-01-31T12:00:01Z"}
    failed = {"status_code": "ERROR", "status_message": "no network"}
    (trace,) = parse(lines({**ids, "context.span_id": "1", **model}, {**ids, **late, **tool, **failed}))
    assert steps(trace) == READ[:2] and trace.spans[1].error == "no network"


def test_context_that_a_program_puts_first_is_not_the_task() -> None:
    said = [{"role": "user", "content": text} for text in ("<session_context>\nFiles\n</session_context>", "Read a")]
    trace = run(otlp("chat", "", 1, {"gen_ai.operation.name": "chat", "gen_ai.input.messages": said}))
    assert trace.task == "Read a" and len(trace.spans) == 2
    only = run(otlp("chat", "", 1, {"gen_ai.operation.name": "chat", "gen_ai.input.messages": said[:1]}))
    assert only.task == said[0]["content"]


def evaluation(name: str, **told: Any) -> dict[str, Any]:
    whole = {"name": name, **told}
    kinds = {str: "stringValue", float: "doubleValue"}
    pairs = [
        {"key": f"gen_ai.evaluation.{key.replace('_', '.')}", "value": {kinds[type(value)]: value}}
        for key, value in whole.items()
    ]
    return {"name": "gen_ai.evaluation.result", "timeUnixNano": "1769860809000000000", "attributes": pairs}


def test_evaluations_are_a_judge_s_outcomes_and_a_failed_span_is_no_failed_task() -> None:
    failed = {"code": "STATUS_CODE_ERROR", "message": "no network"}
    told = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "read"}
    tool = otlp("read", "", 1, told, status=failed)
    assert run(tool).spans[0].error == "no network", "and there is no outcome"
    judged = [
        evaluation("Relevance", score_value=0.2),
        evaluation("TaskCompletion", score_label="pass", score_value=4.0, explanation="All was done."),
    ]
    trace, outcome = parse(lines(envelope(otlp("read", "", 1, told, events=judged))))
    assert outcome == Outcome(trace.id, "pass", origin="judge", feedback="All was done.", at="2026-01-31T12:00:09Z")
    assert json.loads(trace.meta["scores"]) == {"Relevance": 0.2, "TaskCompletion": "pass"}


def test_evaluations_exported_as_logs_find_their_trace() -> None:
    record = {**evaluation("Success", score_value=0.0), "traceId": "ab" * 16, "eventName": "gen_ai.evaluation.result"}
    logs = {"resourceLogs": [{"scopeLogs": [{"logRecords": [record]}]}]}
    trace, outcome = parse(lines(envelope(*otel_run("ab" * 16)), logs))
    assert (outcome.trace_id, outcome.status) == (trace.id, "fail")


def log(name: str, second: int, body: dict[str, Any]) -> dict[str, Any]:
    def typed(value: Any) -> dict[str, Any]:
        if isinstance(value, str):
            return {"stringValue": value}
        return {"kvlistValue": {"values": [{"key": key, "value": typed(inner)} for key, inner in value.items()]}}

    ids = {"traceId": "ab" * 16, "spanId": "cd" * 8, "eventName": name}
    return {**ids, "timeUnixNano": f"17698608{second:02}000000000", "body": typed(body)}


def test_messages_exported_as_logs_are_those_of_their_span_and_tell_a_run_without_it() -> None:
    asked, gave = {"content": "Water it?"}, {"message": {"role": "assistant", "content": "Twice."}}
    records = [log("gen_ai.user.message", 1, asked), log("gen_ai.choice", 2, gave)]
    logs = {"resourceLogs": [{"scopeLogs": [{"logRecords": records}]}]}
    span = {**otlp("chat", "", 1, {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"}), "spanId": "cd" * 8}
    alone, (together,) = parse(lines(logs)), parse(lines(envelope(span), logs))
    for trace in (*alone, together):
        assert steps(trace) == [("user", "", "Water it?"), ("assistant", "", "Twice.")]
        assert [span.started_at for span in trace.spans] == ["2026-01-31T12:00:01Z", "2026-01-31T12:00:02Z"]
    assert (together.model, together.meta["name"]) == ("m", "chat")


def test_the_task_is_found_in_any_attribute_that_was_named() -> None:
    trace = run(*otel_run("ab" * 16), otlp("x", "", 9, {"garden.task": 7}))
    assert (trace.task_id, trace.task_id_origin) == ("7", "file")


def test_traces_without_models_and_tools_are_counted_and_not_told() -> None:
    trace, bad = parse(lines(envelope(*otel_run("ab" * 16), otlp("GET /", "", 1, {"http.method": "GET"}, "ef" * 16))))
    assert isinstance(trace, Trace) and isinstance(bad, BadRecord)
    assert bad.reason == "1 of 2 traces hold no calls of models or tools"


def test_an_agent_s_own_words_stand_for_a_model_that_was_not_recorded() -> None:
    told = {"openinference.span.kind": "AGENT", "input.value": "Hi", "output.value": "Hello"}
    assert steps(run(otlp("agent", "", 1, told))) == [("user", "", "Hi"), ("assistant", "", "Hello")]


@pytest.mark.corpora
def test_real_spans_of_several_tools(corpora: Path) -> None:
    loaded = ingest.load([corpora / "otel-genai"], corpus="corpus")
    found = {report.path.rsplit("/", 1)[1]: report.traces for report in loaded.files if report.format == "otel"}
    assert found == {
        **{
            "all-spans.json": 8,
            "gemini-B.llm_call.json": 1,
            "opencode-B.doStream.json": 1,
            "raw_otlp_advanced.json": 0,
        },
        **{"openinference_client_span_tool_calls.json": 1, "otel_genai_client_span_tool_calls.json": 1},
        **{"otel_genai_deprecated_client_span_tool_calls.json": 1, "otel_genai_tool_execution_span.json": 1},
    }
    weather = [trace for trace in loaded.traces if trace.task == "Weather in Paris?"]
    assert len(weather) == 3 and len({tuple(span.output for span in trace.spans) for trace in weather}) == 1
    assert loaded.outcomes == ()
    assert [trace.task[:6] for trace in loaded.traces if "gemini" in (trace.source or "")] == ["Turn 1"]
