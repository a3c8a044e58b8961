"""What travels beside a skill from one refinement to the next: what was rejected, whose its lines are, what it was."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from refiner.carried import before, read_origin, written
from refiner.errors import SkillError
from refiner.installs.installing import install
from refiner.installs.package import read_package, unzipped
from refiner.tried import vetoes
from tests.corpus import RULE, SKILL, Corpus, read, refiner, workbook
from tests.installing import opened as store_at
from tests.rooms import Clock, Reviewer, opened, refined


def without_tasks(corpus: Corpus, *tasks: int) -> Corpus:
    gone = tuple(f"task{task:02}" for task in tasks)
    return corpus.some(name for name in corpus.ids() if not name.startswith(gone))


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The zip of a review in which the supported change was rejected; its corpus lacks two tasks of the whole one."""
    folder = tmp_path_factory.mktemp("rejecting")
    path, refinement_id = refined(folder, without_tasks(workbook(), 6, 7))
    clock = Clock()
    reviewer = Reviewer(opened(path, clock), refinement_id, clock)
    try:
        reviewer.workspace.set_reviewer("ada")
        found = reviewer.item("supported")
        assert RULE in found.text
        reviewer.decide(found, "reject", reason_code="other", reason="our tool reads back by itself")
        return bytes(reviewer.workspace.exports(refinement_id).zip)
    finally:
        reviewer.workspace.close()


def again(exported: bytes, folder: Path, corpus: Corpus) -> tuple[str, Path]:
    """A refinement from the installed export: its last lines, and where its result lies."""
    install(store_at(folder / "workbook"), unzipped(exported, "export.zip"))
    given = corpus.write(folder / "in")
    given[given.index("--skill") + 1] = str(folder / "workbook")
    said = refiner("refine", *given, "--out", folder / "out")
    assert said.code == 0, said.err
    return said.out, folder / "out"


def test_a_rejected_change_is_not_proposed_again_on_the_same_evidence(exported: bytes, tmp_path: Path) -> None:
    said, out = again(exported, tmp_path, without_tasks(workbook(), 6, 7))
    assert RULE not in json.dumps(read(out, "combined/changes.json"))
    vetoed = [one for one in read(out, "combined/shortfalls.json") if one["kind"] == "vetoed_before"]
    assert [one["tasks"] for one in vetoed] == [6]
    assert "Not proposed again: Rejected before by ada" in said and "our tool reads back by itself" in said
    assert any(one["status"] == "rejected" for one in read(out, "combined/provenance.json")["tried"]), "and so on"


def test_it_is_proposed_again_when_its_evidence_has_grown_and_says_so(exported: bytes, tmp_path: Path) -> None:
    said, out = again(exported, tmp_path, workbook())
    (change,) = [one for one in read(out, "combined/changes.json") if RULE in one["rule"]]
    assert change["rationale"].startswith("Rejected before by ada on ")
    assert "proposed again, as 2 tasks more speak for it (6 then)" in change["rationale"]
    assert "Not proposed again" not in said


def test_the_app_remembers_what_an_uploaded_skill_brings_along(exported: bytes, tmp_path: Path) -> None:
    from tests.rooms import fill, refine, upload

    workspace = opened(tmp_path / "app.duckdb")
    try:
        name = fill(workspace, without_tasks(workbook(), 6, 7))
        workspace.set_skill(name, workspace.read_skill([upload("workbook.zip", exported)]))
        refinement_id = refine(workspace, name)
        report = workspace.report(refinement_id)
        assert [one.kind for one in report.shortfalls if "our tool" in one.words] == ["vetoed_before"]
        assert all(RULE not in row.rule for row in report.decided)
    finally:
        workspace.close()


def test_a_result_installs_over_edits_by_hand_and_brings_its_provenance(tmp_path: Path) -> None:
    given = workbook().write(tmp_path / "in")
    assert refiner("refine", *given, "--out", tmp_path / "out").code == 0
    folder = tmp_path / "skills" / "workbook"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(SKILL.replace("# Workbook\n", "# Workbook\n\nBy hand.\n"))
    done = install(store_at(folder), read_package(tmp_path / "out"))
    assert [one.source for one in store_at(folder).versions()] == ["adopted", "installed"]
    text = (folder / "SKILL.md").read_text()
    assert RULE in text and "\nBy hand.\n" in text
    found = read_origin((folder / ".refiner" / "provenance.json").read_bytes())
    line = [RULE in line for line in text.splitlines()].index(True) + 1
    assert line in [row["start_line"] for row in found["ranges"]]
    assert done.version.more["refinement"] == found["refinement"]


def row(status: str, **more: Any) -> dict[str, Any]:
    return {"refinement": "r", "change": "c", "rule": "Do it.", "subjects": ["called(x)"], "status": status, **more}


def test_the_latest_decision_on_a_change_counts() -> None:
    rejected, accepted = row("rejected", by="ada", at="2026-05-04T10:00:00"), row("accepted")
    assert [one.words for one in vetoes([rejected])] == ["Rejected before by ada on 2026-05-04"]
    assert vetoes([rejected, accepted]) == ()
    assert len(vetoes([rejected, accepted, rejected])) == 1
    assert len(vetoes([rejected, row("open")])) == 1
    assert len(vetoes([rejected, row("rejected", subjects=["called(y)"])])) == 2


def test_a_provenance_of_anything_breaks_nothing_and_of_nonsense_is_named() -> None:
    assert before(None, {"SKILL.md": b"x"}) == {}
    odd = {"tried": [1, {"status": "rejected", "subjects": "x", "task_keys": 3}], "ranges": "no", "changes": []}
    assert len(vetoes(before(written(odd), {"SKILL.md": b"x"})["tried"])) == 1
    with pytest.raises(SkillError, match="not JSON"):
        before(b"{", {"SKILL.md": b"x"})


def test_a_change_names_the_earlier_refinement_whose_line_it_touches() -> None:
    from dataclasses import replace

    from tests.reviewing import LINES, after, replaced, report

    first = 10  # the line of the first step in the base
    line = {"path": "SKILL.md", "change": "c", "refinement": "0123456789abcdef", "rationale": "It went wrong."}
    rows = [{**line, "start_line": first + 2, "end_line": first + 2}, {**line, "start_line": 900, "end_line": 900}]
    made = report([(replaced(2, "Other."),), (after(2, "- More."),), (replaced(LINES - 1, "Else."),)])
    told = {row.rule: row.earlier for row in replace(made, before={"earlier": rows}).decided}
    words = ("Line 12 of SKILL.md came in with refinement 01234567: It went wrong.",)
    assert told == {"Other.": words, "More.": words, "Else.": ()}


def test_a_rewording_of_what_was_rejected_is_proposed_and_says_so() -> None:
    from refiner.tried import Support, judged
    from refiner.types import Edit, Proposal

    def made(words: str, section: tuple[str, ...] = ("Steps",)) -> Proposal:
        edit = Edit("SKILL.md", "append_to_section", section, "", f"- {words}")
        return Proposal("failure", "recurrence", ("g",), "t", words, "It recurs.", section=section, edits=(edit,))

    said = row("rejected", by="ada", subjects=[], rule="Read the saved file back before you answer.", section=["Steps"])
    known, nothing = vetoes([said]), Support({}, {}, {})
    close = judged(made("Read back the saved file before you answer."), known, nothing)
    assert isinstance(close, Proposal)
    assert close.rationale.startswith("Rejected before by ada, in like words: “Read the saved file back")
    for other in (made("Read back the saved file before you answer.", ("Else",)), made("Name the sheet by its month.")):
        assert judged(other, known, nothing) == other
