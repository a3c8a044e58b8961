"""What is to be installed, wherever it lies: a skill's folder, a zip of one, or the result of a refinement."""

from __future__ import annotations

import io
import os
import re
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from refiner import skills
from refiner.carried import decoded, read_origin
from refiner.errors import SkillError
from refiner.installs.records import Files
from refiner.resources import OWN_SKILL
from refiner.skills.loading import HISTORY, MAIN, PROVENANCE

LARGEST = 50_000_000


@dataclass(frozen=True, slots=True)
class Package:
    """A skill to install. `base`: what it was made from, when that is known. `origin`: its provenance as written."""

    files: Files
    executable: frozenset[str] = frozenset()
    base: Files | None = None
    origin: bytes | None = None
    name: str = "skill"
    note: str = ""

    @property
    def provenance(self) -> dict[str, Any]:
        """The provenance as a mapping; empty when there is none."""
        return read_origin(self.origin)


def package_of(
    files: Files, origin: bytes | None, executable: frozenset[str] = frozenset(), where: str = ""
) -> Package:
    """A package of these files; base and name come from the provenance and the front matter. Raises SkillError."""
    if MAIN not in files:
        raise SkillError(f"{where or 'this'} has no {MAIN}, so it is no skill that can be installed")
    origin_of = read_origin(origin)
    front = skills.front_matter(files[MAIN])
    name = str(front.values.get("name") or "") if front else ""
    return Package(
        files=files,
        executable=executable,
        base=_base(origin_of),
        origin=origin,
        name=skills.slug(name or Path(where).name or "skill"),
        note=f"from {where}" if where else "",
    )


def _base(origin: Mapping[str, Any]) -> dict[str, bytes] | None:
    found = origin.get("base_files")
    if not isinstance(found, dict):
        return None
    return {str(path): decoded(held) for path, held in sorted(found.items())}


def read_package(source: Path) -> Package:
    """The skill at a path. Raises SkillError saying what the path holds instead and what can be installed."""
    if source.is_dir() and (source / "run.json").is_file() and (source / "combined").is_dir():
        return _result(source)
    if source.is_dir():
        return _folder(source)
    if source.is_file() and zipfile.is_zipfile(source):
        return _zip(source)
    if source.is_file() and source.name == MAIN:
        return _folder(source.parent) if (source.parent / HISTORY).is_dir() else _single(source)
    what = "there is no such file or folder" if not source.exists() else "this is no skill"
    raise SkillError(
        f"{source}: {what}. Name a folder with a {MAIN}, a zip of one, or the --out folder of `refiner refine`"
    )


def own_package(command: str = "refiner") -> Package:
    """The skill that teaches a coding agent to use this product; `command` is how it is called on this machine."""
    files = dict(skills.load(OWN_SKILL).files)
    text = files[MAIN].decode("utf-8")
    files[MAIN] = re.sub(r"(?m)^( *)refiner (?=[a-z])", lambda found: f"{found[1]}{command} ", text).encode("utf-8")
    return replace(package_of(files, None, where=str(OWN_SKILL)), note="Skill Refiner's own")


def _folder(folder: Path) -> Package:
    files = skills.load(folder).files
    allowed = frozenset(path for path in files if os.access(folder / path, os.X_OK))
    return package_of(files, _beside(folder / HISTORY / PROVENANCE), allowed, str(folder))


def _single(file: Path) -> Package:
    return package_of(skills.load(file).files, None, where=str(file.parent))


def _result(out: Path) -> Package:
    """The automatic merge of a finished refinement."""
    combined = out / "combined"
    origin = _beside(combined / PROVENANCE)
    main = str(read_origin(origin).get("main", MAIN))
    if main != MAIN:
        raise SkillError(
            f"{out}: what was refined is {main}, not a {MAIN}; copy combined/proposed_skill.md in its place"
        )
    if (combined / "skill").is_dir():
        files: Files = skills.load(combined / "skill").files
    else:
        files = {MAIN: skills.load(combined / "proposed_skill.md").files["proposed_skill.md"]}
    return package_of(files, origin, where=str(out))


def _beside(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise SkillError(f"{path}: cannot be read ({error.strerror})") from error


def _zip(path: Path) -> Package:
    try:
        return unzipped(path.read_bytes(), str(path))
    except (OSError, zipfile.BadZipFile, RuntimeError) as error:
        raise SkillError(f"{path}: the zip cannot be read ({error})") from error


def unzipped(data: bytes, where: str) -> Package:
    """The skill in a zip, its outer folder taken off. Raises SkillError or BadZipFile."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        entries = [one for one in archive.infolist() if not one.is_dir()]
        if sum(one.file_size for one in entries) > LARGEST:
            raise SkillError(f"{where}: more than {LARGEST // 1_000_000} MB unpacked, which no skill needs")
        outer = _outer([one.filename for one in entries])
        files = {one.filename.removeprefix(outer): archive.read(one) for one in entries}
        modes = {one.filename.removeprefix(outer): one.external_attr >> 16 for one in entries}
    origin = files.get(f"{HISTORY}/{PROVENANCE}")
    own = {name: data for name, data in sorted(files.items()) if not name.startswith(f"{HISTORY}/")}
    return package_of(own, origin, frozenset(name for name in own if modes[name] & 0o100), where)


def _outer(names: list[str]) -> str:
    """The folder that holds the SKILL.md nearest to the top, with its slash; empty when that is the top."""
    mains = sorted((name for name in names if name.rpartition("/")[2] == MAIN), key=lambda name: name.count("/"))
    return mains[0].removesuffix(MAIN) if mains else ""
