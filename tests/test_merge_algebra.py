"""The merged skill is a function of a base and a set of changes: order, subsets, bytes, provenance, on random input."""

from __future__ import annotations

import itertools
import random
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from refiner import merge, skills
from refiner.errors import Conflict, StaleEdit
from refiner.merge.operations import locate
from refiner.merge.overlap import changes_overlap
from refiner.merge.weave import Task, weave
from refiner.types import Change, Edit, SkillVersion

LINES = st.sampled_from(
    [
        *("", "", "# Top", "## Sub", "## Sub", "### Deep", "Title", "=====", "---", "***"),
        *("- one", "- two words", "  - nested", "    more", "1. first", "2) second", "* star", "- [ ] task", "-"),
        *(
            "> quote",
            "> - item",
            "```",
            "~~~py",
            "    code",
            "| a | b |",
            "<div>",
            "text",
            "Text, *with* marks. And so",
            "- - x",
        ),
        *(
            "caf\u00e9 \u2014 \u4f60\u597d",
            "name: x",
            "\ttabbed",
            "\t- tab item",
            "[ref]: /x",
            "a\u2028b",
            "#",
            "# [2]",
        ),
    ]
)
NEW = st.one_of(
    st.sampled_from(
        [
            "- added",
            "  - qualified",
            "plain",
            "two\nlines",
            "- a\n- b",
            "- a\n  more\n\n  para",
            "# New\n\nbody",
            "```\nx\n```",
        ]
    ),
    st.text(alphabet="ab -#>*`\n\r1.\u00e9\ud800", min_size=0, max_size=12),
)
OPS = st.sampled_from(["replace", "delete", "insert_before", "insert_after", "append_to_section", "add_section"])


@st.composite
def bases(draw: st.DrawFn) -> SkillVersion:
    eol = draw(st.sampled_from(["\n", "\n", "\r\n", "\r"]))
    lines = draw(st.lists(LINES, max_size=14))
    if draw(st.booleans()):
        lines = ["---", "name: x", "description: d", "---", *lines]
    text = draw(st.sampled_from(["", "\ufeff"])) + eol.join(lines) + draw(st.sampled_from(["", eol]))
    return SkillVersion(files={"SKILL.md": text.encode()})


@st.composite
def edits(draw: st.DrawFn, base: SkillVersion) -> Edit:
    data = base.files["SKILL.md"]
    section = draw(st.sampled_from(skills.sections(data)))
    own = data[section.own_start : section.own_end].decode()
    old = ""
    if own:
        start = draw(st.integers(0, len(own) - 1))
        old = draw(st.sampled_from([own[start : start + draw(st.integers(1, 9))], *own.splitlines(keepends=True)]))
    return Edit("SKILL.md", draw(OPS), section.path, old, draw(NEW))


@st.composite
def merges(draw: st.DrawFn) -> tuple[SkillVersion, tuple[Change, ...]]:
    """A base with a random set of changes that can all be accepted."""
    base = draw(bases())
    changes = [
        Change(
            tuple(draw(st.lists(edits(base), min_size=1, max_size=2))),
            (),
            "",
            (draw(st.integers(0, 1)), -draw(st.integers(1, 3))),
        )
        for _ in range(draw(st.integers(0, 6)))
    ]
    return base, merge.automatic(merge.settle(base, changes), {}, include_undecided=True).accepted


def lines_of(data: bytes) -> list[bytes]:
    lines = re.split(rb"\r\n|\r|\n", data.removeprefix(b"\xef\xbb\xbf"))
    return lines[:-1] if lines and not lines[-1] else lines


def without(data: bytes, ranges: tuple[merge.LineRange, ...]) -> list[bytes]:
    gone = {number for found in ranges for number in range(found.start_line, found.end_line + 1)}
    return [line for number, line in enumerate(lines_of(data), 1) if number not in gone]


@given(bases())
def test_no_change_gives_the_base_back_byte_for_byte(base: SkillVersion) -> None:
    merged = merge.apply(base, ())
    assert (merged.files, merged.lines, merged.removed) == (base.files, (), ())


@settings(max_examples=120)
@given(merges(), st.randoms(use_true_random=False))
def test_the_order_of_accepting_never_matters(
    case: tuple[SkillVersion, tuple[Change, ...]], order: random.Random
) -> None:
    base, accepted = case
    shuffled = list(accepted) * 2
    order.shuffle(shuffled)
    assert merge.apply(base, shuffled) == merge.apply(base, accepted)


@settings(max_examples=120)
@given(merges())
def test_every_line_is_from_the_base_or_has_provenance(case: tuple[SkillVersion, tuple[Change, ...]]) -> None:
    base, accepted = case
    merged = merge.apply(base, accepted)
    before, after = base.files["SKILL.md"], merged.files["SKILL.md"]
    assert without(after, merged.lines) == without(before, merged.removed)
    assert {found.change_id for found in merged.lines} <= {change.key for change in accepted}
    assert all(1 <= found.start_line <= found.end_line <= len(lines_of(after)) for found in merged.lines)
    assert all(1 <= found.start_line <= found.end_line <= len(lines_of(before)) for found in merged.removed)


@settings(max_examples=120)
@given(merges())
def test_outside_of_the_edited_ranges_no_byte_changes(case: tuple[SkillVersion, tuple[Change, ...]]) -> None:
    base, accepted = case
    data = base.files["SKILL.md"]
    wanted = {edit.key: (edit, change) for change in reversed(accepted) for edit in change.edits}
    tasks = [Task(locate(base, edit).operation, change.rank, key, ()) for key, (edit, change) in wanted.items()]
    result, segments = weave(skills.document(data), tasks)
    kept_before, kept_after, at, old_at = b"", b"", 0, 0
    for segment in segments:
        kept_before += data[old_at : segment.old_start]
        kept_after += result[at : segment.start]
        at, old_at = segment.end, segment.old_end
    assert kept_before + data[old_at:] == kept_after + result[at:]
    assert result == merge.apply(base, accepted).files["SKILL.md"]


@settings(max_examples=60)
@given(merges())
def test_a_subset_is_what_undoing_the_rest_gives(case: tuple[SkillVersion, tuple[Change, ...]]) -> None:
    base, accepted = case
    for change in accepted:
        rest = [other for other in accepted if other.key != change.key]
        assert change.key not in {found.change_id for found in merge.apply(base, rest).lines}
    assert not any(changes_overlap(one, other) for one, other in itertools.combinations(accepted, 2))


@settings(max_examples=80)
@given(merges())
def test_resolved_edits_resolve_to_themselves(case: tuple[SkillVersion, tuple[Change, ...]]) -> None:
    base, accepted = case
    for change in accepted:
        for edit in change.edits:
            assert merge.resolve(base, edit) == edit


def test_overlapping_changes_are_refused_by_name() -> None:
    base = SkillVersion(files={"SKILL.md": b"# A\n\nSave the file at once.\n"})
    one = Change((Edit("SKILL.md", "replace", ("A",), "Save the file", "Store it"),), (), "")
    other = Change((Edit("SKILL.md", "delete", ("A",), "file at once"),), (), "")
    with pytest.raises(Conflict, match=f"({one.key}|{other.key}) and ({one.key}|{other.key})"):
        merge.apply(base, [one, other])


def test_a_softening_and_a_replacement_of_its_line_conflict_but_two_softenings_do_not() -> None:
    base = SkillVersion(files={"SKILL.md": b"# A\n\n- Save the file.\n"})
    softened = [
        Change((Edit("SKILL.md", "insert_after", ("A",), "- Save the file.", f"  - Only {n}."),), (), "") for n in "ab"
    ]
    replaced = Change((Edit("SKILL.md", "replace", ("A",), "Save", "Store"),), (), "")
    settled = merge.settle(base, [*softened, replaced])
    assert len(merge.apply(base, settled[:2]).lines) == 2
    assert [sorted(change.key for change in group) for group in merge.conflicts(settled)] == [
        sorted(one.key for one in settled)
    ]
    with pytest.raises(Conflict):
        merge.apply(base, [settled[0], settled[2]])


def test_the_same_edit_from_two_changes_is_applied_once_and_owned_by_both() -> None:
    base = SkillVersion(files={"SKILL.md": b"# A\n"})
    shared = Edit("SKILL.md", "append_to_section", ("A",), "", "- same")
    changes = [
        Change((shared,), (), ""),
        Change((shared, Edit("SKILL.md", "append_to_section", ("A",), "", "- own")), (), ""),
    ]
    merged = merge.apply(base, changes)
    assert merged.files["SKILL.md"].count(b"- same") == 1
    owners = {
        found.change_id for found in merged.lines if found.start_line <= 3 <= found.end_line or found.start_line == 4
    }
    assert owners == {change.key for change in changes}


def test_a_required_edit_must_be_accepted_too() -> None:
    base = SkillVersion(files={"SKILL.md": b"# A\n"})
    needed = Change((Edit("SKILL.md", "add_section", (), "", "# Terms\n\nA run is one try."),), (), "")
    needing = Change(
        (Edit("SKILL.md", "append_to_section", ("A",), "", "See Terms.", requires=(needed.edits[0].key,)),), (), ""
    )
    assert b"See Terms." in merge.apply(base, [needing, needed]).files["SKILL.md"]
    with pytest.raises(Conflict, match=needed.edits[0].key):
        merge.apply(base, [needing])


def test_a_requirement_follows_an_edit_whose_anchor_was_repaired() -> None:
    base = SkillVersion(files={"SKILL.md": b"# A\n\n- Save the   file at once.\n"})
    needed = Change((Edit("SKILL.md", "insert_after", ("A",), "save the file at once", "  - Once."),), (), "")
    loose = Edit("SKILL.md", "replace", ("A",), "Save the file at once", "Save it")
    needing = Change(
        (Edit("SKILL.md", "append_to_section", ("A",), "", "- Then stop.", requires=(loose.key,)),), (), ""
    )
    settled = merge.settle(base, [Change((loose,), (), ""), needing, needed])
    assert settled[1].edits[0].requires == (settled[0].edits[0].key,) != (loose.key,)


def test_an_unplaced_change_cannot_be_applied() -> None:
    base = SkillVersion(files={"SKILL.md": b"# A\n"})
    lost = merge.settle(base, [Change((Edit("SKILL.md", "delete", ("A",), "not there"),), (), "")])[0]
    assert lost.unplaced is not None and "does not contain 'not there'" in lost.unplaced
    with pytest.raises(StaleEdit, match=lost.key):
        merge.apply(base, [lost])


def test_a_version_knows_its_parent_and_its_changes() -> None:
    base = SkillVersion(files={"SKILL.md": b"# A\n", "scripts/x.sh": b"\xff\x00"})
    change = Change((Edit("SKILL.md", "append_to_section", ("A",), "", "- b"),), (), "")
    version = merge.apply(base, [change]).version()
    assert (version.parent_ids, version.change_ids, version.main) == ((base.key,), (change.key,), "SKILL.md")
    assert version.files["scripts/x.sh"] == b"\xff\x00"
