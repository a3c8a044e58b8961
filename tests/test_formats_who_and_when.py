"""The Who&When reader: steps by their place in the history, code with what it gave, the person's finding apart."""

from __future__ import annotations

import io
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from format_samples import who_and_when_record

from refiner import ingest
from refiner.formats.who_and_when import FORMAT
from refiner.ports import Source
from refiner.types import BadRecord, EvaluatorNote, Outcome, Span


def parse(record: dict[str, Any]) -> list[Any]:
    return list(FORMAT.parse(io.BytesIO(json.dumps(record, indent=1).encode()), Source("corpus", "1.json")))


def test_the_golden_sample() -> None:
    trace, stated, note = parse(who_and_when_record("q1"))
    failed = "exitcode: 1 (execution failed)"
    assert trace.spans == (
        Span(0, "system:Fern_Expert", "message", "system", "system", output="You know ferns."),
        Span(1, "0", "message", "Fern_Expert", "assistant", output="Count the ferns. ![a fern]([image png 3 KB])"),
        Span(2, "1", "message", "Fern_Expert", "assistant", output="This counts:\n```python\nprint(ferns)\n```"),
        Span(3, "2", "tool_call", "Computer_terminal", "", "print(ferns)", f"{failed}\nNo such name", failed),
        Span(4, "3", "message", "Checker", "assistant", output="There are none. TERMINATE"),
        Span(5, "4", "tool_result", "Computer_terminal", output="There is no code to run."),
    )
    assert (trace.external_id, trace.task, trace.task_id) == ("q1", "How many ferns?", "q1")
    assert trace.meta == {"mistake_step": "1", "mistake_agent": "Fern_Expert", "level": "1"}
    assert stated == Outcome(trace.id, "fail", feedback="It never defined the ferns.")
    assert note == EvaluatorNote(trace.id, "expected", "3")


def test_hand_made_teams_speak_by_role_and_ask_the_same_questions() -> None:
    said = [{"role": "human", "content": "How many?"}, {"role": "Orchestrator (-> WebSurfer)", "content": "Look it up"}]
    record = who_and_when_record("q1", history=said, is_corrected=False)
    del record["is_correct"], record["system_prompt"]
    trace, stated = parse(record)[:2]
    assert [(span.span_id, span.role, span.name) for span in trace.spans] == [
        ("0", "user", "human"),
        ("1", "assistant", "Orchestrator (-> WebSurfer)"),
    ]
    assert (trace.external_id, trace.task_id, stated.status) == ("q1/hand-crafted", "q1", "fail")


@pytest.mark.parametrize(("verdict", "status"), [(True, "pass"), (False, "fail"), (None, "unknown"), ("no", "unknown")])
def test_only_a_verdict_is_an_outcome(verdict: Any, status: str) -> None:
    (stated,) = [item for item in parse(who_and_when_record("q", is_correct=verdict)) if isinstance(item, Outcome)]
    assert stated.status == status


def test_a_traceback_is_named_by_its_last_line() -> None:
    text = "exitcode: 1 (execution failed)\nTraceback (most recent call last):\n  here\nKeyError: 'fern'\n"
    record = who_and_when_record("q", history=[{"role": "user", "name": "Computer_terminal", "content": text}])
    assert parse(record)[0].spans[1].error == "KeyError: 'fern'"


@pytest.mark.parametrize("history", [None, [], [1], [{"role": "user", "content": " "}]])
def test_a_record_without_a_history_is_refused(history: Any) -> None:
    (bad,) = parse(who_and_when_record("q", history=history))
    assert isinstance(bad, BadRecord) and "`history`" in bad.reason


def test_the_real_failures(corpora: Path) -> None:
    loaded = ingest.load([corpora / "who-and-when"], corpus="corpus")
    assert len({trace.external_id for trace in loaded.traces}) == len(loaded.traces) == 126
    assert Counter(stated.status for stated in loaded.outcomes) == {"fail": 126}
    assert all(stated.feedback for stated in loaded.outcomes)
    for trace in loaded.traces:
        assert trace.meta["mistake_step"] in {span.span_id for span in trace.spans}
