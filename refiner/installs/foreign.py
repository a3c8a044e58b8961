"""Another tool's history of a skill, `.skillup/history.jsonl`, in and out: one version a line, the text of SKILL.md.

A line is `{version, timestamp, source, note, text}`. Times and notes are kept as they are; numbers may have gaps.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from refiner.errors import SkillError
from refiner.installs.installing import Installed, caught_up, write
from refiner.installs.records import WORDS, Tree, Version
from refiner.installs.store import Entry, Store
from refiner.skills.loading import FOREIGN_HISTORY, MAIN

FILE = "history.jsonl"
FIELDS = ("version", "timestamp", "source", "note")


@dataclass(frozen=True, slots=True)
class Imported:
    """What came in. `skipped` says of each line that could not be used where it is and why; `gaps` are numbers that
    are missing between the first and the last."""

    installed: Installed | None
    versions: int
    skipped: tuple[str, ...]
    gaps: tuple[int, ...]


def history_file(path: Path) -> Path:
    """The history that a path means: the file, its folder, or the folder of the skill. Raises SkillError."""
    for found in (path, path / FILE, path / FOREIGN_HISTORY / FILE):
        if found.is_file():
            return found
    raise SkillError(f"{path}: there is no {FOREIGN_HISTORY}/{FILE}; name that file or the skill's folder")


@dataclass(frozen=True, slots=True)
class History:
    """The usable lines of another tool's history in order, and why each of the others cannot be used."""

    lines: tuple[dict[str, Any], ...]
    skipped: tuple[str, ...]

    @property
    def gaps(self) -> tuple[int, ...]:
        """The numbers that are missing between the first and the last."""
        numbers = {line["version"] for line in self.lines if type(line.get("version")) is int}
        return tuple(sorted(set(range(min(numbers), max(numbers))) - numbers)) if numbers else ()


def read_history(file: Path) -> History:
    """The history in a file. Raises SkillError when it cannot be read or holds no version."""
    try:
        data = file.read_bytes()
    except OSError as error:
        raise SkillError(f"{file}: cannot be read ({error.strerror})") from error
    return history_of(data, str(file))


def history_of(data: bytes, name: str) -> History:
    """The history in these bytes, called `name` in what is said of it. Raises SkillError when it holds no version."""
    good: list[dict[str, Any]] = []
    skipped: list[str] = []
    for number, line in enumerate(data.splitlines(), start=1):
        if line.strip():
            found = _line(line)
            if isinstance(found, str):
                skipped.append(f"{name}:{number}: {found}")
            else:
                good.append(found)
    if not good:
        raise SkillError("; ".join([f"{name}: there is no version in it", *skipped[:3]]))
    return History(tuple(good), tuple(skipped))


def _line(line: bytes) -> dict[str, Any] | str:
    try:
        found = json.loads(line)
    except ValueError:
        return "this is no JSON"
    if not isinstance(found, dict) or not isinstance(found.get("text"), str):
        return "this is no version (a `text` is missing)"
    return found


def import_history(store: Store, history: History) -> Imported:
    """Takes another tool's versions into the log of a skill, before what lies there now; each only once.

    A folder without a skill gets the newest text. Raises SkillError; then nothing is written.
    """
    with store.locked():
        tree = store.working()
        known = [one.more.get("theirs") for one in store.versions()]
        entries = [_entry(line, tree, at == 0) for at, line in enumerate(history.lines)]
        new = [one for one in entries if one.more["theirs"] not in known]
        done = _written(store, tree, new) if new else None
    return Imported(done, len(new), history.skipped, history.gaps)


def _entry(line: Mapping[str, Any], tree: Tree, first: bool) -> Entry:
    """A line as a version; files that the history does not know are as they are now."""
    files = {**tree.files, MAIN: line["text"].encode("utf-8", "backslashreplace")}
    theirs = {key: line[key] for key in line if key != "text"}
    note = " ".join(filter(None, (_words(line.get("source")), _words(line.get("note")))))
    made = Tree(files, tree.executable)
    return Entry(made, "imported", note, None, {"theirs": theirs}, () if first else None, _time(line.get("timestamp")))


def _words(found: Any) -> str:
    return " ".join(str(found).split()) if found is not None else ""


def _time(found: Any) -> str:
    """Their time as text; a number counts as seconds since 1970."""
    if isinstance(found, int | float) and not isinstance(found, bool):
        try:
            return datetime.fromtimestamp(found, UTC).isoformat(timespec="seconds")
        except (OverflowError, ValueError, OSError):
            return str(found)
    return _words(found) or "unknown"


def _written(store: Store, tree: Tree, entries: Sequence[Entry]) -> Installed:
    """Their versions, and on top of them what lies there, which comes from both."""
    waiting = caught_up(store)
    if not tree.files:
        return write(store, entries)
    if store.head() is None and waiting:
        return write(store, [*entries, Entry(tree, "adopted")])
    own = store.write(waiting) if waiting else store.versions()[-1]
    again = Entry(tree, "imported", "history joined", store.origin(own), {"joined": len(entries)}, (own.id,))
    return write(store, [*entries, again])


def export_history(store: Store, file: Path | None = None) -> tuple[Path, int]:
    """Writes the versions as that tool's history, by default beside the skill; the file and how many.

    Lines that came from such a file go back as they were. Raises SkillError when the file holds a version that the log
    does not know, so that nothing of it is lost.
    """
    target = file or store.folder / FOREIGN_HISTORY / FILE
    lines = _lines(store)
    if not lines:
        raise SkillError(f"{store.folder}: no version was kept yet, so there is nothing to export")
    if target.exists():
        texts = {line["text"] for line in lines}
        if any(line["text"] not in texts for line in read_history(target).lines):
            raise SkillError(f"{target} holds versions that are not known here; import it first, then export")
    data = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    with store.locked():
        target.parent.mkdir(parents=True, exist_ok=True)
        store.put_aside(target, data.encode("utf-8", "backslashreplace"))
    return target, len(lines)


def _lines(store: Store) -> list[dict[str, Any]]:
    lines: list[dict[str, Any]] = []
    last = 0
    for one in store.versions():
        if MAIN not in one.files or "joined" in one.more:
            continue
        line = {**_said(one, last + 1), "text": store.blob(one.files[MAIN]).decode("utf-8", "replace")}
        last = line["version"] if type(line.get("version")) is int else last
        lines.append(line)
    return lines


def _said(one: Version, number: int) -> dict[str, Any]:
    if "theirs" in one.more:
        return dict(one.more["theirs"])
    return dict(zip(FIELDS, (number, one.at, WORDS[one.source], one.note), strict=True))
