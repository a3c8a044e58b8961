"""The canonical reader: what becomes of records, spans, ids, times and inline outcomes."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest

from refiner import registry
from refiner.formats.canonical import FORMAT
from refiner.ports import Source
from refiner.types import BadRecord, Outcome, Span, Trace


def parse(data: bytes, task_key: str | None = None) -> list[Any]:
    return list(FORMAT.parse(io.BytesIO(data), Source("corpus", "runs.jsonl", task_key)))


def line(**record: Any) -> bytes:
    return json.dumps(record).encode() + b"\n"


def record(trace_id: str | None = "t1", spans: list[Any] | None = None, **extra: Any) -> bytes:
    spans = [{"span_id": "a", "name": "read", "input_text": "{}", "output_text": "ok"}] if spans is None else spans
    return line(**({"trace_id": trace_id} if trace_id is not None else {}), spans=spans, **extra)


def one(data: bytes, task_key: str | None = None) -> Trace:
    (trace,) = [item for item in parse(data, task_key) if isinstance(item, Trace)]
    return trace


def spans(*raw: dict[str, Any]) -> tuple[Span, ...]:
    return one(record(spans=list(raw))).spans


def test_a_tool_call_keeps_name_input_and_output_and_its_place() -> None:
    trace = one(
        record(
            spans=[
                {
                    "span_id": "x",
                    "name": "write_cell",
                    "input_text": '{"cell": "B2"}',
                    "output_text": "wrote B2",
                    "start_time": "2026-01-31T13:00:00+01:00",
                    "end_time": 1769860801.5,
                    "parent_id": "root",
                }
            ]
        )
    )
    assert trace.spans == (
        Span(
            0,
            "x",
            "tool_call",
            "write_cell",
            input='{"cell": "B2"}',
            output="wrote B2",
            started_at="2026-01-31T12:00:00Z",
            ended_at="2026-01-31T12:00:01.500000Z",
            parent="root",
        ),
    )
    assert (trace.external_id, trace.corpus, trace.format, trace.source) == (
        "t1",
        "corpus",
        "canonical",
        "runs.jsonl:1",
    )


@pytest.mark.parametrize(
    ("raw", "role", "text"),
    [
        ({"name": "user", "output_text": "do it"}, "user", "do it"),
        ({"name": "Human", "input_text": "do it"}, "user", "do it"),
        ({"name": "ai", "output_text": "done"}, "assistant", "done"),
        ({"name": "llm", "input_text": "prompt", "output_text": "done"}, "assistant", "done"),
        ({"name": "planner", "role": "system", "output_text": "rules"}, "system", "rules"),
        ({"name": "note", "kind": "message", "output_text": "hi"}, "assistant", "hi"),
    ],
)
def test_a_message_carries_its_text_in_output_and_its_role_as_name(raw: dict[str, Any], role: str, text: str) -> None:
    (span,) = spans(raw)
    assert (span.kind, span.role, span.name, span.input, span.output) == ("message", role, role, "", text)


def test_a_message_with_kind_and_role_keeps_the_name_of_who_speaks() -> None:
    (span,) = spans({"name": "Checker", "kind": "message", "role": "human", "output_text": "hi"})
    assert (span.kind, span.role, span.name, span.output) == ("message", "user", "Checker", "hi")


def test_a_stated_kind_and_a_tool_role_are_honoured() -> None:
    event, call, result = spans(
        {"name": "user", "kind": "event", "output_text": "clock"},
        {"name": "read", "role": "tool", "input_text": "{}", "output_text": "x"},
        {"name": "read", "role": "tool", "output_text": "x"},
    )
    assert [(span.kind, span.name) for span in (event, call, result)] == [
        ("event", "user"),
        ("tool_call", "read"),
        ("tool_result", "read"),
    ]


def test_a_span_without_output_is_kept() -> None:
    (first, second) = spans({"name": "read", "input_text": "{}"}, {"name": "close", "output_text": "x"})
    assert (first.input, first.output, second.ordinal) == ("{}", "", 1)


def test_missing_and_repeated_span_ids_get_the_ordinal_and_never_meet_a_given_one() -> None:
    names = ["s1", None, "x", "x", ""]
    found = spans(*({"span_id": name, "name": "a", "output_text": "b"} for name in names))
    assert [span.span_id for span in found] == ["s1", "s1_", "x", "s3", "s4"]


@pytest.mark.parametrize(
    ("raw", "error"),
    [
        ({"output_text": "  Error: no sheet named Q1\nmore"}, "Error: no sheet named Q1"),
        ({"output_text": "Traceback (most recent call last):\n  x\nKeyError: 'a'\n"}, "KeyError: 'a'"),
        ({"output_text": "Exception in thread main"}, "Exception in thread main"),
        ({"output_text": "Errors found: 0"}, None),
        ({"output_text": "no Error here"}, None),
        ({"output_text": "x", "error": "timed out"}, "timed out"),
        ({"output_text": "x", "error": True}, "x"),
        ({"output_text": "x", "error": False}, None),
        ({"output_text": "Error: quoted by the agent", "role": "assistant"}, None),
    ],
)
def test_errors_are_recognised(raw: dict[str, Any], error: str | None) -> None:
    (span,) = spans({"name": "run", **raw})
    assert span.error == error


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("2026-01-31T12:00:00Z", "2026-01-31T12:00:00Z"),
        ("2026-01-31 12:00:00", "2026-01-31T12:00:00Z"),
        (1769860800, "2026-01-31T12:00:00Z"),
        (1769860800000, "2026-01-31T12:00:00Z"),
        ("1769860800000000000", "2026-01-31T12:00:00Z"),
        (3, None),
        (float("nan"), None),
        (10**30, None),
        ("yesterday", None),
        (True, None),
        ("0001-01-01T00:00:00+14:00", None),
    ],
)
def test_times_are_utc_or_none(value: Any, expected: str | None) -> None:
    (span,) = spans({"name": "run", "output_text": "x", "start_time": value})
    assert span.started_at == expected


def test_task_comes_from_a_key_or_the_first_user_message_or_the_first_input() -> None:
    said = [{"name": "system", "output_text": "rules"}, {"name": "user", "output_text": "sum it"}]
    assert one(record(goal="the goal", spans=said)).task == "the goal"
    assert one(record(spans=said)).task == "sum it"
    assert one(record(spans=[{"name": "llm", "input_text": "sum it", "output_text": "4"}])).task == "sum it"


def test_task_id_from_the_chosen_field_then_task_id_then_meta() -> None:
    assert one(record(task_id=7)).task_id == "7"
    assert one(record(meta={"task_id": "m"})).task_id == "m"
    assert one(record(task_id=7, case={"name": "c"}), task_key="case.name").task_id == "c"
    assert one(record(task_id=7), task_key="absent").task_id == "7"
    without = one(record(task_id=None))
    assert (without.task_id, without.task_id_origin) == ("", "none")
    assert one(record(task_id="x")).task_id_origin == "file"


def test_other_keys_are_kept_as_texts() -> None:
    trace = one(record(model="m-1", host="box", cost={"usd": 1}, meta={"trial": 2, "host": "inner"}))
    assert trace.model == "m-1"
    assert trace.meta == {"trial": "2", "host": "box", "cost": '{"usd": 1}'}


def test_records_without_an_id_are_named_by_content_whatever_their_order() -> None:
    a, b = record(None, task="a"), record(None, task="b")
    ids = [trace.external_id for trace in parse(a + b + a)]
    assert ids[2] == ids[0] + "#2" and ids[0] != ids[1] and ids[0].startswith("runs.jsonl:")
    assert sorted(trace.external_id for trace in parse(b + a + a)) == sorted(ids)


@pytest.mark.parametrize(
    ("inline", "status", "score"),
    [
        ({"outcome": "PASS"}, "pass", None),
        ({"outcome": False}, "fail", None),
        ({"reward": 0.5}, "fail", 0.5),
        ({"reward": 1}, "pass", 1.0),
        ({"outcome": "infrastructure", "reward": 0}, "infrastructure", 0.0),
    ],
)
def test_an_inline_outcome_is_the_environments(inline: dict[str, Any], status: str, score: float | None) -> None:
    trace, outcome = parse(record(feedback="B2 is empty", **inline))
    assert outcome == Outcome(trace.id, status, "environment", score, "B2 is empty")


def test_an_unreadable_inline_outcome_loses_the_outcome_and_keeps_the_trace() -> None:
    trace, bad = parse(record(outcome="great"))
    assert isinstance(trace, Trace)
    assert bad.line == 1 and "great" in bad.reason and "the trace is kept" in bad.reason


def test_bad_records_are_reported_with_line_and_reason_and_the_others_are_kept() -> None:
    data = b"".join(
        [
            b"\xef\xbb\xbf" + record("a").replace(b"\n", b"\r\n"),
            b"\r\n",
            b"42\n",
            b'["x"]\n',
            line(trace_id="b"),
            line(trace_id="c", spans={}),
            line(trace_id="d", spans=[]),
            line(trace_id="e", spans=[{"name": "x"}]),
            b"massive error\n",
            record("z"),
            record("y")[:-9],
        ]
    )
    items = parse(data)
    assert [item.external_id for item in items if isinstance(item, Trace)] == ["a", "z"]
    bad = {item.line: item.reason for item in items if isinstance(item, BadRecord)}
    assert list(bad) == [3, 4, 5, 6, 7, 8, 9, 11]
    assert bad[3] == "not an object but a number" and bad[4] == "not an object but a list"
    assert bad[5] == "no `spans`" and "empty" in bad[7] and "input_text" in bad[8]
    assert bad[9].startswith("not JSON") and bad[11].startswith("cut off")


def test_odd_characters_are_made_storable() -> None:
    text = b"\\ud800 \\u0000 \xff \\ud83d\\ude00"
    data = b'{"trace_id": "a\\u0000b", "x": NaN, "spans": [{"name": "run", "output_text": "' + text + b'"}]}'
    trace = one(data)
    assert trace.external_id == "a\ufffdb"
    assert trace.spans[0].output == "\ufffd \ufffd \ufffd \U0001f600"
    assert trace.meta == {"x": "NaN"}
    trace.spans[0].output.encode()


def test_a_very_long_line_is_read_whole() -> None:
    trace = one(record(spans=[{"name": "run", "output_text": "x" * 1_000_000}, {"name": "b", "output_text": "y"}]))
    assert len(trace.spans[0].output) == 1_000_000 and trace.spans[1].output == "y"


def test_hopeless_nesting_costs_one_record() -> None:
    deep = b'{"trace_id": "d", "spans": [{"name": "a", "output_text": ' + b"[" * 100_000 + b"]" * 100_000 + b"}]}\n"
    medium = b'{"spans": [{"name": "a", "output_text": "x"}], "m": ' + b"[" * 600 + b"]" * 600 + b"}\n"
    items = parse(deep + medium + record("z"))
    assert [item.external_id for item in items if isinstance(item, Trace)][-1] == "z"
    assert any(isinstance(item, BadRecord) and "deep" in item.reason for item in items)


def test_images_become_placeholders_in_texts_blocks_and_bare_runs() -> None:
    data = "A" * (640 * 1024 * 4 // 3)
    blocks = [
        {"type": "text", "text": "before"},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo" + data}},
    ]
    first, second, third = spans(
        {"name": "shot", "output_text": f"see data:image/png;base64,{data} end"},
        {"name": "shot", "output_text": blocks},
        {"name": "shot", "output_text": '{"data": "/9j/' + "B" * 4000 + '"}'},
    )
    assert first.output == "see [image png 640 KB] end"
    assert second.output == "before\n[image png 640 KB]"
    assert third.output == '{"data": "[image jpeg 3 KB]"}'


def test_values_that_are_no_text_become_json() -> None:
    (span,) = spans({"name": "run", "input_text": {"b": 1, "a": [True, None]}, "output_text": 4})
    assert (span.input, span.output) == ('{"b": 1, "a": [true, null]}', "4")


def test_lists_and_objects_spread_over_lines_are_read_too() -> None:
    values = [json.loads(record("a")), 5, json.loads(record("b"))]
    for text in (json.dumps(values), json.dumps(values, indent=2), "\n".join(json.dumps(v, indent=1) for v in values)):
        items = parse(text.encode())
        assert [item.external_id for item in items if isinstance(item, Trace)] == ["a", "b"]
        assert sum(isinstance(item, BadRecord) for item in items) == 1
    cut = parse(json.dumps(values, indent=2).encode()[:-40])
    assert cut[0].external_id == "a" and cut[-1].reason.startswith("cut off")


def test_a_bad_first_line_does_not_hide_the_rest() -> None:
    for first in (b"{ broken\n", b"[1, 2\n", b"[1]\n", b'"x"\n'):
        items = parse(first + record("a") + record("b"))
        assert [item.external_id for item in items if isinstance(item, Trace)] == ["a", "b"], first
        assert isinstance(items[0], BadRecord) and items[0].line == 1


def test_sniffing_goes_by_content() -> None:
    assert FORMAT.sniff(record()) == 1.0
    assert FORMAT.sniff(b'{"trace_id": "a", "spans": [{"name": "x", "output_text": "' + b"y" * 70_000) >= 0.5
    assert FORMAT.sniff(json.dumps([json.loads(record())], indent=2).encode()) == 1.0
    assert FORMAT.sniff(b"hello\n" + record()) == 1.0
    for other in (b"", b"trace_id,spans", b'{"spans": 3}', b'{"a": true}', b"\x00\xff"):
        assert FORMAT.sniff(other) == 0.0


def test_the_registry_lists_readers_and_no_helpers() -> None:
    names = [known.name for known in registry.formats()]
    assert {"canonical", "chat", "claude-code", "codex", "generic", "inspect-ai", "tau-bench"} <= set(names)
    assert len(set(names)) == len(names)
    assert registry.detect(record()) is FORMAT
    assert registry.detect(b'{"a": true}') is None
