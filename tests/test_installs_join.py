"""Two skills merged into one, and another tool's history in and out: what is folded, what is shown, what is kept."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from refiner.carried import read_origin, written
from refiner.errors import SkillError
from refiner.installs.folding import Folded, fold, normal
from refiner.installs.foreign import export_history, import_history, read_history
from refiner.installs.installing import install, rollback, status
from refiner.installs.joining import join
from refiner.installs.package import Package
from refiner.installs.records import Tree
from tests.installing import opened, package, skill, text


def folded(mine: bytes, theirs: bytes, **files: bytes) -> Folded:
    return fold(Tree({"SKILL.md": mine, **files}), Tree({"SKILL.md": theirs}), "other")


def body(found: Folded) -> str:
    return found.tree.files["SKILL.md"].decode()


def test_lines_that_say_nearly_the_same_are_kept_once() -> None:
    mine = skill("## Steps", "", "- Save the workbook at the end.")
    found = folded(mine, skill("## Steps", "", "1. Save the workbook at the end!"))
    assert body(found) == mine.decode()
    assert [(one.source, one.destination) for one in found.folded] == [
        ("1. Save the workbook at the end!", "- Save the workbook at the end.")
    ]


@pytest.mark.parametrize(
    ("mine", "theirs"),
    [
        ("- Always confirm the address.", "- Never confirm the address."),
        ("- Retry 3 times on a timeout.", "- Retry 5 times on a timeout."),
        ("- Confirm the address before sending.", "- Do not confirm the address before sending."),
    ],
)
def test_lines_against_each_other_are_both_kept_and_shown(mine: str, theirs: str) -> None:
    found = folded(skill(mine), skill(theirs))
    assert [(one.source, one.destination) for one in found.contradictions] == [(theirs, mine)]
    assert body(found) == skill(mine, theirs).decode()


def test_similarity_decides_what_is_the_same() -> None:
    mine, theirs = skill("- Check the totals of the sheet."), skill("- Check the totals of the whole sheet.")
    assert len(folded(mine, theirs).folded) == 1
    strict = fold(Tree({"SKILL.md": mine}), Tree({"SKILL.md": theirs}), "other", similarity=0.99)
    assert "whole sheet" in body(strict) and strict.folded == ()


def test_lines_go_to_the_section_of_the_same_name_and_new_sections_stay_whole() -> None:
    mine = skill("Intro.", "", "## Steps", "", "- one", "", "## Checks", "", "- totals")
    theirs = skill("## checks", "", "- dates are ISO", "", "## Avoid", "", "- guessing", "", "### Deep", "", "Text.")
    assert body(folded(mine, theirs)) == skill(
        "Intro.", "", "## Steps", "", "- one", "", "## Checks", "", "- totals", "- dates are ISO", "",
        "## Avoid", "", "- guessing", "", "### Deep", "", "Text.",
    ).decode()  # fmt: skip


def test_an_item_is_not_torn_from_its_sub_items() -> None:
    found = folded(skill("- On failure:", "  - log it"), skill("- On failure:", "  - log it", "  - phone the customer"))
    assert body(found).count("- log it") == 2 and "phone the customer" in body(found)


def test_code_is_the_same_only_when_it_is_the_same() -> None:
    found = folded(skill("```", "rm -r build", "```"), skill("```", "rm -r built", "```"))
    assert "rm -r build\n" in body(found) and "rm -r built\n" in body(found)


def test_files_of_one_name_are_both_kept_and_mentions_follow() -> None:
    mine = Tree({"SKILL.md": skill("- See references/x.md."), "references/x.md": b"mine\n"})
    theirs = Tree({"SKILL.md": skill("Read references/x.md for the codes."), "references/x.md": b"theirs\n"})
    found = fold(mine, theirs, "other")
    assert found.tree.files["references/x.md"] == b"mine\n"
    assert found.tree.files["references/x-other.md"] == b"theirs\n"
    assert "Read references/x-other.md for the codes." in body(found) and "- See references/x.md." in body(found)


LINE = st.sampled_from(
    ["- alpha beta gamma", "- never alpha beta gamma", "1. delta", "text epsilon zeta", "", "# Top", "## One", "## one",
     "### Two", "```", "> quoted", "[link]: target", "  - nested item", "<!-- note -->", "***"]
)  # fmt: skip
TEXT = st.lists(LINE, max_size=12).map(lambda lines: "\n".join(lines).encode())


@settings(deadline=None)
@given(TEXT, TEXT)
def test_no_text_is_lost_in_a_merge(mine: bytes, theirs: bytes) -> None:
    result = normal_lines(body(folded(mine, theirs)))
    assert normal_lines(mine.decode()) <= result
    assert {line for line in normal_lines(theirs.decode()) if not line.startswith(("top", "one", "two"))} <= result


def normal_lines(data: str) -> set[str]:
    return {normal(line) for line in data.splitlines()} - {""}


def two(tmp_path: Path) -> tuple[Path, Path]:
    source, destination = tmp_path / "source", tmp_path / "destination"
    install(opened(source), package("- of the source"))
    install(opened(source), package("- of the source", "- second"))
    install(opened(destination), package("- here"))
    return source, destination


def test_a_merge_keeps_both_histories_and_leaves_the_source(tmp_path: Path) -> None:
    source, destination = two(tmp_path)
    (source / "SKILL.md").write_bytes(skill("- of the source", "- by hand"))
    done = join(opened(source), opened(destination))
    versions = opened(destination).versions()
    assert [one.source for one in versions] == ["installed", "installed", "installed", "hand", "merge"]
    assert done.installed.version.parents == (versions[0].id, versions[3].id)
    assert text(destination) == skill("- here", "- of the source", "- by hand").decode()
    assert text(source) == skill("- of the source", "- by hand").decode()
    assert join(opened(source), opened(destination)).installed.new is False
    rollback(opened(destination), 1)
    assert text(destination) == skill("- here").decode()


def test_a_source_is_removed_only_when_asked_and_its_versions_stay(tmp_path: Path) -> None:
    source, destination = two(tmp_path)
    join(opened(source), opened(destination), delete_source=True)
    assert not source.exists()
    store = opened(destination)
    assert store.files(store.versions()[1])["SKILL.md"] == skill("- of the source")


def test_a_skill_is_not_merged_with_itself(tmp_path: Path) -> None:
    source, _ = two(tmp_path)
    (tmp_path / "link").symlink_to(source)
    with pytest.raises(SkillError, match="name two skills"):
        join(opened(source), opened(tmp_path / "link"))


def test_both_provenances_are_kept(tmp_path: Path) -> None:
    for name, line in (("source", "- theirs"), ("destination", "- mine")):
        rows = [{"path": "SKILL.md", "start_line": 9, "end_line": 9, "change": f"c-{name}"}]
        tried = [{"refinement": f"r-{name}", "change": f"v-{name}", "status": "rejected"}]
        changes = {f"c-{name}": {"rationale": name}}
        origin = {"refinement": f"r-{name}", "ranges": rows, "changes": changes, "tried": tried}
        made = package("- shared", line)
        install(opened(tmp_path / name), Package(made.files, origin=written(origin), name=name))
    join(opened(tmp_path / "source"), opened(tmp_path / "destination"))
    store = opened(tmp_path / "destination")
    found = read_origin(store.origin(store.head()))
    assert [(one["change"], one["start_line"]) for one in found["ranges"]] == [("c-destination", 9)]
    assert [(one["refinement"], one["start_line"], one["rationale"]) for one in found["earlier"]] == [
        ("r-source", 10, "source")
    ]
    assert {one["change"] for one in found["tried"]} == {"v-source", "v-destination"}
    assert json.loads((tmp_path / "destination/.refiner/provenance.json").read_text()) == found


ONE, THREE, SEVEN = (skill(line).decode() for line in ("- one", "- three", "- seven"))
LINES: list[dict[str, Any]] = [
    {"version": 1, "timestamp": "2026-01-05T10:00:00Z", "source": "create", "note": "first", "text": ONE},
    {"version": 3, "timestamp": 1767700000, "source": "evolve", "note": None, "text": THREE},
    {"version": 7, "timestamp": "2026-02-01", "source": "manual", "note": "ü", "text": SEVEN, "x": [1]},
]


def foreign(folder: Path, *more: str) -> Path:
    file = folder / ".skillup" / "history.jsonl"
    file.parent.mkdir(parents=True)
    file.write_text("".join(json.dumps(line) + "\n" for line in LINES) + "".join(f"{line}\n" for line in more))
    return file


def test_another_tools_history_comes_in_with_times_and_notes_and_goes_back_as_it_was(tmp_path: Path) -> None:
    folder = tmp_path / "demo"
    file = foreign(folder, "{broken", '{"version": 9}')
    (folder / "SKILL.md").write_bytes(skill("- now"))
    done = import_history(opened(folder), read_history(file))
    assert (done.versions, done.gaps) == (3, (2, 4, 5, 6))
    reasons = ["this is no JSON", "this is no version (a `text` is missing)"]
    assert [said.rpartition(": ")[2] for said in done.skipped] == reasons
    versions = opened(folder).versions()
    assert [(one.source, one.at) for one in versions[:3]] == [
        ("imported", "2026-01-05T10:00:00Z"), ("imported", "2026-01-06T11:46:40+00:00"), ("imported", "2026-02-01"),
    ]  # fmt: skip
    assert [one.note for one in versions[:3]] == ["create first", "evolve", "manual ü"]
    assert versions[3].source == "adopted" and text(folder) == skill("- now").decode()
    assert import_history(opened(folder), read_history(file)).versions == 0
    out = tmp_path / "out.jsonl"
    assert export_history(opened(folder), out) == (out, 4)
    back = [json.loads(line) for line in out.read_text().splitlines()]
    assert back[:3] == LINES
    assert (back[3]["version"], back[3]["text"]) == (8, skill("- now").decode())


def test_a_history_joins_the_one_that_is_there(tmp_path: Path) -> None:
    folder = tmp_path / "demo"
    install(opened(folder), package("- own", **{"references/x.md": b"# X\n"}))
    import_history(opened(folder), read_history(foreign(tmp_path / "other")))
    store = opened(folder)
    assert [one.source for one in store.versions()] == ["installed", *["imported"] * 4]
    assert status(store).edited == () and text(folder) == skill("- own").decode()
    rollback(store, 2)
    assert (text(folder), text(folder, "references/x.md")) == (skill("- one").decode(), "# X\n")


def test_an_export_never_writes_over_versions_it_does_not_know(tmp_path: Path) -> None:
    folder = tmp_path / "demo"
    install(opened(folder), package("- own"))
    file = foreign(folder)
    with pytest.raises(SkillError, match="import it first"):
        export_history(opened(folder))
    import_history(opened(folder), read_history(file))
    assert export_history(opened(folder))[1] == 4


def test_a_history_without_a_usable_line_says_why(tmp_path: Path) -> None:
    file = tmp_path / "history.jsonl"
    file.write_text('{"version": 1}\n')
    with pytest.raises(SkillError, match=r"history\.jsonl:1: this is no version"):
        import_history(opened(tmp_path / "demo"), read_history(file))
    assert not (tmp_path / "demo" / "SKILL.md").exists()
