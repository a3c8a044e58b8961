"""Installing over edits by hand: what is taken, what is asked, and that no text is ever lost."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from refiner.carried import exposed, written
from refiner.errors import Conflict, SkillError
from refiner.installs.installing import install, outlook, rollback, status
from refiner.installs.joining import join
from refiner.installs.package import Package
from refiner.installs.threeway import CHOICES, Choice, weave
from refiner.reporting.heldout import as_plain
from refiner.types import HeldOut, HeldOutCount
from tests.installing import opened, package, skill, text
from tests.reviewing import added, report

BASE = b"one\ntwo\nthree\nfour\n"


def merged(base: bytes | None, mine: bytes | None, theirs: bytes | None, choice: Choice | None = None) -> bytes | None:
    files = [{} if data is None else {"x.md": data} for data in (base, mine, theirs)]
    woven = weave(*files)
    return woven.files(dict.fromkeys((hunk.number for hunk in woven.hunks), choice) if choice else {}).get("x.md")


def test_what_one_side_changed_is_taken() -> None:
    assert (
        merged(BASE, b"ONE\ntwo\nthree\nfour\n", b"one\ntwo\nthree\nfour\nfive\n") == b"ONE\ntwo\nthree\nfour\nfive\n"
    )


def test_a_place_that_both_changed_is_asked_and_each_answer_does_what_it_says() -> None:
    mine, theirs = b"one\nmine\nthree\nfour\n", b"one\ntheirs\nthree\nfour\n"
    with pytest.raises(Conflict, match=r"1 \(x.md:2\)"):
        merged(BASE, mine, theirs)
    assert merged(BASE, mine, theirs, "mine") == mine
    assert merged(BASE, mine, theirs, "theirs") == theirs
    assert merged(BASE, mine, theirs, "both") == b"one\nmine\ntheirs\nthree\nfour\n"


def test_line_endings_of_the_installed_file_stay() -> None:
    mine = BASE.replace(b"\n", b"\r\n").replace(b"one", b"ONE")
    assert merged(BASE, mine, BASE + b"five\n") == b"ONE\r\ntwo\r\nthree\r\nfour\r\nfive\r\n"
    assert merged(BASE, BASE.replace(b"\n", b"\r\n"), BASE + b"five\n") == BASE.replace(b"\n", b"\r\n") + b"five\r\n"


def test_other_line_endings_alone_are_no_edit_of_theirs() -> None:
    assert merged(BASE, b"ONE\ntwo\nthree\nfour\n", BASE.replace(b"\n", b"\r\n")) == b"ONE\ntwo\nthree\nfour\n"


def test_a_last_line_without_ending_joins_nothing() -> None:
    assert merged(b"one\ntwo", b"one\ntwo", b"one\ntwo\nthree") == b"one\ntwo\nthree"
    assert merged(b"one\ntwo", b"zero\none\ntwo", b"one\ntwo\nthree\n") == b"zero\none\ntwo\nthree\n"
    assert merged(b"one\ntwo", b"one\nmine", b"one\ntheirs", "both") == b"one\nmine\ntheirs"


def test_a_file_removed_here_and_changed_there_is_asked_whole() -> None:
    assert merged(BASE, None, BASE) is None
    with pytest.raises(Conflict):
        merged(BASE, None, BASE + b"five\n")
    assert merged(BASE, None, BASE + b"five\n", "mine") is None
    assert merged(BASE, None, BASE + b"five\n", "both") == BASE + b"five\n"


def test_binary_files_are_never_mixed() -> None:
    assert merged(b"\0a", b"\0a", b"\0b") == b"\0b"
    assert merged(b"\0a", b"\0b", b"\0c", "mine") == b"\0b"


LINES = st.lists(st.sampled_from("abcdef"), max_size=8).map(lambda lines: "".join(f"{x}\n" for x in lines).encode())


@settings(deadline=None)
@given(LINES, LINES)
def test_one_side_alone_is_never_asked(base: bytes, other: bytes) -> None:
    assert merged(base, base, other) == other
    assert merged(base, other, base) == other
    assert merged(base, other, other) == other


@settings(deadline=None)
@given(LINES, LINES, LINES)
def test_taking_both_keeps_every_line_that_either_side_added(base: bytes, mine: bytes, theirs: bytes) -> None:
    found = merged(base, mine, theirs, "both") or b""
    added = (set(mine.split()) | set(theirs.split())) - set(base.split())
    assert added <= set(found.split())


def test_a_skill_found_without_history_becomes_version_one(tmp_path: Path) -> None:
    (tmp_path / "demo").mkdir()
    (tmp_path / "demo" / "SKILL.md").write_bytes(skill("- mine"))
    refined = package("- mine", "- refined", base={"SKILL.md": skill("- mine")})
    done = install(opened(tmp_path / "demo"), refined)
    assert [one.source for one in opened(tmp_path / "demo").versions()] == ["adopted", "installed"]
    assert done.kept[0].number == 1
    assert text(tmp_path / "demo") == skill("- mine", "- refined").decode()


def test_a_skill_of_unknown_descent_is_shown_place_by_place(tmp_path: Path) -> None:
    (tmp_path / "demo").mkdir()
    (tmp_path / "demo" / "SKILL.md").write_bytes(skill("- mine"))
    with pytest.raises(Conflict):
        install(opened(tmp_path / "demo"), package("- theirs"))
    assert not (tmp_path / "demo" / ".refiner" / "log.jsonl").exists()
    assert text(tmp_path / "demo") == skill("- mine").decode()


def test_edits_by_hand_stay_when_the_same_package_is_installed_again(tmp_path: Path) -> None:
    folder = tmp_path / "demo"
    install(opened(folder), package("- one", "", "- last"))
    (folder / "SKILL.md").write_bytes(skill("- one", "", "- last", "- by hand"))
    for _ in range(2):
        install(opened(folder), package("- ONE", "", "- last"))
        assert text(folder) == skill("- ONE", "", "- last", "- by hand").decode()


def refined(*lines: str, base: bytes) -> Package:
    made = package(*lines, base={"SKILL.md": base})
    return Package(made.files, base=made.base, origin=written({"refinement": "r1"}), name="demo")


def test_a_change_taken_back_in_review_goes_from_the_installed_skill(tmp_path: Path) -> None:
    folder, base = tmp_path / "demo", skill("- one")
    install(opened(folder), refined("- one", "- first", base=base))
    install(opened(folder), refined("- one", "- second", base=base))
    assert text(folder) == skill("- one", "- second").decode()


def test_what_was_rolled_back_can_be_installed_again(tmp_path: Path) -> None:
    folder, base = tmp_path / "demo", skill("- one")
    install(opened(folder), package("- one"))
    install(opened(folder), refined("- one", "- first", base=base))
    rollback(opened(folder), 1)
    install(opened(folder), refined("- one", "- first", base=base))
    assert text(folder) == skill("- one", "- first").decode()


def test_a_skill_that_held_out_tasks_speak_against_takes_a_reason(tmp_path: Path) -> None:
    counted = {"covered": 0, "failing": 11, "exposed": 3, "passing": 9}
    held = {"state": "opened", "accepted": counted, "exposure_without_coverage": True}
    made = package("- one")
    bad = Package(made.files, origin=written({"held_out": held}), name="demo")
    with pytest.raises(SkillError, match="none of 11 failing and 3 of 9 passing ones"):
        install(opened(tmp_path / "demo"), bad)
    assert not (tmp_path / "demo" / "SKILL.md").exists()
    done = install(opened(tmp_path / "demo"), bad, override="a person looked at the three")
    assert done.version.more["override"] == "a person looked at the three"
    for good in ({**held, "exposure_without_coverage": False}, {"state": "sealed"}):
        fine = Package(made.files, origin=written({"held_out": good}), name="demo")
        assert install(opened(tmp_path / "fine"), fine).version.more.get("override") is None


def test_files_without_a_skill_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "demo").mkdir()
    (tmp_path / "demo" / "notes.txt").write_text("mine")
    with pytest.raises(SkillError, match=r"holds files but no SKILL\.md"):
        outlook(opened(tmp_path / "demo"), package("- one"))


BODY = st.lists(st.sampled_from(["- a", "- b", "- c", "", "## Checks", "- d", "Text."]), min_size=1, max_size=6)
CHOICE: st.SearchStrategy[Any] = st.sampled_from(CHOICES)


class Life(RuleBasedStateMachine):
    """Any order of installs, edits by hand, refinements, rollbacks and merges."""

    def __init__(self) -> None:
        super().__init__()
        self.root = Path(tempfile.mkdtemp(prefix="refiner-life-"))
        self.folder = self.root / "demo"
        self.seen: list[dict[str, bytes]] = []
        self.now: dict[str, bytes] = {}

    def teardown(self) -> None:
        shutil.rmtree(self.root)

    def remember(self) -> None:
        """What lay there before a command, and what lies there after it, must be in the history."""
        self.seen += [self.now] if self.now else []
        self.now = dict(opened(self.folder).working().files)
        self.seen.append(self.now)

    def put(self, made: Package, choice: Choice) -> None:
        store = opened(self.folder)
        choices = {hunk.number: choice for hunk in outlook(store, made).woven.hunks}
        install(store, made, choices=choices)
        self.remember()

    @initialize(body=BODY)
    def first(self, body: list[str]) -> None:
        self.put(package(*body), "mine")

    @rule(body=BODY, choice=CHOICE)
    def install_another(self, body: list[str], choice: Choice) -> None:
        self.put(package(*body), choice)

    @rule(body=BODY, place=st.integers(0, 5), windows=st.booleans())
    def edit_by_hand(self, body: list[str], place: int, windows: bool) -> None:
        lines = text(self.folder).splitlines()
        lines[6 + place : 6 + place] = body
        (self.folder / "SKILL.md").write_bytes(("\r\n" if windows else "\n").join(lines).encode())
        self.now = dict(opened(self.folder).working().files)

    @rule(body=BODY, choice=CHOICE, data=st.data())
    def refine(self, body: list[str], choice: Choice, data: st.DataObject) -> None:
        store = opened(self.folder)
        number = data.draw(st.integers(1, len(store.versions())))
        base = store.files(store.versions()[number - 1])
        files = {**base, "SKILL.md": base["SKILL.md"] + "".join(f"{line}\n" for line in body).encode()}
        self.put(Package(files, base=base, origin=written({"refinement": f"r{number}"}), name="demo"), choice)

    @rule(data=st.data())
    def roll_back(self, data: st.DataObject) -> None:
        store = opened(self.folder)
        number = data.draw(st.integers(1, len(store.versions())))
        wanted = store.files(store.versions()[number - 1])
        rollback(store, number)
        assert store.working().files == wanted
        self.remember()

    @rule(body=BODY)
    def merge_another_in(self, body: list[str]) -> None:
        other = self.root / f"other-{len(self.seen)}"
        install(opened(other), package(*body))
        join(opened(other), opened(self.folder), delete_source=len(body) % 2 == 0)
        self.remember()

    @invariant()
    def nothing_is_lost(self) -> None:
        store = opened(self.folder)
        versions = store.versions()
        kept = [store.files(one) for one in versions]
        now = dict(store.working().files) if self.folder.exists() else {}
        assert all(one in kept for one in self.seen), "whatever a command met or left in the folder is in its history"
        assert {parent for one in versions for parent in one.parents} <= {one.id for one in versions}
        assert now == self.now, "nothing but a command changes the folder"
        assert not versions or bool(status(store).edited) == (now != kept[-1])


TestLife = Life.TestCase
TestLife.settings = settings(
    max_examples=12, stateful_step_count=8, deadline=None, suppress_health_check=list(HealthCheck)
)


def test_the_held_out_estimate_is_read_as_it_is_written() -> None:
    made = report([(added("- More."),)])
    snapshot = replace(made.snapshot, held_out_tasks=20, held_out_traces=80)
    for covered, barred in ((0, True), (1, False)):
        count = HeldOutCount("", 11, covered, 9, 3, None, None, "")
        found = HeldOut("ada", "2026-01-01T00:00:00Z", 20, 80, (), count)
        told = {"held_out": as_plain(replace(made, snapshot=snapshot, held_out=found))}
        assert bool(exposed(told)) is barred
    assert exposed({"held_out": as_plain(replace(made, snapshot=snapshot))}) is None
