"""Mistakes in a start skill's front matter as changes: what they write, and when there is none."""

from __future__ import annotations

from dataclasses import replace

import pytest

from refiner import audits, merge, skills
from refiner.review.description import amended, is_description
from refiner.review.mending import mendings
from refiner.types import SkillVersion

SAID = '"Says \\"so\\"."'
GOOD = "---\nname: sheets\ndescription: Edits sheets.\n---\n\n# Sheets\n\nSave last.\n"


def mended(text: str) -> tuple[str, int]:
    """The skill with every change, a description written where one is asked for, and how many changes there were."""
    base = SkillVersion({"SKILL.md": text.encode()})
    made = mendings(base)
    written = [replace(one, edits=amended(one, 'Says "so".')) if is_description(one) else one for one in made]
    return merge.apply(base, written).files["SKILL.md"].decode(), len(made)


@pytest.mark.parametrize(
    ("text", "wanted", "changes"),
    [
        (GOOD, GOOD, 0),
        (GOOD.replace("sheets\nd", "My_Sheets\nd"), GOOD.replace("sheets\nd", "my-sheets\nd"), 1),
        (
            GOOD.replace("name: sheets\n", ""),
            GOOD.replace("name: sheets\n", "").replace("\n---\n\n", "\nname: sheets\n---\n\n"),
            1,
        ),
        (
            GOOD.replace("description: Edits sheets.\n", "description:\n"),
            GOOD.replace("Edits sheets.", SAID),
            1,
        ),
        (
            GOOD.replace("description", "tags:\n  - a\nauthor: me\ndescription"),
            GOOD.replace("description", "metadata:\n  tags:\n    - a\n  author: me\ndescription"),
            1,
        ),
        (
            GOOD.replace("description", "x: |\n  one\n\n  two\nmetadata:\n  a: b\ndescription"),
            GOOD.replace("description", "metadata:\n  a: b\n  x: |\n    one\n\n    two\ndescription"),
            1,
        ),
        (
            GOOD.replace("sheets\nd", "S S\nd").replace("\n", "\r\n"),
            GOOD.replace("sheets\nd", "s-s\nd").replace("\n", "\r\n"),
            1,
        ),
        ("# My sheets\n", f"---\nname: my-sheets\ndescription: {SAID}\n---\n\n# My sheets\n", 1),
    ],
)  # fmt: skip
def test_each_mistake_is_mended_by_a_change_of_its_own(text: str, wanted: str, changes: int) -> None:
    assert mended(text) == (wanted, changes)
    assert not audits.check_spec(
        SkillVersion({"SKILL.md": wanted.encode()}), SkillVersion({"SKILL.md": wanted.encode()})
    )


def test_any_part_of_the_changes_can_be_taken() -> None:
    text = GOOD.replace("sheets\nd", "My_Sheets\nauthor: me\nd")
    base = SkillVersion({"SKILL.md": text.encode()})
    name, keys = mendings(base)
    assert merge.apply(base, [name]).files["SKILL.md"].decode() == text.replace("My_Sheets", "my-sheets")
    front = skills.front_matter(merge.apply(base, [keys]).files["SKILL.md"])
    assert front is not None and (front.values["name"], front.values["metadata"]) == ("My_Sheets", {"author": "me"})


@pytest.mark.parametrize(
    "text",
    [
        "Text first.\n\n# Sheets\n",  # front matter could not stand on top
        "No heading to name it by.\n",
        GOOD.replace("description", "metadata: {a: b}\nauthor: me\ndescription"),  # written on one line
        GOOD.replace("Edits", "[Edits"),  # cannot be read at all
    ],
)
def test_what_cannot_be_mended_for_sure_is_left_a_warning(text: str) -> None:
    assert mendings(SkillVersion({"SKILL.md": text.encode()})) == ()


def test_a_prompt_that_is_no_skill_is_not_mended() -> None:
    assert mendings(SkillVersion({"CLAUDE.md": b"# House rules\n"}, "CLAUDE.md")) == ()
