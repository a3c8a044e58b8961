"""The published merge: a rewritten file becomes changes that name their proposals, or say that nobody asked for it."""

from __future__ import annotations

from typing import Any

import pytest
from answering import Answerer, Scripted
from memory import skill

from refiner import merge
from refiner.analysts.model import ModelAnalyst, Settings
from refiner.analysts.model.hunks import hunks
from refiner.ports import MergeRequest
from refiner.types import Change, Edit, Proposal, Verdict

TEXT = """---
name: demo
description: A demo.
---

# Demo

Read this first.

## Steps

- Open it.
- Write to it.

## Saving

Save once.

- Save at the end.
"""
BASE = skill(TEXT)


def rewritten_by(new: str) -> str:
    """The base with the hunks of `new` applied, however they are attributed."""
    changes = [Change(hunk.edits, ("p",), "") for hunk in hunks(BASE, new)]
    return merge.apply(BASE, changes).files["SKILL.md"].decode()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("- Write to it.\n", "- Write to it.\n- Read it back.\n"),
        ("- Open it.\n", "- Open it read-only.\n"),
        ("- Save at the end.\n", ""),
        ("Save once.\n", "Save once, and only once.\n\nThen look.\n"),
        ("description: A demo.", "description: A better demo."),
        ("- Save at the end.\n", "- Save at the end.\n  - Then read back.\n"),
        ("Read this first.\n", "Read this first. Twice.\n"),
    ],
)
def test_a_rewritten_part_comes_out_as_it_was_written(old: str, new: str) -> None:
    wanted = TEXT.replace(old, new)
    assert rewritten_by(wanted) == wanted


def test_several_parts_are_hunks_of_their_own() -> None:
    wanted = TEXT.replace("- Open it.", "- Open it slowly.").replace("at the end.", "at the very end.")
    assert len(hunks(BASE, wanted)) == 2
    assert rewritten_by(wanted) == wanted


def test_a_new_section_comes_under_its_parent() -> None:
    (hunk,) = hunks(BASE, f"{TEXT}\n## Checks\n\n- Look twice.\n\n### More\n\n- Thrice.\n")
    (edit,) = hunk.edits
    assert (edit.op, edit.section) == ("add_section", ("Demo",))
    assert edit.new.startswith("## Checks") and "### More" in edit.new
    assert "## Checks\n\n- Look twice." in rewritten_by(f"{TEXT}\n## Checks\n\n- Look twice.\n")


def test_blank_lines_and_line_ends_are_no_change() -> None:
    assert hunks(BASE, TEXT.replace("\n\n", "\n\n\n").rstrip("\n")) == []
    assert hunks(BASE, TEXT.replace("\n", "\r\n")) == []


def test_a_heading_that_is_gone_is_left_to_a_person() -> None:
    (hunk,) = hunks(BASE, TEXT.replace("## Saving", "## Storing"))
    assert hunk.unplaced is not None and "'## Saving'" in hunk.unplaced


def proposal(name: str, text: str = "", side: str = "failure") -> Proposal:
    edits = (Edit("SKILL.md", "append_to_section", ("Demo", "Steps"), "", text),) if text else ()
    return Proposal(side, "cluster", (name,), name, name, f"because of {name}", edits=edits)  # type: ignore[arg-type]


def merged(reply: dict[str, Any], *proposals: tuple[Proposal, str], **settings: Any) -> tuple[list[Change], Scripted]:
    transport = Scripted(Answerer(wrong={"merge": lambda usual, _: reply}))
    made = ModelAnalyst.over(transport, Settings("m", "m", merge="rewrite", **settings))
    verdicts = tuple(Verdict(one.key, result, (), "", "model", tasks=3) for one, result in proposals)  # type: ignore[arg-type]
    return list(made.merge(MergeRequest(tuple(one for one, _ in proposals), verdicts, BASE))), transport


def claim(text: str, *names: str) -> dict[str, Any]:
    return {"proposal_ids": list(names), "text": text, "rationale": f"said {text}"}


NEW = TEXT.replace("- Open it.", "- Open it slowly.").replace("at the end.", "at the very end.")


def test_a_hunk_belongs_to_the_proposals_that_the_reply_names_for_it() -> None:
    one, other = proposal("a", "- x"), proposal("b", "- y")
    claims = [claim("- Open it slowly.", "P1"), claim("- Save at the very end.", "P2", "P1")]
    found, _ = merged({"skill": NEW, "changes": claims}, (one, "supported"), (other, "undecided"))
    assert [change.proposal_ids for change in found] == [(one.key,), (other.key, one.key)]
    assert found[0].rationale == "said - Open it slowly." and all(change.unplaced is None for change in found)


def test_without_a_claim_it_belongs_to_those_whose_words_it_shares_from_four_in_ten_on() -> None:
    near, far = proposal("near", "- Please open slowly"), proposal("far", "- Something else entirely")
    text = TEXT.replace("- Open it.", "- Open it very slowly and quietly.")  # open, very, slowly, and, quietly
    found, _ = merged({"skill": text, "changes": []}, (near, "supported"), (far, "supported"))
    assert found[0].proposal_ids == (near.key,)
    text = TEXT.replace("- Open it.", "- Open this strange box without making any noise.")
    found, _ = merged({"skill": text, "changes": []}, (near, "supported"))
    assert found[0].proposal_ids == ()


def test_what_the_gate_turned_down_is_not_shown_to_the_model_but_stays_listed() -> None:
    good, bad = proposal("good", "- Go slowly."), proposal("bad", "- Never go.")
    text = TEXT.replace("- Open it.", "- Open it.\n- Go slowly.")
    found, transport = merged(
        {"skill": text, "changes": [claim("- Go slowly.", "P1")]}, (good, "supported"), (bad, "unsupported")
    )
    assert "Never go" not in transport.sent()
    assert [change.proposal_ids for change in found] == [(good.key,), (bad.key,)]


def test_a_proposal_that_the_rewrite_forgot_is_listed_as_such() -> None:
    kept, lost = proposal("kept", "- Go slowly."), proposal("lost", "- Wait for the light.")
    text = TEXT.replace("- Open it.", "- Open it.\n- Go slowly.")
    found, _ = merged(
        {"skill": text, "changes": [claim("- Go slowly.", "P1")]}, (kept, "supported"), (lost, "supported")
    )
    assert (found[-1].proposal_ids, found[-1].unplaced) == ((lost.key,), "the rewritten skill does not carry it")


def test_a_file_too_long_to_be_written_anew_is_merged_by_anchors() -> None:
    long = skill(TEXT + "".join(f"- Rule number {n} says something long enough to count.\n" for n in range(900)))
    one = proposal("a", "- Go slowly.")
    transport = Scripted()
    made = ModelAnalyst.over(transport, Settings("m", "m", merge="rewrite", window=12_000))
    (change,) = made.merge(MergeRequest((one,), (Verdict(one.key, "supported", (), "", "model"),), long))
    assert change.edits[0].op == "append_to_section" and transport.requests == []


def test_nothing_to_merge_costs_nothing() -> None:
    found, transport = merged({"skill": TEXT, "changes": []})
    assert (found, transport.requests) == ([], [])
