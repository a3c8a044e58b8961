"""The skill that a corpus starts from: taking it in as files, checking it, showing it. Nothing is refined here."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from refiner import audits, carried, skills
from refiner.errors import SkillError
from refiner.safe_names import safe_name
from refiner.types import SkillVersion
from refiner.unpacking import Limits, Unpacked
from refiner.views import SkillView, Upload
from refiner.workspace.room import Room

LARGEST = 20_000_000
MAIN = "SKILL.md"


@dataclass(frozen=True, slots=True)
class StartSkills:
    """The start skills of one database, by corpus id."""

    room: Room

    def key(self, corpus: str) -> str | None:
        """The key of the skill that was set last, or None."""
        events = self.room.store.corpus_events(corpus, "skill")
        return str(events[-1].body["key"]) if events else None

    def get(self, corpus: str, name: str) -> SkillVersion:
        """The skill of a corpus; a skeleton of that name when none was set."""
        key = self.key(corpus)
        return skills.skeleton(name) if key is None else self.room.store.skill(key)

    def set(self, corpus: str, skill: SkillVersion, origin: bytes | None = None) -> SkillView:
        """Makes this the start skill from now on. `origin`: the provenance that came with it, for what was tried."""
        key, before = self.room.store.put_skill(skill), carried.before(origin, skill.files)
        if key != self.key(corpus) or before != self.before(corpus):
            body = {"key": key, "reviewer": self.room.reviewer(), "before": before}
            self.room.store.corpus_event(corpus, "skill", body)
        return show(skill)

    def before(self, corpus: str) -> dict[str, Any]:
        """What the start skill brought along of earlier refinements."""
        events = self.room.store.corpus_events(corpus, "skill")
        return dict(events[-1].body.get("before", {})) if events else {}

    def view(self, corpus: str) -> SkillView | None:
        key = self.key(corpus)
        return None if key is None else show(self.room.store.skill(key))


def show(skill: SkillVersion) -> SkillView:
    """The skill with what is wrong with it, in sentences."""
    data = skill.files[skill.main]
    found = audits.problems(skill.files, skill.main, None, skill.main == MAIN)
    lines, tokens = audits.body_size(data)
    return SkillView(
        key=skill.key,
        main=skill.main,
        text=data.decode("utf-8", "replace"),
        files=tuple(sorted(skill.files)),
        problems=tuple(problem.words for problem in found),
        lines=lines,
        tokens=tokens,
        skeleton=skills.is_skeleton(skill),
    )


def from_files(files: Mapping[str, bytes], main: str) -> SkillVersion:
    """The skill of these files. Raises SkillError when one of them cannot be used, saying which and why."""
    if sum(map(len, files.values())) > LARGEST:
        raise SkillError(f"the skill has more than {LARGEST // 1_000_000} MB; leave out what an agent does not read")
    named = {safe_name(name): data for name, data in files.items()}
    if main not in named:
        markdown = sorted(name for name in named if name.lower().endswith(".md"))
        hint = f"; name one of {', '.join(markdown[:5])}" if markdown else f"; add a {MAIN}"
        raise SkillError(f"the skill has no {main}{hint}")
    if not named[main].strip():
        raise SkillError(f"{main} is empty; paste the text of the skill, or start without one")
    with tempfile.TemporaryDirectory(prefix="refiner-skill-") as folder:
        return _loaded(named, main, Path(folder))


def _loaded(files: Mapping[str, bytes], main: str, folder: Path) -> SkillVersion:
    """The files by way of a folder, so that a skill from a page meets the rules of one from a disk."""
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    alone = main != MAIN
    try:
        loaded = skills.load(folder / main if alone else folder)
    except SkillError as error:
        raise SkillError(str(error).replace(f"skill {folder}/", "").replace(f"skill {folder}", "skill")) from error
    except OSError as error:
        raise SkillError(f"the files of the skill cannot be kept: {error.strerror}; rename them") from error
    return SkillVersion({**files}, main) if alone else loaded


def from_uploads(uploads: Sequence[Upload]) -> dict[str, bytes]:
    """The files of a skill as they were uploaded, a common outer folder taken off. Raises SkillError."""
    with tempfile.TemporaryDirectory(prefix="refiner-skill-") as folder:
        unpacked = Unpacked(Path(folder), Limits(total=LARGEST, files=2_000)).take(uploads)
        if unpacked.rejected:
            bad = unpacked.rejected[0]
            raise SkillError(f"{bad.path}: {bad.reason}")
        files = {name: (Path(folder) / name).read_bytes() for name in unpacked.files}
    outer = {name.partition("/")[0] for name in files if "/" in name}
    alone = len(outer) == 1 and all("/" in name for name in files)
    return {name.partition("/")[2]: data for name, data in files.items()} if alone else files
