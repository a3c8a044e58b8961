"""One OpenTelemetry trace spread over files: one run, whatever the order of its parts and whenever they come."""

from __future__ import annotations

import io
import itertools
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from format_samples import envelope, lines, otel_run, otlp
from rooms import opened, upload

from refiner.convert import convert
from refiner.formats.otel import FORMAT
from refiner.parts import together
from refiner.ports import Source
from refiner.types import Trace
from storage import AddReport, Store

SPANS = otel_run("ab" * 16)


def read(*numbers: int) -> Trace:
    """The trace that a file with these spans holds."""
    data = lines(envelope(*(SPANS[number] for number in numbers)))
    return next(item for item in FORMAT.parse(io.BytesIO(data), Source("corpus", "a.jsonl")) if isinstance(item, Trace))


WHOLE = read(0, 1, 2, 3)
PARTS = (read(0), read(1), read(2, 3))


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_parts_in_any_order_of_uploads_make_the_whole_and_hold_nothing_new_when_they_come_again(
    tmp_path: Path, order: tuple[int, ...]
) -> None:
    with Store.open(tmp_path / "r.duckdb") as store:
        reports = [store.add_traces("corpus", [PARTS[number]]) for number in order]
        assert reports == [AddReport(added=1), AddReport(grown=1), AddReport(grown=1)]
        (held,) = store.traces("corpus")
        assert (held.spans, held.task, held.model) == (WHOLE.spans, WHOLE.task, WHOLE.model)
        assert held.meta["input_tokens"] == "14"
        assert store.add_traces("corpus", list(PARTS)) == AddReport(duplicates=3)
        assert store.add_traces("corpus", [WHOLE]) == AddReport(duplicates=1)


def test_the_app_takes_files_of_one_trace_as_one_run(tmp_path: Path) -> None:
    desk = opened(tmp_path / "r.duckdb")
    desk.create_corpus("own")
    files = [
        upload(f"{name}.jsonl", lines(envelope(SPANS[number]))) for name, number in zip("abc", (0, 2, 1), strict=True)
    ]
    report = desk.ingest("own", files)
    assert (report.accepted, report.grown, report.conflicts, report.rejected) == (1, 2, (), ())
    (row,) = desk.label_rows("own")
    assert desk.trace(row.trace_id).trace.spans == WHOLE.spans


Said = tuple[str, str]
TALK = (("user", "Plant it"), ("assistant", "Where?"), ("user", "Go on"), ("assistant", "Done"), ("user", "Go on"))
TALK += (("assistant", "Done"), ("user", "Go on"), ("assistant", "That was all"))


def chat(start: int, heard: Sequence[Said], said: str, system: str = "Be brief") -> dict[str, Any]:
    def message(role: str, text: str) -> dict[str, Any]:
        return {"role": role, "parts": [{"type": "text", "content": text}]}

    told = {
        "gen_ai.operation.name": "chat",
        "gen_ai.input.messages": [message(*one) for one in (("system", system), *heard)],
        "gen_ai.output.messages": [message("assistant", said)],
    }
    return otlp("chat", "", start, told)


def held(*spans: dict[str, Any]) -> Trace:
    data = lines(envelope(*spans))
    return next(item for item in FORMAT.parse(io.BytesIO(data), Source("corpus", "a.jsonl")) if isinstance(item, Trace))


def talked(trace: Trace | None) -> list[Said]:
    return [] if trace is None else [(span.role, span.output) for span in trace.spans]


@pytest.mark.parametrize("known", [len(TALK), 2, 1], ids=["the whole history", "the last turn", "the last words"])
@pytest.mark.parametrize("order", list(itertools.permutations(range(4))))
def test_what_a_user_says_again_is_told_again_whatever_a_model_was_given_of_the_history(
    known: int, order: tuple[int, ...]
) -> None:
    is_told_by_its_reply = known == 2  # what is given of a history does not tell equal replies apart
    talk = [(role, "Done too" if is_told_by_its_reply and at == 5 else text) for at, (role, text) in enumerate(TALK)]
    calls = [chat(place, talk[max(0, place - known) : place], talk[place][1]) for place in range(1, len(talk), 2)]
    wanted = [("system", "Be brief"), *talk]
    assert talked(held(*calls)) == wanted, "in one file"
    parts = [held(calls[number]) for number in order]
    joined = parts[0]
    for part in [*parts[1:], *parts, held(*calls)]:
        joined = together(joined, part) or joined
    assert talked(joined) == wanted


def test_one_request_that_a_router_was_asked_about_too_is_told_once() -> None:
    calls = [chat(1, TALK[:1], "hard", "Is it hard?"), chat(3, TALK[:1], "Where?")]
    wanted = [("system", "Is it hard?"), TALK[0], ("assistant", "hard"), ("system", "Be brief"), TALK[1]]
    assert talked(held(*calls)) == wanted
    assert talked(together(held(calls[1]), held(calls[0]))) == wanted


def test_a_prompt_that_failed_or_ended_in_a_call_was_not_answered() -> None:
    failed = {**chat(1, TALK[:1], ""), "status": {"code": 2, "message": "overloaded"}}
    assert [name for name, _ in talked(held(failed, chat(3, TALK[:1], "Where?")))] == [
        "system",
        "user",
        "",
        "assistant",
    ]


def test_a_tool_that_recorded_its_call_under_an_id_of_its_own_answers_the_call_that_was_told() -> None:
    told = replace(PARTS[2], spans=PARTS[2].spans[:2])
    ran = replace(PARTS[1], spans=(replace(PARTS[1].spans[0], span_id="x9"),))
    both, turned = together(told, ran), together(ran, told)
    assert both is not None and both == turned
    assert [(span.span_id, span.output) for span in both.spans] == [("s0", WHOLE.spans[0].output), ("c1", "words")]
    again = together(both, ran)
    assert again is not None and again.revision == both.revision


def test_steps_without_times_and_other_formats_cannot_be_put_in_order(tmp_path: Path) -> None:
    timeless = replace(PARTS[1], spans=tuple(replace(span, started_at=None) for span in PARTS[1].spans))
    assert together(PARTS[2], timeless) is None
    assert together(*(replace(part, format="chat") for part in PARTS[:2])) is None
    with Store.open(tmp_path / "r.duckdb") as store:
        assert len(store.add_traces("corpus", [PARTS[2], timeless]).conflicts) == 1


def test_parts_that_overlap_count_their_tokens_once() -> None:
    joined = together(read(2, 1), read(2, 0))
    assert joined is not None and (joined.spans, joined.meta["input_tokens"]) == (WHOLE.spans, "14")


def test_convert_writes_the_whole_run(tmp_path: Path) -> None:
    for name, number in zip("abc", (1, 0, 2), strict=True):
        (tmp_path / f"{name}.jsonl").write_bytes(lines(envelope(SPANS[number])))
    done = convert(sorted(tmp_path.glob("*.jsonl")), tmp_path / "out")
    (record,) = map(json.loads, (tmp_path / "out" / "traces.jsonl").read_text().splitlines())
    assert (done.traces, done.conflicts) == (1, ())
    assert [span["output_text"] for span in record["spans"]] == [span.output for span in WHOLE.spans]
