"""A recorded run: 24 runs of the sample, answered by a real model through hand-off, its replies kept as they came.

Made by `refiner refine --analyst model --transport handoff --record tests/recorded` on the first six tasks of the
sample with the settings below. A changed prompt needs new replies for its stage and those that build on it, and for no
other.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from corpus import Said, refiner

from refiner.resources import SAMPLE_DATA

RECORDED = Path(__file__).with_name("recorded")
RUNS = 24


@pytest.fixture(scope="module")
def given(tmp_path_factory: pytest.TempPathFactory) -> list[object]:
    """The arguments of the recorded run, its corpus cut out of the sample."""
    folder = tmp_path_factory.mktemp("slice")
    lines = (SAMPLE_DATA / "traces.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)[:RUNS]
    (folder / "traces.jsonl").write_text("".join(lines), encoding="utf-8")
    names = {json.loads(line)["trace_id"] for line in lines}
    for name in ("binary_rewards.json", "feedback.json"):
        kept = {key: value for key, value in json.loads((SAMPLE_DATA / name).read_text()).items() if key in names}
        (folder / name).write_text(json.dumps(kept))
    files = ["--traces", folder / "traces.jsonl", "--rewards", folder / "binary_rewards.json"]
    more = ["--feedback", folder / "feedback.json", "--skill", SAMPLE_DATA / "SKILL.md", "--yes"]
    return [*files, *more, "--analyst", "model", "--model", "handoff", "--transport", "replay"]


def replayed(given: list[object], recorded: Path, out: Path) -> Said:
    return refiner("refine", *given, "--replay-dir", recorded, "--out", out)


@pytest.fixture(scope="module")
def out(given: list[object], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("replayed") / "out"
    said = replayed(given, RECORDED, folder)
    assert said.code == 0, said.err
    return folder


def test_the_replies_give_the_result_they_gave_when_they_came(out: Path) -> None:
    run = json.loads((out / "run.json").read_text())
    counts = {name: run["counts"][name] for name in ("supported", "undecided", "unsupported", "taken")}
    assert counts == {"supported": 3, "undecided": 1, "unsupported": 1, "taken": 3}


def test_the_misleading_line_is_softened_where_it_stands(out: Path) -> None:
    base = (SAMPLE_DATA / "SKILL.md").read_text()
    skill = (out / "combined" / "proposed_skill.md").read_text()
    assert "Fill formulas down generously" in base
    assert "Fill formulas down generously" not in skill
    assert "to exactly the row that `find_last_row` returned" in skill


def test_every_quote_that_counts_stands_in_its_run(out: Path) -> None:
    for change in json.loads((out / "combined" / "changes.json").read_text()):
        for proposal in change["proposals"]:
            for criterion in proposal["verdict"]["criteria"]:
                assert all(citation["verified"] for citation in criterion["citations"])


def test_the_report_names_the_model_as_the_one_who_judged(out: Path) -> None:
    assert json.loads((out / "combined" / "manifest.json").read_text())["analyst"] == "model"
    assert "language model" in (out / "combined" / "report.html").read_text()


def test_a_stage_without_replies_is_named_and_the_others_are_not_asked_again(
    given: list[object], tmp_path: Path
) -> None:
    cut = tmp_path / "recorded"
    shutil.copytree(RECORDED, cut)
    shutil.rmtree(cut / "gate")
    said = replayed(given, cut, tmp_path / "out")
    assert said.code == 1
    assert "gate" in said.err.splitlines()[-1]
    again = replayed(given, RECORDED, tmp_path / "out")
    assert again.code == 0
    stages = [line for line in again.err.splitlines() if line.startswith(("summaries", "proposals", "recurrences"))]
    assert len(stages) == 3 and all("kept from before" in line for line in stages)
