"""The skill page: accepted changes only, previews that decide nothing, one decision a hunk, exports, and its states."""

from __future__ import annotations

import io
import time
import zipfile
from collections.abc import Iterator
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from pages._ui.markdown import markdown_html
from refiner import merge
from refiner.errors import StoreError
from refiner.evidence_views import HeldOutView
from refiner.reporting.heldout import ONCE, SEALED, opened_words, why_none
from refiner.reporting.html import html_report
from refiner.reporting.report import Report
from refiner.types import Change, Decision, Finding, HeldOut, HeldOutCount, SkillVersion
from refiner.views import CorpusCard, CorpusView, Exports, Review, Upload
from refiner.workspace.desk import Workspace
from tests import corpus
from tests.fake_desk import FIXED, corpus_view, open_app, words
from tests.scripted_desk import HOSTILE, NAME, ScriptedDesk, report

AT = "2026-01-31T12:00:00Z"


class SkillDesk(ScriptedDesk):
    """The scripted desk with what the skill page asks for: merges, the log, bulk acceptance and exports."""

    def __init__(self, made: Report, *, opened: bool = False, now: Any = None) -> None:
        super().__init__(made, now=now)
        self.is_opened, self.blocked = opened, ()
        self.bulk: list[str] = []
        self.opened_folders: list[Path] = []
        self.estimate: HeldOut | None = None
        self.unsealed = False

    def corpora(self) -> list[Any]:
        return [CorpusCard("books", 12, 4, {"pass": 6, "fail": 6}, False, True, 1, self.is_opened)]

    def corpus(self, name: str) -> CorpusView:
        return corpus_view(name)

    def last_upload(self, name: str) -> None:
        return None

    def held_out(self, refinement_id: str) -> HeldOutView:
        size = (self.made.snapshot.held_out_tasks, self.made.snapshot.held_out_traces)
        if not size[0]:
            return HeldOutView("none", tuple(why_none(self.made)), *size)
        if self.unsealed and self.estimate:
            return HeldOutView("opened", tuple(opened_words(self.estimate)), *size, self.estimate)
        return HeldOutView("sealed", (SEALED, ONCE), *size)

    def open_held_out(self, refinement_id: str) -> HeldOutView:
        self.unsealed = True
        return self.held_out(refinement_id)

    def decisions(self, refinement_id: str) -> list[Decision]:
        return [replace(one, decided_at=AT) for one in self.log]

    def last_event(self, refinement_id: str) -> int:
        return len(self.log) + self.elsewhere

    def merged(self, refinement_id: str, *, upto: int | None = None, preview: str = "none") -> merge.Merged:
        then = copy(self)
        then.log = self.log[:upto]
        items = then.review(NAME).items
        if preview == "automatic":
            return self.made.merged
        wanted = [one for one in items if one.in_skill or (preview == "supported" and self._supported(one))]
        return merge.apply(self.made.base, [self._as_decided(one) for one in wanted])

    def _supported(self, item: Any) -> bool:
        return item.row.result == "supported" and item.status == "open" and not item.blocked

    def _as_decided(self, item: Any) -> Change:
        edits = item.decision.amended if item.decision else ()
        return replace(item.row.change, edits=edits) if edits else item.row.change

    def accept_supported(self, refinement_id: str) -> Review:
        for item in self.review(NAME).items:
            if self._supported(item):
                self.log.append(Decision(item.change_id, NAME, "b", "accept", reviewer="ada", batch="b1"))
        return self.review(NAME)

    def undo(self, refinement_id: str) -> Decision | None:
        last = self.log[-1] if self.log else None
        taken = [one for one in self.log if last and last.batch and one.batch == last.batch] or ([last] if last else [])
        self.log += [replace(one, action="undo") for one in taken if one]
        return last

    def exports(self, refinement_id: str) -> Exports:
        merged = self.merged(NAME)
        data = io.BytesIO()
        with zipfile.ZipFile(data, "w") as folder:
            folder.writestr("books/SKILL.md", merged.files["SKILL.md"])
        page = html_report(self.made, self.review(NAME), merged, self.log).encode()
        skill = b"" if self.blocked else merged.files["SKILL.md"]
        return Exports(skill, data.getvalue(), b"{}", b"{}", b"", page, self.blocked, (), "books", changes_csv=b"id")

    def open_result(self, folder: Path) -> str:
        self.opened_folders.append(folder)
        if not folder.exists():
            raise StoreError(f"{folder}: there is no such folder; name one that holds run.json")
        return NAME


@pytest.fixture
def desk() -> SkillDesk:
    return SkillDesk(report())


def show(monkeypatch: pytest.MonkeyPatch, desk: SkillDesk, **params: str) -> AppTest:
    app = open_app(monkeypatch, desk, "skill", refinement=NAME, **params)
    assert not app.exception
    return app


def press(app: AppTest, key: str) -> AppTest:
    (button,) = [one for one in app.button if one.key == key or (one.key or "").startswith(f"{key}_")][:1]
    button.click().run()
    assert not app.exception
    return app


def drawn_as(app: AppTest, view: str) -> AppTest:
    """The page in another view; inline, side or rendered."""
    app.get("button_group")[0].set_value(view).run()
    assert not app.exception
    return app


def keys(app: AppTest, start: str) -> list[str]:
    return [one.key for one in app.button if (one.key or "").startswith(start)]


def inserted(app: AppTest) -> str:
    """The text that the diff shows as added."""
    import html
    import re

    markup = "".join(one.proto.body for one in app.get("html"))
    return html.unescape("".join(re.findall(r"<ins>(.*?)</ins>", markup, flags=re.DOTALL)))


def downloads(app: AppTest) -> dict[str, Any]:
    return {one.key: one for one in app.get("download_button")}


def test_before_the_first_decision_the_skill_is_the_base_and_the_page_says_so(
    monkeypatch: pytest.MonkeyPatch, desk: SkillDesk
) -> None:
    app = show(monkeypatch, desk)
    assert "Nobody has decided yet: this is the base" in words(app)
    assert inserted(app) == "" and not downloads(app)
    assert {"sk_preview_all", "sk_look_all", "sk_export_accept", "sk_export_base"} <= set(keys(app, "sk_"))


def test_a_preview_shows_all_supported_changes_and_decides_nothing(
    monkeypatch: pytest.MonkeyPatch, desk: SkillDesk
) -> None:
    app = press(show(monkeypatch, desk), "sk_preview_all")
    assert "A preview, not a decision" in words(app)
    assert "Read it back after saving." in inserted(app) and "Wait for the disk." in inserted(app)
    assert desk.log == []
    press(app, "sk_leave")
    assert inserted(app) == ""


def test_accepting_all_supported_is_previewed_first_and_undone_as_one(
    monkeypatch: pytest.MonkeyPatch, desk: SkillDesk
) -> None:
    app = press(show(monkeypatch, desk), "sk_look_all")
    assert desk.log == []
    press(app, "sk_accept_all")
    assert [one.batch for one in desk.log] == ["b1", "b1"] and "2 changes in the skill now" in words(app)
    assert "Wait for the disk." in inserted(app)
    press(app, "sk_undo")
    assert inserted(app) == "" and "No change is accepted: this is the base" in words(app)


def test_a_hunk_is_a_change_with_its_verdict_and_is_rejected_by_itself(
    monkeypatch: pytest.MonkeyPatch, desk: SkillDesk
) -> None:
    desk.accept_supported(NAME)
    app = show(monkeypatch, desk)
    first, second = [item.change_id for item in desk.review(NAME).items if item.in_skill]
    assert [key for key in keys(app, "sk_reject_") if first in key or second in key]
    assert "the gate says supported" in words(app) and "Accepted by ada" in words(app)
    press(app, f"sk_reject_{first}")
    assert len(desk.log) == 2, "a rejection asks for its reason first"
    press(app, f"sk_because_too_specific_{first}")
    assert (desk.log[-1].action, desk.log[-1].change_id, desk.log[-1].reason_code) == ("reject", first, "too_specific")
    assert "Read it back" not in inserted(app) and "Wait for the disk." in inserted(app)
    press(app, f"sk_accept_{first}")
    assert "Read it back" in inserted(app)


def test_a_decision_names_what_was_on_screen(monkeypatch: pytest.MonkeyPatch, desk: SkillDesk) -> None:
    app = show(monkeypatch, desk)
    item = next(one for one in desk.review(NAME).items if one.row.result == "undecided")
    press(app, f"sk_accept_{item.change_id}")
    ((action, said),) = desk.calls
    assert (action, said["change_id"], said["seen"]) == ("accept", item.change_id, item.hash)
    assert 0 < said["shown_at"] < float("inf")


def test_a_press_before_anyone_could_look_is_refused_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    desk = SkillDesk(report(), now=lambda: 0.0)
    app = show(monkeypatch, desk)
    press(app, "sk_accept")
    assert desk.log == [] and "look at it" in app.toast[0].value


def test_what_the_gate_or_an_audit_is_against_is_not_accepted_here(
    monkeypatch: pytest.MonkeyPatch, desk: SkillDesk
) -> None:
    app = show(monkeypatch, desk)
    against = [one for one in desk.review(NAME).items if one.row.result == "unsupported" or one.blocked]
    assert len(against) == 2
    for item in against:
        assert keys(app, f"sk_reject_{item.change_id}") and not keys(app, f"sk_accept_{item.change_id}")


def test_why_opens_the_evidence_of_one_change_and_is_a_link(monkeypatch: pytest.MonkeyPatch, desk: SkillDesk) -> None:
    desk.accept_supported(NAME)
    item = desk.review(NAME).items[0]
    app = show(monkeypatch, desk, change=item.change_id)
    assert "5 runs show it" in words(app) and item.row.change.rationale in words(app)
    press(app, f"sk_why_{item.change_id}")
    assert "5 runs show it" not in words(app) and "change" not in app.query_params


def test_the_history_strip_shows_the_skill_as_it_was(monkeypatch: pytest.MonkeyPatch, desk: SkillDesk) -> None:
    desk.accept_supported(NAME)
    app = show(monkeypatch, desk)
    app.slider[0].set_value(1).run()
    assert "Read it back" in inserted(app) and "Wait for the disk." not in inserted(app)
    assert "After decision 1 of 2" in words(app) and "as it was then" in words(app)
    assert not keys(app, "sk_reject_") and not keys(app, "sk_accept_")
    press(app, "sk_now")
    assert "Wait for the disk." in inserted(app) and "upto" not in app.query_params


def test_an_edited_change_shows_its_own_words_and_keeps_its_buttons(
    monkeypatch: pytest.MonkeyPatch, desk: SkillDesk
) -> None:
    item = desk.review(NAME).items[0]
    desk.decide(NAME, item.change_id, "amend", shown_at=0.0, seen=item.hash, amended="- Read back what was saved.")
    app = show(monkeypatch, desk)
    assert "Read back what was saved." in inserted(app)
    assert keys(app, f"sk_reject_{item.change_id}") and "with the text edited" in words(app)


@pytest.mark.parametrize("view", ["inline", "side", "rendered"])
def test_every_view_shows_the_accepted_text(monkeypatch: pytest.MonkeyPatch, desk: SkillDesk, view: str) -> None:
    desk.accept_supported(NAME)
    app = drawn_as(show(monkeypatch, desk), view)
    markup = "".join(one.proto.body for one in app.get("html"))
    assert "Wait for the disk." in markup
    assert ('class="sr-new"' in markup) == (view == "rendered")
    assert len(keys(app, "sk_reject_")) >= 2


def test_the_files_to_download_are_those_of_the_workspace(monkeypatch: pytest.MonkeyPatch, desk: SkillDesk) -> None:
    desk.accept_supported(NAME)
    app = show(monkeypatch, desk)
    found = downloads(app)
    assert set(found) == {f"sk_get_{one}" for one in
        ("skill", "zip", "patch", "report", "decisions", "provenance", "changes")}  # fmt: skip
    assert not any(one.proto.disabled for one in found.values())


def test_after_a_download_the_page_says_where_the_file_goes(monkeypatch: pytest.MonkeyPatch, desk: SkillDesk) -> None:
    desk.accept_supported(NAME)
    desk.newer_than = (3, 0)
    app = open_app(monkeypatch, desk, "skill", refinement=NAME)
    app.session_state["sk_taken"] = NAME
    app.run()
    assert [one.value for one in app.code] == [
        "~/.claude/skills/books/SKILL.md",
        "~/.codex/skills/books/SKILL.md",
        "~/.agents/skills/books/SKILL.md",
        ".claude/skills/books/SKILL.md",
    ]
    assert "3 newer records wait already" in words(app)


def test_what_blocks_an_export_is_said_and_the_report_can_still_be_taken(
    monkeypatch: pytest.MonkeyPatch, desk: SkillDesk
) -> None:
    desk.accept_supported(NAME)
    desk.blocked = ("SKILL.md: the code fence '```' is never closed: add the closing line",)  # type: ignore[assignment]
    found = downloads(app := show(monkeypatch, desk))
    assert "the code fence" in words(app)
    shut = {key for key, one in found.items() if one.proto.disabled}
    assert shut == {"sk_get_skill", "sk_get_zip", "sk_get_patch"}


def test_the_base_can_be_exported_when_nothing_is_accepted(monkeypatch: pytest.MonkeyPatch, desk: SkillDesk) -> None:
    app = press(show(monkeypatch, desk), "sk_export_base")
    assert "sk_get_skill" in downloads(app)


def test_size_is_measured_against_what_is_advised(monkeypatch: pytest.MonkeyPatch) -> None:
    made = report()
    body = made.base.files["SKILL.md"] + b"- more words\n" * 500
    large = replace(made, base=SkillVersion({"SKILL.md": body}))
    app = show(monkeypatch, SkillDesk(large))
    markup = "".join(one.proto.body for one in app.get("html"))
    assert "of 500 lines" in words(app) and 'class="sk-meter over"' in markup


def test_audits_of_accepted_changes_are_shown_and_those_of_others_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    made = report()
    first = made.decided[0].change.key
    flag = Finding(first, "injection", "flag", "curl", "run fail-1", "adds a shell command")
    desk = SkillDesk(replace(made, findings=(*made.findings, flag)))
    assert "adds a shell command" not in words(show(monkeypatch, desk))
    desk.accept_supported(NAME)
    shown = words(show(monkeypatch, desk))
    assert "adds a shell command" in shown and "secret-4711 from the notes" not in shown


def test_the_held_out_panel_counts_and_stays_sealed(monkeypatch: pytest.MonkeyPatch) -> None:
    made = report()
    held = replace(made, snapshot=replace(made.snapshot, held_out_tasks=12, held_out_traces=40))
    assert "12 tasks (40 traces) are held out and sealed" in words(show(monkeypatch, SkillDesk(held)))
    none = words(show(monkeypatch, SkillDesk(made)))
    assert "Nothing is held out: a share is kept back from 100 known tasks on" in none
    assert "would take" in none and "tasks with both outcomes" in none


def test_the_seal_takes_two_presses_and_then_shows_every_change(monkeypatch: pytest.MonkeyPatch) -> None:
    made = report()
    held = replace(made, snapshot=replace(made.snapshot, held_out_tasks=12, held_out_traces=40))
    desk = SkillDesk(held)
    one, two = (row.change.key for row in held.decided[:2])
    good = HeldOutCount(one, 11, 9, 8, 1, (0.48, 0.98), (0.0, 0.53), "words")
    odd = HeldOutCount(two, 11, 0, 8, 5, (0.0, 0.28), (0.24, 0.91), "words")
    desk.estimate = HeldOut("ada", "2026-01-02T03:04:05Z", 12, 40, (good, odd), replace(good, change_id=""))
    app = show(monkeypatch, desk)
    assert not desk.unsealed and "sk_seal_open" not in [one.key for one in app.button]
    app.button("sk_seal_ask").click().run()
    assert not desk.unsealed and "every decision after it is marked" in words(app)
    app.button("sk_seal_open").click().run()
    assert desk.unsealed
    shown = words(app)
    assert "Opened by ada on 2026-01-02 03:04 UTC: 12 tasks, 40 runs." in shown
    assert "9 of 11 (48% to 98%)" in shown and "5 of 8 (24% to 91%)" in shown
    assert 'class="odd"' in "".join(one.proto.body for one in app.get("html"))


def test_an_opened_result_starts_with_its_automatic_merge_decided_by_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    desk = SkillDesk(report(), opened=True)
    app = show(monkeypatch, desk)
    assert "automatic merge of the command line, decided by nobody" in words(app)
    assert "Read it back" in inserted(app) and desk.log == []


def test_opening_a_result_that_is_not_there_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch, desk: SkillDesk, tmp_path: Path
) -> None:
    app = open_app(monkeypatch, desk, "skill", refinement=NAME)
    app.session_state["sk_open"] = True
    app.run()
    app.text_input(key="sk_folder").input(str(tmp_path / "gone")).run()
    press(app, "sk_open_yes")
    assert "there is no such folder" in words(app)


def test_new_decisions_elsewhere_are_told_and_not_forced(monkeypatch: pytest.MonkeyPatch, desk: SkillDesk) -> None:
    app = show(monkeypatch, desk)
    assert not keys(app, "sk_news")
    before, desk.last_event = desk.last_event, lambda refinement_id: before(refinement_id) + 2  # type: ignore[method-assign]
    app.run()
    assert "2 new decisions" in next(one.label for one in app.button if one.key == "sk_news")


def test_a_refinement_that_is_gone_is_said_in_words(monkeypatch: pytest.MonkeyPatch, desk: SkillDesk) -> None:
    app = open_app(monkeypatch, desk, "skill", refinement="nowhere")
    assert not app.exception and "there is no refinement nowhere" in words(app)


def test_without_a_refinement_the_page_says_where_to_start(monkeypatch: pytest.MonkeyPatch, desk: SkillDesk) -> None:
    monkeypatch.setattr(desk, "refinements", lambda name: [])
    app = open_app(monkeypatch, desk, "skill")
    assert not app.exception and "No refinement yet" in words(app)


def test_a_refinement_without_changes_shows_the_base(monkeypatch: pytest.MonkeyPatch) -> None:
    app = show(monkeypatch, SkillDesk(report(empty=True)))
    assert "this is the base" in words(app) and "Save with `save_book`." in words(app)


def test_text_of_runs_and_skills_is_never_markup(monkeypatch: pytest.MonkeyPatch) -> None:
    desk = SkillDesk(report(hostile=True))
    desk.accept_supported(NAME)
    for view in ("inline", "side", "rendered"):
        app = drawn_as(show(monkeypatch, desk, change=desk.review(NAME).items[0].change_id), view)
        markup = "".join(one.proto.body for one in app.get("html") if not one.proto.body.startswith(FIXED))
        assert "<img" not in markup and "<script" not in markup
        assert not app.markdown


def test_rendered_text_keeps_structure_and_shows_active_parts_as_text() -> None:
    head = f"---\nname: x\n---\n\n# Head\n\n- one\n- {HOSTILE}\n\n"
    text = f"{head}[a](http://b) <http://c>\n\n[d]: http://e\n\n| f |\n|---|\n| g |\n"
    shown = markdown_html(text, [(8, 8)])
    assert "<h1>Head</h1>" in shown and "<td>g</td>" in shown and "<strong>bold</strong>" in shown
    assert "<a" not in shown and "<img" not in shown and "<script" not in shown and "href" not in shown
    for literal in (
        "[a](http://b)",
        "![x](http://evil.example/p.png)",
        "&lt;script&gt;",
        "[d]: http://e",
        "&lt;http://c&gt;",
    ):
        assert literal in shown
    assert shown.count('class="sr-new"') == 1 and '<li class="sr-new">&lt;img' in shown


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Workspace, str]]:
    """A workspace with one finished refinement; its clock runs ahead, so nothing is decided too fast."""
    folder = tmp_path_factory.mktemp("real")
    corpus.workbook().write(folder / "in")
    desk = Workspace.open(folder / "refiner.duckdb", clock=lambda: time.time() + 5)
    desk.create_corpus("workbook")
    desk.ingest("workbook", [Upload(path.name, io.BytesIO(path.read_bytes())) for path in (folder / "in").iterdir()])
    desk.set_skill("workbook", {"SKILL.md": corpus.SKILL.encode()})
    started = desk.start("workbook", {})
    assert desk.wait(60)
    yield desk, started
    desk.close()


def test_from_the_base_to_an_exported_skill_with_a_real_workspace(
    monkeypatch: pytest.MonkeyPatch, real: tuple[Workspace, str]
) -> None:
    desk, name = real
    base = desk.report(name).base.files["SKILL.md"]
    app = open_app(monkeypatch, desk, "skill", refinement=name)
    assert not app.exception and "Nobody has decided yet" in words(app)
    press(press(app, "sk_look_all"), "sk_accept_all")
    supported = [item for item in desk.review(name).items if item.in_skill]
    assert [item.row.result for item in supported] == ["supported"]
    assert corpus.RULE in inserted(app)

    undecided = next(item for item in desk.review(name).items if item.row.result == "undecided")
    press(app, f"sk_accept_{undecided.change_id}")
    expected = merge.apply(desk.report(name).base, [supported[0].row.change, undecided.row.change])
    assert desk.exports(name).skill_md == expected.files["SKILL.md"]
    page = desk.exports(name).report_html.decode()
    assert page.count('<article id="change-') == len(desk.review(name).items) and "2</b><span>Accepted" in page

    app.slider[0].set_value(1).run()
    assert undecided.row.rule not in inserted(app) and corpus.RULE in inserted(app)
    press(app, "sk_now")
    press(app, f"sk_reject_{supported[0].change_id}")
    press(app, f"sk_because_harmful_{supported[0].change_id}")
    assert corpus.RULE not in inserted(app) and undecided.row.rule in inserted(app)
    assert desk.decisions(name)[-1].reason_code == "harmful"
    for _ in range(3):
        press(app, "sk_undo")
    assert desk.merged(name).files["SKILL.md"] == base and inserted(app) == ""


def test_the_description_of_a_skill_from_nothing_is_written_here_and_lets_it_be_exported(
    monkeypatch: pytest.MonkeyPatch, real: tuple[Workspace, str]
) -> None:
    desk, _ = real
    desk.set_skill("workbook", None, skill_name="workbook")
    name = desk.start("workbook", {})
    assert desk.wait(60)
    app = press(open_app(monkeypatch, desk, "skill", refinement=name, preview="supported"), "sk_accept_all")
    assert "The skill cannot be exported yet." in words(app) and not desk.exports(name).skill_md
    assert "is empty" in words(press(app, "sk_describe_keep"))
    app.text_area(key=f"sk_description_{name}").set_value("Edits workbooks. Use when a request names a sheet.").run()
    press(app, "sk_describe_keep")
    assert not app.exception and "cannot be exported" not in words(app)
    assert all(one.key != f"sk_description_{name}" for one in app.text_area)
    assert 'description: "Edits workbooks. Use when a request names a sheet."' in inserted(app)
    assert b'\ndescription: "Edits workbooks.' in desk.exports(name).skill_md

    review = open_app(monkeypatch, desk, "review", refinement=name)
    written = next(item for item in desk.review(name).items if item.to_write)
    press(review, f"rv_pick_{written.change_id}")
    assert not review.exception and "no run asks for it" in words(review)
    press(press(review, "rv_edit"), f"rv_amend_{written.change_id}")
    press(app, "sk_undo")
    assert any(one.key == f"sk_description_{name}" for one in app.text_area)


BROKEN = "It did before; nothing here comes from a run."


def test_mistakes_of_the_start_skill_are_mended_with_one_press_and_undone(
    monkeypatch: pytest.MonkeyPatch, real: tuple[Workspace, str]
) -> None:
    desk, _ = real
    desk.set_skill("workbook", {"SKILL.md": corpus.SKILL.replace("name: workbook", "name: Work_Book").encode()})
    name = desk.start("workbook", {})
    assert desk.wait(60)
    (wrong,) = (item for item in desk.review(name).items if item.mends)
    app = open_app(monkeypatch, desk, "skill", refinement=name)
    assert BROKEN in words(app) and "work-book" in words(app)
    press(app, f"sk_fix_{wrong.change_id}")
    assert BROKEN not in words(app)
    assert inserted(app) == "work-book"
    press(app, "sk_undo")
    assert BROKEN in words(app)
    review = press(open_app(monkeypatch, desk, "review", refinement=name), f"rv_pick_{wrong.change_id}")
    assert not review.exception and "no run asks for it" in words(review) and "front matter" in words(review)
