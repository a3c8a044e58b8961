"""The 200 real airline traces, end to end: every recurring complaint is carried once, in its place, no literal."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from refiner import RefineConfig, Result, feedback, refine
from refiner.audits import LeakIndex
from refiner.mining import feedback_classes
from refiner.rendering import SKILL_MARKER, without_skill
from refiner.stages.summarise import skill_lines

pytestmark = pytest.mark.corpora
EXPECTED = json.loads(Path(__file__).with_name("expected_sections.json").read_text())


@pytest.fixture(scope="module")
def result(corpora: Path, tmp_path_factory: pytest.TempPathFactory) -> Result:
    config = RefineConfig(
        skill_file=corpora / EXPECTED["skill"],
        raw_jsonl=(corpora / EXPECTED["corpus"],),
        output_dir=tmp_path_factory.mktemp("tau"),
    )
    return refine(config)


def test_counts_are_those_of_the_corpus(result: Result) -> None:
    snapshot = result.report.snapshot
    assert snapshot.statuses == {"fail": 116, "pass": 84}
    assert (snapshot.tasks, snapshot.tried_twice, snapshot.held_out_tasks) == (50, 50, 0)


def test_every_recurring_class_is_carried_by_exactly_one_proposal(result: Result) -> None:
    classes = [one for one in feedback_classes(result.report.snapshot.training).values() if one.tasks >= 3]
    assert len(classes) >= 10
    for one in classes:
        subject = "when " + one.name.split(" ", 1)[1] if one.name.startswith(("missing ", "unexpected ")) else one.name
        carriers = [p for p in result.proposals if subject in (p.feedback_class, *p.folded)]
        assert len(carriers) == 1, one.name


def test_each_proposal_lies_in_the_section_of_its_action(result: Result) -> None:
    checked = set()
    for proposal in result.proposals:
        subject = (proposal.feedback_class or "").replace("when ", "missing ")
        action = feedback.action(subject)
        if action is not None:
            assert proposal.section[-1] == EXPECTED["sections"][action], subject
            checked.add(action)
    assert len(checked) >= 5


def test_no_proposal_holds_a_literal_of_a_task(result: Result) -> None:
    index = LeakIndex(result.report.snapshot.training, result.report.base)
    assert [finding for change in result.changes for finding in index.check(change)] == []


def test_verdicts_are_honest(result: Result) -> None:
    assert not result.report.table.facts
    assert result.report.counts()["supported"] == 0
    assert result.skill_text == (result.report.base.files[result.report.base.main]).decode()
    for verdict in result.verdicts:
        assert verdict.words
        assert verdict.criterion("causes").answer != "yes"


def test_the_skill_inside_every_trace_is_recognised(result: Result) -> None:
    lines = skill_lines(result.report.base)
    openings = {without_skill(item.trace, lines).spans[0].output for item in result.report.snapshot.training}
    assert openings == {SKILL_MARKER}
