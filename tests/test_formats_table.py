"""CSV and Parquet tables: one row a run or a step, columns guessed from their names or given."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from corpus import refiner
from hypothesis import given, settings
from hypothesis import strategies as st

from refiner import columns, ingest, labels, registry
from refiner.errors import ConfigError, FormatError
from refiner.formats.table import FORMAT
from refiner.ports import Source
from refiner.types import BadRecord, EvaluatorNote, Outcome, Trace


def sheet(*rows: Sequence[Any], delimiter: str = ",") -> bytes:
    out = io.StringIO()
    csv.writer(out, delimiter=delimiter).writerows(rows)
    return out.getvalue().encode()


def parquet(**table: list[Any]) -> bytes:
    import pyarrow
    from pyarrow import parquet as files

    out = io.BytesIO()
    files.write_table(pyarrow.table(table), out)
    return out.getvalue()


def read(data: bytes, **mapping: str) -> list[Any]:
    return list(FORMAT.parse(io.BytesIO(data), Source("c", "runs.csv", columns=tuple(mapping.items()))))


def shown(trace: Trace) -> list[tuple[str, str, str, str]]:
    return [(span.kind, span.name, span.input, span.output) for span in trace.spans]


def test_a_row_is_a_run_with_its_request_and_answer() -> None:
    data = sheet(["id", "prompt", "response", "passed", "comment", "team"], ["a", "Add, please", "3", "true", "", "x"],
                 ["b", "Halve", "No\nway", "0.5", "It must divide", ""])  # fmt: skip
    first, ended, second, failed = read("\ufeff".encode() + data)
    assert shown(first) == [("message", "user", "", "Add, please"), ("message", "assistant", "", "3")]
    assert (first.external_id, first.task, first.format, first.source) == ("a", "Add, please", "table", "runs.csv:2")
    assert first.meta == {"team": "x"} and ended == Outcome(first.id, "pass")
    assert (second.source, failed) == ("runs.csv:3", Outcome(second.id, "fail", score=0.5, feedback="It must divide"))


def test_a_row_is_a_step_and_runs_are_put_together_in_order() -> None:
    data = sheet(["run_id", "step", "role", "tool", "arguments", "content", "timestamp", "outcome", "task_id"],
                 ["a", 2, "", "add", '{"x": 1}', "Error: no", "2026-01-31T12:00:00Z", "", "t1"],
                 ["b", 1, "user", "", "", "Other", "", "", ""],
                 ["a", 10, "assistant", "", "", "Done", "", "fail", ""],
                 ["a", 1, "user", "", "", "Add it", "", "", "t1"], delimiter=";")  # fmt: skip
    a, ended, b = read(data)
    assert shown(a) == [("message", "user", "", "Add it"), ("tool_call", "add", '{"x": 1}', "Error: no"),
                        ("message", "assistant", "", "Done")]  # fmt: skip
    assert (a.task_id, a.spans[1].error, a.spans[1].started_at) == ("t1", "Error: no", "2026-01-31T12:00:00Z")
    assert ended == Outcome(a.id, "fail") and (b.external_id, len(b.spans)) == ("b", 1)


def test_a_column_may_hold_the_whole_run_as_messages_or_spans() -> None:
    call = {"id": "1", "type": "function", "function": {"name": "add", "arguments": "{}"}}
    messages = [{"role": "user", "content": "Add"}, {"role": "assistant", "content": None, "tool_calls": [call]},
                {"role": "tool", "tool_call_id": "1", "content": "3"}]  # fmt: skip
    spans = [{"name": "add", "input_text": "{}", "output_text": "3"}]
    rows = [["id", "messages"], ["a", json.dumps(messages)], ["b", json.dumps({"spans": spans})], ["c", "just words"]]
    a, b, c = read(sheet(*rows))
    assert shown(a) == [("message", "user", "", "Add"), ("tool_call", "add", "{}", "3")]
    assert shown(b) == [("tool_call", "add", "{}", "3")] and shown(c) == [("message", "assistant", "", "just words")]


def test_parquet_with_nested_columns_is_read_by_its_names() -> None:
    data = parquet(
        run_id=["a", "b"], messages=[[{"role": "user", "content": "Hi"}], None], reward=[1.0, 0.25], score=[1, 2]
    )
    assert registry.detect(data[:100]) is FORMAT
    trace, ended, bad = read(data)
    assert shown(trace) == [("message", "user", "", "Hi")] and ended.status == "pass"
    assert isinstance(bad, BadRecord) and bad.line == 2


def test_steps_without_an_order_are_put_in_that_of_their_times() -> None:
    data = sheet(["run", "role", "content", "timestamp"], ["a", "assistant", "Yes", "2026-01-31T12:00:02Z"],
                 ["a", "user", "May I?", "2026-01-31T12:00:01.5Z"])  # fmt: skip
    (trace,) = read(data)
    assert [output for *_, output in shown(trace)] == ["May I?", "Yes"]


def test_cells_that_say_there_was_no_error_are_none() -> None:
    said = ["False", "None", "nan", "0", "no", "True", "boom"]
    (trace,) = read(sheet(["run", "tool", "output", "error"], *(["a", "dig", "done", one] for one in said)))
    assert [span.error for span in trace.spans] == [None] * 5 + ["done", "boom"]


def test_what_only_an_evaluator_knows_is_no_fact_of_the_run() -> None:
    columns_ = ["id", "question", "model_answer", "Expected Answer", "ground_truth", "score"]
    trace, note, ended = read(sheet(columns_, ["a", "2+2?", "5", "4", "4", "0"]))
    assert (trace.meta, note) == ({}, EvaluatorNote(trace.id, "expected", "4"))
    assert ended.status == "fail" and shown(trace)[1][3] == "5"


def test_nothing_of_a_row_is_dropped() -> None:
    at = "2026-01-31T12:00:01Z"
    data = sheet(["", "id", "prompt", "prompt", "response", "start_time", "exception"],
                 ["0", "a", "Dig", "twice", "I can not", at, "Timeout", "more"])  # fmt: skip
    (trace,) = read(data)
    assert [(span.output, span.error, span.started_at) for span in trace.spans] == [
        ("Dig", None, at),
        ("I can not", None, None),
        ("Timeout", "Timeout", None),
    ]
    assert trace.meta == {"prompt (2)": "twice", "column 8": "more"}
    steps = ["run", "role", "content", "team", "input_tokens"]
    (run,) = read(
        sheet(steps, ["a", "user", "Dig", "x", ""], ["a", "assistant", "Ok", "x", 7], ["a", "ai", "So", "x", 2])
    )
    assert run.meta == {"team": "x", "input_tokens": "9"}


def test_a_list_as_pandas_writes_it_is_read_and_one_that_cannot_be_is_named() -> None:
    messages = [{"role": "user", "content": "it's"}, {"role": "assistant", "content": None}]
    data = sheet(["id", "messages"], ["a", str(messages)], ["b", "[{'role': 'user', 'content': array([1])}]"])
    trace, bad = read(data)
    assert shown(trace) == [("message", "user", "", "it's")]
    assert bad == BadRecord(
        "runs.csv", 3, "the messages in the column messages are no JSON that can be read; write them with json.dumps"
    )


def test_a_row_that_is_cut_off_is_named_and_the_others_are_kept() -> None:
    for names, row in (
        (["id", "prompt", "response"], ["a", "Dig", "Ok"]),
        (["run", "role", "content"], ["a", "user", "Dig"]),
    ):
        trace, bad = read(sheet(names, row) + b'b,"half a')
        assert (trace.external_id, bad) == ("a", BadRecord("runs.csv", 3, "cut off: the file ends inside this row"))
    assert len(read(sheet(["id", "prompt", "response"], ["a", "Dig", "Ok"]).rstrip())) == 1, "no row is cut off"


def test_parquet_may_hold_times_decimals_bytes_and_missing_numbers() -> None:
    at = datetime(2026, 1, 31, 12, 0, 1)
    data = parquet(
        **{"run": ["a", "a"], "role": ["user", "assistant"], "content": [b"Dig", b"Ok"], "timestamp": [at, at]},
        **{"reward": [math.nan, 1.0], "price": [Decimal("0.25"), Decimal("0.25")]},
    )
    trace, ended = read(data)
    assert [(span.output, span.started_at) for span in trace.spans] == [
        (word, "2026-01-31T12:00:01Z") for word in ("Dig", "Ok")
    ]
    assert trace.meta == {"price": "0.25"} and ended == Outcome(trace.id, "pass", score=1.0)
    missing = parquet(id=["a"], prompt=["Dig"], response=["Ok"], reward=[math.nan])
    assert [type(item) for item in read(missing)] == [Trace], "not a number is no outcome"


def test_columns_that_tell_nothing_are_named_and_can_be_given(tmp_path: Path) -> None:
    path = tmp_path / "runs.csv"
    path.write_bytes(sheet(["nr", "ask", "said"], ["a", "Add", "3"], ["b", "Halve", "2"]))
    with pytest.raises(FormatError, match=r"cannot be told from the names nr, ask, said; .*--columns"):
        ingest.load([path], corpus="c")
    given_columns = {"trace": "nr", "input": "ask", "output": "said"}
    loaded = ingest.load([path], corpus="c", columns=given_columns)
    assert [trace.external_id for trace in loaded.traces] == ["a", "b"]
    with pytest.raises(FormatError, match=r"no column reply; the columns are nr, ask, said"):
        ingest.load([path], corpus="c", columns={"input": "ask", "output": "reply"})
    said = refiner("convert", path, "--out", tmp_path / "out", "--columns", "trace=nr, input=ask, output=said")
    assert said.code == 0 and "2 traces" in said.out
    assert "2 traces" not in refiner("inspect", path, "--columns", "trace=nr,input=ask,output=said").err


@pytest.mark.parametrize("text", ["trace", "run=id", "trace=", "=id", "output:said"])
def test_a_mapping_that_cannot_be_read_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="write field=column, with a field of trace, task"):
        columns.read(text)


@pytest.mark.parametrize(
    "data",
    [
        b"trace_id,outcome,feedback\na,pass,x\n",
        b"hello, world\n",
        b"[1, 2]",
        b'{"input": 1, "output": 2}',
        b"",
        b"a,a\n",
        b",\n",
    ],
    ids=["labels", "words", "a list", "an object", "empty", "one name twice", "no names"],
)
def test_what_is_no_table_of_runs_is_not_taken_for_one(data: bytes) -> None:
    assert FORMAT.sniff(data) == 0


def test_a_table_of_labels_stays_one() -> None:
    assert labels.looks_like_labels(b"trace_id,outcome,feedback\na,pass,x\n")


@settings(deadline=None, derandomize=True, max_examples=60)
@given(data=st.data())
def test_broken_parquet_never_raises(data: Any) -> None:
    content = bytearray(parquet(id=["a", "b"], input=["x", "y" * 50], output=["1", "2"]))
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(4, len(content)))
        content[at : at + data.draw(st.integers(0, 20))] = data.draw(st.binary(max_size=8))
    found = read(bytes(content))
    assert found and all(isinstance(item, Trace | Outcome | BadRecord) for item in found)
