"""Where a rule goes in a skill, which line it softens, and when the skill says it already."""

from __future__ import annotations

from pathlib import Path

import pytest

from refiner import merge, skills
from refiner.types import SkillVersion

SHEETS = """---
name: sheets
description: Works on saved workbooks.
---

# Spreadsheet work

Work on the file the user names.

## Reading

- Open the workbook and look at the header row first.
- List the sheets before you read a range.

## Writing

- Write cells below the header; never overwrite the header row.
- Prefer formulas: a total is written as a formula.

## Saving

- Save with `save_workbook` as soon as the cells are written.
- Close the workbook when you are done.
"""
SKILL = SkillVersion(files={"SKILL.md": SHEETS.encode()})


def place(*terms: str, text: str = "") -> merge.Place:
    return merge.place(SKILL, frozenset(terms), text=text)


@pytest.mark.parametrize(
    ("terms", "section"),
    [
        (("save_workbook",), "Saving"),
        (("write_cell", "header"), "Writing"),
        (("list_sheets",), "Reading"),
        (("formulas",), "Writing"),
    ],
)
def test_a_rule_goes_to_the_section_that_speaks_of_its_terms(terms: tuple[str, ...], section: str) -> None:
    found = place(*terms)
    assert (found.path, found.section) == ("SKILL.md", ("Spreadsheet work", section))


def test_of_two_tools_the_one_that_the_rule_names_first_decides() -> None:
    terms = ("saveWorkbook", "read_range")
    assert place(*terms, text="After `saveWorkbook`, call `read_range`.").section[-1] == "Saving"
    assert place(*terms, text="Do not call `read_range` after `saveWorkbook`.").section[-1] == "Reading"


def test_the_line_that_endorses_a_behaviour_is_the_one_to_soften() -> None:
    found = place("save_workbook", "read_range", text="After `save_workbook`, call `read_range` before finishing.")
    assert found.line == "- Save with `save_workbook` as soon as the cells are written."
    assert found.endorses


def test_a_line_that_forbids_endorses_nothing() -> None:
    found = place("overwrite", "header", "row")
    assert found.line is not None and "never overwrite" in found.line
    assert not merge.place(
        SkillVersion(files={"SKILL.md": b"# A\n\n- Never overwrite the header row.\n"}), {"overwrite", "header", "row"}
    ).endorses


def test_no_line_is_named_when_none_says_the_same() -> None:
    assert place("close_session", "sheets").line is None


def test_the_line_found_can_be_softened_where_it_stands() -> None:
    from refiner.types import Edit

    found = place("save_workbook")
    assert found.line is not None
    softened = merge.resolve(SKILL, Edit(found.path, "insert_after", found.section, found.line, "  - Read it back."))
    assert softened.old == found.line


def test_in_a_skeleton_the_kind_of_rule_decides() -> None:
    base = skills.skeleton("demo")
    assert merge.place(base, {"zap"}, text="Do not call `zap`.").section == ("Demo", "Avoid")
    assert merge.place(base, {"zap"}, text="After `zap`, call `zop`.").section == ("Demo", "Checks")
    assert merge.place(SkillVersion(files={"SKILL.md": b""}), {"zap"}).section == ()


def test_a_rule_is_covered_by_a_directive_that_holds_all_of_it() -> None:
    base = SkillVersion(
        files={"SKILL.md": b"# A\n\nIntro.\n\n- Open it. After `save_workbook`, always call `read_range` on it.\n"}
    )
    rule, terms = "After `save_workbook`, call `read_range` before finishing.", {"save_workbook", "read_range"}
    assert merge.covered(base, rule, terms) == "After `save_workbook`, always call `read_range` on it."


@pytest.mark.parametrize(
    "line",
    [
        "Save with `save_workbook` when done.",
        "Never call `read_range` after `save_workbook`.",
        "Call `read_range` before `save_workbook`.",
        "The tools `save_workbook` and `read_range` exist.",
        "Use `save_workbook`. Then look at it with `read_range`.",
        "```\nAfter save_workbook, always call read_range.\n```",
    ],
)
def test_a_part_of_a_rule_its_opposite_or_a_mention_does_not_cover_it(line: str) -> None:
    base = SkillVersion(files={"SKILL.md": f"# A\n\n{line}\n".encode()})
    assert (
        merge.covered(
            base, "After `save_workbook`, call `read_range` before finishing.", {"save_workbook", "read_range"}
        )
        is None
    )


def test_a_prohibition_is_covered_by_a_prohibition() -> None:
    base = SkillVersion(
        files={
            "SKILL.md": b"# A\n\nIf a row exists, do not overwrite the header row.\n",
            "references/x.md": b"You must not skip the checks.\n",
        }
    )
    assert merge.covered(base, "Never overwrite the header row.", {"overwrite", "header", "row"}) is not None
    assert merge.covered(base, "Overwrite the header row.", {"overwrite", "header", "row"}) is None
    assert merge.covered(base, "Do not skip checks.", {"skip", "checks"}) == "You must not skip the checks."
    assert merge.covered(base, "Do something.", frozenset()) is None


AIRLINE = {
    "cancel_reservation": "Cancel flight",
    "update_reservation_flights": "Modify flight",
    "update_reservation_baggages": "Modify flight",
    "update_reservation_passengers": "Modify flight",
    "book_reservation": "Book flight",
    "send_certificate": "Refund",
    "transfer_to_human_agents": "Airline Agent Policy",
}
RETAIL = {
    "cancel_pending_order": "Cancel pending order",
    "return_delivered_order_items": "Return delivered order",
    "exchange_delivered_order_items": "Exchange delivered order",
    "modify_pending_order_items": "Modify items",
    "modify_pending_order_payment": "Modify payment",
    "modify_pending_order_address": "Modify pending order",
    "transfer_to_human_agents": "Retail agent policy",
}


@pytest.mark.parametrize(("domain", "expected"), [("airline", AIRLINE), ("retail", RETAIL)])
def test_actions_land_in_the_sections_that_are_about_them(domain: str, expected: dict[str, str], corpora: Path) -> None:
    base = skills.load(corpora / "tau-bench" / "initial_skill" / f"{domain}_SKILL.md")
    text = "Before `{}`, check that the rules allow it."
    for wording in ("", text):
        found = {action: merge.place(base, {action}, text=wording.format(action)) for action in expected}
        assert {action: place.section[-1] for action, place in found.items()} == expected
        assert found["transfer_to_human_agents"].endorses and "human agent" in (
            found["transfer_to_human_agents"].line or ""
        )
