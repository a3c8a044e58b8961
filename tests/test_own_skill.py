"""The skill that teaches a coding agent to use this product: its form, and that every command in it works."""

from __future__ import annotations

import json
import re
import shlex
import sys
from pathlib import Path

import pytest

from refiner import audits, skills
from refiner.resources import OWN_SKILL
from tests.answering import Answerer
from tests.corpus import SKILL, Said, refiner, workbook
from tests.installing import opened
from tests.test_model_refine import asked

COMMAND = re.compile(r"^ *refiner (.+)$", re.MULTILINE)


def commands() -> list[list[str]]:
    text = (OWN_SKILL / "SKILL.md").read_text()
    blocks = re.findall(r"```bash\n(.*?)```", text, re.DOTALL)
    return [shlex.split(line) for block in blocks for line in COMMAND.findall(block)]


def ran(*arguments: str) -> Said:
    """The command, and as long as requests wait, what the skill says: answer each, run the same command again."""
    while (said := refiner(*arguments)).code == 3 and arguments[0] == "refine":
        waiting = [path for path in Path("handoff/requests").glob("*.md") if path.stem != "INDEX"]
        assert waiting and Path("handoff/requests/INDEX.md").exists()
        for path in waiting:
            Path("handoff/replies", f"{path.stem}.json").write_text(Answerer()("", asked(path)))
        Path("handoff/replies/ANSWERER.txt").write_text("a model\n")
    return said


def test_it_meets_the_specification() -> None:
    own = skills.load(OWN_SKILL)
    assert audits.problems(own.files, own.main, OWN_SKILL.name, True) == []


def test_every_command_in_it_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    corpus = workbook()
    corpus = corpus.some(name for name in corpus.ids() if name < "task08")
    corpus.write(tmp_path / "runs")
    for name in ("rewards.json", "feedback.json"):
        (tmp_path / "runs" / name).rename(tmp_path / name)
    (tmp_path / "my-skill").mkdir()
    (tmp_path / "my-skill" / "SKILL.md").write_text(SKILL.replace("workbook", "my-skill", 1))
    said = [{"role": "user", "content": "Sort the list."}, {"role": "assistant", "content": "Sorted."}]
    redo = [
        {"role": "user", "content": "No, that is wrong, sort it by date."},
        {"role": "assistant", "content": "Done."},
    ]
    (tmp_path / "sessions").mkdir()
    (tmp_path / "sessions" / "one.json").write_text(json.dumps([*said, *redo]))
    done = [(arguments, ran(*arguments)) for arguments in commands()]
    assert len(done) > 9
    stopped = [(arguments[0], said.code, said.err) for arguments, said in done if said.code]
    assert [one[:2] for one in stopped] == [("distill", 3)], stopped
    assert (tmp_path / "skills" / "my-skill" / "SKILL.md").exists()
    assert (tmp_path / "answered" / "run.json").exists(), "the hand-off went through to its end"


def test_it_is_installed_with_a_command_that_is_found_here(tmp_path: Path) -> None:
    assert refiner("skills", "install", "--self", "--target", tmp_path).code == 0
    text = (tmp_path / "skill-refiner" / "SKILL.md").read_text()
    called = COMMAND.findall(text) or re.findall(r"^ *(\S+) (?:-m refiner )?skills list$", text, re.MULTILINE)
    assert called and (called[0] == "inspect runs" or Path(called[0]).parent == Path(sys.executable).parent)
    assert opened(tmp_path / "skill-refiner").versions()[0].note == "Skill Refiner's own"
    assert refiner("skills", "install", "--self", OWN_SKILL, "--target", tmp_path).code == 2
    assert refiner("skills", "install", "--target", tmp_path).code == 2
