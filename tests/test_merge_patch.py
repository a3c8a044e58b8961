"""Diffs that the real `git apply` takes, the automatic selection, a skeleton's export, and the way back to evidence."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from refiner import merge, skills
from refiner.types import Change, Citation, Criterion, Edit, Proposal, SkillVersion, Verdict

BASE = SkillVersion(files={"SKILL.md": b"# A\n\n- one\n- two\n- three\n\n## B\n\nlast"})


def change(
    op: str, section: tuple[str, ...], old: str = "", new: str = "", rank: tuple[int, int] = (0, -3), why: str = ""
) -> Change:
    return Change((Edit("SKILL.md", op, section, old, new),), (), why, rank)  # type: ignore[arg-type]


def run(folder: Path, *command: str) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr + done.stdout


def patched(folder: Path, old: Mapping[str, bytes], patch: str, *command: str) -> dict[str, bytes]:
    """What a real tool makes of the files with the patch."""
    shutil.rmtree(folder, ignore_errors=True)
    for name, data in old.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    (folder.parent / "p.diff").write_bytes(patch.encode("utf-8", "surrogateescape"))
    run(folder, *command)
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


GIT = ("git", "apply", "--whitespace=nowarn", "../p.diff")
PATCH = ("patch", "-p1", "--quiet", "--binary", "-i", "../p.diff")
VERSIONS = {
    "an inner line": (b"a\nb\nc\n", b"a\nB\nc\n"),
    "a final newline gained": (b"a\nb", b"a\nb\n"),
    "a final newline lost": (b"a\nb\n", b"a\nb"),
    "no final newline in either": (b"a\nb", b"a\nb\nc"),
    "crlf": (b"a\r\nb\r\n", b"a\r\nc\r\nb\r\n"),
    "lone carriage returns": (b"a\rb\nc\n", b"a\rb\nd\rc\n"),
    "from empty": (b"", b"a\n"),
    "to empty": (b"a\n", b""),
    "other line separators": ("a\u2028b\n\x0cc\n".encode(), "a\u2028b\n\x0cd\n".encode()),
    "byte order mark": (b"\xef\xbb\xbfa\n", b"\xef\xbb\xbfb\n"),
    "lines that look like a diff": (b"--- a\n+++ b\n@@ -1 +1 @@\n", b"--- a\n++ c\n@@ -1 +1 @@\n-- x\n"),
}


TOOLS = {"git": GIT} | ({"patch": PATCH} if shutil.which("patch") else {})
# `patch` removes a file that becomes empty.
CASES = [(name, tool) for name in VERSIONS for tool in TOOLS if (name, tool) != ("to empty", "patch")]


@pytest.mark.parametrize(("name", "tool"), CASES)
def test_a_diff_takes_one_version_to_the_other(name: str, tool: str, tmp_path: Path) -> None:
    old, new = ({"SKILL.md": data} for data in VERSIONS[name])
    assert patched(tmp_path / "x", old, merge.diff(old, new), *TOOLS[tool]) == new


def test_a_diff_creates_files_and_copes_with_odd_names(tmp_path: Path) -> None:
    old = {
        "SKILL.md": b"a\n",
        "references/with space.md": b"x\n",
        'references/"q".md': b"q\n",
        "references/\u00e9.md": b"e",
    }
    new = {name: data + b"more\n" for name, data in old.items()} | {"references/new.md": b"n\n"}
    assert patched(tmp_path / "x", old, merge.diff(old, new), *GIT) == new
    assert merge.diff(old, old) == ""


def test_the_diff_of_a_merge_applies(tmp_path: Path) -> None:
    result = merge.apply(BASE, [change("append_to_section", ("A", "B"), "", "more"), change("delete", ("A",), "- two")])
    assert patched(tmp_path / "x", BASE.files, merge.diff(BASE, result), *GIT) == result.files


def test_the_undecided_diff_applies_on_top_and_opens_with_a_comment_a_change(tmp_path: Path) -> None:
    taken = change("insert_after", ("A",), "- one", "  - sure")
    first = change("append_to_section", ("A",), "", "- four", (0, -9), "Four\nhelps")
    second = change("insert_after", ("A",), "- one", "  - maybe", (0, -2))
    beaten = change("replace", ("A",), "- one", "- uno", (0, -1))
    patch = merge.undecided_diff(
        BASE, merge.settle(BASE, [taken]), merge.settle(BASE, [first, second, beaten]), {second.key: "S | 2 tasks"}
    )
    comments = [line for line in patch.splitlines() if line.startswith("# ")]
    assert comments[:2] == ["# Four helps", "# S | 2 tasks"]
    assert comments[2].startswith("#  [not in this patch: edits the same text as")
    before = merge.apply(BASE, [taken]).files
    after = merge.apply(BASE, [taken, first, second]).files
    for command in TOOLS.values():
        assert patched(tmp_path / "x", before, patch, *command) == after


def test_without_undecided_changes_there_is_no_undecided_diff() -> None:
    assert merge.undecided_diff(BASE, merge.settle(BASE, [change("delete", ("A",), "- two")]), [], {}) == ""


def settled(*changes: Change) -> tuple[Change, ...]:
    return merge.settle(BASE, changes)


def test_the_automatic_merge_takes_supported_changes_only() -> None:
    yes, maybe, no, lost = settled(
        change("append_to_section", ("A",), "", "- yes"),
        change("append_to_section", ("A",), "", "- maybe"),
        change("append_to_section", ("A",), "", "- no"),
        change("delete", ("A",), "not there"),
    )
    results = {yes.key: "supported", maybe.key: "undecided", no.key: "unsupported", lost.key: "supported"}
    accepted, left = merge.automatic([no, lost, maybe, yes], results, False)
    assert accepted == (yes,)
    reasons = {found.change.key: found.reason for found in left}
    assert (reasons[maybe.key], reasons[no.key]) == ("undecided", "unsupported")
    assert reasons[lost.key].startswith("unplaced: ")
    assert set(merge.automatic([no, lost, maybe, yes], results, True).accepted) == {yes, maybe}


def test_a_quarantined_change_stays_out_with_its_reason() -> None:
    (only,) = settled(change("append_to_section", ("A",), "", "- x"))
    accepted, left = merge.automatic([only], {only.key: "supported"}, barred={only.key: "leak: 'XQ1'"})
    assert (accepted, left) == ((), ((only, "leak: 'XQ1'"),))


def test_of_overlapping_changes_the_supported_and_then_the_better_ranked_one_wins_and_is_named() -> None:
    undecided, few, many = settled(
        change("replace", ("A",), "- two", "- 2", (0, -9), "undecided one"),
        change("replace", ("A",), "two", "zwei", (1, -3), "few"),
        change("delete", ("A",), "- two", "", (0, -3), "many"),
    )
    results = {undecided.key: "undecided", few.key: "supported", many.key: "supported"}
    accepted, left = merge.automatic([undecided, few, many], results, True)
    assert accepted == (many,)
    assert {found.change.key: found.reason for found in left} == {
        one.key: f"edits the same text as {many.key} (many)" for one in (undecided, few)
    }


def test_a_change_whose_requirement_is_left_out_is_left_out_too() -> None:
    needed, free = settled(
        change("append_to_section", ("A",), "", "- x"), change("append_to_section", ("A", "B"), "", "y")
    )
    needing = Change(
        (Edit("SKILL.md", "append_to_section", ("A",), "", "- z", (0, 0), (needed.edits[0].key,)),), (), ""
    )
    results = {needed.key: "undecided", needing.key: "supported", free.key: "supported"}
    accepted, left = merge.automatic([needed, needing, free], results)
    assert accepted == (free,)
    assert needed.edits[0].key in dict(left)[needing]
    assert set(merge.automatic([needed, needing, free], results, True).accepted) == {needed, needing, free}


def test_nothing_supported_leaves_the_base() -> None:
    (only,) = settled(change("append_to_section", ("A",), "", "- x"))
    assert merge.apply(BASE, merge.automatic([only], {only.key: "undecided"}).accepted).files == BASE.files


def test_empty_sections_of_a_skeleton_are_left_out_and_line_numbers_follow() -> None:
    base = skills.skeleton("demo")
    avoid = Change((Edit("SKILL.md", "append_to_section", ("Demo", "Avoid"), "", "- Do not guess."),), (), "")
    merged = merge.apply(base, [avoid])
    exported = merge.export(base, merged)
    text = exported.files["SKILL.md"].decode()
    assert exported.files == merge.export_files(merged.files, base)
    assert text.endswith("# Demo\n\n## Avoid\n\n- Do not guess.\n")
    assert "## Steps" not in text and "## Steps" in merged.files["SKILL.md"].decode()
    (lines,) = exported.lines
    assert text.splitlines()[lines.start_line - 1 : lines.end_line] == ["", "- Do not guess."]
    assert merge.export_files(base.files, base)["SKILL.md"].decode().endswith("# Demo\n")
    assert merge.export(BASE, merge.apply(BASE, [])).files == BASE.files


def test_provenance_leads_from_a_line_to_the_quotes() -> None:
    quotes = [
        Citation("t2", 3, "s3", "saved without looking", 0, 21, True),
        Citation("t1", 1, "s1", "wrong", 0, 5, False),
        Citation("t2", 1, "s1", "an earlier quote", 0, 16, True),
    ]
    proposal = Proposal(
        "failure", "cluster", ("g",), "theme", "edit", "why", behaviour="called(x)", citations=tuple(quotes)
    )
    criterion = Criterion("occurs", "yes", "seen", "counted", (Citation("t3", 0, "s0", "seen here too", 0, 13, True),))
    verdict = Verdict(proposal.key, "supported", (criterion,), "words", "offline")
    used = Change((Edit("SKILL.md", "append_to_section", ("A",), "", "- x"),), (proposal.key,), "why")
    merged = merge.apply(BASE, [used])
    unused = change("delete", ("A",), "- two")
    found = merge.provenance(
        merged, [used, unused], {proposal.key: proposal}, {proposal.key: verdict}, {"t2": "run-2", "t3": "run-3"}
    )
    assert json.loads(json.dumps(found)) == found
    assert found["ranges"] == [{"path": "SKILL.md", "start_line": 6, "end_line": 6, "change": used.key}]
    assert list(found["changes"]) == [used.key]
    (told,) = found["changes"][used.key]["proposals"]
    assert told["verdict"]["result"] == "supported" and told["verdict"]["criteria"]["occurs"]["answer"] == "yes"
    assert [(trace["trace"], [span["quote"] for span in trace["spans"]]) for trace in told["traces"]] == [
        ("run-2", ["an earlier quote", "saved without looking"]),
        ("run-3", ["seen here too"]),
    ]
