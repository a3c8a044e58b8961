"""`refiner skills` from the command line: what it prints, what it writes, and what it refuses."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from refiner.cli import main
from tests.installing import skill


@pytest.fixture(autouse=True)
def at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home, project = tmp_path / "home", tmp_path / "home" / "work" / "project"
    project.mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(project)
    return home


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "source" / "demo"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_bytes(skill("- one", "- two"))
    return folder


def ran(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    code = main(["skills", *map(str, arguments)])
    out, err = capsys.readouterr()
    return code, out, err


def as_json(capsys: pytest.CaptureFixture[str], *arguments: object) -> Any:
    code, out, err = ran(capsys, *arguments, "--json")
    assert (code, err) == (0, "")
    return json.loads(out)


def test_the_places_where_agents_look_are_listed(capsys: pytest.CaptureFixture[str], at_home: Path) -> None:
    found = as_json(capsys, "list")
    wanted = [".claude/skills", ".codex/skills", ".agents/skills", "work/project/.claude/skills"]
    assert [one["folder"] for one in found["places"]] == [str(at_home / one) for one in wanted]
    assert found["skills"] == []
    assert str(at_home / ".codex/skills") in ran(capsys, "list")[1]


def test_a_skill_goes_where_it_is_told_and_is_found_again_by_name(
    capsys: pytest.CaptureFixture[str], at_home: Path, source: Path
) -> None:
    code, _, err = ran(capsys, "install", source)
    assert code == 2 and "--target claude" in err and "--target project" in err
    assert ran(capsys, "install", source, "--target", "claude")[0] == 0
    assert (at_home / ".claude/skills/demo/SKILL.md").read_bytes() == skill("- one", "- two")
    (source / "SKILL.md").write_bytes(skill("- one", "- two", "- three"))
    assert ran(capsys, "install", source)[0] == 0, "it is installed in one place only, so that is where it goes"
    shown = as_json(capsys, "status", "demo")
    assert (shown["version"], shown["edited"]) == (2, [])
    assert as_json(capsys, "list")["skills"][0]["place"] == "claude"


def test_a_folder_that_is_named_otherwise_is_found_by_either_name(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, source: Path
) -> None:
    odd = tmp_path / "skills" / "my-copy"
    odd.mkdir(parents=True)
    (odd / "SKILL.md").write_bytes(skill("- one"))
    for name in ("my-copy", "demo"):
        assert as_json(capsys, "status", name, "--target", odd.parent)["folder"] == str(odd)
    assert "my-copy (demo)" in ran(capsys, "list", "--target", odd.parent)[1]
    assert ran(capsys, "install", source, "--target", odd.parent, "--take", "theirs")[0] == 0
    assert (odd / "SKILL.md").read_bytes() == skill("- one", "- two")
    assert not (odd.parent / "demo").exists()


def test_a_name_that_is_there_twice_is_never_guessed(capsys: pytest.CaptureFixture[str], source: Path) -> None:
    for place in ("claude", "codex"):
        assert ran(capsys, "install", source, "--target", place)[0] == 0
    code, _, err = ran(capsys, "status", "demo")
    assert code == 2 and "more than once" in err
    assert ran(capsys, "status", "demo", "--target", "codex")[0] == 0
    assert ran(capsys, "status", "nothing")[0] == 2


def test_a_skill_that_two_places_link_to_is_one_skill(
    capsys: pytest.CaptureFixture[str], at_home: Path, source: Path
) -> None:
    assert ran(capsys, "install", source, "--target", "agents")[0] == 0
    (at_home / ".claude").mkdir()
    (at_home / ".claude" / "skills").symlink_to(at_home / ".agents" / "skills")
    assert as_json(capsys, "status", "demo")["version"] == 1
    assert ran(capsys, "install", source)[0] == 0


def test_versions_differences_and_the_way_back(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, source: Path
) -> None:
    there = tmp_path / "there"
    ran(capsys, "install", source, "--target", there)
    (source / "SKILL.md").write_bytes(skill("- one", "- 2"))
    ran(capsys, "install", source, "--target", there, "--note", "for\x1b[31m June")
    between = as_json(capsys, "diff", "demo", "--target", there)
    assert (between["from"], between["to"]) == ("version 1", "what lies there now")
    assert "-- two\n+- 2\n" in between["diff"]
    (there / "demo" / "SKILL.md").write_bytes(skill("- one", "- 2", "- hand"))
    assert "+- hand" in ran(capsys, "diff", "demo", "--target", there)[1]
    assert "-- 2\n+- two\n" in as_json(capsys, "diff", "demo", "--target", there, "--from", 2, "--to", 1)["diff"]
    assert "edited   SKILL.md" in ran(capsys, "status", "--target", there)[1]
    assert ran(capsys, "rollback", "--to", 1, "--target", there)[0] == 0
    log = as_json(capsys, "log", "--target", there)
    assert [one["source"] for one in log] == ["rollback", "hand", "installed", "installed"]
    assert "\x1b" not in ran(capsys, "log", "--target", there)[1]
    assert ran(capsys, "show", "--target", there)[1] == skill("- one", "- two").decode()
    assert "- hand" in ran(capsys, "show", "--target", there, "--version", 3)[1]
    assert ran(capsys, "rollback", "--to", 9, "--target", there)[0] == 1


def test_conflicts_are_written_nowhere_until_they_are_decided(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, source: Path
) -> None:
    there = tmp_path / "there"
    ran(capsys, "install", source, "--target", there)
    mine, theirs = skill("- one", "- mine"), skill("- one", "- theirs")
    (there / "demo" / "SKILL.md").write_bytes(mine)
    (source / "SKILL.md").write_bytes(theirs)
    before = sorted((there / "demo").rglob("*"))
    code, out, err = ran(capsys, "install", source, "--target", there)
    assert code == 1 and "- mine" in out and "- theirs" in out and "Nothing was written" in err
    assert (there / "demo" / "SKILL.md").read_bytes() == mine
    assert sorted((there / "demo").rglob("*")) == before
    assert ran(capsys, "install", source, "--target", there, "--resolve", "2=mine")[0] == 2
    assert ran(capsys, "install", source, "--target", there, "--resolve", "1=both")[0] == 0
    assert (there / "demo" / "SKILL.md").read_bytes() == skill("- one", "- mine", "- theirs")


def test_a_zip_is_a_skill_and_other_files_are_refused_with_what_is_taken(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    with zipfile.ZipFile(tmp_path / "demo.zip", "w") as archive:
        archive.writestr("demo/SKILL.md", skill("- zipped"))
        archive.writestr("demo/scripts/go.sh", "echo go\n")
    assert ran(capsys, "install", tmp_path / "demo.zip", "--target", tmp_path / "there")[0] == 0
    assert (tmp_path / "there/demo/scripts/go.sh").read_text() == "echo go\n"
    (tmp_path / "notes.txt").write_text("notes")
    code, _, err = ran(capsys, "install", tmp_path / "notes.txt", "--target", tmp_path / "there")
    assert code == 1 and "a zip of one" in err
    with zipfile.ZipFile(tmp_path / "evil.zip", "w") as archive:
        archive.writestr("demo/SKILL.md", skill("- zipped"))
        archive.writestr("demo/../../out.md", "out")
    assert ran(capsys, "install", tmp_path / "evil.zip", "--target", tmp_path / "evil")[0] == 1
    assert not (tmp_path / "out.md").exists() and not (tmp_path / "evil" / "demo" / "SKILL.md").exists()


def test_two_skills_are_merged_and_contradictions_shown(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    there = tmp_path / "there"
    for name, line in (("a", "- Always ask first."), ("b", "- Never ask first.")):
        (there / name).mkdir(parents=True)
        (there / name / "SKILL.md").write_bytes(skill(line, name=name))
    code, out, _ = ran(capsys, "merge", "a", "b", "--target", there)
    assert code == 0 and "Against each other" in out and "a stays as it is" in out
    assert (there / "b" / "SKILL.md").read_bytes() == skill("- Never ask first.", "- Always ask first.", name="b")
    assert ran(capsys, "merge", "a", "b", "--target", there, "--similarity", "7")[0] == 2
    assert ran(capsys, "merge", "a", "b", "--target", there, "--delete-source")[0] == 0
    assert not (there / "a").exists()


def test_a_foreign_history_comes_in_and_goes_out(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    folder = tmp_path / "there" / "demo"
    (folder / ".skillup").mkdir(parents=True)
    old = skill("- old").decode()
    line = json.dumps({"version": 4, "timestamp": "2026-01-05", "source": "x", "note": "", "text": old})
    (folder / ".skillup" / "history.jsonl").write_text(f"{line}\nnonsense\n")
    code, out, _ = ran(capsys, "import", folder)
    assert code == 0 and "history.jsonl:2: this is no JSON" in out and "1 version taken in" in out
    assert (folder / "SKILL.md").read_bytes() == skill("- old")
    assert ran(capsys, "export", "demo", "--target", folder.parent)[0] == 0
    assert (folder / ".skillup" / "history.jsonl").read_text() == f"{line}\n"
    assert "in the log already" in ran(capsys, "import", "demo", "--target", folder.parent)[1]
    assert ran(capsys, "import", tmp_path)[0] == 1
    assert ran(capsys, "import", "nothing")[0] == 2
