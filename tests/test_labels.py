"""Label files of every shape and mistake, the join with traces, and which statement counts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from refiner import labels
from refiner.errors import LabelError
from refiner.types import Outcome, trace_key


@pytest.fixture
def written(tmp_path: Path) -> Any:
    def write(text: str | bytes, name: str = "labels.dat") -> Path:
        path = tmp_path / name
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    return write


def statuses(path: Path, **options: Any) -> dict[str, Any]:
    return labels.load_rewards(path, **options).statuses


def test_a_json_map_of_booleans_numbers_and_null(written: Any) -> None:
    path = written('\ufeff{"a": true,\r\n "b": false, "c": 1, "d": 0.4, "e": null}')
    assert statuses(path) == {
        "a": ("pass", None),
        "b": ("fail", None),
        "c": ("pass", 1.0),
        "d": ("fail", 0.4),
        "e": ("unknown", None),
    }


def test_threshold_and_direction(written: Any) -> None:
    path = written('{"a": 0.4, "b": 0.0, "c": true}')
    assert statuses(path, pass_at=0.4)["a"] == ("pass", 0.4)
    lower = statuses(path, pass_at=0.4, lower_is_better=True)
    assert lower == {"a": ("pass", 0.6), "b": ("pass", 1.0), "c": ("pass", None)}
    assert statuses(path, lower_is_better=True)["a"] == ("fail", 0.6)
    assert statuses(path, lower_is_better=True)["b"] == ("pass", 1.0)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", ["empty", "JSON map"]),
        (" \n ", ["empty"]),
        ("{}", ["no outcome"]),
        ("[]", ["a list", "JSON map"]),
        ("[1, 2]", ["a list", "JSON map"]),
        ("true", ["true or false", "JSON map"]),
        ('{"a": true', ["not a JSON map"]),
        ('{"a": true "b": false}', ["line 1", "comma"]),
        ('{\n"ok": true,\n"bad": "pass"\n}', ['"bad"', "line 3", '"pass"', "without quotes"]),
        ('{"a": [1]}', ['"a"', "a list"]),
        ('{"a": {"reward": 1}}', ['"a"', "an object"]),
        ('{"a": NaN}', ['"a"', "NaN"]),
        ('{"a": 1.5}', ['"a"', "1.5", "0 to 1"]),
        ('{"a": -1}', ['"a"', "-1"]),
        ('{"a": 1e999}', ['"a"']),
        (f'{{"a": 1{"0" * 400}}}', ['"a"', "0 to 1"]),
        ('{"a": true,\n"a": false}', ['"a"', "twice", "line 1", "line 2"]),
        ("trace_id,outcome\na,7", ['"a"', "line 2", "7", "divide scores by the highest"]),
        ("trace_id,outcome\na,nan", ['"a"', "line 2"]),
        ("trace_id,outcome\na,pass\na,fail", ['"a"', "line 2", "line 3"]),
        ("trace_id,outcome\na,great\n", ["no outcome", "great"]),
        ("name,value\na,1", ["first line (name, value) has no column that names the trace", "header trace_id,outcome"]),
        ("id;words\na;1", ["no column that names the outcome"]),
        ("only words", ["something else", "header trace_id,outcome"]),
        ('{"id": "a", "words": "x"}\n{"id": "b", "words": "y"}', ["wanted is", '{"trace_id", "outcome"}']),
        ('[{"id": "a", "words": "x"}]', ["line 1: no outcome", "JSON map"]),
        ('{"trace_id": "a", "outcome": 3}\n', ['"a"', "line 1"]),
    ],
)
def test_a_wrong_file_is_an_error_that_says_what_is_wrong(written: Any, text: str, says: list[str]) -> None:
    path = written(text)
    with pytest.raises(LabelError) as caught:
        labels.load_rewards(path)
    assert str(path) in str(caught.value)
    for words in says:
        assert words in str(caught.value)


def test_a_missing_file_and_a_folder_are_errors(tmp_path: Path) -> None:
    with pytest.raises(LabelError, match=r"no such file.*JSON map"):
        labels.load_rewards(tmp_path / "none.json")
    with pytest.raises(LabelError, match="cannot be read"):
        labels.load_rewards(tmp_path)
    with pytest.raises(LabelError, match=r"no such file.*feedback"):
        labels.load_feedback(tmp_path / "none.json")


def test_csv_words_of_any_case_and_rejected_rows(written: Any) -> None:
    path = written(
        "\ufeffTrace_ID,Outcome,Feedback\r\n"
        'a,PASS,"fine, really"\r\n'
        "b,Fail,\r\n"
        "\r\n"
        "c,infrastructure,x\r\n"
        "d,TRUE\r\n"
        "e,0.25,y\r\n"
        "f,maybe,\r\n"
        ",pass,\r\n"
        "g,unknown,\r\n"
        "h,fail,one,two\r\n"
    )
    loaded = labels.load_rewards(path)
    assert loaded.statuses == {
        "a": ("pass", None),
        "b": ("fail", None),
        "c": ("infrastructure", None),
        "d": ("pass", None),
        "e": ("fail", 0.25),
        "g": ("unknown", None),
    }
    assert loaded.feedback == {"a": "fine, really", "c": "x", "e": "y"}
    assert [record.line for record in loaded.rejected] == [8, 9, 11]
    assert "maybe" in loaded.rejected[0].reason and "no trace_id" in loaded.rejected[1].reason
    assert "4 cells" in loaded.rejected[2].reason


def test_csv_with_quoted_lines_counts_lines_of_the_file(written: Any) -> None:
    loaded = labels.load_rewards(written('id;outcome;feedback\na;fail;"one\ntwo"\nb;what;\n'))
    assert loaded.feedback == {"a": "one\ntwo"}
    assert [record.line for record in loaded.rejected] == [4]


def test_json_lines_and_a_list_of_rows(written: Any) -> None:
    rows = [
        {"trace_id": "a", "outcome": "pass", "feedback": "good"},
        {"id": 7, "outcome": False},
        {"trace_id": "c", "reward": 0.5},
        {"trace_id": "d", "outcome": None, "feedback": "odd"},
    ]
    expected = {"a": ("pass", None), "7": ("fail", None), "c": ("fail", 0.5), "d": ("unknown", None)}
    for text in ("\n".join(map(json.dumps, rows)), json.dumps(rows), json.dumps(rows, indent=1)):
        loaded = labels.load_rewards(written(text))
        assert (loaded.statuses, loaded.feedback) == (expected, {"a": "good", "d": "odd"})


@pytest.mark.parametrize(
    "text",
    [
        "task_id,success\na,true\nb,no",
        "session_id;passed;status\na;Yes;done\nb;0;done",
        "run_id\tis_correct\na\tcorrect\nb\tincorrect",
        '{"id": "a", "status": "completed", "resolved": true}\n{"id": "b", "status": "completed", "resolved": false}',
        "trace_id,score\na,0.9\nb,0.2",
        '[{"id": "a", "soft_restriction": 1.0, "hard_restriction": 1}, {"id": "b", "hard_restriction": 0}]',
        "trace_id,outcome\na,Passed\nb,unresolved",
    ],
)
def test_columns_and_words_that_other_tools_use(written: Any, text: str) -> None:
    assert {name: status for name, (status, _) in statuses(written(text), pass_at=0.9).items()} == {
        "a": "pass",
        "b": "fail",
    }


def test_bad_json_lines_are_rejected_and_the_others_kept(written: Any) -> None:
    loaded = labels.load_rewards(written('nonsense\n{"trace_id": "a", "outcome": true}\n\n5\n{"outcome": 1}\n'))
    assert loaded.statuses == {"a": ("pass", None)}
    assert [record.line for record in loaded.rejected] == [1, 4, 5]


def test_the_same_label_twice_is_no_conflict(written: Any) -> None:
    assert statuses(written('{"a": true, "a": true}')) == {"a": ("pass", None)}
    assert statuses(written("id,outcome\na,pass\na,TRUE\n")) == {"a": ("pass", None)}


def test_ids_are_cleaned_like_the_ids_of_traces(written: Any) -> None:
    assert list(statuses(written('{"a\\u0000b": true, "\\ud800": true}'))) == ["a\ufffdb", "\ufffd"]


@settings(deadline=None, derandomize=True)
@given(st.binary(max_size=400), st.integers(0, 400), st.sampled_from(["map", "lines", "csv"]))
def test_no_bytes_raise_anything_but_a_label_error(tmp_path_factory: Any, noise: bytes, at: int, kind: str) -> None:
    base = {
        "map": b'{"a": true, "b": 0.5, "c": null}',
        "lines": b'{"trace_id": "a", "outcome": "pass"}\n{"trace_id": "b", "outcome": 0, "feedback": "x"}\n',
        "csv": b'trace_id,outcome,feedback\na,pass,"x, y"\nb,0.5,\n',
    }[kind]
    path = tmp_path_factory.getbasetemp() / "noise"
    path.write_bytes(base[:at] + noise + base[at + len(noise) // 2 :])
    for read in (labels.load_rewards, labels.load_feedback):
        try:
            read(path)
        except LabelError as error:
            assert str(path) in str(error)


def test_feedback_from_a_map_lines_and_csv(written: Any) -> None:
    for text in (
        '{"a": "wrong sum", "b": ["one", "two"], "c": null, "d": " "}',
        '{"trace_id": "a", "feedback": "wrong sum"}\n{"id": "b", "feedback": ["one", "two"]}\n',
        'id,feedback\na,wrong sum\nb,"one\ntwo"\nc,\n',
    ):
        assert labels.load_feedback(written(text)) == {"a": "wrong sum", "b": "one\ntwo"}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", ["empty", "feedback"]),
        ("{}", ["no feedback"]),
        ('{"a": true}', ['"a"', "true or false", "line 1"]),
        ('{"a": "x",\n"a": "y"}', ['"a"', "twice", "line 2"]),
        ("[]", ["a list"]),
        ("a,b\n1,2", ["trace_id,feedback"]),
    ],
)
def test_wrong_feedback_is_an_error(written: Any, text: str, says: list[str]) -> None:
    with pytest.raises(LabelError) as caught:
        labels.load_feedback(written(text))
    assert all(words in str(caught.value) for words in says)


def test_label_files_are_recognised_by_content() -> None:
    for text in (
        '{"a": true, "b": false}',
        '{"a": "text"}',
        '{"trace_id": "a", "outcome": "pass"}\n',
        "id,outcome\na,1",
    ):
        assert labels.looks_like_labels(text.encode()), text
    long = "{" + ", ".join(f'"run {i}": true' for i in range(9000))
    assert labels.looks_like_labels(long.encode()[: 1 << 16])
    for text in ('{"trace_id": "a", "spans": [], "outcome": true}', '{"a": [1]}', "# Notes\n", ""):
        assert not labels.looks_like_labels(text.encode()), text


def test_attaching_reports_both_kinds_of_lonely_ids() -> None:
    rewards = labels.LabelFile({"b": ("fail", 0.2), "a": ("pass", None), **{f"x{i}": ("pass", None) for i in range(5)}})
    attached = labels.attach("c", ["c", "b", "a", "d"], rewards, {"b": "wrong sum", "c": "odd"})
    assert attached.outcomes == (
        Outcome(trace_key("c", "a"), "pass"),
        Outcome(trace_key("c", "b"), "fail", score=0.2, feedback="wrong sum"),
        Outcome(trace_key("c", "c"), "unknown", feedback="odd"),
    )
    assert attached.report.without_trace == ("x0", "x1", "x2", "x3", "x4")
    assert attached.report.without_label == ("c", "d")
    assert attached.report.sentences() == [
        "5 labels belong to no trace, for example x0, x1, x2.",
        "2 traces have no label and are not learned from, for example c, d.",
    ]


def test_labels_that_meet_no_trace_at_all_are_an_error() -> None:
    with pytest.raises(LabelError, match="labels name run-1; traces are called a, b"):
        labels.attach("c", ["a", "b"], labels.LabelFile({"run-1": ("pass", None)}))


def outcome(status: Any, origin: Any = "environment", feedback: str | None = None) -> Outcome:
    return Outcome("t", status, origin, feedback=feedback)


def test_people_over_environment_over_judges_and_never_heuristics() -> None:
    human, environment, judge = outcome("pass", "human"), outcome("fail"), outcome("infrastructure", "judge")
    heuristic = outcome("pass", "heuristic", "guess")
    assert labels.effective([human, heuristic, environment, judge]) == human
    assert labels.effective([environment, judge, heuristic]) == environment
    assert labels.effective([judge, heuristic]) == judge
    assert labels.effective([heuristic], "t") == outcome("unknown")
    assert labels.effective([], "t") == outcome("unknown")


def test_the_latest_of_one_origin_counts() -> None:
    assert labels.effective([outcome("fail"), outcome("pass")]).status == "pass"
    assert (
        labels.effective([outcome("pass", "human"), outcome("unknown", "human"), outcome("fail")]).status == "unknown"
    )


def test_a_note_without_an_outcome_changes_only_the_feedback() -> None:
    note = outcome("unknown", "human", "wrong sheet")
    assert labels.effective([outcome("fail"), note]) == outcome("fail", feedback="wrong sheet")
    assert labels.effective([note, outcome("fail", feedback="B2")]) == outcome("fail", feedback="B2")
    assert labels.effective([outcome("fail", feedback="B2"), outcome("unknown", feedback="B3")]).feedback == "B3"
    assert labels.effective([note]) == note


def test_feedback_of_an_overruled_origin_still_serves() -> None:
    assert labels.effective([outcome("fail", feedback="B2"), outcome("pass", "human")]).feedback == "B2"


def test_scores_of_a_file_can_be_judged_by_another_threshold() -> None:
    half = Outcome("t", "fail", score=0.5)
    assert labels.rescored(half, labels.Threshold(0.5)) == Outcome("t", "pass", score=0.5)
    assert labels.rescored(half, labels.Threshold(0.2, True)) == Outcome("t", "fail", score=0.5)
    for kept in (Outcome("t", "fail"), Outcome("t", "infrastructure", score=0.0)):
        assert labels.rescored(kept, labels.Threshold(0.0)) == kept
