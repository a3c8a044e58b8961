"""Skills from disk, the skeleton, sections, blocks: byte-exact for whatever people write."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from refiner import skills
from refiner.errors import SkillError
from refiner.skills import Section


def paths(text: str | bytes) -> list[tuple[str, ...]]:
    return [section.path for section in skills.sections(text)]


def own(data: bytes, *path: str) -> bytes:
    section = skills.find_section(data, path)
    assert section is not None
    return data[section.own_start : section.own_end]


ODD = {
    "crlf": b"---\r\nname: x\r\n---\r\n# A\r\n\r\n- b\r\n",
    "bom": b"\xef\xbb\xbf# A\n",
    "not ascii": "# \u00dcbersicht \u4f60\u597d\n\n\u2014 caf\u00e9\n".encode(),
    "no final newline": b"# A\n\ntext",
    "broken yaml": b"---\nname: [x\n  : y\n---\n# A\n",
    "no front matter": b"text\n",
    "unclosed front matter": b"---\nname: x\n\n# A\n",
    "empty": b"",
}


@pytest.mark.parametrize("name", ODD)
def test_a_file_is_loaded_byte_for_byte_and_under_its_own_name(name: str, tmp_path: Path) -> None:
    path = tmp_path / "CLAUDE.md"
    path.write_bytes(ODD[name])
    skill = skills.load(path)
    assert (skill.files, skill.main) == ({"CLAUDE.md": ODD[name]}, "CLAUDE.md")
    assert skills.sections(ODD[name])


def test_a_folder_keeps_every_file_but_version_control(tmp_path: Path) -> None:
    for name, data in {
        "SKILL.md": b"# A\r\n",
        "scripts/run.sh": b"\xff\x00",
        "references/a b.md": b"x",
        ".git/HEAD": b"y",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(data)
    skill = skills.load(tmp_path)
    assert skill.main == "SKILL.md"
    assert skill.files == {"SKILL.md": b"# A\r\n", "scripts/run.sh": b"\xff\x00", "references/a b.md": b"x"}


def test_a_path_that_cannot_be_a_skill_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(SkillError, match="no such file or folder"):
        skills.load(tmp_path / "missing.md")
    (tmp_path / "AGENTS.md").write_text("x")
    with pytest.raises(SkillError, match=r"has no SKILL\.md.*AGENTS\.md"):
        skills.load(tmp_path)


@pytest.mark.parametrize(
    ("data", "advice"),
    [(b"# caf\xe9\n", "byte 5 is not UTF-8"), (b"PK\x03\x04\x00", "binary"), ("# A".encode("utf-16"), "UTF-16")],
)
def test_a_skill_that_is_not_utf8_text_is_refused(data: bytes, advice: str, tmp_path: Path) -> None:
    (tmp_path / "SKILL.md").write_bytes(data)
    with pytest.raises(SkillError, match=advice):
        skills.load(tmp_path)
    with pytest.raises(SkillError, match=advice):
        skills.load(tmp_path / "SKILL.md")


def test_a_link_out_of_the_folder_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("x")
    (tmp_path / "skill").mkdir()
    (tmp_path / "skill" / "SKILL.md").write_text("# A")
    os.symlink(tmp_path / "secret", tmp_path / "skill" / "notes.md")
    with pytest.raises(SkillError, match=r"notes\.md links outside"):
        skills.load(tmp_path / "skill")


def test_without_a_skill_there_is_a_skeleton_to_write_into() -> None:
    skill = skills.load(None, "Sheet tools: \u00dcber")
    text = skill.files["SKILL.md"].decode()
    assert text.startswith("---\nname: sheet-tools-uber\n")
    title = "Sheet tools: \u00dcber"
    assert paths(text)[2:] == [(title,), (title, "Steps"), (title, "Checks"), (title, "Avoid")]
    assert skills.is_skeleton(skill) and skills.needs_description(skill)
    assert skill == skills.load(None, "Sheet tools: \u00dcber") and skills.load(None).files["SKILL.md"]


def test_a_skill_with_text_in_it_is_no_skeleton() -> None:
    skill = skills.skeleton("x")
    skill.files["SKILL.md"] += b"\n- Never.\n"
    assert not skills.is_skeleton(skill)


@pytest.mark.parametrize(("name", "slug"), [("PDF  Tools!", "pdf-tools"), ("--", "new-skill"), ("a" * 80, "a" * 64)])
def test_a_slug_is_a_name_the_specification_allows(name: str, slug: str) -> None:
    assert skills.slug(name) == slug


def test_sections_are_paths_of_headings_with_numbered_siblings() -> None:
    text = "intro\n# A\n## Same\n## Same\n### Same\nTitle\n=====\n## Same\n#### Far\n"
    assert paths(text) == [
        (),
        ("A",),
        ("A", "Same"),
        ("A", "Same [2]"),
        ("A", "Same [2]", "Same"),
        ("Title",),
        ("Title", "Same"),
        ("Title", "Same", "Far"),
    ]


def test_a_heading_that_looks_like_a_number_never_gets_a_taken_path() -> None:
    found = paths("# A [2]\n# A\n# A\n# ---\n")
    assert len(set(found)) == len(found) == 5


def test_what_only_looks_like_a_heading_is_none() -> None:
    text = "# A\n```\n# in a fence\n```\n\n    # in code\n\n- # in an item\n\n<!--\n# in a comment\n-->\n#no space\n"
    assert paths(text) == [(), ("A",)]


def test_ranges_are_bytes_and_own_text_ends_at_the_next_heading() -> None:
    data = "\ufeff---\r\nname: x\r\n---\r\npre\r\n# \u00c4\r\n\u00f6wn\r\n## B\r\nb\r\n# C\r\n".encode()
    assert own(data, "---") == b"name: x\r\n"
    assert own(data) == b"pre\r\n"
    assert own(data, "\u00c4") == "\u00f6wn\r\n".encode()
    first = skills.find_section(data, ("\u00c4",))
    assert first is not None and data[first.start : first.end] == "# \u00c4\r\n\u00f6wn\r\n## B\r\nb\r\n".encode()
    assert own(data, "C") == b""


def test_the_sections_of_a_text_without_headings_hold_all_of_it() -> None:
    assert skills.sections("") == [Section((), 0, 0, 0, 0, 0)]
    assert skills.sections("just text") == [Section((), 0, 0, 0, 9, 9)]


def test_a_section_is_found_by_the_end_of_its_path_when_that_is_unique() -> None:
    data = b"# Policy\n## Cancel  flight\n## Refund\n# Other\n## Refund\n"
    found = skills.find_section(data, ("cancel flight",))
    assert found is not None and found.path == ("Policy", "Cancel flight")
    assert skills.find_section(data, ("Refund",)) is None
    assert skills.find_section(data, ("Nothing",)) is None


@pytest.mark.parametrize(
    ("text", "problem"),
    [("---\na: [\n---\n", True), ("---\n- a\n---\n", True), ("---\na: 1\n---\n", False), ("---\n---\n", False)],
)
def test_front_matter_says_what_is_wrong_with_it(text: str, problem: bool) -> None:
    front = skills.front_matter(text.encode())
    assert front is not None and bool(front.problem) == problem


def test_body_lines_leave_front_matter_and_blank_lines_out() -> None:
    skill = skills.skeleton("demo")
    assert skills.body_lines(skill) == ["# Demo", "## Steps", "## Checks", "## Avoid"]


def test_list_items_know_their_own_lines_style_and_nesting() -> None:
    data = b"- a\n\n- b\n  more\n\n  10) n\n\n      para\n\n> * q\n"
    items = {data[item.start : item.own_end].lstrip(b"> ").split()[1]: item for item in skills.document(data).items}
    assert set(items) == {b"a", b"b", b"n", b"q"}
    assert data[items[b"b"].start : items[b"b"].own_end] == b"- b\n  more\n"
    assert data[items[b"b"].start : items[b"b"].end].endswith(b"para\n")
    assert (items[b"a"].style.loose, items[b"a"].style.hang, items[b"q"].style.hang) == (True, "  ", ">   ")
    assert (items[b"n"].style.marker, items[b"n"].style.number, items[b"n"].style.column) == ("10)", 10, 6)


@pytest.mark.parametrize(
    ("text", "is_open"),
    [("```\na\n```\n", False), ("```\na\n", True), ("~~~~\n~~~\n", True), ("- ```\n  x\n  ```\n", False)],
)
def test_a_fence_that_is_never_closed_is_noticed(text: str, is_open: bool) -> None:
    assert bool(skills.document(text.encode()).open_fences) == is_open
