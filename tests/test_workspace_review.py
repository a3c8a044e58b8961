"""Reviewing at the desk: decisions kept in the database, the merged skill, carrying over, exports, counter-examples."""

from __future__ import annotations

import io
import json
import shutil
import subprocess
import threading
import time
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest
from corpus import RULE, SKILL, call, lines, run, workbook
from corpus import refiner as command
from reviewing import added, report
from rooms import Clock, Reviewer, fill, opened, refine, refined, upload

import refiner
from refiner import codec, merge, skills
from refiner.errors import ConfigError, DecisionRefused, StoreError
from refiner.reporting.neighbours import behind_change
from refiner.types import Decision
from refiner.workspace import Workspace, calibrating
from refiner.workspace.reports import Stored


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    corpus = workbook()
    quiet = run("task15-run9", "Set the total of sheet 16.", [call("look_up", "owner: maria.k@example.org")], "t15")
    corpus = replace(corpus, traces=(*corpus.traces, quiet), rewards={**corpus.rewards, "task15-run9": True})
    return refined(tmp_path_factory.mktemp("refined"), corpus)


@pytest.fixture
def ada(original: tuple[Path, str], tmp_path: Path) -> Reviewer:
    """A reviewer before a refinement of the workbook corpus: one change each supported, undecided, unsupported."""
    path, refinement_id = original
    copy = tmp_path / "copy.duckdb"
    shutil.copy(path, copy)
    clock = Clock()
    desk = opened(copy, clock)
    desk.set_reviewer("ada")
    return Reviewer(desk, refinement_id, clock)


def base_text(ada: Reviewer) -> str:
    return ada.workspace.report(ada.refinement_id).base.files["SKILL.md"].decode()


def test_a_whole_review_ends_in_a_skill_that_follows_from_its_log(ada: Reviewer) -> None:
    assert ada.text() == base_text(ada)
    ada.decide(ada.item("supported"), "accept")
    ada.decide(ada.item("undecided"), "amend", amended="- Tell the user every figure.\n")
    after = ada.decide(ada.item("unsupported"), "reject", reason_code="already_covered", reason="said twice")
    assert (after.counts["accepted"], after.counts["rejected"], after.last_event) == (2, 1, 3)
    assert RULE in ada.text() and "- Tell the user every figure.\n" in ada.text()
    path = ada.workspace._room.store.database.path
    log = ada.workspace.decisions(ada.refinement_id)
    text = ada.text()
    ada.workspace.close()
    again = Reviewer(opened(path), ada.refinement_id, ada.clock)
    assert again.workspace.decisions(ada.refinement_id) == log
    assert again.text() == text
    assert (log[0].reviewer, log[0].shown_at, log[0].decided_at) == (
        "ada",
        "2026-01-01T00:00:00.000Z",
        "2026-01-01T00:00:02.000Z",
    )


def test_keys_are_refused_by_the_clock_of_the_desk(ada: Reviewer) -> None:
    ada.looks = 0.5
    with pytest.raises(DecisionRefused) as caught:
        ada.decide(ada.item("supported"), "accept")
    assert (caught.value.kind, ada.workspace.last_event(ada.refinement_id)) == ("too_fast", 0)


def test_a_second_tab_never_acts_on_what_changed(ada: Reviewer) -> None:
    shown = ada.item("supported")
    ada.decide(shown, "accept")
    ada.workspace.set_reviewer("grace")
    with pytest.raises(DecisionRefused) as caught:
        ada.decide(shown, "reject")
    assert caught.value.kind == "stale"
    with pytest.raises(DecisionRefused, match="not part of the refinement"):
        ada.workspace.decide(ada.refinement_id, "gone", "accept", shown_at=0.0, seen="")


def test_undo_is_ones_own_and_exact(ada: Reviewer) -> None:
    before = ada.workspace.review(ada.refinement_id)
    ada.decide(ada.item("supported"), "accept")
    ada.workspace.set_reviewer("grace")
    assert ada.workspace.undo(ada.refinement_id) is None
    ada.workspace.set_reviewer("ada")
    undone = ada.workspace.undo(ada.refinement_id)
    assert undone is not None and undone.action == "accept"
    assert ada.text() == base_text(ada)
    after = ada.workspace.review(ada.refinement_id)
    assert [item.status for item in after.items] == ["open"] * 3
    assert [item.hash for item in after.items] == [item.hash for item in before.items]
    assert [item.seen for item in after.items] == [True, False, False]


def test_all_supported_at_once_and_back_as_one(ada: Reviewer) -> None:
    preview = ada.text(preview="supported")
    assert ada.workspace.last_event(ada.refinement_id) == 0
    review = ada.workspace.accept_supported(ada.refinement_id)
    assert (review.counts["accepted"], ada.text()) == (1, preview)
    assert ada.workspace.accept_supported(ada.refinement_id).last_event == review.last_event
    assert ada.workspace.undo(ada.refinement_id) is not None
    assert ada.text() == base_text(ada)


def test_the_history_strip_shows_the_skill_at_any_point(ada: Reviewer) -> None:
    ada.decide(ada.item("supported"), "accept")
    first = ada.text()
    ada.decide(ada.item("undecided"), "accept")
    assert [ada.text(upto=at) for at in range(3)] == [base_text(ada), first, ada.text()]


def test_a_preview_is_the_skill_with_and_without_one_change(ada: Reviewer) -> None:
    shown, other = ada.item("supported"), ada.item("undecided")
    without, with_it = ada.workspace.preview(ada.refinement_id, shown.change_id)
    assert without.files["SKILL.md"].decode() == base_text(ada)
    ada.decide(other, "amend", amended="- Tell the user every figure.\n")
    without, with_it = ada.workspace.preview(ada.refinement_id, shown.change_id)
    assert without.files["SKILL.md"].decode() == ada.text() != base_text(ada)
    before = ada.text()
    ada.decide(ada.item("supported"), "accept")
    assert with_it.files["SKILL.md"].decode() == ada.text()
    again, taken = ada.workspace.preview(ada.refinement_id, shown.change_id)
    assert (again.files["SKILL.md"].decode(), taken.files["SKILL.md"].decode()) == (before, ada.text())
    with pytest.raises(StoreError, match="not part of the refinement"):
        ada.workspace.preview(ada.refinement_id, "gone")


def test_an_override_is_recorded(ada: Reviewer) -> None:
    with pytest.raises(DecisionRefused) as caught:
        ada.decide(ada.item("unsupported"), "accept")
    assert caught.value.kind == "needs_reason"
    ada.decide(ada.item("unsupported"), "accept", reason="we saw it twice")
    assert ada.workspace.decisions(ada.refinement_id)[-1].override


def test_an_edit_that_brings_in_a_leak_is_held(ada: Reviewer) -> None:
    with pytest.raises(DecisionRefused, match=r"maria\.k@example\.org") as caught:
        ada.decide(ada.item("supported"), "amend", amended="- Write to maria.k@example.org when done.")
    assert caught.value.kind == "blocked"
    ada.decide(ada.item("supported"), "amend", amended="- Write to the owner when done.")


def test_many_threads_write_one_log(ada: Reviewer) -> None:
    """Every accept and undo of eight hands is in the log, in one order, and the skill is what that log says."""
    items = ada.items()

    def hands(item_number: int) -> None:
        item = items[item_number % len(items)]
        for _ in range(4):
            fresh = next(one for one in ada.items() if one.change_id == item.change_id)
            for action in ("accept", "skip"):
                try:
                    ada.workspace.decide(
                        ada.refinement_id, item.change_id, action, shown_at=0.0, seen=fresh.hash, reason="x"
                    )
                except DecisionRefused:
                    continue
            ada.workspace.undo(ada.refinement_id)

    threads = [threading.Thread(target=hands, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    log = ada.workspace.decisions(ada.refinement_id)
    path, text = ada.workspace._room.store.database.path, ada.text()
    ada.workspace.close()
    again = Reviewer(opened(path), ada.refinement_id, ada.clock)
    assert again.workspace.decisions(ada.refinement_id) == log and len(log) > 8
    assert again.text() == text


def test_exports_follow_from_the_decisions(ada: Reviewer, tmp_path: Path) -> None:
    ada.decide(ada.item("supported"), "accept")
    ada.decide(ada.item("unsupported"), "reject", reason_code="other", reason="=cmd()")
    made = ada.workspace.exports(ada.refinement_id)
    assert made.blocked == () and made.skill_md.decode() == ada.text()
    assert (made.name, made.main) == ("workbook", "SKILL.md")
    with zipfile.ZipFile(io.BytesIO(made.zip)) as archive:
        inside = {"workbook/SKILL.md": made.skill_md, "workbook/.refiner/provenance.json": made.provenance_json}
        assert {name: archive.read(name) for name in archive.namelist()} == inside
    log = [json.loads(line) for line in made.decisions_jsonl.splitlines()]
    assert [(one["event"], one["action"], one["reviewer"]) for one in log] == [
        (1, "accept", "ada"),
        (2, "reject", "ada"),
    ]
    provenance = json.loads(made.provenance_json)
    (change_id,) = provenance["changes"]
    assert provenance["ranges"][0]["change"] == change_id
    assert {one["status"] for one in provenance["decisions"].values()} == {"accepted", "rejected"}
    (tmp_path / "SKILL.md").write_bytes(base_text(ada).encode())
    subprocess.run(["git", "apply", "-"], cwd=tmp_path, input=made.patch, check=True)
    assert (tmp_path / "SKILL.md").read_bytes() == made.skill_md
    assert b"'=cmd()" in made.changes_csv
    assert made.report_html.startswith(b"<!DOCTYPE html>")
    assert ada.workspace.exports(ada.refinement_id) is made
    ada.workspace.undo(ada.refinement_id)
    assert ada.workspace.exports(ada.refinement_id).decisions_jsonl.count(b"\n") == 3


def test_an_export_without_any_decision_is_the_base_and_says_so(ada: Reviewer) -> None:
    made = ada.workspace.exports(ada.refinement_id)
    assert made.skill_md.decode() == base_text(ada) and made.patch == b""
    assert made.warnings[0] == "No change is accepted, so this is the skill as it was."


def test_counter_examples_are_training_traces_of_the_other_outcome_same_tasks_first(ada: Reviewer) -> None:
    item = ada.item("supported")
    found = ada.workspace.nearest_opposite(ada.refinement_id, item.change_id, 6)
    assert [view.outcome.status for view in found] == ["pass"] * 6
    tasks = {one.trace.task_id for one in behind_change(ada.workspace.report(ada.refinement_id), item.row)}
    assert {view.trace.task_id for view in found} <= tasks
    again = ada.workspace.nearest_opposite(ada.refinement_id, item.change_id, 6)
    assert [view.external_id for view in again] == [view.external_id for view in found]
    with pytest.raises(StoreError, match="has no change"):
        ada.workspace.nearest_opposite(ada.refinement_id, "gone")


def test_a_trace_comes_with_the_quotes_taken_from_it(ada: Reviewer) -> None:
    citation = next(one for one in ada.item("supported").row.proposals[0].citations if one.verified)
    view = ada.workspace.trace(citation.trace_id, refinement_id=ada.refinement_id)
    assert citation in view.cited and view.outcome.status == "fail"
    assert ada.workspace.trace(citation.trace_id) == view


def later(ada: Reviewer) -> str:
    """A refinement after one more, harmless trace."""
    more = run("task99-run0", "Set the total of sheet 99.", [call("open_workbook", path="book.xlsx")], "t99")
    ada.workspace.ingest("own", [upload("more.jsonl", lines([more])), upload("r.json", '{"task99-run0": true}')])
    return refine(ada.workspace, "own")


def test_decisions_are_carried_to_the_next_refinement_and_can_be_undone(ada: Reviewer) -> None:
    ada.decide(ada.item("supported"), "accept")
    ada.decide(ada.item("unsupported"), "reject", reason_code="harmful")
    text = ada.text()
    next_id = later(ada)
    assert ada.workspace._room.store.refinement(next_id).parent == ada.refinement_id
    after = Reviewer(ada.workspace, next_id, ada.clock)
    carried = [(item.row.result, item.in_skill) for item in after.items() if item.status == "carried"]
    assert carried == [("supported", True), ("unsupported", False)]
    assert after.text() == text
    events = ada.workspace.decisions(next_id)
    assert {(one.action, one.inherited_from) for one in events} == {("carried", ada.refinement_id)}
    assert [one.inherited for one in events] == ["accept", "reject"]
    assert ada.workspace.carry_over(ada.refinement_id, next_id) == 0
    assert ada.workspace.undo(next_id) is not None
    assert after.text() == base_text(ada)
    assert ada.workspace.carry_over(ada.refinement_id, next_id) == 0


def test_without_decisions_nothing_is_carried(ada: Reviewer) -> None:
    assert ada.workspace.decisions(later(ada)) == []


def test_a_result_of_the_command_line_is_opened_for_reading(tmp_path: Path) -> None:
    corpus = workbook()
    corpus.write(tmp_path / "in")
    config = refiner.RefineConfig(
        skill_file=tmp_path / "in" / "SKILL.md",
        raw_jsonl=(tmp_path / "in" / "traces.jsonl",),
        binary_rewards=tmp_path / "in" / "rewards.json",
        output_dir=tmp_path / "my result",
    )
    result = refiner.refine(config)
    clock = Clock()
    desk = opened(tmp_path / "app.duckdb", clock)
    fill(desk, corpus, "my result")
    refinement_id = desk.open_result(tmp_path / "my result")
    assert refinement_id == result.refinement_id
    assert desk.open_result(tmp_path / "my result") == refinement_id
    assert f"refiner calibrate --out '{tmp_path / 'my result'}'" in desk.gate(refinement_id).words[-1]
    calibrated = calibrating.run(
        tmp_path / "my result" / "refiner.duckdb", None, None, calibrating.Wish(), config, {}, "2026-01-01T00:00:00Z"
    )
    desk.remove_corpus("my result 2")
    assert desk.open_result(tmp_path / "my result") == refinement_id
    assert desk.report(refinement_id).calibration == calibrated.calibration is not None
    shutil.rmtree(tmp_path / "my result")
    assert desk.report(refinement_id) == replace(result.report, calibration=calibrated.calibration)
    assert [(card.name, card.opened, card.refinements) for card in desk.corpora()] == [
        ("my result", False, 0),
        ("my result 2", True, 1),
    ]
    assert desk.corpus_of(refinement_id) == "my result 2"
    assert [card.id for card in desk.refinements("my result 2")] == [refinement_id]
    job = desk.job(refinement_id)
    assert (job.status, job.reviewable, desk.newer(refinement_id)) == ("done", True, (0, 0))
    assert desk.merged(refinement_id, preview="automatic").files["SKILL.md"].decode() == result.skill_text
    ada = Reviewer(desk, refinement_id, clock)
    ada.decide(ada.items()[0], "accept")
    item = result.report.snapshot.training[0]
    assert desk.trace(item.trace.id).trace == item.trace
    assert desk.nearest_opposite(refinement_id, ada.items()[0].change_id)
    for act in (lambda: desk.resume(refinement_id), lambda: desk.start("my result 2", {})):
        with pytest.raises(ConfigError, match="opened for reading"):
            act()


def test_a_folder_without_a_result_says_what_to_name(tmp_path: Path) -> None:
    desk = opened(tmp_path / "app.duckdb")
    with pytest.raises(StoreError, match=r"holds no refiner\.duckdb"):
        desk.open_result(tmp_path)
    opened(tmp_path / "refiner.duckdb").close()
    with pytest.raises(StoreError, match="holds no finished refinement"):
        desk.open_result(tmp_path)


def large(desk: Workspace) -> str:
    """An opened result with 60 supported changes."""
    made = report([(added(f"Rule number {number} holds for all of them."),) for number in range(60)])
    desk._room.store.put_result("r1", "big", "elsewhere", codec.encode(Stored(made, ())))
    return "r1"


def test_a_decision_among_60_changes_is_on_screen_at_once(tmp_path: Path) -> None:
    """Well under half a second on any machine: nothing is measured or merged by a model again."""
    clock = Clock()
    desk = opened(tmp_path / "a.duckdb", clock)
    ada = Reviewer(desk, large(desk), clock)
    for item in ada.items()[:58]:
        ada.decide(item, "accept")
    shown = ada.items()[58]
    began = time.perf_counter()
    review = ada.decide(shown, "accept")
    text = ada.text()
    spent = time.perf_counter() - began
    assert review.counts["in_skill"] == 59 and text.count("Rule number") == 59
    assert spent < 0.5


def test_a_blocked_export_gives_no_skill(tmp_path: Path) -> None:
    """A change that got in before an audit held it (or by another way) never leaves the house."""
    clock = Clock()
    desk = opened(tmp_path / "a.duckdb", clock)
    made = report([(added("Rule."),)], findings=[(0, "quarantine")])
    desk._room.store.put_result("r1", "big", "elsewhere", codec.encode(Stored(made, ())))
    change_id = made.changes[0].key
    slipped = Decision(change_id, "r1", made.base.key, "accept", reviewer="ada")
    desk._room.store.add_decisions([slipped])
    held = desk.exports("r1")
    assert (held.skill_md, held.zip, held.patch) == (b"", b"", b"")
    assert "quarantine" in held.blocked[0]
    ada = Reviewer(desk, "r1", clock)
    ada.decide(ada.items()[0], "reject")
    ada.decide(ada.items()[0], "accept", reason_code="released", reason="it is public")
    assert desk.exports("r1").skill_md == merge.apply(made.base, [replace(made.changes[0])]).files["SKILL.md"]


SAID = 'Edits "sheets": totals, names.\nUse when a request names a sheet.'


def test_a_skill_from_nothing_is_exported_once_a_person_has_written_its_description(tmp_path: Path) -> None:
    path, refinement_id = refined(tmp_path, replace(workbook(), skill=None))
    clock = Clock()
    ada = Reviewer(opened(path, clock), refinement_id, clock)
    ada.decide(ada.item("supported"), "accept")
    waiting = next(item for item in ada.items() if item.to_write)
    assert ada.workspace.exports(refinement_id).blocked[0].startswith("The description is still to be written")
    for text, words in (("  ", "still to be written"), ("x" * 1025, "1,025 characters, at most 1,024")):
        with pytest.raises(DecisionRefused, match=words):
            ada.decide(waiting, "amend", amended=text)
    with pytest.raises(DecisionRefused, match="still to be written"):
        ada.decide(waiting, "accept")
    assert not ada.workspace.exports(refinement_id).skill_md

    ada.decide(waiting, "amend", amended=SAID)
    made = ada.workspace.exports(refinement_id)
    front = skills.front_matter(made.skill_md)
    assert front and front.values["description"] == " ".join(SAID.split())
    assert not made.blocked and not any("description" in words for words in made.warnings)
    provenance, log = json.loads(made.provenance_json), made.decisions_jsonl.decode().splitlines()
    assert waiting.change_id in {one["change"] for one in provenance["ranges"]}
    assert [json.loads(line)["action"] for line in log] == ["accept", "amend"]
    assert "totals, names. Use when a request names a sheet." in made.report_html.decode()

    later = refine(ada.workspace, "own", max_undecided=7)
    carried = next(item for item in ada.workspace.review(later).items if item.to_write)
    assert (carried.status, carried.in_skill, carried.text) == ("carried", True, " ".join(SAID.split()))
    ada.workspace.undo(refinement_id)
    assert ada.workspace.exports(refinement_id).blocked
    ada.workspace.close()


def test_a_skill_with_a_description_is_asked_for_none(ada: Reviewer) -> None:
    assert not any(item.to_write for item in ada.items())


def test_every_counted_run_has_its_witness_and_the_report_names_them(ada: Reviewer) -> None:
    item = ada.item("supported")
    found = ada.workspace.counted(ada.refinement_id, item.change_id)
    contrast = item.row.verdicts[0].contrast
    assert contrast is not None
    assert len(found["failing with it"]) == contrast.failures_with == 8
    assert len(found["passing with it"]) == contrast.passes_with
    assert {len(found[f"{ended} with it"]) + len(found[f"{ended} without it"]) for ended in ("failing", "passing")} == {
        contrast.failures,
        contrast.passes,
    }
    for one in found["failing with it"]:
        assert one.at is not None and one.item.trace.spans[one.at].name == "save_workbook"
    assert all(one.at is None for one in found["failing without it"])
    ada.decide(item, "accept")
    made = ada.workspace.exports(ada.refinement_id)
    first = found["failing with it"][0]
    assert f"{first.item.trace.external_id} ({first.at + 1})".encode() in made.report_html
    assert b"Power: the clearest outcome that 8 informative tasks allow" in made.report_html
    (change,) = json.loads(made.provenance_json)["changes"].values()
    told = change["proposals"][0]["verdict"]["contrast"]
    assert (told["failures_with"], told["failures"], told["m"]) == (8, contrast.failures, contrast.m)
    assert told["runs_that_show_it"] == [one.item.trace.external_id for one in found["failing with it"]]


def test_counter_examples_stand_in_the_report_and_the_provenance(ada: Reviewer, tmp_path: Path) -> None:
    item = ada.item("supported")
    shown = [one.external_id for one in ada.workspace.nearest_opposite(ada.refinement_id, item.change_id)]
    assert len(shown) == 5
    made = ada.workspace.exports(ada.refinement_id)
    assert json.loads(made.provenance_json)["counter_examples"][item.change_id] == shown
    assert f"Nearest runs of the other outcome: {', '.join(shown)}".encode() in made.report_html
    out = tmp_path / "out"
    command("refine", *workbook().write(tmp_path / "in"), "--out", out)
    told = json.loads((out / "combined" / "provenance.json").read_text())["counter_examples"]
    assert told[item.change_id] == shown


WRONG = "---\nname: Sheet_Work\nauthor: ann\nversion: 2\n---\n" + SKILL.split("---\n", 2)[2]


def test_mistakes_of_the_start_skill_are_changes_of_their_own(tmp_path: Path) -> None:
    path, refinement_id = refined(tmp_path, replace(workbook(), skill=WRONG))
    clock = Clock()
    ada = Reviewer(opened(path, clock), refinement_id, clock)
    name, describe, keys = (item for item in ada.items() if item.mends)
    assert describe.to_write and not any(item.in_skill for item in (name, describe, keys))
    assert "author, version" in keys.intent and "sheet-work" in name.intent.lower()
    assert ada.text(preview="automatic").startswith("---\nname: Sheet_Work\nauthor: ann\n")  # no machine takes them
    ada.workspace.accept_supported(refinement_id)
    assert "Sheet_Work" in ada.text()

    ada.decide(name, "accept")
    ada.decide(keys, "accept")
    ada.decide(describe, "amend", amended="Edits sheets.")
    made = ada.workspace.exports(refinement_id)
    front = skills.front_matter(made.skill_md)
    assert front is not None and front.values == {
        "name": "sheet-work", "description": "Edits sheets.", "metadata": {"author": "ann", "version": 2},
    }  # fmt: skip
    assert not made.blocked and not any("front matter" in words or "name" in words for words in made.warnings)
    provenance = json.loads(made.provenance_json)
    brought = {one["change"] for one in (*provenance["ranges"], *provenance["removed"])}
    assert {name.change_id, describe.change_id, keys.change_id} <= brought
    ada.workspace.undo(refinement_id)
    ada.workspace.undo(refinement_id)
    assert "author: ann\nversion: 2\n---" in ada.text() and "name: sheet-work" in ada.text()
    ada.workspace.close()
