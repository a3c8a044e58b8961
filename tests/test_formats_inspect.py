"""Inspect logs: both forms, epochs, scores, the message pool, attachments, logs that were stopped."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from format_samples import inspect_header, inspect_json, inspect_sample, inspect_zip

from refiner import ingest
from refiner.archives import zipfile
from refiner.errors import FormatError
from refiner.formats.inspect_ai import FORMAT
from refiner.ports import Source
from refiner.types import BadRecord, EvaluatorNote, Outcome, Span, Trace


def parse(data: bytes, task_key: str | None = None) -> list[Any]:
    return list(FORMAT.parse(io.BytesIO(data), Source("corpus", "log.eval", task_key)))


def log(*samples: dict[str, Any], status: str = "success", version: int = 2) -> bytes:
    return json.dumps({**inspect_header(status, version), "samples": list(samples)}).encode()


def outcome(sample: dict[str, Any], status: str = "success") -> Outcome | None:
    found = [item for item in parse(log(sample, status=status)) if isinstance(item, Outcome)]
    return found[0] if found else None


def test_the_golden_sample() -> None:
    trace, stated, *notes = parse(inspect_zip(inspect_sample("a", 2, "C")))
    assert trace.spans == (
        Span(0, "m1", "message", "user", "user", output="Count\n[image png 3 KB]"),
        Span(1, "m2", "message", "assistant", "assistant", output="Looking."),
        Span(2, "c1", "tool_call", "bash", "", '{"cmd": "ls"}', "", "too slow"),
        Span(3, "m4", "message", "assistant", "assistant", output="Three."),
    )
    assert (trace.external_id, trace.task, trace.task_id, trace.model) == (
        "r1/a/2",
        "Count the files",
        "count/a",
        "model-1",
    )
    facts = {"task": "count", "epoch": "2", "run_id": "r1", "input_tokens": "7", "output_tokens": "2"}
    assert trace.meta == {**facts, "scores": '{"match": "C"}'}
    assert stated == Outcome(trace.id, "pass", score=1.0, feedback="Compared with 3.")
    assert notes == [EvaluatorNote(trace.id, "expected", text) for text in ("3", "three")]


def test_tasks_and_models_of_one_run_are_other_traces() -> None:
    header = inspect_header()
    logs = [
        {**header, "eval": {**header["eval"], "task_id": task, "model": model}, "samples": [inspect_sample(1, 1, "C")]}
        for task, model in (("t1", "model-1"), ("t2", "model-1"), ("t3", "model-2"))
    ]
    found = [item for one in logs for item in parse(json.dumps(one).encode()) if isinstance(item, Trace)]
    assert [trace.external_id for trace in found] == ["r1/t1/1/1", "r1/t2/1/1", "r1/t3/1/1"]


def test_both_forms_of_a_log_say_the_same() -> None:
    samples = [inspect_sample(1, 1, "C"), inspect_sample(1, 2, "I")]
    forms = [parse(inspect_zip(*samples)), parse(inspect_json())]
    plain = [[(type(item), getattr(item, "key", "")) for item in items] for items in forms]
    assert plain[0] == plain[1]
    assert [item.external_id for item in forms[0] if isinstance(item, Trace)] == ["r1/1/1", "r1/1/2"]
    assert FORMAT.sniff(inspect_zip(*samples)) == FORMAT.sniff(inspect_json()) == 1.0


def test_archives_packed_with_zstandard_say_the_same() -> None:
    sample = inspect_sample(1, 1, "C")
    packed = inspect_zip(sample, how=zipfile.ZIP_ZSTANDARD)
    assert parse(packed) == parse(inspect_zip(sample)) and FORMAT.sniff(packed) == 1.0
    start = packed.index(b"samples/1_epoch_1.json") + 30
    items = parse(packed[:start] + b"\x00" * 40 + packed[start + 40 :])
    assert isinstance(items[0], BadRecord) and "samples/1_epoch_1.json: cannot be unpacked" in items[0].reason


def test_a_uuid_names_the_trace() -> None:
    assert parse(log(inspect_sample(1, 1, "C", uuid="u-1")))[0].external_id == "u-1"


@pytest.mark.parametrize(
    ("value", "status", "score"),
    [
        ("C", "pass", 1.0),
        ("I", "fail", 0.0),
        ("P", "fail", 0.5),
        ("N", "fail", 0.0),
        (True, "pass", 1.0),
        (False, "fail", 0.0),
        (1, "pass", 1.0),
        (1.0, "pass", 1.0),
        (0.7, "fail", 0.7),
        (float("nan"), "unknown", None),
        (7, "unknown", None),
        (-1, "unknown", None),
        ("great", "unknown", None),
        ("1", "pass", 1.0),
        (" 0.5", "fail", 0.5),
        ("7", "unknown", None),
        ("yes", "pass", 1.0),
        ("False", "fail", 0.0),
        ({"a": 1}, "unknown", None),
        (["C"], "unknown", None),
        (None, "unknown", None),
    ],
)
def test_scores(value: Any, status: str, score: float | None) -> None:
    stated = outcome(inspect_sample(1, 1, value))
    assert stated is not None and (stated.status, stated.score) == (status, score)


def test_the_first_of_several_scorers_counts_and_all_are_kept() -> None:
    sample = inspect_sample(1, 1, "I")
    sample["scores"]["judge"] = {"value": 1.0, "explanation": "fine"}
    trace, stated = parse(log(sample))[:2]
    assert (stated.status, stated.feedback) == ("fail", "Compared with 3.")
    assert json.loads(trace.meta["scores"]) == {"match": "I", "judge": 1.0}


@pytest.mark.parametrize("explanation", ["Three.", " Three.\n", "attachment://said", "Three", "Compared with 3."])
def test_a_reply_given_as_its_own_explanation_is_no_feedback(explanation: str) -> None:
    reply = {
        "role": "assistant",
        "content": [{"type": "reasoning", "reasoning": "hm"}, {"type": "text", "text": "Three."}],
    }
    sample = inspect_sample(1, 1, "I", output={"choices": [{"message": reply}]}, attachments={"said": "Three."})
    sample["scores"]["match"]["explanation"] = explanation
    stated = outcome(sample)
    assert stated is not None and stated.status == "fail"
    assert stated.feedback == ("Compared with 3." if "Compared" in explanation else None)


def test_events_and_attachments_in_a_transcript_are_read_like_those_of_later_logs() -> None:
    events = [{"event": "tool", "id": "c1", "timestamp": "2026-01-31T12:00:00Z", "completed": "2026-01-31T12:00:09Z"}]
    later = inspect_sample(1, 1, "C", events=events)
    early = {key: value for key, value in later.items() if key not in ("events", "attachments")}
    early["transcript"] = {"events": events, "content": later["attachments"]}
    found = [[item.spans for item in parse(log(one)) if isinstance(item, Trace)] for one in (early, later)]
    assert found[0] == found[1] and found[0][0][2].ended_at == "2026-01-31T12:00:09Z"


def test_the_first_version_had_one_score() -> None:
    sample = inspect_sample(1, 1, "I")
    sample["score"] = {"value": "C"}
    del sample["scores"]
    stated = outcome(sample)
    assert stated is not None and stated.status == "pass"


def test_a_sample_that_broke_is_infrastructure() -> None:
    sample = inspect_sample(1, 1, "I", error={"message": "Docker is gone\nfor good", "traceback": "..."})
    trace, stated = parse(log(sample))[:2]
    assert (stated.status, stated.feedback) == ("infrastructure", None)
    assert (trace.spans[-1].kind, trace.spans[-1].error) == ("event", "Docker is gone")


@pytest.mark.parametrize(
    ("status", "expected"),
    [("cancelled", "infrastructure"), ("error", "infrastructure"), ("started", None), ("success", None)],
)
def test_samples_without_a_score_by_how_the_log_ended(status: str, expected: str | None) -> None:
    sample = inspect_sample(1, 1, "C")
    del sample["scores"]
    stated = outcome(sample, status)
    assert (stated.status if stated else None) == expected
    scored = outcome(inspect_sample(1, 1, "C"), status)
    assert scored is not None and scored.status == "pass"


def test_a_running_log_is_read_from_its_journal() -> None:
    items = parse(inspect_zip(inspect_sample(1, 1, "C"), running=True))
    assert (items[0].external_id, items[0].model) == ("r1/1/1", "model-1")


def test_an_agent_stopped_at_a_limit_says_so() -> None:
    trace = parse(log(inspect_sample(1, 1, "I", limit={"type": "message", "limit": 3})))[0]
    assert trace.meta["ended"] == "limit"


@pytest.mark.parametrize("references", [[[0, 1], [2, 3]], [0, 2]])
@pytest.mark.parametrize("version", [3, 4])
def test_a_dialogue_that_lies_in_the_message_pool_is_put_together(version: int, references: Any) -> None:
    pool = [{"role": "user", "content": text} for text in ("one", "two", "three")]
    reply = {"message": {"role": "assistant", "content": "four"}}
    event = {"event": "model", "input": [], "input_refs": references, "output": {"choices": [reply]}}
    sample = {"id": 1, "epoch": 1, "input": "go", "messages": [], "message_pool": pool, "events": [event]}
    trace = parse(log(sample, version=version))[0]
    assert [span.output for span in trace.spans] == ["one", "three", "four"]


def test_times_come_from_the_events() -> None:
    stamps = {"timestamp": "2026-01-31T13:00:00+01:00", "completed": "2026-01-31T12:00:05Z"}
    reply = {"choices": [{"message": {"id": "m2", "role": "assistant"}}]}
    events = [{"event": "model", "output": reply, **stamps}, {"event": "tool", "id": "c1", **stamps}]
    spans = parse(log(inspect_sample(1, 1, "C", events=events)))[0].spans
    assert (spans[1].started_at, spans[1].ended_at) == ("2026-01-31T12:00:00Z", None)
    assert (spans[2].started_at, spans[2].ended_at) == ("2026-01-31T12:00:00Z", "2026-01-31T12:00:05Z")


def test_an_observation_without_its_call_keeps_the_name_of_the_tool() -> None:
    alone = {"role": "tool", "tool_call_id": "b7", "function": "bash", "content": "a.py"}
    (span,) = parse(log({"id": 1, "epoch": 1, "input": "go", "messages": [alone]}))[0].spans
    assert (span.kind, span.name, span.output) == ("tool_result", "bash", "a.py")


def test_replies_without_ids_are_found_by_what_they_say_in_their_order() -> None:
    said = ["Looking.", "attachment://aa", "Looking."]
    asked = {"role": "user", "content": "Count"}
    messages = [
        asked,
        *({"role": "assistant", "content": text} for text in said),
        {"role": "assistant", "content": "x"},
    ]
    events = [
        {"event": "model", "timestamp": f"2026-01-31T12:00:0{at}Z", "output": {"choices": [{"message": reply}]}}
        for at, reply in enumerate({"role": "assistant", "content": text} for text in said)
    ]
    sample = {"id": 1, "epoch": 1, "input": "go", "messages": messages, "events": events, "attachments": {"aa": "Long"}}
    spans = parse(log(sample))[0].spans
    assert [(span.output, (span.started_at or "")[-3:]) for span in spans] == [
        ("Count", ""),
        ("Looking.", "00Z"),
        ("Long", "01Z"),
        ("Looking.", "02Z"),
        ("x", ""),
    ]


def test_tokens_written_to_the_cache_are_counted_apart() -> None:
    usage = {"model-1": {"input_tokens": 7, "input_tokens_cache_write": 30, "input_tokens_cache_read": 20}}
    meta = parse(log(inspect_sample(1, 1, "C", model_usage=usage)))[0].meta
    assert (meta["input_tokens"], meta["cached_tokens"], meta["cache_write_tokens"]) == ("7", "20", "30")


def test_metadata_of_a_sample_may_hold_the_answer_and_is_left_out() -> None:
    assert "gold" not in repr(parse(inspect_json()))


def test_an_input_of_messages_gives_its_request() -> None:
    given = [{"role": "system", "content": "Rules"}, {"role": "user", "content": "Count"}]
    assert parse(log(inspect_sample(1, 1, "C") | {"input": given}))[0].task == "Count"


def test_a_chosen_field_names_the_task() -> None:
    assert parse(inspect_json(), task_key="metadata.hidden")[0].task_id == "gold"


def test_archives_that_cannot_be_read_are_reported() -> None:
    whole = inspect_zip(inspect_sample(1, 1, "C"))
    for data in (whole[:200], b"PK\x03\x04 _journal/", inspect_zip()):
        (bad,) = parse(data)
        assert isinstance(bad, BadRecord) and bad.line == 0
    start = whole.index(b"samples/1_epoch_1.json") + 60
    items = parse(whole[:start] + b"\x00" * 40 + whole[start + 40 :])
    assert isinstance(items[0], BadRecord) and "samples/1_epoch_1.json" in items[0].reason


def test_a_sample_that_is_no_record_is_reported_and_the_others_are_read() -> None:
    bad, trace, *_ = parse(json.dumps({**inspect_header(), "samples": ["?", inspect_sample(1, 1, "C")]}).encode())
    assert isinstance(bad, BadRecord) and bad.reason == "sample 1 is a text, not a record"
    assert isinstance(trace, Trace)


def test_a_log_that_was_cut_off_says_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "run.eval"
    path.write_bytes(inspect_zip(inspect_sample(1, 1, "C"))[:-60])
    with pytest.raises(FormatError) as error:
        ingest.load([path], corpus="corpus")
    assert "not one record can be used; the zip archive is damaged or cut off" in str(error.value)
    assert "copy it again" in str(error.value)


def test_a_log_without_samples_is_reported() -> None:
    (bad,) = parse(log())
    assert isinstance(bad, BadRecord) and bad.reason == "the log holds no samples"


REAL = {
    "docent/log.eval": (15, 9, 6, 0),
    "docent/ctf.json": (2, 1, 1, 0),
    "inspect_ai/analysis/test_logs/2025-05-12T20-28-13-04-00_popularity.json": (3, 2, 1, 0),
    "inspect_ai/analysis/test_logs/2025-05-12T20-28-26-04-00_security-guide.json": (3, 3, 0, 0),
    "inspect_ai/log/test_eval_log/log_streaming.eval": (4, 3, 1, 0),
    "inspect_ai/log/test_eval_log/log_tool_call_error.json": (1, 0, 0, 1),
    "inspect_ai/scorer/logs/2025-02-11T15-17-00-05-00_popularity_dPiJifoWeEQBrfWsAopzWr.eval": (10, 0, 0, 10),
}


@pytest.mark.corpora
@pytest.mark.parametrize("name", sorted(REAL))
def test_real_logs(corpora: Path, name: str) -> None:
    (report,) = ingest.load([corpora / name], corpus="corpus").files
    outcomes = report.outcomes
    assert (report.traces, outcomes["pass"], outcomes["fail"], outcomes["unknown"]) == REAL[name]
    assert (report.format, report.rejected) == ("inspect-ai", ())


@pytest.mark.corpora
def test_all_real_logs(corpora: Path) -> None:
    loaded = ingest.load([corpora / "inspect_ai"], corpus="corpus")
    ours = [report for report in loaded.files if report.format == "inspect-ai"]
    assert (len(ours), sum(report.traces for report in ours)) == (22, 44)
    assert sum(report.outcomes["pass"] for report in ours) == 23
    assert sum(report.outcomes["fail"] for report in ours) == 10
    assert {bad.reason for bad in loaded.rejected} == {"the log holds no samples"} and len(loaded.rejected) == 3
    names = [trace.external_id for trace in loaded.traces]
    assert len(names) - len(set(names)) == 3, "three logs are there twice"


@pytest.mark.corpora
def test_the_real_contest_shows_calls_and_errors(corpora: Path) -> None:
    loaded = ingest.load([corpora / "docent" / "log.eval"], corpus="corpus")
    spans = [span for trace in loaded.traces for span in trace.spans]
    assert sum(span.kind == "tool_call" for span in spans) == 121
    assert all(span.started_at for span in spans if span.kind == "tool_call")
    assert len({trace.task_id for trace in loaded.traces}) == 15
