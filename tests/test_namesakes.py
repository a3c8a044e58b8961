"""Runs of different files under one id: which are two runs, what they are called, and whose labels are whose."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from format_samples import lines, packed
from hypothesis import given, settings
from hypothesis import strategies as st
from rooms import holding, upload

from refiner.convert import convert
from refiner.growth import BEGINS
from refiner.namesakes import GIVEN, apart, is_generated, meant
from refiner.reading import read
from refiner.types import Span, Trace
from refiner.workspace import Workspace
from refiner.workspace.streaming import Streamed
from storage import Store


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Workspace]:
    with holding(tmp_path, "own") as workspace:
        yield workspace


def run(name: str, *outputs: str, **more: Any) -> dict[str, Any]:
    return {"trace_id": name, "spans": [{"name": "look", "output_text": text} for text in outputs], **more}


def tau(trial: int, words: str, reward: float) -> dict[str, Any]:
    said = [{"role": "user", "content": "Change my seat."}, {"role": "assistant", "content": words}]
    return {"task_id": 3, "trial": trial, "reward": reward, "info": {"task": {"actions": []}}, "traj": said}


def ends_of(desk: Workspace) -> dict[str, str]:
    return {row.external_id: row.status for row in desk.label_rows("own")}


@pytest.mark.parametrize(
    ("name", "generated"),
    [
        ("3", False),
        ("task3-trial1", False),
        ("astropy__astropy-12907", False),
        ("django__django-11099_gpt-4o_attempt_2", False),
        ("internationalisation-of-everything", False),
        ("runs/2026-01-02/all.jsonl:7", False),
        ("9b2e64d0-1c5f-4f4e-8a0b-0123456789ab", True),
        ("call/9B2E64D0-1C5F-4F4E-8A0B-0123456789AB#2", True),
        ("0298935e31d66d7de9487cac935d7d99", True),
        ("01JD3Z8QK5N7W9X2V4B6M8P0RT", True),
        ("Lx1ud9Qeao4epRn3XBGwuC/1/1", True),
    ],
)
def test_an_id_that_was_made_to_be_the_only_one_is_told_from_a_name(name: str, generated: bool) -> None:
    assert is_generated(name) is generated


def test_a_run_told_again_with_other_times_is_no_second_run() -> None:
    spans = tuple(Span(n, f"c{n}", "tool_call", "look", output=text) for n, text in enumerate("ab"))
    first = Trace("c", "7", "canonical", "task", "", "none", spans, source="one/all.jsonl:4")
    later = tuple(replace(span, started_at="2026-01-01T00:00:00Z") for span in spans)
    assert apart(replace(first, spans=later, source="two/all.jsonl:4"), first) is None
    other = replace(first, spans=(replace(spans[0], output="x"), spans[1]), source="two/all.jsonl:4")
    session = {BEGINS: "u1"}
    assert apart(replace(other, meta=session), replace(first, meta=session)) is None
    named = apart(other, first)
    assert named is not None and (named.external_id, named.spans) == ("7@two/all.jsonl", other.spans)


def test_a_label_file_speaks_of_the_runs_in_its_own_folder() -> None:
    runs = [("7", "", "one/all.jsonl"), ("7@two/all.jsonl", "7", "two/all.jsonl"), ("8", "", "one/all.jsonl")]
    assert meant(runs, "one/rewards.json") == {"7": "7"}
    assert meant(runs, "two/rewards.json") == {"7": "7@two/all.jsonl"}
    assert meant(runs, "rewards.json") == meant(runs) == {"7": None}
    assert meant(runs[:1] * 2, "one/rewards.json") == {}


def test_every_run_of_two_result_files_is_kept_with_its_own_end(desk: Workspace) -> None:
    rewards = {"gpt.json": (1.0, 0.0), "other.json": (0.0, 1.0)}
    files = {
        name: json.dumps([tau(trial, f"{name} does {trial}", reward) for trial, reward in enumerate(given)]).encode()
        for name, given in rewards.items()
    }
    report = desk.ingest("own", [upload(name, data) for name, data in files.items()])
    assert (report.accepted, report.conflicts) == (4, ())
    assert report.warnings == (
        "2 traces have the id of a different run in another file and are kept under that id with the name of their "
        "file: for example, task3-trial0 is task3-trial0@other.json.",
    )
    known = {
        "task3-trial0": "pass",
        "task3-trial1": "fail",
        "task3-trial0@other.json": "fail",
        "task3-trial1@other.json": "pass",
    }
    assert (ends_of(desk), desk.corpus("own").tasks, desk.corpus("own").tried_twice) == (known, 1, 1)
    copies = [*sorted(files.items(), reverse=True), ("third.json", files["other.json"])]
    again = desk.ingest("own", [upload(name, data) for name, data in copies])
    assert (again.accepted, again.duplicates, again.warnings) == (0, 6, report.warnings)
    assert ends_of(desk) == known


def test_labels_beside_runs_are_those_of_these_runs(desk: Workspace) -> None:
    files = {
        "one/all.jsonl": lines(run("7", "a"), run("8", "b")),
        "one/rewards.json": b'{"7": true, "8": true}',
        "two/all.jsonl": lines(run("7", "x"), run("9", "y")),
        "two/rewards.json": b'{"7": false, "9": false}',
        "later.json": b'{"7": true, "7@two/all.jsonl": false}',
    }
    report = desk.ingest("own", [upload("runs.zip", packed(files))])
    assert ends_of(desk) == {"7": "pass", "8": "pass", "7@two/all.jsonl": "fail", "9": "fail"}
    told = "1 label names a task or an id that several traces have, so none of them gets one, for example 7."
    assert [words for words in report.warnings if "several" in words] == [told]


def test_an_outcome_of_a_run_that_contradicts_another_is_not_said_of_that(desk: Workspace) -> None:
    name = "9b2e64d0-1c5f-4f4e-8a0b-0123456789ab"
    desk.ingest("own", [upload("a.jsonl", lines(run(name, "a", outcome="pass", feedback="Fine.")))])
    report = desk.ingest("own", [upload("b.jsonl", lines(run(name, "z", outcome="fail", feedback="Bad.")))])
    assert (report.accepted, len(report.conflicts)) == (0, 1)
    assert ends_of(desk) == {name: "pass"}
    desk.ingest("own", [upload("c.jsonl", lines(run(name, "a", outcome="fail")))])
    assert ends_of(desk) == {name: "fail"}  # the same run, judged anew


def three_runs(folder: Path) -> Path:
    for number, texts in enumerate(("abcabc", "xyzabc", "pqrstu")):
        records = (run(str(n), text, outcome="pass" if number == 1 else "fail") for n, text in enumerate(texts))
        place = folder / f"run{number}" / "all.jsonl"
        place.parent.mkdir(parents=True)
        place.write_bytes(lines(*records))
    return folder


def test_batches_and_one_go_and_conversion_call_them_alike(tmp_path: Path) -> None:
    found = []
    for batch in (1, 3, 10**9):
        with Store.open(tmp_path / f"{batch}.duckdb") as store:
            Streamed(store, "c", batch).take(read([three_runs(tmp_path / f"in{batch}")], corpus="c"))
            statuses = {trace_id: [one.status for one in said] for trace_id, said in store.outcomes("c").items()}
            found.append({trace.external_id: statuses[trace.id] for trace in store.traces("c")})
    assert found[0] == found[1] == found[2]
    assert len(found[0]) == 6 + 3 + 6
    assert found[0]["0@run1/all.jsonl"] == ["pass"] and found[0]["0"] == found[0]["0@run2/all.jsonl"] == ["fail"]
    done = convert([tmp_path / "in1"], tmp_path / "out")
    rewards = json.loads((tmp_path / "out" / "binary_rewards.json").read_text())
    assert rewards == {name: statuses[-1] == "pass" for name, statuses in found[0].items()}
    assert (done.traces, len(done.namesakes), done.duplicates, done.conflicts) == (15, 9, 3, ())


UNIQUE = "9b2e64d0-1c5f-4f4e-8a0b-0123456789ab"
FILES = st.lists(
    st.lists(st.tuples(st.sampled_from(["0", "1", UNIQUE]), st.text("ab", min_size=1, max_size=3)), max_size=4),
    min_size=1,
    max_size=4,
)


@settings(max_examples=25, deadline=None)
@given(FILES, st.sampled_from([1, 40, 10**9]), st.randoms())
def test_whatever_ids_files_share_every_run_ends_as_its_own_record_says(
    files: list[list[tuple[str, str]]], batch: int, random: Random
) -> None:
    """Runs that begin with an `a` passed, the others failed, so that an outcome on the wrong run is seen."""
    with TemporaryDirectory() as folder:
        root = Path(folder, "in")
        for number, records in enumerate(files):
            place = root / f"run{number}" / "all.jsonl"
            place.parent.mkdir(parents=True)
            place.write_bytes(
                lines(*(run(name, *text, outcome="pass" if text[0] == "a" else "fail") for name, text in records))
            )
        order = random.sample(range(len(files)), len(files))
        with Store.open(Path(folder, "s.duckdb")) as store:
            for _ in range(2):
                Streamed(store, "c", batch).take(read([root / f"run{number}" for number in order], corpus="c"))
            stated, traces = store.outcomes("c"), list(store.traces("c"))
        begun: dict[str, set[str]] = {}
        for trace in traces:
            first = trace.spans[0].output
            assert {one.status for one in stated[trace.id]} == {"pass" if first == "a" else "fail"}
            begun.setdefault(trace.meta.get(GIVEN, trace.external_id), set()).add(first)
        texts = {name: {text for records in files for one, text in records if one == name} for name in ("0", "1")}
        for name, given in texts.items():
            kept = sum(trace.meta.get(GIVEN, trace.external_id) == name for trace in traces)
            assert kept <= len(given) and begun.get(name, set()) <= {text[0] for text in given}
        if any(files):
            done = convert([root], Path(folder, "out"))
            rewards = json.loads(Path(folder, "out", "binary_rewards.json").read_text())
            written = [json.loads(line) for line in Path(folder, "out", "traces.jsonl").read_text().splitlines()]
            assert done.traces == len(written) == len(rewards)
            for one in written:
                assert rewards[one["trace_id"]] == (one["spans"][0]["output_text"] == "a")
