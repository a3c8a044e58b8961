"""Skills from disk, byte for byte. Reads only; says what to do when something cannot be used."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from refiner.errors import SkillError
from refiner.skills.skeleton import skeleton
from refiner.types import SkillVersion

MAIN = "SKILL.md"
HISTORY = ".refiner"
"""The folder beside an installed skill that holds its versions and its provenance; no part of the skill itself."""
FOREIGN_HISTORY = ".skillup"
PROVENANCE = "provenance.json"
"""The name of the provenance in that folder."""
_NOT_OURS = frozenset({HISTORY, FOREIGN_HISTORY, ".git", ".hg", ".svn", "__pycache__", ".DS_Store"})


def load(path: Path | str | None, name: str | None = None) -> SkillVersion:
    """The skill in a folder or a single markdown file; without a path the skeleton called `name`.

    A folder keeps every file. A file keeps its own name as `main`. Raises SkillError when the path is missing, cannot
    be read, has no SKILL.md, or when the skill is not UTF-8 text.
    """
    if path is None:
        return skeleton(name)
    path = Path(path)
    if not path.exists():
        raise SkillError(f"skill {path}: no such file or folder. Check the path, or leave it out to start a new skill")
    try:
        return _folder(path) if path.is_dir() else _file(path)
    except OSError as error:
        raise SkillError(f"skill {path}: cannot be read ({error.strerror or error}). Check its permissions") from error


def provenance_beside(path: Path | str | None) -> bytes | None:
    """The provenance that lies beside a skill (its folder, or a file in it), or None. Raises SkillError."""
    if path is None:
        return None
    folder = Path(path) if Path(path).is_dir() else Path(path).parent
    try:
        return (folder / HISTORY / PROVENANCE).read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise SkillError(f"{folder / HISTORY / PROVENANCE}: cannot be read ({error.strerror})") from error


def _file(path: Path) -> SkillVersion:
    return SkillVersion(files={path.name: _text(path)}, main=path.name)


def files_of(path: Path) -> dict[str, bytes]:
    """Every file of a skill's folder by relative path. Raises OSError, or SkillError for a link that leads out."""
    return {found.relative_to(path).as_posix(): found.read_bytes() for found in _walk(path, path.resolve())}


def _folder(path: Path) -> SkillVersion:
    files = files_of(path)
    if MAIN not in files:
        markdown = sorted(name for name in files if name.lower().endswith(".md"))
        hint = f"Give one of its markdown files instead ({', '.join(markdown[:5])})" if markdown else f"Add a {MAIN}"
        raise SkillError(f"skill {path}: the folder has no {MAIN}. {hint}")
    _text(path / MAIN)
    return SkillVersion(files=files)


def _walk(folder: Path, root: Path) -> Iterator[Path]:
    for entry in sorted(folder.iterdir()):
        if entry.name in _NOT_OURS:
            continue
        if entry.is_symlink() and not entry.resolve().is_relative_to(root):
            raise SkillError(f"skill {folder}: {entry.name} links outside of the skill. Copy the file into it")
        if entry.is_dir() and not entry.is_symlink():
            yield from _walk(entry, root)
        elif entry.is_file():
            yield entry


def _text(path: Path) -> bytes:
    data = path.read_bytes()
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise SkillError(f"skill {path}: the file is UTF-16. Save it as UTF-8 and try again")
    if b"\0" in data:
        raise SkillError(f"skill {path}: this is a binary file. Give a markdown file or a folder with a {MAIN}")
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise SkillError(f"skill {path}: byte {error.start} is not UTF-8. Save it as UTF-8 and try again") from error
    return data
