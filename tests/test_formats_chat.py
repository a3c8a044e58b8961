"""Chat messages: the shapes a file can have, calls of every era, ids, outcomes beside the messages."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from format_samples import lines

from refiner import ingest, jsonstream, registry
from refiner.formats import generic
from refiner.formats.chat import FORMAT
from refiner.ports import Source
from refiner.types import BadRecord, EvaluatorNote, Outcome, Trace

HELLO = [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hi"}]


def parse(data: bytes, task_key: str | None = None) -> list[Any]:
    return list(FORMAT.parse(io.BytesIO(data), Source("corpus", "x.json", task_key)))


def traces(data: bytes) -> list[Trace]:
    return [item for item in parse(data) if isinstance(item, Trace)]


def spans(*messages: Any) -> list[tuple[str, str, str, str]]:
    (trace,) = traces(json.dumps(list(messages)).encode())
    return [(span.kind, span.name, span.input, span.output) for span in trace.spans]


def said(*tools: Any, **message: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": None, **({"tool_calls": list(tools)} if tools else {}), **message}


def call(call_id: str | None, name: str, arguments: Any) -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def test_a_list_of_messages_is_one_trace_named_by_its_file() -> None:
    (trace,) = traces(json.dumps([{"role": "system", "content": "Be kind."}, *HELLO], indent=1).encode())
    assert (trace.external_id, trace.task, trace.task_id_origin, trace.format) == ("x.json", "Hello", "none", "chat")
    assert [(span.role, span.output) for span in trace.spans] == [
        ("system", "Be kind."),
        ("user", "Hello"),
        ("assistant", "Hi"),
    ]


def test_lines_of_messages_are_one_trace_and_lines_of_conversations_are_many() -> None:
    assert [trace.external_id for trace in traces(lines(*HELLO))] == ["x.json"]
    assert len(traces(lines(HELLO, HELLO[:1]))) == 2
    assert len(traces(lines({"messages": HELLO}, {"messages": HELLO[:1]}))) == 2
    assert len(traces(json.dumps([HELLO, HELLO[:1]], indent=1).encode())) == 2
    assert len(traces(json.dumps([{"messages": HELLO}, {"messages": HELLO}], indent=1).encode())) == 2


def test_conversations_without_an_id_are_named_by_content_whatever_their_order() -> None:
    one, other = {"messages": HELLO}, {"messages": HELLO[:1]}
    names = [trace.external_id for trace in traces(lines(one, other, one))]
    assert names[2] == names[0] + "#2" and names[0] != names[1]
    assert sorted(names) == sorted(trace.external_id for trace in traces(lines(other, one, one)))


def test_a_given_id_is_used_and_an_index_tells_records_of_one_id_apart() -> None:
    records = [{"id": "a", "index": n, "messages": HELLO} for n in (1, 2)] + [{"session_id": "b", "messages": HELLO}]
    assert [trace.external_id for trace in traces(lines(*records))] == ["a#1", "a#2", "b"]


@pytest.mark.parametrize("arguments", ['{"path": "a"}', {"path": "a"}])
def test_arguments_are_text_or_object_and_never_need_to_be_json(arguments: Any) -> None:
    found = spans(HELLO[0], said(call("1", "read", arguments)), {"role": "tool", "tool_call_id": "1", "content": "ok"})
    assert found[1] == ("tool_call", "read", '{"path": "a"}', "ok")
    assert spans(said(call("1", "read", "{broken")))[0] == ("tool_call", "read", "{broken", "")


def test_observations_are_joined_by_id_then_by_name_then_in_order() -> None:
    asked = said(call("1", "a", "{}"), call("2", "b", "{}"))
    answers = [
        {"role": "tool", "tool_call_id": "2", "content": "B"},
        {"role": "tool", "tool_call_id": "1", "content": "A"},
    ]
    assert [(name, output) for _, name, _, output in spans(asked, *answers)] == [("a", "A"), ("b", "B")]
    named = [{"role": "tool", "name": "b", "content": "B"}, {"role": "tool", "content": "A"}]
    assert [(name, output) for _, name, _, output in spans(asked, *named)] == [("a", "A"), ("b", "B")]
    assert spans({"role": "tool", "name": "late", "content": "x"})[0] == ("tool_result", "late", "", "x")


@pytest.mark.parametrize(
    "legacy",
    [
        {"name": "f", "arguments": '{"a": 1}'},
        '{"name": "f", "arguments": {"a": 1}}',
        "{'name': 'f', 'arguments': {'a': 1}}",
    ],
)
def test_the_function_call_era(legacy: Any) -> None:
    found = spans(HELLO[0], said(function_call=legacy), {"role": "function", "name": "f", "content": "Error: no"})
    assert found[1] == ("tool_call", "f", '{"a": 1}', "Error: no")


def test_blocks_of_the_anthropic_kind_keep_their_order() -> None:
    use = {"type": "tool_use", "id": "t", "name": "run", "input": {"a": 1}}
    result = {"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": "bad"}], "is_error": True}
    content = [{"type": "text", "text": "first"}, use, {"type": "text", "text": "then"}]
    messages = [HELLO[0], {"role": "assistant", "content": content}, {"role": "user", "content": [result]}]
    (trace,) = traces(json.dumps(messages).encode())
    assert [(span.name, span.output, span.error) for span in trace.spans[1:]] == [
        ("assistant", "first", None),
        ("run", "bad", "bad"),
        ("assistant", "then", None),
    ]


@pytest.mark.parametrize(
    ("seen", "error"),
    [
        ('{"error": "No such \\"bed\\"\\nTry again", "response": ""}', 'No such "bed"'),
        ('{ "error" : "gone", "rest": "cut o', "gone"),
        ('{"error": "", "response": "fine"}', None),
        ('{"error": null}', None),
        ('{"error": " "}', None),
        ('{"rows": 1, "error": "told later"}', None),
    ],
)
def test_an_object_that_begins_with_an_error_is_one(seen: str, error: str | None) -> None:
    (trace,) = traces(json.dumps([said(call("c", "look", "{}")), {"role": "tool", "content": seen}]).encode())
    assert (trace.spans[0].output, trace.spans[0].error) == (seen, error)


def test_reasoning_is_left_out() -> None:
    blocks = [{"type": "thinking", "thinking": "secret"}, {"type": "reasoning", "encrypted_content": "gAAA"}, "words"]
    assert spans(HELLO[0], {"role": "assistant", "content": blocks})[1] == ("message", "assistant", "", "words")


def test_a_dialogue_in_one_text_is_cut_into_turns() -> None:
    shown = "user: Hi\nthere\nassistant: None\ntool: Error: none\nassistant: Sorry: no luck\nuser: Bye"
    (trace,) = traces(lines({"messages_display": shown}))
    assert [(span.kind, span.name, span.output, span.error) for span in trace.spans] == [
        ("message", "user", "Hi\nthere", None),
        ("tool_result", "unnamed", "Error: none", "Error: none"),
        ("message", "assistant", "Sorry: no luck", None),
        ("message", "user", "Bye", None),
    ]


REACTED = [
    {"role": "user", "content": "Task: Count the ferns. \nObservation: A garden."},
    {"role": "assistant", "content": "Thought: Look.\n\nAction: search[ferns [all]]"},
    {"role": "user", "content": [{"type": "text", "text": "Observation: Error: no such bed"}]},
    {"role": "assistant", "content": "Thought: Look there.\nAction: Type [2]; ferns"},
    {"role": "user", "content": "Observation 2: three"},
    {"role": "assistant", "content": "Action: look_up\nAction Input: moss\n and more"},
    {"role": "user", "content": "Hurry up. Observation: it rains."},
    {"role": "assistant", "content": "Action: ANSWER; three"},
]


def test_several_agents_keep_their_names() -> None:
    team = [{**HELLO[0], "name": "Admin"}, {**HELLO[1], "name": "Coder"}, {"role": "Critic", "content": "No"}]
    (trace,) = traces(json.dumps(team).encode())
    assert [(span.role, span.name) for span in trace.spans] == [
        ("user", "Admin"),
        ("assistant", "Coder"),
        ("assistant", "Critic"),
    ]
    assert trace.task == "Hello"


def test_calls_and_observations_among_the_messages_are_steps() -> None:
    items = [
        HELLO[0],
        {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "look", "arguments": '{"at": "bed"}'},
        {"type": "function_call", "id": "fc_2", "call_id": "c2", "name": "count", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c2", "output": "Error: no"},
        {"type": "function_call_output", "call_id": "c1", "output": "ferns"},
        {"type": "reasoning", "summary": []},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Done"}]},
    ]
    told = [
        ("message", "user", "", "Hello"),
        ("tool_call", "look", '{"at": "bed"}', "ferns"),
        ("tool_call", "count", "{}", "Error: no"),
        ("message", "assistant", "", "Done"),
    ]
    assert spans(*items) == told
    (trace,) = traces(lines({"messages": items}))
    assert [(span.kind, span.name, span.input, span.output) for span in trace.spans] == told
    loaded = list(generic.FORMAT.parse(io.BytesIO(lines({"log": {"items": items}})), Source("c", "x.json")))
    assert [(span.kind, span.name, span.input, span.output) for span in loaded[0].spans] == told


def test_actions_and_observations_that_are_told_in_words_are_calls() -> None:
    (trace,) = traces(json.dumps(REACTED).encode())
    assert (trace.task, len({span.span_id for span in trace.spans})) == ("Count the ferns.", len(trace.spans))
    assert [(span.name, span.input, span.output) for span in trace.spans] == [
        ("user", "", REACTED[0]["content"]),
        ("assistant", "", "Thought: Look."),
        ("search", "ferns [all]", "Error: no such bed"),
        ("assistant", "", "Thought: Look there."),
        ("Type", "[2]; ferns", "three"),
        ("look_up", "moss\n and more", ""),
        ("user", "", "Hurry up. Observation: it rains."),
        ("ANSWER", "three", ""),
    ]
    assert trace.spans[2].error == "Error: no such bed"


def test_words_like_action_and_observation_make_no_calls_by_themselves() -> None:
    for chat in (REACTED[:2], [*REACTED[:3], said(call("c", "run", "{}"))], [REACTED[0], HELLO[1], REACTED[2]]):
        (trace,) = traces(json.dumps(chat).encode())
        assert trace.task.endswith("A garden.")
        assert [span.name for span in trace.spans if span.kind == "tool_call"] in ([], ["run"])


@pytest.mark.parametrize(
    ("beside", "status", "score"),
    [
        ({"reward": 1.0}, "pass", 1.0),
        ({"reward": 0.63}, "fail", 0.63),
        ({"success": False}, "fail", None),
        ({"metadata": {"success": True}}, "pass", None),
        ({"metadata": {}, "extra_metadata": {"success": False}}, "fail", None),
        ({"resolved": None, "feedback": "x"}, "unknown", None),
        ({"outcome": "infrastructure"}, "infrastructure", None),
    ],
)
def test_an_outcome_stands_beside_the_messages(beside: dict[str, Any], status: str, score: float | None) -> None:
    (outcome,) = [item for item in parse(lines({"messages": HELLO, **beside})) if isinstance(item, Outcome)]
    assert (outcome.status, outcome.score, outcome.origin) == (status, score, "environment")


def test_without_an_outcome_nothing_is_said_and_a_bad_one_costs_no_trace() -> None:
    assert [type(item) for item in parse(lines({"messages": HELLO, "resolved": None}))] == [Trace]
    trace, bad = parse(lines({"messages": HELLO}, {"messages": HELLO, "reward": 7}))[1:]
    assert isinstance(trace, Trace) and bad.line == 2 and "its outcome is not" in bad.reason


@pytest.mark.parametrize(
    ("beside", "model", "tokens"),
    [
        ({"model": "m-1", "usage": {"prompt_tokens": 7, "completion_tokens": 2}}, "m-1", ("7", "2")),
        ({"metadata": {"model": "m-2"}}, "m-2", (None, None)),
        ({"extra_metadata": {"model_name": "m-3", "kind": "x"}}, "m-3", (None, None)),
        ({"usage": {"prompt_tokens": None}}, None, (None, None)),
    ],
)
def test_model_and_tokens_stand_beside_the_messages_or_in_the_metadata(
    beside: dict[str, Any], model: str | None, tokens: tuple[str | None, str | None]
) -> None:
    (trace,) = traces(lines({"messages": HELLO, **beside}))
    assert trace.model == model
    assert (trace.meta.get("input_tokens"), trace.meta.get("output_tokens")) == tokens


def test_tokens_of_replies_are_added_up_unless_the_record_states_the_sum() -> None:
    replies = [said(content=f"{count}", model="m", usage={"prompt_tokens": count}) for count in (3, 4)]
    added, stated = traces(lines([HELLO[0], *replies], {"messages": replies, "usage": {"prompt_tokens": 9}}))
    assert (added.model, added.meta["input_tokens"]) == ("m", "7")
    assert (stated.model, stated.meta["input_tokens"]) == ("m", "9")


def test_what_only_the_evaluator_knows_stays_out_of_the_trace() -> None:
    record = {"messages": HELLO, "ground_truth": "forty-two", "solution": "secret", "split": "dev", "task_id": 5}
    trace, note = parse(lines(record))
    assert note == EvaluatorNote(trace.id, "expected", "forty-two")
    assert (trace.meta, trace.task_id, trace.task_id_origin) == ({"split": "dev", "task_id": "5"}, "5", "file")


def test_remarks_on_messages_are_feedback() -> None:
    record = {
        "messages": HELLO,
        "annotations": [{"content": "too short", "address": "messages.1"}, {"content": "rude"}],
    }
    assert parse(lines(record))[1].feedback == "too short\nrude"


def test_what_cannot_be_used_is_reported_with_its_line() -> None:
    data = (
        lines({"metadata": {"about": "the set"}}, {"messages": HELLO}, {"name": "x"}, {"messages": []}, 5) + b"{oops\n"
    )
    bad = {item.line: item.reason for item in parse(data) if isinstance(item, BadRecord)}
    assert list(bad) == [3, 4, 5, 6]
    assert bad[3] == "no `messages`" and "any words" in bad[4] and "a number" in bad[5] and "not JSON" in bad[6]


def test_a_list_that_was_cut_off_gives_what_it_has() -> None:
    data = json.dumps([*HELLO, *HELLO], indent=1).encode()
    trace, *rest = sorted(parse(data[:-30]), key=lambda item: isinstance(item, BadRecord))
    assert [span.output for span in trace.spans] == ["Hello", "Hi", "Hello"]
    assert rest[0].reason.startswith("cut off")


def run(number: int) -> dict[str, Any]:
    messages = [{"role": "user", "content": f"Do {number}. " + "x" * 900}, {"role": "assistant", "content": "y" * 900}]
    return {"id": f"r{number}", "messages": messages, "success": number % 2 == 0}


def told(number: int) -> dict[str, Any]:
    said = [{"from": "human", "value": f"Do {number}. " + "x" * 900}, {"from": "gpt", "value": "y" * 900}]
    return {"id": f"r{number}", "conversations": said, "success": number % 2 == 0}


@pytest.mark.parametrize("indent", [None, 1])
@pytest.mark.parametrize(("made", "reader"), [(run, FORMAT), (told, generic.FORMAT)])
def test_a_long_list_of_runs_is_never_in_memory_as_a_whole(made: Any, reader: Any, indent: int | None) -> None:
    records = [made(number) for number in range(3000)]
    data = json.dumps(records, indent=indent).encode()
    stream, number = io.BytesIO(data), 0
    for item in reader.parse(stream, Source("corpus", "x.json")):
        number += isinstance(item, Trace)
        assert stream.tell() <= len(data) / 3000 * number + 3 * jsonstream.CHUNK
    as_lines = list(reader.parse(io.BytesIO(lines(*records)), Source("corpus", "x.json")))
    as_list = list(reader.parse(io.BytesIO(data), Source("corpus", "x.json")))
    assert [plain(item) for item in as_list] == [plain(item) for item in as_lines]
    assert (number, len(as_list)) == (3000, 6000)


def plain(item: Any) -> Any:
    return replace(item, source="") if isinstance(item, Trace) else item


def test_what_is_broken_in_a_list_of_runs_is_named_and_the_rest_is_read() -> None:
    data = json.dumps([run(0), 7, run(1), {"messages": []}], indent=1).encode()
    found = [item.external_id if isinstance(item, Trace) else item for item in parse(data)]
    assert [item for item in found if isinstance(item, str)] == ["r0", "r1"]
    bad = [item for item in found if isinstance(item, BadRecord)]
    assert [item.reason for item in bad] == [
        "not an object but a number",
        "not one of the `messages` has any words or calls",
    ]
    assert bad[0].line > 10 and bad[1].line > bad[0].line
    cut = parse(data[: data.index(b"7,") + 40])
    assert isinstance(cut[0], Trace) and cut[-1].reason.startswith("cut off: the file ends inside")


def test_only_chats_are_recognised() -> None:
    assert FORMAT.sniff(lines({"metadata": {}}, HELLO, HELLO)) >= 0.5
    assert FORMAT.sniff(json.dumps([{"role": "system", "content": "x" * 70_000}]).encode()[: 1 << 16]) >= 0.5
    for other in (
        b'{"a": true}',
        b'[{"role": "admin", "name": "x"}]',
        b'["client.create", {"agent": {"type": "agent"}}]',
        b'{"messages": ["x"]}',
    ):
        assert FORMAT.sniff(other) == 0.0
    known = registry.detect(b'{"task_id": 1, "reward": 0, "traj": [{"role": "user", "content": "x"}]}')
    assert known is not None and known.name == "tau-bench"


@pytest.mark.corpora
@pytest.mark.parametrize(
    ("folder", "files", "count", "outcomes"),
    [
        ("tau-bench/MockAirlineDomainEnv-few_shot.jsonl", 1, 19, (0, 0)),
        ("tau-bench/MockRetailDomainEnv-few_shot.jsonl", 1, 69, (0, 0)),
        ("invariant", 12, 17, (4, 1)),
        ("webvoyager", 4, 4, (0, 0)),
    ],
)
def test_the_real_chats(corpora: Path, folder: str, files: int, count: int, outcomes: tuple[int, int]) -> None:
    loaded = ingest.load([corpora / folder], corpus="corpus")
    ours = [report for report in loaded.files if report.format == "chat"]
    assert (len(ours), sum(report.traces for report in ours)) == (files, count)
    assert tuple(sum(report.outcomes[status] for report in ours) for status in ("pass", "fail")) == outcomes
    assert not any(report.rejected for report in ours)


@pytest.mark.corpora
def test_the_real_screenshots_are_placeholders(corpora: Path) -> None:
    loaded = ingest.load([corpora / "webvoyager"], corpus="corpus")
    assert [sum(span.kind == "tool_call" for span in trace.spans) for trace in loaded.traces] == [3, 5, 5, 6]
    assert not any("Observation:" in trace.task for trace in loaded.traces)
    assert sum(span.role == "user" for trace in loaded.traces for span in trace.spans) == 4
    assert sum(span.output.count("[image png") for trace in loaded.traces for span in trace.spans) == 12
    assert not any("base64" in span.output for trace in loaded.traces for span in trace.spans)


def test_a_dialogue_as_one_text_that_names_no_speaker_is_reported() -> None:
    (bad,) = parse(lines({"messages_display": "Hello"}))
    assert isinstance(bad, BadRecord)
