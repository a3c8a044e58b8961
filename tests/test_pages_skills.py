"""The page of installed skills: places, versions, the way back, an installation with its conflicts hunk by hunk."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from refiner.carried import encoded, written
from refiner.installs.installing import install
from refiner.skills.loading import HISTORY, PROVENANCE
from refiner.views import Exports
from tests.fake_desk import open_app, words
from tests.installing import opened, package, skill, text
from tests.scripted_desk import HOSTILE, NAME, ScriptedDesk, report


class ExportDesk(ScriptedDesk):
    """A desk whose export is a skill called demo, made from `- one`."""

    def __init__(self, *lines: str, **provenance: Any) -> None:
        super().__init__(report())
        self.blocked: tuple[str, ...] = ()
        base = {"SKILL.md": encoded(skill("- one"))}
        self.files = {
            "SKILL.md": skill(*lines),
            f"{HISTORY}/{PROVENANCE}": written({"refinement": NAME, "base_files": base, **provenance}),
        }

    def corpora(self) -> list[Any]:
        return []

    def current(self) -> str:
        return NAME

    def exports(self, refinement_id: str) -> Exports:
        data = io.BytesIO()
        with zipfile.ZipFile(data, "w") as archive:
            for name, content in self.files.items():
                archive.writestr(f"demo/{name}", content)
        zipped = b"" if self.blocked else data.getvalue()
        return Exports(b"", zipped, b"", b"", b"", b"", self.blocked, (), "demo")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def show(monkeypatch: pytest.MonkeyPatch, desk: ExportDesk, **params: str) -> AppTest:
    app = open_app(monkeypatch, desk, "skills", refinement=NAME, **params)
    assert not app.exception
    return app


def test_without_a_skill_the_places_and_the_next_step_are_shown(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    shown = words(show(monkeypatch, ExportDesk("- one")))
    assert "No skill is installed where agents look" in shown
    for place in (".claude/skills", ".codex/skills", ".agents/skills"):
        assert str(home / place) in shown


def test_an_export_is_installed_where_it_is_told(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    app = show(monkeypatch, ExportDesk("- one", "- refined"), install=NAME)
    app.radio(key="in_where_4").set_value(1).run()
    assert f"New: {home / '.codex/skills/demo'} will be made" in words(app)
    app.button(key="in_install").click().run()
    assert not app.exception
    assert text(home / ".codex/skills/demo") == skill("- one", "- refined").decode()
    assert "Installed as version 1" in words(app)
    assert app.query_params["skill"] == str(home / ".codex/skills/demo")


def test_conflicts_are_decided_hunk_by_hunk_and_nothing_is_written_before(
    monkeypatch: pytest.MonkeyPatch, home: Path
) -> None:
    folder = home / ".claude/skills/demo"
    install(opened(folder), package("- one"))
    (folder / "SKILL.md").write_bytes(skill(f"- mine {HOSTILE}"))
    app = show(monkeypatch, ExportDesk("- theirs"), install=NAME)
    assert "1 place changed on both sides" in [one.value for one in app.subheader]
    assert "<script>" not in words(app) and "&lt;script&gt;" in words(app)
    assert app.button(key="in_install").disabled
    (control,) = [one for one in app.get("segmented_control") if str(one.key).startswith("in_take_")]
    control.set_value("both").run()
    assert not app.button(key="in_install").disabled
    assert text(folder) == skill(f"- mine {HOSTILE}").decode()
    app.button(key="in_install").click().run()
    assert text(folder) == skill(f"- mine {HOSTILE}", "- theirs").decode()
    assert "What lay there was kept as version 2" in words(app)


def test_what_the_held_out_tasks_speak_against_takes_a_reason(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    counted = {"covered": 0, "failing": 11, "exposed": 3, "passing": 9}
    held = {"state": "opened", "accepted": counted, "exposure_without_coverage": True}
    app = show(monkeypatch, ExportDesk("- one", held_out=held), install=NAME)
    assert "none of 11 failing and 3 of 9 passing ones" in words(app)
    assert app.button(key="in_install").disabled
    app.text_input(key="in_reason").set_value("looked at them").run()
    app.button(key="in_install").click().run()
    assert opened(home / ".claude/skills/demo").versions()[0].more["override"] == "looked at them"


def test_a_blocked_export_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    desk = ExportDesk("- one")
    desk.blocked = ("The name is too long.",)
    assert "The name is too long." in words(show(monkeypatch, desk, install=NAME))


def test_versions_are_compared_and_brought_back(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    folder = home / ".agents/skills/demo"
    install(opened(folder), package("- one"))
    install(opened(folder), package("- two"))
    (folder / "SKILL.md").write_bytes(skill("- by hand"))
    app = show(monkeypatch, ExportDesk("- one"), skill=str(folder))
    assert "Edited by hand since version 2: SKILL.md" in words(app)
    assert "From version 2 to what lies there now" in [one.value for one in app.subheader]
    app.button(key="in_show_2").click().run()
    assert "From version 1 to version 2" in [one.value for one in app.subheader]
    app.button(key="in_back_1").click().run()
    assert "Your edits were kept as a version first. Version 1 is back, as version 4." in words(app)
    assert text(folder) == skill("- one").decode()


def test_a_skill_without_history_is_kept_when_asked(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    folder = home / "elsewhere" / "demo"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_bytes(skill("- one"))
    app = show(monkeypatch, ExportDesk("- one"), folder=str(folder.parent), skill=str(folder))
    app.button(key="in_keep").click().run()
    assert "Kept as version 1" in words(app)
    assert [one.source for one in opened(folder).versions()] == ["adopted"]


def test_a_folder_that_holds_no_skill_any_more_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "holds no skill any more" in words(show(monkeypatch, ExportDesk("- one"), skill="/etc"))


def test_a_damaged_history_is_one_sentence_and_the_page_stays(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    folder = home / ".claude/skills/demo"
    install(opened(folder), package("- one"))
    (folder / ".refiner" / "log.jsonl").write_text("nonsense\n")
    app = show(monkeypatch, ExportDesk("- one"), skill=str(folder))
    assert "Restore the file from a backup" in words(app)
    assert app.text_input(key="in_folder")


def lying(folder: Path, *lines: str) -> Path:
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_bytes(skill(*lines, name=folder.name))
    return folder


def test_two_skills_are_merged_after_a_look_at_what_becomes_of_each_line(
    monkeypatch: pytest.MonkeyPatch, home: Path
) -> None:
    place = home / ".claude/skills"
    folder = lying(place / "demo", "- Run the tests before you finish.", "- Never push to the main branch.")
    other = lying(
        place / "other", "- Run the tests before you are finished.", "- Push to the main branch.", f"- New {HOSTILE}"
    )
    app = show(monkeypatch, ExportDesk("- one"), skill=str(folder))
    app.button(key="in_act_merge").click().run()
    shown = words(app)
    assert "1 contradiction" in [one.value for one in app.subheader]
    assert "2 lines and blocks will be added, 1 is said by both and kept once." in shown
    assert "Run the tests before you are finished." in shown and "<script>" not in shown
    assert not (folder / HISTORY).exists() and other.is_dir()
    app.slider(key="in_alike").set_value(1.0).run()
    assert "3 lines and blocks will be added" in words(app)
    app.slider(key="in_alike").set_value(0.75).run()
    app.button(key="in_merge").click().run()
    shown = words(app)
    assert "Merged as version 3." in shown and "stays as it is" in shown and "1 contradiction in it" in shown
    assert text(folder).count("Run the tests") == 1 and "- Push to the main branch." in text(folder)
    assert other.is_dir() and "act" not in app.query_params


def test_the_source_of_a_merge_goes_only_when_asked_and_alone_a_skill_has_none(
    monkeypatch: pytest.MonkeyPatch, home: Path
) -> None:
    folder, other = (lying(home / ".claude/skills" / name, f"- {name}") for name in ("demo", "other"))
    app = show(monkeypatch, ExportDesk("- one"), skill=str(folder), act="merge")
    app.checkbox(key="in_remove").check().run()
    app.button(key="in_merge").click().run()
    assert f"{other} was removed." in words(app) and not other.exists()
    assert "- other" in text(folder)
    assert "There is no other skill" in words(show(monkeypatch, ExportDesk("- one"), skill=str(folder), act="merge"))


def test_another_tools_history_is_shown_and_taken_in(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    folder = lying(home / ".claude/skills" / "demo", "- now")
    lines = [{"version": 1, "timestamp": "2026-01-05T10:00:00Z", "source": "create", "note": HOSTILE, "text": "one\n"},
             {"version": 3, "timestamp": "2026-02-05T10:00:00Z", "source": "evolve", "text": "two\n"}]  # fmt: skip
    (folder / ".skillup").mkdir()
    (folder / ".skillup/history.jsonl").write_text("".join(json.dumps(one) + "\n" for one in lines) + "{broken\n")
    app = show(monkeypatch, ExportDesk("- one"), skill=str(folder))
    app.button(key="in_act_import").click().run()
    shown = words(app)
    assert "2 versions in it" in [one.value for one in app.subheader]
    assert "Numbers that are missing in it: 2." in shown and "history.jsonl:3: this is no JSON" in shown
    assert "<script>" not in shown and not (folder / HISTORY).exists()
    app.button(key="in_import").click().run()
    assert "2 versions taken in; the newest is version 3." in words(app)
    assert [one.at for one in opened(folder).versions()[:2]] == ["2026-01-05T10:00:00Z", "2026-02-05T10:00:00Z"]
    app.button(key="in_act_import").click().run()
    app.button(key="in_import").click().run()
    assert "in the log already. Nothing was written." in words(app)


def test_a_history_from_elsewhere_is_given_as_a_file(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    folder = lying(home / ".claude/skills" / "demo", "- now")
    app = show(monkeypatch, ExportDesk("- one"), skill=str(folder), act="import")
    assert app.button(key="in_import").disabled
    app.file_uploader(key="in_history").set_value([("history.jsonl", b"nonsense", "")]).run()
    assert "history.jsonl: there is no version in it" in words(app) and app.button(key="in_import").disabled
    line = json.dumps({"version": 1, "timestamp": "2026-01-05T10:00:00Z", "text": "one\n"}).encode()
    app.file_uploader(key="in_history").set_value([("history.jsonl", line, "")]).run()
    app.button(key="in_import").click().run()
    assert "1 version taken in" in words(app) and text(folder) == skill("- now").decode()


def test_the_home_folder_and_a_known_one_that_is_named_again_are_shown_once(
    monkeypatch: pytest.MonkeyPatch, home: Path
) -> None:
    folder = lying(home / ".claude/skills" / "demo", "- one")
    monkeypatch.chdir(home)
    app = show(monkeypatch, ExportDesk("- one"), folder=str(folder.parent))
    assert len([one for one in app.button if str(one.key).startswith("in_open_")]) == 1
