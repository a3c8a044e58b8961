"""LangSmith: runs of one trace as one run, halves joined, histories told once."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from format_samples import langsmith, langsmith_runs, lines, steps

from refiner import ingest
from refiner.formats.langsmith import FORMAT
from refiner.ports import Source
from refiner.types import Outcome, Span


def parse(data: bytes) -> list[Any]:
    assert FORMAT.sniff(data) == 1.0
    return list(FORMAT.parse(io.BytesIO(data), Source("corpus", "runs.jsonl", "garden")))


def test_the_golden_runs_in_any_order() -> None:
    first, second = parse(langsmith())
    at = "2026-01-31T12:00:0"
    assert first.spans == (
        Span(0, "s0", "message", "user", "user", output="Read a\n[image png 3 KB]", started_at=f"{at}1Z"),
        Span(1, "c1", "tool_call", "read", "", '{"path": "a"}', "words", started_at=f"{at}2Z", ended_at=f"{at}3Z"),
        Span(2, "s2", "message", "assistant", "assistant", output="It says words.", started_at=f"{at}4Z"),
    )
    assert (first.external_id, first.task, first.model) == ("ls-1", "Read a", "model-1")
    assert first.meta == {"name": "agent", "project": "garden", "input_tokens": "14", "output_tokens": "4"}
    assert second.spans == first.spans


def test_a_list_and_a_batch_of_halves_tell_the_same() -> None:
    runs = langsmith_runs("ls-1")
    late = ("outputs", "end_time")
    post = [{key: value for key, value in run.items() if key not in late} for run in runs]
    patch = [{key: run[key] for key in ("id", "trace_id", "dotted_order", *late)} for run in runs]
    wanted = [trace.spans for trace in parse(langsmith())][:1]
    assert [trace.spans for trace in parse(json.dumps(runs).encode())] == wanted
    assert [trace.spans for trace in parse(lines({"post": post, "patch": patch}))] == wanted


def run(**more: Any) -> dict[str, Any]:
    return {"id": "r", "trace_id": "t", "run_type": "llm", "dotted_order": "1", "inputs": {"prompt": "Hi"}, **more}


def test_a_half_without_an_id_is_found_by_its_place_in_the_order() -> None:
    name = "0f0e0d0c-0b0a-4909-8807-060504030201"
    order = f"20260131T120000Z{name}"
    post = {**run(id=name, dotted_order=order), "trace_id": name}
    patch = {"dotted_order": order, "trace_id": name, "outputs": {"output": "Hello"}}
    (trace,) = parse(lines({"post": [post], "patch": [patch]}))
    assert steps(trace) == [("user", "", "Hi"), ("assistant", "", "Hello")]


def test_messages_of_langchain_as_it_stores_them() -> None:
    def stored(name: str, **kwargs: Any) -> dict[str, Any]:
        return {"lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", name], "kwargs": kwargs}

    call = {"id": "c", "name": "find", "args": {"q": "x"}}
    reply = stored("AIMessage", content="", tool_calls=[call])
    inputs = {"messages": [[stored("SystemMessage", content="Be brief."), stored("HumanMessage", content="Hi")]]}
    asked = run(inputs=inputs, outputs={"generations": [[{"text": "", "message": reply}]]})
    (trace,) = parse(lines(asked))
    assert steps(trace) == [("system", "", "Be brief."), ("user", "", "Hi"), ("find", '{"q": "x"}', "")]


def test_errors_of_tools_and_models_are_steps_and_no_outcomes() -> None:
    tool = run(id="a", run_type="tool", name="find", inputs={}, error="no network\nTraceback")
    model = run(id="b", error="overloaded", inputs={"prompt": "Go on"})
    (trace,) = parse(lines(tool, model))
    assert [(span.name, span.error) for span in trace.spans if span.error] == [
        ("find", "no network"),
        ("model_error", "overloaded"),
    ]


def test_feedback_that_a_run_sums_up_is_a_judge_s() -> None:
    stats = {"correctness": {"n": 2, "avg": 1.0}, "tone": {"n": 1, "avg": 0.1}}
    trace, outcome = parse(lines(run(feedback_stats=stats, extra={"metadata": {"garden": "t-1"}})))
    assert outcome == Outcome(trace.id, "pass", origin="judge", score=1.0)
    assert (json.loads(trace.meta["scores"]), trace.task_id) == ({"correctness": 1.0, "tone": 0.1}, "t-1")


def test_what_people_wrote_with_their_feedback_is_kept_and_a_word_may_be_the_score() -> None:
    stats = {"correctness": {"n": 1, "avg": None, "values": {"incorrect": 1}, "comments": ["It is a moss."]}}
    trace, outcome = parse(lines(run(feedback_stats=stats)))
    assert outcome == Outcome(trace.id, "fail", origin="judge", feedback="It is a moss.")


def test_runs_inside_of_runs_are_read() -> None:
    inner = {"run_type": "llm", "dotted_order": "1.2", "inputs": {"prompt": "Hi"}, "outputs": {"output": "Hello"}}
    chain = {**inner, "id": "b", "run_type": "chain", "child_runs": [{**inner, "id": "c", "trace_id": None}]}
    (trace,) = parse(lines(run(run_type="chain", inputs={"input": "Hi"}, child_runs=[chain])))
    assert (trace.external_id, steps(trace)) == ("t", [("user", "", "Hi"), ("assistant", "", "Hello")])


def test_tokens_and_cost_count_once_and_are_found_where_they_are() -> None:
    usage = {"prompt_tokens": 7, "completion_tokens": 2, "total_cost": "0.25"}
    outer = run(run_type="chain", inputs={"input": "Hi"}, **usage)
    around = run(id="b", parent_run_id="r", **usage)
    inner = run(id="c", parent_run_id="b", outputs={"output": "Hello"}, **usage)
    old = {"generations": [[{"text": "Hello"}]], "llm_output": {"token_usage": {"prompt_tokens": 5}}}
    for runs, wanted in (
        ([outer, around, inner], {"input_tokens": "7", "output_tokens": "2", "cost_usd": "0.25"}),
        (
            [outer, run(id="b", parent_run_id="r", outputs={"output": "Hello"})],
            {"input_tokens": "7", "cost_usd": "0.25"},
        ),
        ([run(outputs=old)], {"input_tokens": "5"}),
    ):
        (trace,) = parse(lines(*runs))
        assert trace.meta.items() >= wanted.items()


def test_the_outermost_input_opens_a_run_whose_models_say_nothing_of_a_user() -> None:
    agent = run(id="a", run_type="chain", inputs={"input": "Water the fern"}, outputs={})
    tool = run(
        id="b", run_type="tool", name="water", parent_run_id="a", inputs={"input": "fern"}, outputs={"output": "ok"}
    )
    (trace,) = parse(lines(agent, tool))
    assert steps(trace) == [("user", "", "Water the fern"), ("water", "fern", "ok")]


@pytest.mark.corpora
def test_real_batches_and_recordings_that_are_none(corpora: Path) -> None:
    loaded = ingest.load([corpora / "langsmith"], corpus="corpus")
    assert [report.traces for report in loaded.files if report.format == "langsmith"] == [1] * 7
    assert all([span.role for span in trace.spans] == ["user", "assistant"] for trace in loaded.traces)
    assert all(trace.model and all(span.started_at for span in trace.spans) for trace in loaded.traces)
    assert sum("input_tokens" in trace.meta for trace in loaded.traces) == 6
    assert sum("anthropic_managed" in skipped.path for skipped in loaded.skipped) == 4
