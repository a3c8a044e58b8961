"""Versions beside an installed skill: what is kept, what survives a crash, and what other writers may not do."""

from __future__ import annotations

import json
import os
import shutil
import signal
import stat
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import partial
from itertools import pairwise
from pathlib import Path
from threading import Event, Thread

import pytest

from refiner import skills
from refiner.errors import SkillError
from refiner.installs.installing import install, keep, outlook, rollback, status
from refiner.installs.package import Package
from refiner.installs.records import Version
from refiner.installs.store import Entry, Store
from refiner.resources import ROOT
from tests.installing import opened, package, skill, text

OLD = package("- one", "", "Between.", "", "- last", **{"references/old.md": b"# Old\n"})
NEW = package("- two", "", "Between.", "", "- last", **{"references/new.md": b"# New\n"})
EDITED = {**OLD.files, "SKILL.md": OLD.files["SKILL.md"] + b"- by hand\n"}


def sources(folder: Path) -> list[str]:
    return [one.source for one in opened(folder).versions()]


def test_an_installed_skill_is_version_one_and_the_same_again_writes_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "demo"
    first = install(opened(folder), package("- one"))
    log = (folder / ".refiner" / "log.jsonl").read_bytes()
    second = install(opened(folder), package("- one"))
    assert (first.version.number, first.new, second.new) == (1, True, False)
    assert (folder / ".refiner" / "log.jsonl").read_bytes() == log
    assert text(folder) == skill("- one").decode()


def test_versions_are_of_the_whole_package_and_scripts_stay_executable(tmp_path: Path) -> None:
    folder = tmp_path / "demo"
    made = package("- one", **{"scripts/go.sh": b"#!/bin/sh\necho go\n", "references/x.md": b"# X\n"})
    install(opened(folder), made)
    assert (folder / "scripts/go.sh").stat().st_mode & stat.S_IXUSR
    assert not (folder / "references/x.md").stat().st_mode & stat.S_IXUSR
    install(opened(folder), package("- one"))
    assert sorted(path.name for path in folder.iterdir()) == [".refiner", "SKILL.md"]
    rollback(opened(folder), 1)
    assert text(folder, "references/x.md") == "# X\n"
    assert (folder / "scripts/go.sh").stat().st_mode & stat.S_IXUSR


def test_the_history_is_no_part_of_the_skill(tmp_path: Path) -> None:
    folder = tmp_path / "demo"
    install(opened(folder), package("- one"))
    assert list(skills.load(folder).files) == ["SKILL.md"]


def test_rollback_is_a_new_version_with_the_old_text(tmp_path: Path) -> None:
    folder = tmp_path / "demo"
    install(opened(folder), package("- one"))
    install(opened(folder), package("- two"))
    (folder / "SKILL.md").write_bytes(skill("- by hand"))
    done = rollback(opened(folder), 1)
    versions = opened(folder).versions()
    assert [one.source for one in versions] == ["installed", "installed", "hand", "rollback"]
    assert done.version.parents == (versions[2].id,)
    assert opened(folder).files(versions[2]) == {"SKILL.md": skill("- by hand")}
    assert text(folder) == skill("- one").decode()


def test_a_rollback_to_what_never_was_says_what_there_is(tmp_path: Path) -> None:
    folder = tmp_path / "demo"
    install(opened(folder), package("- one"))
    with pytest.raises(SkillError, match="there is no version 7: there are 1 to 1"):
        rollback(opened(folder), 7)


def test_edits_by_hand_are_seen_file_by_file(tmp_path: Path) -> None:
    folder = tmp_path / "demo"
    install(opened(folder), package("- one", **{"references/x.md": b"# X\n"}))
    (folder / "SKILL.md").write_bytes(skill("- else"))
    (folder / "references/x.md").unlink()
    (folder / "new.md").write_text("new\n")
    found = status(opened(folder))
    assert (found.changed, found.added, found.removed) == (("SKILL.md",), ("new.md",), ("references/x.md",))
    kept = keep(opened(folder))
    assert kept is not None and kept.version.source == "hand"
    assert status(opened(folder)).edited == ()
    assert keep(opened(folder)) is None


@pytest.fixture
def dying(monkeypatch: pytest.MonkeyPatch) -> Callable[[Path, int, bool], bool]:
    """Runs an installation in a child process that is killed at its n-th move of a file, before or after the move."""

    def run(folder: Path, at: int, after: bool) -> bool:
        child = os.fork()
        if child == 0:
            moved, move = 0, os.replace

            def dies(*names: object) -> None:
                nonlocal moved
                moved += 1
                if after:
                    move(*names)  # type: ignore[arg-type]
                if moved == at:
                    os.kill(os.getpid(), signal.SIGKILL)
                if not after:
                    move(*names)  # type: ignore[arg-type]

            os.replace = dies  # type: ignore[assignment]
            try:
                install(opened(folder), NEW)
            finally:
                os._exit(0)
        return os.WIFSIGNALED(os.waitpid(child, 0)[1])

    return run


@pytest.mark.parametrize("after", [False, True])
def test_a_write_that_was_killed_is_undone_or_finished(
    tmp_path: Path, dying: Callable[[Path, int, bool], bool], after: bool
) -> None:
    seen = set()
    for at in range(1, 20):
        folder = tmp_path / str(at) / "demo"
        install(opened(folder), OLD)
        (folder / "SKILL.md").write_bytes(EDITED["SKILL.md"])
        if not dying(folder, at, after):
            break
        store = opened(folder)
        undone = store.working().files == EDITED
        seen.add(undone)
        if not undone:
            assert sources(folder) == ["installed", "hand", "installed"]
            assert status(store).edited == ()
        assert not (folder / ".refiner" / "pending.json").exists()
        done = install(store, NEW)
        assert store.files(store.versions()[1]) == EDITED
        assert done.version.number == 3
        assert store.working().files == {**NEW.files, "SKILL.md": NEW.files["SKILL.md"] + b"- by hand\n"}
    assert seen == {True, False} and at < 19


def test_edits_after_a_killed_write_are_kept(tmp_path: Path, dying: Callable[[Path, int, bool], bool]) -> None:
    folder = tmp_path / "demo"
    install(opened(folder), package("- one"))
    assert dying(folder, 5, False)
    (folder / "SKILL.md").write_bytes(skill("- edited after the crash"))
    kept = keep(opened(folder))
    assert kept is not None and opened(folder).files(kept.version)["SKILL.md"] == skill("- edited after the crash")


def beside(writer: Callable[[], object], at: int, reader: Callable[[], object], patch: pytest.MonkeyPatch) -> object:
    """What a reader finds that begins at the writer's n-th move of a file; None when there is no such move.

    The writer goes on as soon as the reader is done, or waits for the lock.
    """
    moved, move, lock, found = 0, os.replace, Store.locked, list[object]()
    ready = Event()

    def read() -> None:
        found.append(reader())
        ready.set()

    reading = Thread(target=read)

    def locked(store: Store) -> AbstractContextManager[None]:
        ready.set()
        return lock(store)

    def moves(*names: object) -> None:
        nonlocal moved
        moved += 1
        if moved == at:
            patch.setattr(Store, "locked", locked)
            reading.start()
            assert ready.wait(30)
        move(*names)  # type: ignore[arg-type]

    with patch.context() as patched:
        patched.setattr(os, "replace", moves)
        writer()
    patch.setattr(Store, "locked", lock)
    if moved < at:
        return None
    reading.join()
    return found[0]


def sight(store: Store) -> tuple[object, ...]:
    """Edits by hand, undecided places and files that a reader sees."""
    ahead = outlook(store, NEW)
    return status(store).edited, ahead.hand, ahead.woven.hunks, dict(ahead.tree.files)


@pytest.mark.parametrize("first", [None, OLD])
def test_a_reader_beside_a_writer_sees_the_skill_before_or_after(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first: Package | None
) -> None:
    seen = list[object]()
    for at in range(1, 30):
        folder = tmp_path / str(at) / "demo"
        if first:
            install(opened(folder), first)

        def writer(folder: Path = folder) -> object:
            return install(opened(folder), NEW)

        found = beside(writer, at, partial(sight, opened(folder)), monkeypatch)
        if found is None:
            break
        seen.append(found)
    before = {} if first is None else dict(OLD.files)
    assert at < 29
    assert all(one in [((), (), (), before), ((), (), (), dict(NEW.files))] for one in seen), seen
    assert len({str(one) for one in seen}) == 2


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("reads", ["versions", "working"])
@pytest.mark.parametrize("first", [None, OLD])
def test_a_write_between_two_reads_is_seen_whole_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first: Package | None, reads: str, after: bool
) -> None:
    for at in range(1, 10):
        store = opened(tmp_path / str(at) / "demo")
        if first:
            install(store, first)
        called, read = 0, getattr(Store, reads)

        def reading(one: Store, at: int = at, read: Callable[[Store], object] = read) -> object:
            nonlocal called
            called += 1
            found = read(one) if called == at and after else None
            if called == at:
                install(opened(one.folder), NEW)
            return read(one) if found is None else found

        with monkeypatch.context() as patched:
            patched.setattr(Store, reads, reading)
            edited, hand, hunks, files = sight(store)
        assert (edited, hand, hunks) == ((), (), ())
        assert files in (dict(first.files) if first else {}, dict(NEW.files))
        if called < at:
            break
    assert 1 < at < 9


def test_writers_wait_for_each_other(tmp_path: Path) -> None:
    folder = tmp_path / "demo"
    install(opened(folder), package("- one"))
    problems: list[BaseException] = []

    def work(name: str) -> None:
        try:
            for at in range(4):
                install(opened(folder), package(f"- {name} {at}"))
        except BaseException as error:
            problems.append(error)

    threads = [Thread(target=work, args=(name,)) for name in "abc"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    versions = opened(folder).versions()
    assert problems == []
    assert [one.number for one in versions] == list(range(1, 14))
    assert all(one.parents == (before.id,) for before, one in pairwise(versions))
    assert status(opened(folder)).edited == ()


def test_two_processes_write_one_after_the_other(tmp_path: Path) -> None:
    folder = tmp_path / "demo"
    install(opened(folder), package("- one"))
    code = (
        "import sys; from tests.installing import opened, package; from refiner.installs.installing import install\n"
        "from pathlib import Path\n"
        "for at in range(3): install(opened(Path(sys.argv[1])), package(f'- {sys.argv[2]} {at}'))"
    )
    command = [sys.executable, "-c", code, str(folder)]
    running = [subprocess.Popen([*command, name], cwd=ROOT) for name in "ab"]
    assert [one.wait() for one in running] == [0, 0]
    assert len(opened(folder).versions()) == 7


def test_a_link_to_a_skill_stays_a_link(tmp_path: Path) -> None:
    real, link = tmp_path / "dotfiles" / "demo", tmp_path / "skills" / "demo"
    install(opened(real), package("- one"))
    link.parent.mkdir()
    link.symlink_to(real)
    install(opened(link), package("- two"))
    assert link.is_symlink()
    assert text(real) == skill("- two").decode()
    assert len(opened(real).versions()) == 2


def test_nothing_is_written_through_a_link_that_leads_out(tmp_path: Path) -> None:
    outside, folder = tmp_path / "outside", tmp_path / "demo"
    outside.mkdir()
    install(opened(folder), package("- one"))
    (folder / "references").symlink_to(outside)
    with pytest.raises(SkillError, match="links outside"):
        install(opened(folder), package("- one", **{"references/x.md": b"# X\n"}))
    assert list(outside.iterdir()) == []
    assert sources(folder) == ["installed"]


def test_a_folder_that_cannot_be_written_says_so_and_can_still_be_read(tmp_path: Path) -> None:
    folder = tmp_path / "demo"
    install(opened(folder), package("- one"))
    (folder / ".refiner" / "tmp").write_text("in the way")
    with pytest.raises(SkillError, match=r"cannot be written .*check its permissions and space"):
        install(opened(folder), package("- two"))
    assert text(folder) == skill("- one").decode()
    assert sources(folder) == ["installed"]


@pytest.mark.skipif(os.name != "posix" or os.getuid() != 0, reason="takes the rights of another user")
def test_a_reader_without_rights_sees_everything_and_changes_nothing(tmp_path: Path) -> None:
    folder = Path("/tmp") / f"refiner-readonly-{os.getpid()}" / "demo"
    try:
        install(opened(folder), package("- one"))
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            os.setuid(65534)
            said = ""
            try:
                rollback(opened(folder), 1)
            except SkillError as error:
                said = f"{status(opened(folder)).head.number}: {error}"  # type: ignore[union-attr]
            finally:
                os.write(writer, said.encode())
                os._exit(0)
        os.waitpid(child, 0)
        said = os.read(reader, 1000).decode()
        assert said.startswith("1: ") and "cannot be written (Permission denied)" in said
    finally:
        shutil.rmtree(folder.parent)


def test_a_damaged_history_is_named_and_nothing_is_guessed(tmp_path: Path) -> None:
    folder = tmp_path / "demo"
    install(opened(folder), package("- one"))
    log = folder / ".refiner" / "log.jsonl"
    line = json.loads(log.read_text())
    log.write_text(json.dumps({**line, "note": "forged"}) + "\n")
    with pytest.raises(SkillError, match="line 1 was changed by hand"):
        opened(folder).versions()
    log.write_text(json.dumps(line) + "\n")
    found = next(path for path in (folder / ".refiner" / "objects").rglob("*") if path.is_file())
    found.write_bytes(b"other")
    with pytest.raises(SkillError, match="damaged"):
        opened(folder).files(opened(folder).versions()[0])


@pytest.mark.parametrize("path", ["../out.md", "/etc/out.md", "a/../../out.md", ".refiner/log.jsonl", "a\\b.md"])
def test_a_package_with_a_path_that_leads_out_is_refused(tmp_path: Path, path: str) -> None:
    with pytest.raises(SkillError, match="nothing was written"):
        install(opened(tmp_path / "demo"), package("- one", **{path: b"x"}))
    assert not (tmp_path / "demo" / "SKILL.md").exists()


def test_an_edit_at_the_very_moment_of_an_install_is_not_overwritten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, write = tmp_path / "demo", Store.write
    install(opened(folder), package("- one"))

    def just_saved(store: Store, entries: Sequence[Entry]) -> Version:
        (folder / "SKILL.md").write_bytes(skill("- saved by an editor"))
        return write(store, entries)

    monkeypatch.setattr(Store, "write", just_saved)
    with pytest.raises(SkillError, match="was edited at this moment, and nothing was written"):
        install(opened(folder), package("- two"))
    assert text(folder) == skill("- saved by an editor").decode()
    assert sources(folder) == ["installed"]
