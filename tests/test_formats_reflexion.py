"""Reflexion programming logs and ReAct logs as text: outcomes, what each run was told, nothing of the grader inside."""

from __future__ import annotations

import io
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from format_samples import REACT, lines, reflexion_record

from refiner import ingest
from refiner.formats import react_text, reflexion
from refiner.ports import Source, TraceFormat
from refiner.types import BadRecord, EvaluatorNote, Outcome, Span


def parse(known: TraceFormat, data: bytes) -> list[Any]:
    return list(known.parse(io.BytesIO(data), Source("corpus", "log")))


def test_a_programming_task_that_was_never_solved() -> None:
    trace, stated, note = parse(reflexion.FORMAT, lines(reflexion_record("mbpp_2", False, "Palms.", "Still palms.")))
    assert trace.spans == (
        Span(0, "s0", "message", "user", "user", output="/// Count the ferns of [image png 3 KB]"),
        Span(1, "s1", "message", "reflection", "assistant", output="Palms."),
        Span(2, "s2", "message", "reflection", "assistant", output="Still palms."),
        Span(3, "s3", "message", "solution", "assistant", output="fn ferns() { 3 }"),
    )
    assert (trace.external_id, trace.task_id, trace.meta) == ("log:mbpp_2", "mbpp_2", {"language": "rs"})
    assert stated == Outcome(trace.id, "fail", feedback="Palms.\nStill palms.")
    assert note == EvaluatorNote(trace.id, "expected", "assert_eq!(3, ferns())")


@pytest.mark.parametrize(("solved", "status"), [(True, "pass"), (False, "fail"), (None, "unknown"), ("yes", "unknown")])
def test_only_true_and_false_are_outcomes(solved: Any, status: str) -> None:
    (stated,) = [
        x for x in parse(reflexion.FORMAT, lines(reflexion_record("a", solved, "Hm."))) if isinstance(x, Outcome)
    ]
    assert (stated.status, stated.feedback) == (status, None if status == "pass" else "Hm.")


def test_a_line_without_words_is_refused() -> None:
    (bad,) = parse(reflexion.FORMAT, lines({"name": "a", "is_solved": True}))
    assert isinstance(bad, BadRecord) and "`prompt`" in bad.reason


def test_the_golden_text() -> None:
    first, passed, told, second, failed, named, third, halted = parse(react_text.FORMAT, REACT.encode())
    seen = "Ferns are 3 m tall.\nThey look like [image png 3 KB] this."
    assert first.spans == (
        Span(0, "s0", "message", "user", "user", output="How tall is a fern?"),
        Span(1, "s1", "message", "thought", "assistant", output="I look it up."),
        Span(2, "s2", "tool_call", "Search", "", "fern", seen),
        Span(3, "s3", "message", "thought", "assistant", output="It is 3 m."),
        Span(4, "s4", "tool_call", "Finish", "", "3 m"),
    )
    assert (first.external_id, first.task, first.source) == ("log:trial1-1", "How tall is a fern?", "log:8")
    assert (passed, told) == (Outcome(first.id, "pass"), EvaluatorNote(first.id, "expected", "3 m"))
    noted = "I should have looked at the page."
    assert failed == Outcome(second.id, "fail", feedback=f"Answer is incorrect: expected Ray, got Linnaeus\n{noted}")
    assert named.text == "Ray" and second.external_id == "log:trial1-2"
    assert (third.external_id, third.task) == ("log:trial2-1", second.task)
    assert third.meta == {"trial": "2", "ended": "limit"}
    assert halted == Outcome(third.id, "fail", feedback="Halted without an answer")
    assert [(span.name, span.input, span.output) for span in third.spans[1:]] == [
        (
            "reflections",
            "",
            "You have attempted to answer following question before and failed. Here is what you noted.\n"
            f"Reflections:\n- {noted}",
        ),
        ("thought", "", "I look."),
        ("action", "Look it up", "Invalid action."),
    ]


@pytest.mark.parametrize(
    ("ending", "status"),
    [("Observation 1: Answer is CORRECT", "pass"), ("Observation 1: Answer is INCORRECT", "fail"), ("", "unknown")],
)
def test_without_sections_the_grader_decides(ending: str, status: str) -> None:
    text = f"Question: Who?\nThought 1: I.\nAction 1: Finish[me]\n{ending}\n"
    trace, stated = parse(react_text.FORMAT, text.encode())
    assert stated.status == status
    assert "CORRECT" not in repr(trace)


def test_a_text_about_questions_is_no_log() -> None:
    assert react_text.FORMAT.sniff(b"Question: Who?\nAnswer: me\n") == 0
    assert react_text.FORMAT.sniff(b'{"text": "Question: Who? Thought 1: I Action 1: Go"}') == 0


@pytest.mark.parametrize(
    ("folders", "count", "outcomes"),
    [
        (("programming_runs", "root", "reflexion_mbpp_rs"), 354, (268, 86)),
        (("programming_runs", "root", "reflexion_humaneval_rs_hard50"), 50, (34, 16)),
        (("programming_runs", "root"), 534, (313, 221)),
        (("hotpotqa_runs", "root", "ReAct", "reflexion"), 515, (240, 275)),
        (("hotpotqa_runs", "root", "ReAct", "base"), 102, (33, 69)),
    ],
)
def test_the_real_logs(corpora: Path, folders: tuple[str, ...], count: int, outcomes: tuple[int, int]) -> None:
    loaded = ingest.load([corpora.joinpath("reflexion", *folders)], corpus="corpus")
    assert len({trace.external_id for trace in loaded.traces}) == len(loaded.traces) == count
    found = Counter(stated.status for stated in loaded.outcomes)
    assert (found["pass"], found["fail"]) == outcomes
    assert not any("Answer is CORRECT" in span.output for trace in loaded.traces for span in trace.spans)
