"""A person chooses which score says how traces ended, from where on it passes, and in which direction."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from corpus import refiner
from format_samples import lines
from rooms import opened

from refiner import labels
from refiner.errors import LabelError
from refiner.labels import ScoreRange, Threshold, by_score, score_ranges, scores_of
from refiner.workspace import Workspace

SCORES: dict[str, dict[str, Any]] = {
    "a": {"match": "C", "turns": 3, "harm": 0.1},
    "b": {"match": "I", "turns": 9.5, "harm": 0.8},
    "c": {"match": "P", "turns": None, "notes": "fine"},
    "d": {"match": [1], "turns": "12"},
}


def statuses(name: str, threshold: Threshold) -> dict[str, Any]:
    return {one.trace_id: (one.status, one.score) for one in by_score(SCORES, name, threshold)}


def test_letters_numbers_and_numbers_in_quotes_are_judged_and_the_rest_stays_unknown() -> None:
    assert statuses("match", Threshold()) == {"a": ("pass", 1.0), "b": ("fail", 0.0), "c": ("fail", 0.5)}
    assert statuses("match", Threshold(0.5))["c"] == ("pass", 0.5)
    assert statuses("turns", Threshold(9.5)) == {"a": ("fail", None), "b": ("pass", None), "d": ("pass", None)}


def test_lower_may_be_better() -> None:
    assert statuses("harm", Threshold(0.1, True)) == {"a": ("pass", 0.9), "b": ("fail", pytest.approx(0.2))}
    assert statuses("turns", Threshold(9.5, True)) == {"a": ("pass", None), "b": ("pass", None), "d": ("fail", None)}


def test_a_score_that_nobody_carries_is_an_error_that_names_those_there_are() -> None:
    for name in ("speed", "notes"):
        with pytest.raises(LabelError, match=f'"{name}" that is a number; there are match, turns, harm'):
            by_score(SCORES, name, Threshold())
    with pytest.raises(LabelError, match="they carry no scores at all"):
        by_score({"a": {}}, "match", Threshold())


def test_the_scores_to_choose_from_come_with_their_range() -> None:
    assert score_ranges(SCORES.values())[:2] == [
        ScoreRange("match", 4, 3, 0.0, 1.0),
        ScoreRange("turns", 4, 3, 3.0, 12.0),
    ]


@pytest.mark.parametrize("text", ["", "[1]", "{broken", "null", '"x"'])
def test_scores_that_cannot_be_read_are_none(text: str) -> None:
    assert scores_of({labels.SCORES: text}) == {}


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 10**400, "", "n/a", {}, None])
def test_what_is_no_number_is_no_outcome(value: Any) -> None:
    (only,) = by_score({"a": {"s": value}, "b": {"s": 1}}, "s", Threshold())
    assert only.trace_id == "b"


def traces() -> list[dict[str, Any]]:
    spans = [{"name": "look", "input_text": "{}", "output_text": "x"}]
    return [
        {"trace_id": name, "outcome": "fail", "spans": spans, "meta": {"scores": json.dumps(one)}}
        for name, one in SCORES.items()
    ]


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Workspace]:
    (tmp_path / "a.jsonl").write_bytes(lines(*traces()))
    workspace = opened(tmp_path / "w.duckdb")
    workspace.create_corpus("own")
    workspace.ingest_files("own", [tmp_path / "a.jsonl"])
    yield workspace
    workspace.close()


def test_a_chosen_score_counts_over_the_files_and_under_a_person(desk: Workspace) -> None:
    assert [one.name for one in desk.score_ranges("own")] == ["match", "turns", "harm"]
    assert desk.preview_score("own", "turns", Threshold(9.0)) == {"pass": 2, "fail": 1, "without": 1}
    assert desk.corpus("own").statuses["fail"] == 4
    assert desk.use_score("own", "turns", Threshold(9.0)) == 3
    assert desk.corpus("own").statuses == {"pass": 2, "fail": 2, "unknown": 0, "infrastructure": 0}
    (row, *_) = desk.label_rows("own", status="pass")
    desk.label("own", row.trace_id, "fail")
    desk.use_score("own", "turns", Threshold(0.0))
    assert [one.external_id for one in desk.label_rows("own", status="fail")] == [row.external_id, "c"]


def test_the_command_line_takes_a_score(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(lines(*traces()))
    chosen = ("--score", "turns", "--pass-at", "5", "--lower-is-better")
    assert refiner("convert", tmp_path / "a.jsonl", "--out", tmp_path / "out", *chosen).code == 0
    assert json.loads((tmp_path / "out/binary_rewards.json").read_text()) == {
        "a": True,
        "b": False,
        "c": False,
        "d": False,
    }
    said = refiner("convert", tmp_path / "a.jsonl", "--out", tmp_path / "two", "--score", "speed")
    assert said.code == 1 and "there are match, turns, harm" in said.err
    said = refiner("ingest", tmp_path / "a.jsonl", "--corpus", "x", "--db", tmp_path / "d.duckdb", "--score", "match")
    assert said.code == 0 and "3 traces labelled" in said.out


@pytest.mark.parametrize("command", ["convert", "ingest"])
def test_where_lower_is_better_only_the_best_passes_unless_a_limit_is_given(tmp_path: Path, command: str) -> None:
    (tmp_path / "a.jsonl").write_bytes(lines(*traces()))
    rest = {"convert": ("--out", tmp_path / "out"), "ingest": ("--corpus", "x", "--db", tmp_path / "d.duckdb")}[command]
    said = refiner(command, tmp_path / "a.jsonl", *rest, "--score", "harm", "--lower-is-better")
    assert said.code == 0, said.err
    assert ("0 passed and 4 failed" if command == "convert" else "0 passed, 4 failed") in said.out
    said = refiner(command, tmp_path / "a.jsonl", *rest, "--pass-at", "5")
    assert said.code == 2 and "--pass-at: 5.0 is out of range; without --score it must be between 0 and 1" in said.err


def test_without_a_score_the_limit_is_from_0_to_1(tmp_path: Path) -> None:
    said = refiner("refine", "--traces", tmp_path, "--out", tmp_path / "out", "--pass-at", "5")
    assert said.code == 2 and "pass_at: 5.0 is out of range; it must be between 0 and 1" in said.err
