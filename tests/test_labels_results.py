"""Outcomes from evaluations: lists of instance ids, reports an instance, CTRF and JUnit test reports, and folders."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from corpus import refiner
from format_samples import lines

from refiner import labels, registry
from refiner.errors import LabelError
from refiner.feedback import classes

JUNIT = """<?xml version="1.0" encoding="utf-8"?>
<testsuites><testsuite name="s" tests="4">
 <testcase classname="tests.test_totals" name="test_sum" time="0.1"/>
 <testcase classname="tests.test_totals" name="test_mean"><failure message="assert 3 == 4">long
 trace</failure></testcase>
 <testcase classname="tests.test_io" name="test_open"><error>
   OSError: gone</error></testcase>
 <testcase classname="tests.test_io" name="test_skip"><skipped/></testcase>
</testsuite></testsuites>"""


def put(path: Path, value: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(value if isinstance(value, str) else json.dumps(value))
    return path


def words(loaded: labels.LabelFile) -> dict[str, str]:
    return {name: status for name, (status, _) in loaded.statuses.items()}


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        (
            {
                "total_instances": 5,
                "resolved_ids": ["a"],
                "unresolved_ids": ["b"],
                "empty_patch_ids": ["c"],
                "error_ids": ["d"],
                "incomplete_ids": ["e", "a"],
                "completed_ids": ["a", "b"],
                "submitted_ids": ["a", "b", "c", "d", "e"],
            },
            {"a": "pass", "b": "fail", "c": "fail", "d": "infrastructure", "e": "unknown"},
        ),
        (
            {"resolved": ["a", "b"], "unresolved": [7], "error": ["d"], "resolved_instances": 2},
            {"a": "pass", "b": "pass", "7": "fail", "d": "infrastructure"},
        ),
        (
            {"resolved": ["a"], "with_logs": ["a", "b", "c"], "install_fail": ["b"], "reset_failed": [], "no_logs": []},
            {"a": "pass", "b": "infrastructure", "c": "fail"},
        ),
        (
            {"generated": ["a", "b", "c"], "applied": ["a", "b"], "no_generation": ["c"], "resolved": ["a"]},
            {"a": "pass", "b": "fail", "c": "fail"},
        ),
    ],
    ids=["names ending in _ids", "plain names", "not set up", "without a list of the unresolved"],
)
def test_lists_of_ids_say_how_each_instance_ended(tmp_path: Path, record: dict[str, Any], expected: Any) -> None:
    assert words(labels.load_rewards(put(tmp_path / "results.json", record))) == expected


def test_an_id_that_is_resolved_and_unresolved_is_refused(tmp_path: Path) -> None:
    path = put(tmp_path / "results.json", {"resolved_ids": ["a"], "unresolved_ids": ["a"]})
    with pytest.raises(LabelError, match='"a" is given twice with different outcomes'):
        labels.load_rewards(path)


def test_a_report_an_instance_names_the_failing_tests(tmp_path: Path) -> None:
    tests = {
        "FAIL_TO_PASS": {"success": ["test_new"], "failure": ["test_fix[1-a]"]},
        "PASS_TO_PASS": {"success": [], "failure": ["tests/test_old.py::test_kept"]},
    }
    record = {
        "one": {"patch_exists": True, "patch_successfully_applied": True, "resolved": True, "tests_status": {}},
        "two": {"patch_exists": True, "patch_successfully_applied": True, "resolved": False, "tests_status": tests},
        "three": {"patch_exists": False, "resolved": False},
        "four": {"patch_exists": True, "patch_successfully_applied": False, "resolved": False},
        "five": {"patch_exists": True, "resolved": None},
    }
    loaded = labels.load_rewards(put(tmp_path / "report.json", record))
    assert words(loaded) == {"one": "pass", "two": "fail", "three": "fail", "four": "fail", "five": "unknown"}
    assert loaded.feedback == {
        "two": "Failing test: test_fix[1-a]\nFailing test: tests/test_old.py::test_kept",
        "three": "No patch was given.",
        "four": "The patch could not be applied.",
    }


def test_a_report_an_instance_may_say_no_more_than_whether_it_is_resolved(tmp_path: Path) -> None:
    path = put(tmp_path / "report.json", {"one": {"resolved": True}, "two": {"resolved": False}})
    assert words(labels.load_rewards(path)) == {"one": "pass", "two": "fail"}
    lock = {"left-pad": {"version": "1.0.0", "resolved": "https://example.com/left-pad.tgz"}}
    assert not labels.looks_like_labels(json.dumps(lock).encode())


PREDICTION = {"instance_id": "r1", "model_name_or_path": "m", "model_patch": "diff --git"}
SPANS = [{"name": "look", "output_text": "x"}]


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("preds.json", {"r1": PREDICTION}, "predictions for SWE-bench"),
        ("preds.json", [PREDICTION], "give the report of the grader as outcomes"),
        ("preds.jsonl", lines(PREDICTION).decode(), "yet to be graded, neither runs nor outcomes"),
        ("all.json", {"trace_id": "r2", "spans": SPANS}, "it reads like traces (canonical): give it as traces"),
        ("labels.csv.gz", "\x1f\x08", "something else; wanted is"),
    ],
)
def test_a_wrong_file_of_outcomes_is_called_what_it_is(tmp_path: Path, name: str, content: Any, says: str) -> None:
    traces = put(tmp_path / "traces.jsonl", lines({"trace_id": "r1", "spans": SPANS}).decode())
    wrong = put(tmp_path / name, content)
    said = refiner("convert", traces, "--rewards", wrong, "--out", tmp_path / "out")
    assert said.code == 1 and says in said.err and str(wrong) in said.err
    if name.startswith("preds"):
        both = " ".join(refiner("inspect", tmp_path).out.split())
        assert f"Not read: {name}: is a file of predictions for SWE-bench" in both and "Rejected" not in both


def test_rows_of_instances_are_labels(tmp_path: Path) -> None:
    path = put(
        tmp_path / "rows.jsonl",
        lines({"instance_id": "a", "resolved": True}, {"instance_id": "b", "resolved": None}).decode(),
    )
    assert words(labels.load_rewards(path)) == {"a": "pass", "b": "unknown"}


def ctrf(*tests: tuple[str, str, str]) -> dict[str, Any]:
    listed = [{"name": name, "status": status, "duration": 1, "message": said} for name, status, said in tests]
    return {"results": {"tool": {"name": "pytest"}, "summary": {"tests": len(tests)}, "tests": listed}}


@pytest.mark.parametrize("place", ["run-1.json", "run-1/ctrf.json", "run-1/verifier/ctrf.json"])
def test_a_test_report_is_the_outcome_of_the_trace_it_is_named_after(tmp_path: Path, place: str) -> None:
    report = ctrf(
        ("test_a", "passed", ""), ("test_b", "failed", "AssertionError: assert 3 == 4\nmore"), ("c", "skipped", "")
    )
    loaded = labels.load_rewards(put(tmp_path / place, report), names={"run-1", "run-2"})
    assert words(loaded) == {"run-1": "fail"}
    assert loaded.feedback["run-1"].splitlines() == ["Failing test: test_b", "AssertionError: assert 3 == 4"]
    assert classes(loaded.feedback["run-1"])[0] == "failing test_b"


@pytest.mark.parametrize(
    ("tests", "status"), [([("a", "passed", "")], "pass"), ([("a", "skipped", "")], "unknown"), ([], "unknown")]
)
def test_a_report_without_failures_passed_unless_nothing_ran(tmp_path: Path, tests: Any, status: str) -> None:
    loaded = labels.load_rewards(put(tmp_path / "run-1.json", ctrf(*tests)))
    assert words(loaded) == {"run-1": status} and loaded.feedback == {}


def test_tests_named_like_traces_are_about_those_traces(tmp_path: Path) -> None:
    report = ctrf(("run-1", "passed", ""), ("run-2", "failed", "Wrong total"), ("setup", "failed", "no"))
    loaded = labels.load_rewards(put(tmp_path / "any.json", report), names={"run-1", "run-2"})
    assert words(loaded) == {"run-1": "pass", "run-2": "fail"} and loaded.feedback == {"run-2": "Wrong total"}


def test_junit_failures_and_errors_are_feedback(tmp_path: Path) -> None:
    loaded = labels.load_rewards(put(tmp_path / "TEST-run-1.xml", JUNIT), names={"run-1"})
    assert words(loaded) == {"run-1": "fail"}
    said = ["Failing test: test_mean", "Failing test: test_open", "assert 3 == 4", "OSError: gone"]
    assert loaded.feedback["run-1"].splitlines() == said
    by_class = labels.load_rewards(tmp_path / "TEST-run-1.xml", names={"tests.test_totals.test_mean"})
    assert words(by_class) == {"tests.test_totals.test_mean": "fail"}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            '<?xml version="1.0"?><!DOCTYPE t [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><testsuite>&b;</testsuite>',
            "entities",
        ),
        ('<!DOCTYPE t [<!ENTITY x SYSTEM "file:///etc/hostname">]><testsuite>&x;</testsuite>', "document type"),
        ("<testsuite><testcase></testsuite>", "not XML"),
        ("<testsuite></testsuite>\x00", "not XML"),
        ('{"results": {"tool": {}, "tests": [', "no whole JSON"),
    ],
)
def test_a_hostile_or_broken_report_is_refused(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(LabelError, match=says):
        labels.load_rewards(put(tmp_path / "report.xml", text))


def test_a_folder_of_reports_is_read_as_one(tmp_path: Path) -> None:
    put(tmp_path / "run-1/junit.xml", JUNIT)
    put(tmp_path / "run-2/junit.xml", "<testsuite><testcase name='a'/></testsuite>")
    put(tmp_path / "more.csv", "trace_id,outcome\nrun-3,pass\n")
    put(tmp_path / "notes.txt", "nothing")
    names = {"run-1", "run-2", "run-3"}
    assert words(labels.load_rewards(tmp_path, names=names)) == {"run-1": "fail", "run-2": "pass", "run-3": "pass"}
    put(tmp_path / "zzz.csv", "trace_id,outcome\nrun-3,fail\n")
    with pytest.raises(LabelError, match=r'"run-3" is given twice .* in more\.csv and in zzz\.csv'):
        labels.load_rewards(tmp_path, names=names)


def test_a_label_may_name_the_task_of_the_only_trace_that_tried_it() -> None:
    given = labels.LabelFile({"t1": ("pass", None), "t2": ("fail", None), "c": ("fail", None)})
    tasks = {"a": "t1", "b": "t2", "b2": "t2", "c": "t3"}
    met = labels.attach("c", tasks, given, tasks=tasks)
    assert [(one.trace_id, one.status) for one in met.outcomes] == [
        (labels_trace("a"), "pass"),
        (labels_trace("c"), "fail"),
    ]
    assert met.report.ambiguous == ("t2",) and met.report.without_trace == ()


def labels_trace(name: str) -> str:
    from refiner.types import trace_key

    return trace_key("c", name)


@pytest.mark.parametrize("value", [JUNIT, ctrf(("a", "passed", "")), {"resolved_ids": [], "unresolved_ids": ["a"]}])
def test_results_are_recognised_as_labels_and_as_no_traces(value: Any) -> None:
    head = (value if isinstance(value, str) else json.dumps(value)).encode()
    assert labels.looks_like_labels(head)
    assert registry.detect(head) is None and registry.recognise(head) is None


def test_the_command_takes_a_list_of_resolved_ids(tmp_path: Path) -> None:
    spans = [{"name": "look", "input_text": "{}", "output_text": "x"}]
    given = [{"trace_id": f"run-{n}", "task_id": f"task-{n}", "spans": spans} for n in (1, 2)]
    put(tmp_path / "traces.jsonl", lines(*given).decode())
    put(tmp_path / "results.json", {"resolved_ids": ["task-1"], "unresolved_ids": ["task-2"]})
    arguments = ("--out", tmp_path / "out", "--rewards", tmp_path / "results.json")
    assert refiner("convert", tmp_path / "traces.jsonl", *arguments).code == 0
    assert json.loads((tmp_path / "out/binary_rewards.json").read_text()) == {"run-1": True, "run-2": False}
