"""What each operation writes, where anchors are found, and what is refused, as a person would see it in the file."""

from __future__ import annotations

import pytest

from refiner import merge
from refiner.errors import StaleEdit
from refiner.types import Change, Edit, SkillVersion

POLICY = """# Policy

Opening words.

- First rule.

- Second rule
  goes on.
  - a detail

## Steps

1. Look.
2. Save.

## Notes
"""


def edit(op: str, section: tuple[str, ...], old: str = "", new: str = "", path: str = "SKILL.md") -> Edit:
    return Edit(path, op, section, old, new)  # type: ignore[arg-type]


def merged(text: str, *edits: Edit) -> str:
    base = SkillVersion(files={"SKILL.md": text.encode()})
    return merge.apply(base, [Change((one,), (), "") for one in edits]).files["SKILL.md"].decode()


def added(text: str, *edits: Edit) -> list[str]:
    """The lines of the result that changes own."""
    base = SkillVersion(files={"SKILL.md": text.encode()})
    result = merge.apply(base, [Change((one,), (), "") for one in edits])
    lines = result.files["SKILL.md"].decode().splitlines()
    return [line for found in result.lines for line in lines[found.start_line - 1 : found.end_line]]


def refused(text: str, one: Edit) -> str:
    with pytest.raises(StaleEdit) as caught:
        merge.resolve(SkillVersion(files={"SKILL.md": text.encode(), "scripts/a.md": b"x"}), one)
    return str(caught.value)


TOP, STEPS, NOTES = ("Policy",), ("Policy", "Steps"), ("Policy", "Notes")


@pytest.mark.parametrize(
    ("one", "before", "after"),
    [
        (edit("replace", TOP, "First rule", "Only rule"), "- First rule.", "- Only rule."),
        (edit("replace", TOP, "goes on.", "a\nb"), "  goes on.\n", "  a\nb\n"),
        (edit("delete", TOP, "Opening "), "Opening words.", "words."),
        (edit("delete", STEPS, "1. Look."), "1. Look.\n2. Save.\n", "2. Save.\n"),
        (edit("insert_after", TOP, "- First rule.", "New."), "First rule.\n", "First rule.\n\n- New.\n"),
        (edit("insert_after", TOP, "- First rule.", "  - Unless x."), "First rule.\n", "First rule.\n  - Unless x.\n"),
        (edit("insert_after", TOP, "- Second rule", "  - more"), "  - a detail\n", "  - a detail\n  - more\n"),
        (edit("insert_after", TOP, "- a detail", "- b"), "  - a detail\n", "  - a detail\n  - b\n"),
        (edit("insert_before", TOP, "- First rule.", "- Zero\n  cont."), "- First", "- Zero\n  cont.\n\n- First"),
        (edit("insert_after", TOP, "Opening words.", "- bullet"), "words.\n", "words.\n\n- bullet\n"),
        (edit("insert_before", TOP, "Opening words.", "Before."), "Opening", "Before.\n\nOpening"),
        (edit("insert_after", STEPS, "1. Look.", "- Think."), "1. Look.\n", "1. Look.\n2. Think.\n"),
        (edit("insert_after", STEPS, "1. Look.", "  - twice"), "1. Look.\n", "1. Look.\n   - twice\n"),
        (edit("append_to_section", STEPS, "", "- Check.\n- Stop."), "2. Save.\n", "2. Save.\n3. Check.\n4. Stop.\n"),
        (edit("append_to_section", STEPS, "", "```\nx\n```"), "2. Save.\n", "2. Save.\n\n```\nx\n```\n"),
        (edit("append_to_section", TOP, "", "Third."), "  - a detail\n", "  - a detail\n\n- Third.\n"),
        (edit("append_to_section", NOTES, "", "- n"), "## Notes\n", "## Notes\n\n- n\n"),
        (
            edit("add_section", TOP, "", "# Checks\n\n- c\n## Sub"),
            "## Notes\n",
            "## Notes\n\n## Checks\n\n- c\n### Sub\n",
        ),
        (edit("add_section", STEPS, "", "# Sub\ntext"), "2. Save.\n", "2. Save.\n\n### Sub\ntext\n"),
        (edit("add_section", (), "", "## Second top"), "## Notes\n", "## Notes\n\n# Second top\n"),
    ],
)
def test_an_operation_writes_what_its_table_says(one: Edit, before: str, after: str) -> None:
    assert POLICY.count(before) == 1
    assert merged(POLICY, one) == POLICY.replace(before, after)


def test_edits_in_a_crlf_file_use_crlf() -> None:
    text = POLICY.replace("\n", "\r\n")
    edits = [
        edit("insert_after", TOP, "- First rule.", "- a\n  b"),
        edit("replace", TOP, "rule\n  goes", "x\n  y"),
        edit("append_to_section", NOTES, "", "n"),
    ]
    result = merged(text, *edits)
    assert result.count("\n") == result.count("\r\n")
    assert "- First rule.\r\n\r\n- a\r\n  b\r\n\r\n- Second x\r\n  y on." in result


def test_a_file_without_a_final_newline_keeps_having_none() -> None:
    assert merged("# A\n\n- x", edit("append_to_section", ("A",), "", "- y")) == "# A\n\n- x\n- y"
    assert added("# A\n\n- x", edit("append_to_section", ("A",), "", "- y")) == ["- y"]


def test_what_joins_an_empty_section_becomes_one_list() -> None:
    both = [edit("append_to_section", NOTES, "", "- n"), edit("append_to_section", NOTES, "", "- m")]
    assert merged(POLICY, *both).endswith(("## Notes\n\n- n\n- m\n", "## Notes\n\n- m\n- n\n"))
    assert merged("", edit("append_to_section", (), "", "- x")) == "- x\n"


def test_sub_items_go_before_siblings_and_sections_come_last() -> None:
    edits = [
        edit("add_section", ("A",), "", "# C"),
        edit("append_to_section", ("A",), "", "sibling"),
        edit("insert_after", ("A",), "- x", "  - sub"),
        edit("add_section", (), "", "# B"),
    ]
    assert merged("# A\n\n- x\n", *edits) == "# A\n\n- x\n  - sub\n- sibling\n\n## C\n\n# B\n"


def test_failure_goes_before_success_and_many_tasks_before_few() -> None:
    base = SkillVersion(files={"SKILL.md": b"# A\n\n- x\n"})
    ranks = {"success": (1, -9), "few": (0, -3), "many": (0, -8)}
    changes = [
        Change((edit("append_to_section", ("A",), "", f"- {name}"),), (), "", rank) for name, rank in ranks.items()
    ]
    assert merge.apply(base, changes).files["SKILL.md"] == b"# A\n\n- x\n- many\n- few\n- success\n"


def test_text_in_code_quotes_and_tables_stays_in_them() -> None:
    code = "```sh\nrun a\nrun b\n```\n"
    assert merged(code, edit("insert_after", (), "run a", "run c")) == "```sh\nrun a\nrun c\nrun b\n```\n"
    assert merged("> - q\n", edit("insert_after", (), "q", "r\ns")) == "> - q\n> - r\n>   s\n"
    table = "| a |\n|---|\n| 1 |\n"
    assert merged(table, edit("insert_after", (), "| 1 |", "| 2 |")) == table + "| 2 |\n"


def test_a_long_paragraph_is_never_split() -> None:
    text = "One\ntwo\nthree.\n\nNext.\n"
    assert merged(text, edit("insert_after", (), "two", "- new")) == "One\ntwo\nthree.\n\n- new\n\nNext.\n"


def test_front_matter_changes_only_when_named() -> None:
    text = "---\nname: x\ndescription: d\n---\n# name: x\nname: x\n"
    assert merged(text, edit("replace", ("---",), "name: x", "name: y")) == text.replace("name: x\ndes", "name: y\ndes")
    assert merged(text, edit("append_to_section", ("---",), "", "license: MIT")) == text.replace(
        ": d\n", ": d\nlicense: MIT\n"
    )
    assert merged("---\nname: x\n---\n", edit("append_to_section", (), "", "Body.")) == "---\nname: x\n---\n\nBody.\n"


@pytest.mark.parametrize("old", ["- First   rule.", "First\nrule.", "First rules.", "* First rule."])
def test_an_inexact_anchor_is_repaired_to_the_text_that_stands_there(old: str) -> None:
    base = SkillVersion(files={"SKILL.md": POLICY.encode()})
    resolved = merge.resolve(base, edit("insert_after", TOP, old, "- n"))
    assert resolved.old.endswith("First rule.") and merge.resolve(base, resolved) == resolved
    assert resolved.anchor is not None and POLICY.encode()[slice(*resolved.anchor)] == b"- First rule.\n"


LONG = "# A\n\nYou must not cancel more than 2 orders after they were delivered to the customer.\n"


def test_a_near_match_never_bridges_a_negation_or_a_number() -> None:
    close = "You must not cancel more than 2 orders once they were delivered to the customer."
    assert "once they" in merged(LONG, edit("replace", ("A",), close.replace("once", "after  "), close))
    for wrong in (close.replace("must not", "must"), close.replace("2", "3")):
        assert "does not contain" in refused(LONG, edit("replace", ("A",), wrong, "x"))


@pytest.mark.parametrize(
    ("one", "reason"),
    [
        (edit("replace", TOP, "rule", "x"), "more than once"),
        (edit("delete", TOP, "1. Look."), "does not contain"),
        (edit("replace", ("Nothing",), "a", "b"), "no section 'Nothing'"),
        (edit("replace", TOP, "First", "First"), "changes nothing"),
        (edit("insert_after", TOP, "", "x"), "names no text"),
        (edit("insert_after", TOP, "- First rule.", " \n"), "no text to add"),
        (edit("add_section", TOP, "", "no heading"), "must begin with its heading"),
        (edit("replace", (), "a", "b", "references/x.md"), "has no file"),
        (edit("replace", (), "x", "b", "scripts/a.md"), "never edited"),
        (edit("create_file", (), "", "x", "SKILL.MD"), "exists already"),
        (edit("create_file", (), "", "x", "../x.md"), "plain relative path"),
        (edit("create_file", (), "", "x", "/x.md"), "plain relative path"),
        (edit("create_file", (), "", "x", "a\\x.md"), "plain relative path"),
        (edit("create_file", (), "", "x", "SKILL.md/x.md"), "exists already"),
        (edit("create_file", (), "", "x", "scripts/x.md"), "outside of scripts"),
        (edit("create_file", (), "", "x", "run.py"), "only markdown"),
    ],
)
def test_an_edit_that_cannot_be_placed_says_why(one: Edit, reason: str) -> None:
    assert reason in refused(POLICY, one)


def test_a_new_file_comes_only_with_a_link_to_it() -> None:
    base = SkillVersion(files={"SKILL.md": POLICY.encode(), "references/old.md": b"# Old\n"})
    create = edit("create_file", (), "", "# Fares\n\nText", "references/fares.md")
    link = edit("append_to_section", NOTES, "", "See [fares](references/fares.md).")
    sibling = edit("append_to_section", ("Old",), "", "See [fares](fares.md).", "references/old.md")
    for linking in (link, sibling):
        result = merge.apply(base, [Change((create, linking), (), "")])
        assert result.files["references/fares.md"] == b"# Fares\n\nText\n"
        assert ("references/fares.md", 1, 3) in [
            (found.path, found.start_line, found.end_line) for found in result.lines
        ]
    alone = merge.settle(base, [Change((create,), (), "")])[0]
    assert alone.unplaced is not None and "nothing links to" in alone.unplaced


def test_two_edits_of_one_change_on_the_same_text_make_it_unplaced() -> None:
    base = SkillVersion(files={"SKILL.md": POLICY.encode()})
    both = Change((edit("replace", TOP, "First rule", "x"), edit("delete", TOP, "rule.\n\n- Second")), (), "")
    assert "two edits of this change" in (merge.settle(base, [both])[0].unplaced or "")


def test_provenance_names_changed_lines_and_the_base_lines_they_replace() -> None:
    base = SkillVersion(files={"SKILL.md": b"a\nb\nc\nd\n"})
    change = Change((edit("replace", (), "b\nc", "x"), edit("delete", (), "d")), (), "")
    result = merge.apply(base, [change])
    assert result.files["SKILL.md"] == b"a\nx\n"
    assert [(found.start_line, found.end_line) for found in result.lines] == [(2, 2)]
    assert [(found.start_line, found.end_line) for found in result.removed] == [(2, 3), (4, 4)]
