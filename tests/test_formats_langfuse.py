"""Langfuse: one run from unordered observations, histories told once, scores by who gave them."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from format_samples import langfuse, langfuse_trace, observation, steps

from refiner import ingest
from refiner.formats.langfuse import FORMAT
from refiner.labels import effective
from refiner.ports import Source
from refiner.types import EvaluatorNote, Outcome, Span, Trace


def parse(record: Any) -> list[Any]:
    data = record if isinstance(record, bytes) else json.dumps(record).encode()
    return list(FORMAT.parse(io.BytesIO(data), Source("corpus", "x.json")))


def run(*observations: dict[str, Any], **about: Any) -> Trace:
    (trace,) = parse({"trace": {"id": "t", **about}, "observations": list(observations)})
    assert isinstance(trace, Trace)
    return trace


def test_the_golden_run_from_observations_in_any_order() -> None:
    trace, outcome, api = parse(langfuse())
    at = "2026-01-31T12:00:0"
    assert trace.spans == (
        Span(0, "s0", "message", "user", "user", output="Read a\n[image png 3 KB]", started_at=f"{at}1Z"),
        Span(1, "c1", "tool_call", "read", "", '{"path": "a"}', "words", started_at=f"{at}2Z", ended_at=f"{at}3Z"),
        Span(2, "s2", "message", "assistant", "assistant", output="It says words.", started_at=f"{at}4Z"),
    )
    assert (trace.external_id, trace.model, trace.meta["scores"]) == ("lf-1", "model-1", '{"correctness": 0}')
    assert outcome == Outcome(trace.id, "fail", origin="judge", score=0.0, feedback="It says more.")
    assert (api.external_id, api.spans) == ("lf-2", trace.spans), "the API's form tells the same run"


def score(name: str, value: Any, source: str, **more: Any) -> dict[str, Any]:
    kind = "CATEGORICAL" if isinstance(value, str) else "NUMERIC"
    said = {"stringValue": value, "value": None} if isinstance(value, str) else {"value": value}
    return {"name": name, "dataType": kind, "source": source, "comment": f"{name} by {source}", **said, **more}


def test_a_person_counts_before_the_api_and_the_api_before_a_judge() -> None:
    given = [
        score("correctness", 1, "EVAL"),
        score("success", 0, "API"),
        score("outcome", "pass", "ANNOTATION"),
        score("tone", 0.2, "ANNOTATION"),
        score("hallucination", 0, "EVAL"),
        score("correctness", 0, "ANNOTATION", observationId="GENERATION1"),
    ]
    trace, *outcomes = parse(langfuse_trace("lf-1", *given))
    assert [(one.origin, one.status) for one in outcomes] == [
        ("judge", "pass"),
        ("environment", "fail"),
        ("human", "pass"),
    ]
    assert effective(outcomes, trace.id).origin == "human"
    assert outcomes[-1].feedback is not None and set(outcomes[-1].feedback.splitlines()) == {
        *("outcome by ANNOTATION", "tone by ANNOTATION", "chat: correctness by ANNOTATION")
    }
    assert outcomes[0].feedback == "correctness by EVAL", "other judgements are no feedback"
    assert json.loads(trace.meta["scores"]) == {
        **{"correctness": 1, "success": 0, "outcome": "pass"},
        **{"tone": 0.2, "hallucination": 0},
    }


def test_what_is_better_when_lower_is_never_an_outcome_by_itself() -> None:
    assert len(parse(langfuse_trace("lf-1", score("toxicity", 1, "EVAL"), score("hallucination", 0, "EVAL")))) == 1


@pytest.mark.parametrize(("value", "status"), [(0.5, "fail"), (1, "pass"), (True, "pass"), (7, "unknown")])
def test_numbers_from_0_to_1_pass_at_1(value: Any, status: str) -> None:
    _, outcome = parse(langfuse_trace("lf-1", score("accuracy", value, "API")))
    assert outcome.status == status


def test_texts_wrapped_twice_are_unwrapped() -> None:
    twice = observation("chat", "GENERATION", 1, json.dumps([{"role": "user", "content": "Hi"}]), json.dumps("Hello"))
    assert steps(run(twice)) == [("user", "", "Hi"), ("assistant", "", "Hello")]


def test_of_models_around_models_the_one_that_says_most_is_told_once() -> None:
    call = {"id": "c", "function": {"name": "find", "arguments": "{}"}}
    reply = {"choices": [{"message": {"role": "assistant", "content": None, "tool_calls": [call]}}]}
    outer = observation("invoke", "GENERATION", 1, [{"role": "user", "content": "Hi"}], reply)
    inner = observation("chat", "GENERATION", 2, "user: Hi", "None", parentObservationId="GENERATION1")
    assert steps(run(inner, outer)) == [("user", "", "Hi"), ("find", "{}", "")]


def test_a_plain_span_is_a_tool_when_a_model_called_its_name() -> None:
    call = {"type": "tool_use", "id": "c", "name": "find", "input": {"q": "x"}}
    asked = observation("chat", "GENERATION", 1, "Hi", {"role": "assistant", "content": [call]})
    ran = observation("tool.find", "SPAN", 3, {"input": {"q": "x"}}, {"content": [{"type": "text", "text": "found"}]})
    other = observation("prompt", "SPAN", 5, {"messages": []}, "x")
    assert steps(run(other, ran, asked)) == [("user", "", "Hi"), ("find", '{"q": "x"}', "found")]


def test_equal_words_are_kept_when_they_were_said_twice() -> None:
    hi, ok = {"role": "user", "content": "Go on"}, {"role": "assistant", "content": "Ok"}
    calls = [observation("chat", "GENERATION", n, [hi, ok] * n + [hi], ok) for n in (0, 1, 2)]
    assert [output for *_, output in steps(run(*calls))] == ["Go on", "Ok"] * 3


def test_a_failed_tool_and_a_failed_model_show_their_errors() -> None:
    tool = observation("find", "TOOL", 1, {}, None, level="ERROR", statusMessage="no network")
    model = observation("chat", "GENERATION", 2, "Hi", None, level="ERROR", statusMessage="overloaded")
    trace = run(tool, model)
    assert [(span.name, span.error) for span in trace.spans] == [
        ("find", "no network"),
        ("user", None),
        ("model_error", "overloaded"),
    ]


def test_without_calls_of_models_the_trace_s_own_input_and_output_are_told() -> None:
    trace = run(input='"What is it?"', output='"A fern."')
    assert steps(trace) == [("user", "", "What is it?"), ("assistant", "", "A fern.")]


def test_tokens_and_cost_are_those_of_the_innermost_calls() -> None:
    def costly(start: int, **more: Any) -> dict[str, Any]:
        usage = {"usageDetails": {"input": 7, "output": 2}, "costDetails": {"total": 0.25}}
        return observation("chat", "GENERATION", start, "Hi", "Hello", **usage, **more)

    trace = run(costly(1), costly(2, parentObservationId="GENERATION1"))
    assert [trace.meta[key] for key in ("input_tokens", "output_tokens", "cost_usd")] == ["7", "2", "0.25"]


def test_tokens_are_those_that_langfuse_sums_up_every_kind_of_a_side() -> None:
    kinds = {"input": 5, "input_cache_read": 2, "output": 3, "output_reasoning": 4, "total": 14}
    first = observation("chat", "GENERATION", 1, "Hi", "Hello", usageDetails=kinds, totalCost=0.5)
    summed = observation("chat", "GENERATION", 2, "Go on", "Yes", usageDetails=kinds, inputUsage=5, outputUsage=7)
    old = observation("chat", "GENERATION", 3, "More", "No", promptTokens=1, completionTokens=2, calculatedTotalCost=1)
    vector = observation("embed", "EMBEDDING", 4, "Hi", None, usageDetails={"input": 9}, costDetails={"input": 0.25})
    trace = run(first, summed, old, vector)
    assert [trace.meta[key] for key in ("input_tokens", "output_tokens", "cost_usd")] == ["22", "16", "1.75"]


def test_models_that_a_tool_sets_to_work_are_told_and_counted_beside_the_one_that_called_it() -> None:
    def costly(name: str, start: int, given: Any, gave: Any, **more: Any) -> dict[str, Any]:
        return observation(name, "GENERATION", start, given, gave, usageDetails={"input": 7, "output": 2}, **more)

    call = {"type": "function_call", "call_id": "c1", "name": "ask_expert", "arguments": '{"of": "ferns"}'}
    outer = costly("main", 1, "Which fern?", [call])
    tool = observation("ask_expert", "TOOL", 2, {"of": "ferns"}, "Ostrich fern", parentObservationId="GENERATION1")
    inner = costly("expert", 3, "Name a fern", "I look it up.", parentObservationId="TOOL2")
    look = observation("look_up", "TOOL", 4, {"what": "ferns"}, "a list", parentObservationId="TOOL2")
    trace = run(outer, tool, inner, look)
    assert steps(trace) == [
        ("user", "", "Which fern?"),
        ("ask_expert", '{"of": "ferns"}', "Ostrich fern"),
        ("user", "", "Name a fern"),
        ("assistant", "", "I look it up."),
        ("look_up", '{"what": "ferns"}', "a list"),
    ]
    assert (trace.meta["input_tokens"], trace.meta["output_tokens"]) == ("14", "4")


def test_a_search_inside_the_tool_that_was_called_is_its_own_affair() -> None:
    call = {"type": "function_call", "call_id": "c1", "name": "search_notes", "arguments": '{"of": "ferns"}'}
    tool = observation("search_notes", "TOOL", 2, {"of": "ferns"}, "two notes")
    inner = observation("store", "RETRIEVER", 3, "ferns", [{"text": "one"}], parentObservationId="TOOL2")
    trace = run(observation("chat", "GENERATION", 1, "Which?", [call]), tool, inner)
    assert steps(trace) == [("user", "", "Which?"), ("search_notes", '{"of": "ferns"}', "two notes")]


def test_what_a_person_would_have_had_the_output_be_is_for_evaluators_alone() -> None:
    better = {"dataType": "CORRECTION", "name": "output", "value": 0, "source": "ANNOTATION"}
    better["longStringValue"] = "An ostrich fern."
    record = {**langfuse_trace("lf-1", better)}
    trace, note = parse(record)
    assert note == EvaluatorNote(trace.id, "expected", "An ostrich fern.")
    assert "scores" not in trace.meta
    record["trace"] = {**record["trace"], "scores": [], "corrections": [better]}
    assert parse(record) == [trace, note]


def test_an_observation_of_no_type_is_left_out() -> None:
    odd = {**observation("chat", "GENERATION", 1, "Hi", "Hello"), "type": ["GENERATION"]}
    trace = run(odd, observation("chat", "GENERATION", 2, "Go on", "Yes"))
    assert steps(trace) == [("user", "", "Go on"), ("assistant", "", "Yes")]


@pytest.mark.corpora
def test_traces_of_eighteen_frameworks(corpora: Path) -> None:
    loaded = ingest.load([corpora / "langfuse"], corpus="corpus")
    assert len(loaded.files) == len(loaded.traces) == 18 and loaded.rejected == ()
    assert len({trace.external_id for trace in loaded.traces}) == 17, "one trace was downloaded twice"
    assert sorted((one.status, one.origin) for one in loaded.outcomes) == [("fail", "judge"), ("pass", "judge")]
    for trace in loaded.traces:
        words = [(span.role, span.output) for span in trace.spans if span.kind == "message"]
        assert len(words) == len(set(words)), "a history is told once"
        assert trace.task and trace.model and all(span.started_at for span in trace.spans)
        assert not any(span.kind == "tool_result" for span in trace.spans)
    calls = {trace.meta["name"]: [span for span in trace.spans if span.kind == "tool_call"] for trace in loaded.traces}
    assert {name.split()[0]: len(found) for name, found in calls.items() if found} == {
        **{"Agent.run": 1, "LangGraph": 1, "joke-generator": 4, "invoke_agent": 1, "invocation": 1},
        **{"ai.generateText": 1, "agent.f9f77d1a-437f-4ba6-890e-b592a50cbd21": 2, "Agent": 1},
        **{"claude.conversation": 2},
    }
    assert sum(not call.output for found in calls.values() for call in found) == 1, "the tool that ends a run"
    reasoned = next(trace for trace in loaded.traces if "langgraph-js" in (trace.source or ""))
    assert (reasoned.meta["input_tokens"], reasoned.meta["output_tokens"]) == ("321", "123"), "as Langfuse shows them"
    assert len(loaded.notes) == 1, "one corrected output, of the trace that was downloaded twice"
