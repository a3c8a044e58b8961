"""The versions beside a skill: `.refiner/` with content-addressed files and one log.

`objects/` holds bytes by SHA-256; `log.jsonl` one version a line, the last one the head; `pending.json` says what a
write was about to put into the folder, so that an interrupted one is finished by whoever comes next. Every file is
written aside and moved into place. No rule of installing or merging lives here, and no database.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path, PurePosixPath
from typing import Any

from refiner.errors import SkillError
from refiner.installs.records import Files, Source, Tree, Version, from_plain
from refiner.skills.loading import HISTORY, MAIN, PROVENANCE, files_of

PATIENCE = 30.0
"""Seconds that a command waits for another one to finish writing."""


def now() -> str:
    """The time, UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def digest(data: bytes) -> str:
    return sha256(data).hexdigest()


@dataclass(frozen=True, slots=True)
class Entry:
    """A version to be written: the package, and where it comes from. `parents` None: the version before it.

    `offered`: what came from outside, where the package is that with edits by hand merged in.
    """

    tree: Tree
    source: Source
    note: str = ""
    origin: bytes | None = None
    more: Mapping[str, Any] = field(default_factory=dict)
    parents: tuple[str, ...] | None = None
    at: str | None = None
    offered: Files | None = None


@dataclass(frozen=True)
class Store:
    """The versions of the skill in `folder`. Reading makes no file; writing needs `locked()`."""

    folder: Path
    clock: Callable[[], str] = now

    @property
    def home(self) -> Path:
        return self.folder / HISTORY

    def versions(self) -> tuple[Version, ...]:
        """Every version, oldest first. Raises SkillError for a log that cannot be read."""
        try:
            lines = (self.home / "log.jsonl").read_bytes().splitlines()
        except (FileNotFoundError, NotADirectoryError):
            return ()
        except OSError as error:
            raise self._refused("read", error) from error
        try:
            return tuple(from_plain(at, json.loads(line)) for at, line in enumerate(lines, start=1))
        except (ValueError, SkillError) as error:
            raise SkillError(f"{self.home / 'log.jsonl'}: {error}. Restore the file from a backup") from error

    def head(self) -> Version | None:
        """The newest version, or None before the first."""
        return next(reversed(self.versions()), None)

    def files(self, version: Version) -> dict[str, bytes]:
        """The package as it was. Raises SkillError when a file of it is gone or damaged."""
        return {path: self.blob(key) for path, key in sorted(version.files.items())}

    def offered(self, version: Version) -> dict[str, bytes]:
        """What came from outside with a version; its files, unless edits by hand were merged into it."""
        return {path: self.blob(key) for path, key in sorted(version.more.get("offered", version.files).items())}

    def tree(self, version: Version) -> Tree:
        return Tree(self.files(version), version.executable)

    def blob(self, key: str) -> bytes:
        """Bytes by their sum, checked against it."""
        try:
            data = self._object(key).read_bytes()
        except OSError as error:
            raise SkillError(f"{self._object(key)}: cannot be read ({error.strerror}); a version needs it") from error
        if digest(data) != key:
            raise SkillError(f"{self._object(key)}: the file is damaged; restore it from a backup")
        return data

    def origin(self, version: Version | None) -> bytes | None:
        """The provenance of a version."""
        return self.blob(version.origin) if version and version.origin else None

    def working(self) -> Tree:
        """The package as it lies in the folder now; empty when there is no folder. Raises SkillError."""
        try:
            files = files_of(self.folder) if self.folder.exists() else {}
        except OSError as error:
            raise self._refused("read", error) from error
        allowed = (path for path in files if os.access(self.folder / path, os.X_OK))
        return Tree(files, frozenset(allowed))

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keeps every other writer out, and finishes what an interrupted one left. Raises SkillError."""
        from filelock import FileLock, Timeout

        try:
            self.home.mkdir(parents=True, exist_ok=True)
            with FileLock(self.home / "lock", timeout=PATIENCE):
                self._finish()
                yield
        except Timeout as error:
            raise SkillError(
                f"{self.folder}: another command has been writing for {PATIENCE:.0f} s; try again"
            ) from error
        except OSError as error:
            raise self._refused("written", error) from error

    def writing(self) -> bool:
        """Whether a write is under way, or was interrupted."""
        return (self.home / "pending.json").exists()

    def settle(self) -> None:
        """Finishes an interrupted write if there is one and the folder may be written."""
        if self.writing():
            with suppress(SkillError), self.locked():
                pass

    def write(self, entries: Sequence[Entry]) -> Version:
        """Adds versions, the last one of which becomes what lies in the folder, and returns that one. All or nothing.

        Called inside `locked()`. A package equal to the head's adds nothing. Raises OSError or SkillError.
        """
        versions = self.versions()
        before = self.working().files
        for entry in entries:
            versions = self._with(versions, entry)
        head = versions[-1]
        was = {path: digest(data) for path, data in before.items()}
        if was and all(one.files != was for one in versions):
            raise SkillError(f"{self.folder} was edited at this moment, and nothing was written; run the command again")
        self._put("pending.json", _line({"to": head.id, "was": was}))
        self._put("log.jsonl", b"".join(_line(one.plain()) for one in versions))
        self._check_out(head, was)
        return head

    def _with(self, versions: tuple[Version, ...], entry: Entry) -> tuple[Version, ...]:
        """The log with one entry more. Its bytes are kept first: what a log names is there."""
        _all_inside(entry.tree.files)
        files = {path: self._keep(data) for path, data in sorted(entry.tree.files.items())}
        origin = None if entry.origin is None else self._keep(entry.origin)
        head = versions[-1] if versions else None
        if head and head.files == files and entry.parents is None and origin in (None, head.origin):
            return versions
        parents = (head.id,) if head and entry.parents is None else entry.parents or ()
        made = Version(
            number=len(versions) + 1,
            parents=parents,
            at=entry.at or self.clock(),
            source=entry.source,
            note=entry.note,
            files=files,
            executable=entry.tree.executable & files.keys(),
            origin=origin,
            more={**entry.more, **self._offered(entry)},
        )
        return versions if made.id in {one.id for one in versions} else (*versions, made)

    def _offered(self, entry: Entry) -> dict[str, Any]:
        if entry.offered is None or entry.offered == entry.tree.files:
            return {}
        return {"offered": {path: self._keep(data) for path, data in sorted(entry.offered.items())}}

    def _keep(self, data: bytes) -> str:
        key = digest(data)
        if not self._object(key).exists():
            self._put(str(self._object(key).relative_to(self.home)), data)
        return key

    def _object(self, key: str) -> Path:
        return self.home / "objects" / key[:2] / key[2:]

    def put_aside(self, target: Path, data: bytes) -> None:
        """Writes a file outside of the history, whole or not at all. Called inside `locked()`."""
        self._move(data, target, 0o644)
        (self.home / "tmp").rmdir()

    def _put(self, name: str, data: bytes) -> None:
        self._move(data, self.home / name, 0o644)

    def _move(self, data: bytes, target: Path, mode: int) -> None:
        """Writes a file aside, on the disk for good, then puts it in the place of the old one."""
        aside = self.home / "tmp" / f"{os.getpid()}-{digest(str(target).encode())[:12]}"
        aside.parent.mkdir(exist_ok=True)
        target.parent.mkdir(parents=True, exist_ok=True)
        with aside.open("wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        aside.chmod(mode)
        os.replace(aside, target)

    def _check_out(self, version: Version, was: Mapping[str, str]) -> None:
        """Makes the folder hold this version, SKILL.md last, and takes the note of the write away."""
        for path in sorted(set(was) - set(version.files)):
            self._remove(self._inside(path))
        for path in sorted(version.files, key=lambda path: (path == MAIN, path)):
            target = self._inside(path)
            if was.get(path) != version.files[path] or not target.exists():
                self._move(self.blob(version.files[path]), target, _mode(target, path in version.executable))
        if version.origin:
            self._put(PROVENANCE, self.blob(version.origin))
        else:
            (self.home / PROVENANCE).unlink(missing_ok=True)
        (self.home / "pending.json").unlink()
        (self.home / "tmp").rmdir()

    def _remove(self, path: Path) -> None:
        path.unlink(missing_ok=True)
        for parent in path.relative_to(self.folder).parents:
            if parent == Path() or any((self.folder / parent).iterdir()):
                return
            (self.folder / parent).rmdir()

    def _inside(self, path: str) -> Path:
        """Where a file of the package lies. Raises SkillError when a link leads it out of the skill."""
        target = self.folder / path
        if not target.parent.resolve().is_relative_to(self.folder.resolve()):
            raise SkillError(f"{target.parent} links outside of the skill; nothing is written there")
        return target

    def _finish(self) -> None:
        """Ends an interrupted write, unless the folder was edited since: then what lies there is a hand edit."""
        shutil.rmtree(self.home / "tmp", ignore_errors=True)
        try:
            pending = json.loads((self.home / "pending.json").read_bytes())
        except FileNotFoundError:
            return
        head = self.head()
        if head is not None and head.id == pending["to"]:
            found = self._found({*pending["was"], *head.files})
            if all(found[path] in (pending["was"].get(path), head.files.get(path)) for path in found):
                self._check_out(head, {path: key for path, key in found.items() if key})
                return
        (self.home / "pending.json").unlink()

    def _found(self, paths: set[str]) -> dict[str, str | None]:
        there = {path: self.folder / path for path in sorted(paths)}
        return {path: digest(file.read_bytes()) if file.is_file() else None for path, file in there.items()}

    def _refused(self, verb: str, error: OSError) -> SkillError:
        return SkillError(
            f"{self.folder}: cannot be {verb} ({error.strerror or error}); check its permissions and space"
        )


def store_of(folder: Path, clock: Callable[[], str] = now) -> Store:
    """The store of a skill folder; a link to a folder leads to the store beside the real one."""
    store = Store(folder.resolve(), clock)
    store.settle()
    return store


def _mode(target: Path, executable: bool) -> int:
    mode = target.stat().st_mode & 0o777 if target.exists() else 0o644
    return mode | (mode & 0o444) >> 2 if executable else mode & ~0o111


def _all_inside(files: Files) -> None:
    """Raises SkillError for a path that leads out of a skill, and for a file where another one needs a folder."""
    folders = {str(parent) for path in files for parent in PurePosixPath(path).parents}
    for path in files:
        parts = path.split("/")
        odd = "\\" in path or ":" in parts[0] or parts[0] == HISTORY or {"..", ".", ""} & set(parts)
        if odd or path in folders:
            raise SkillError(f"{path!r} cannot be a file of this skill; nothing was written")


def _line(value: Any) -> bytes:
    return (json.dumps(value, ensure_ascii=False, sort_keys=False) + "\n").encode("utf-8", "backslashreplace")
