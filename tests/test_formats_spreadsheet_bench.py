"""SpreadsheetBench: transcripts as steps, and the grader's results that lie beside them."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from format_samples import lines, spreadsheet_task

from refiner import ingest
from refiner.formats.spreadsheet_bench import FORMAT
from refiner.ports import Source
from refiner.types import BadRecord, Outcome, Span, Trace

FAILED = "Test case 2: FAIL - Value difference at cell B9: ws_gt has 41,\n                    ws_proc has 40"


def graded(name: str, *cases: int, **more: Any) -> dict[str, Any]:
    soft = sum(cases) / len(cases)
    return {
        "id": name,
        "test_case_results": [*cases],
        "soft_restriction": soft,
        "hard_restriction": int(all(cases)),
        **more,
    }


def folder(root: Path, **files: Any) -> Path:
    root.mkdir(exist_ok=True)
    for name, records in files.items():
        kind = ".jsonl" if name.startswith("conv") else ".json"
        (root / f"{name}{kind}").write_bytes(lines(*records) if kind == ".jsonl" else json.dumps(records).encode())
    return root


def load(root: Path) -> tuple[tuple[Trace, ...], tuple[Outcome, ...]]:
    loaded = ingest.load([root], corpus="corpus")
    return loaded.traces, loaded.outcomes


def test_the_golden_sample() -> None:
    data = lines(spreadsheet_task("13-1"))
    (trace,) = list(FORMAT.parse(io.BytesIO(data), Source("corpus", "out/conv_single_m.jsonl")))
    missing = "NameError: name 'sheet' is not defined"
    assert trace.spans == (
        Span(
            0,
            "s0",
            "message",
            "user",
            "user",
            output="You write code.\n### instruction\nAdd up column B [image png 3 KB]\n\n### answer_position\nB9",
        ),
        Span(1, "s1", "message", "assistant", "assistant", output="I look.\n```python\nprint(sheet['B'])\n```"),
        Span(
            2,
            "s2",
            "tool_call",
            "python",
            "",
            "print(sheet['B'])",
            f"Traceback (most recent call last)\n{missing}",
            missing,
        ),
        Span(3, "s3", "message", "assistant", "assistant", output="```python\nsheet = load()\n```"),
        Span(4, "s4", "tool_call", "python", "", "sheet = load()"),
    )
    assert (trace.external_id, trace.task_id) == ("conv_single_m:13-1", "13-1")
    assert trace.task == "Add up column B [image png 3 KB]"
    assert trace.meta == {"instruction_type": "Cell-Level Manipulation"}


def test_the_results_beside_the_transcripts_are_the_outcomes(tmp_path: Path) -> None:
    tasks = [spreadsheet_task(str(number)) for number in range(5)]
    results = [
        graded("0", 1, 1, 1),
        graded("1", 1, 0, 0, messages=["Test case 1: PASS - ", FAILED, "Test case 3: FAIL - File not exist"]),
        graded("2", 1, 0, 0),
        {"id": "3", "result": 0, "success": False, "error_msg": "File not exist"},
    ]
    root = folder(tmp_path / "a", conv_single_m=tasks, eval_single_m=results, eval_other=[graded("0", 0)])
    traces, outcomes = load(root)
    named = {trace.id: trace.task_id for trace in traces}
    assert [(named[one.trace_id], one.status, one.score, one.feedback) for one in outcomes] == [
        ("0", "pass", 1.0, None),
        ("1", "fail", 1 / 3, "Test case 2: FAIL - Value difference at cell B9: ws_gt has 41, ws_proc has 40"),
        ("2", "fail", 1 / 3, "Test cases failed: 2, 3 of 3"),
        ("3", "fail", 0.0, "File not exist"),
    ]
    assert len(traces) == 5


def test_one_of_each_go_together_and_more_are_not_guessed(tmp_path: Path) -> None:
    alone = folder(tmp_path / "a", conv_m=[spreadsheet_task("0")], eval_x=[graded("0", 1)])
    assert [one.status for one in load(alone)[1]] == ["pass"]
    several = folder(alone, conv_n=[spreadsheet_task("0")])
    loaded = ingest.load([several], corpus="corpus")
    assert not loaded.outcomes and len(loaded.traces) == 2
    assert all("eval_x.json" in bad.reason for bad in loaded.rejected) and len(loaded.rejected) == 2


@pytest.mark.parametrize(
    ("hard", "status"), [(1, "pass"), (0, "fail"), (None, "unknown"), ("yes", "unknown"), (True, "pass")]
)
def test_all_test_cases_decide(tmp_path: Path, hard: Any, status: str) -> None:
    result = {"id": "0", "hard_restriction": hard}
    (outcome,) = load(folder(tmp_path / "a", conv_m=[spreadsheet_task("0")], eval_m=[result]))[1]
    assert outcome.status == status


def test_a_task_that_was_never_tried_is_refused_and_a_second_try_is_another_trace() -> None:
    data = lines(spreadsheet_task("1", conversation=""), spreadsheet_task("2"), spreadsheet_task("2", solution="y"))
    bad, first, second = list(FORMAT.parse(io.BytesIO(data), Source("corpus", "conv_m.jsonl")))
    assert isinstance(bad, BadRecord) and "empty" in bad.reason
    assert (first.external_id, second.external_id) == ("conv_m:2", "conv_m:2#2")
