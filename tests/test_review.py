"""The rules of a review, over reports made by hand: statuses, order, guards, undo, the merged skill."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reviewing import BASE, added, after, line, replaced, report

from refiner import review
from refiner.errors import DecisionRefused
from refiner.reporting.report import Report
from refiner.review.board import alike
from refiner.types import Change, Decision, Finding
from refiner.views import Item


@dataclass
class Table:
    """A review without a database: the log is a list."""

    report: Report
    log: list[Decision] = field(default_factory=list)
    found: Sequence[Finding] = ()
    rejected_before: Any = None

    def __post_init__(self) -> None:
        self.board = review.lay_out(self.report, self.rejected_before)

    @property
    def now(self) -> review.Standing:
        return review.standing(self.log)

    @property
    def ids(self) -> list[str]:
        """Change ids in the order in which the report was made."""
        return [change.key for change in self.report.changes]

    def item(self, number: int) -> Item:
        found = review.review(self.board, self.now).item(self.ids[number])
        assert found is not None
        return found

    def draft(self, number: int, action: Any, reviewer: str = "ada", **more: Any) -> Decision:
        text = more.pop("text", None)
        edits = review.amended(self.board, self.ids[number], text) if text is not None else ()
        more = {"seen": self.item(number).hash, "amended": edits, **more}
        return Decision(self.ids[number], "r1", BASE.key, action, reviewer=reviewer, **more)

    def decide(self, number: int, action: Any, waited: float = 1.0, **more: Any) -> None:
        draft = self.draft(number, action, **more)
        if not review.repeats(self.now, draft):
            ruled = review.ruled(self.board, self.now, draft, waited, lambda change: self.found)
            self.log.append(replace(ruled, decided_at=f"2026-01-01T00:00:{len(self.log):02}.000Z"))

    def refusal(self, number: int, action: Any, **more: Any) -> str:
        before = list(self.log)
        with pytest.raises(DecisionRefused) as caught:
            self.decide(number, action, **more)
        assert self.log == before
        assert str(caught.value)
        return caught.value.kind

    def undo(self, reviewer: str = "ada") -> int:
        acts = review.undoable(self.now, reviewer)
        self.log += [replace(act, action="undo", amended=(), reviewer=reviewer) for act in acts]
        return len(acts)

    def text(self, **changes: Change) -> str:
        chosen = changes or review.accepted(self.board, self.now)
        return review.merged(self.board, chosen).files["SKILL.md"].decode()

    def statuses(self) -> list[str]:
        return [self.item(number).status for number in range(len(self.ids))]


def plain(count: int = 3, **more: Any) -> Table:
    return Table(report([(added(f"Rule number {number} holds."),) for number in range(count)], **more))


def test_the_queue_runs_from_easy_to_hard() -> None:
    table = plain(
        6,
        results=["unsupported", "undecided", "supported", "undecided", "supported", "supported"],
        tasks=[9, 3, 4, 8, 4, 6],
        ps=[0.001, 0.001, 0.02, 0.001, 0.001, 0.02],
    )
    items = review.review(table.board, table.now).items
    assert [table.ids.index(item.change_id) for item in items] == [4, 5, 2, 3, 1, 0]


def test_nothing_is_in_the_skill_before_somebody_accepts_it() -> None:
    table = plain()
    assert table.text() == BASE.files["SKILL.md"].decode()
    table.decide(0, "accept")
    table.decide(1, "reject", reason_code="too_specific")
    table.decide(2, "skip")
    assert table.statuses() == ["accepted", "rejected", "skipped"]
    assert "Rule number 0" in table.text() and "Rule number 1" not in table.text()
    shown = review.review(table.board, table.now)
    assert shown.counts == {"open": 0, "accepted": 1, "rejected": 1, "skipped": 1, "carried": 0, "in_skill": 1}
    assert shown.last_event == 3


def test_the_latest_decision_on_a_change_counts() -> None:
    table = plain()
    table.decide(0, "accept")
    table.decide(0, "reject")
    assert table.statuses()[0] == "rejected" and "Rule number 0" not in table.text()


def test_a_key_that_comes_too_fast_is_refused() -> None:
    table = plain()
    assert table.refusal(0, "accept", waited=0.69) == "too_fast"
    assert table.refusal(0, "accept", waited=-5.0) == "too_fast"
    table.decide(0, "accept", waited=0.7)


def test_what_changed_since_it_was_shown_is_not_decided_on() -> None:
    table = plain()
    shown = table.item(0).hash
    table.decide(0, "accept", reviewer="grace")
    assert table.refusal(0, "reject", seen=shown) == "stale"
    assert table.refusal(0, "reject", seen="") == "stale"
    table.decide(0, "reject")


def test_a_decision_on_one_change_leaves_what_others_saw_valid() -> None:
    table = plain()
    shown = table.item(1).hash
    table.decide(0, "accept")
    table.decide(1, "accept", seen=shown)


def test_the_same_decision_again_changes_nothing_even_from_an_old_page() -> None:
    table = plain()
    shown = table.item(0).hash
    table.decide(0, "accept")
    table.decide(0, "accept", waited=0.0, seen=shown)
    assert len(table.log) == 1
    table.decide(1, "reject", reason_code="harmful")
    table.decide(1, "reject")
    assert len(table.log) == 2
    table.decide(1, "reject", reason_code="other", reason="words")
    assert table.item(1).decision is not None and table.item(1).decision.reason == "words"


def test_an_unsupported_change_takes_a_reason_and_is_an_override() -> None:
    table = plain(2, results=["unsupported", "undecided"])
    assert table.refusal(0, "accept") == "needs_reason"
    assert table.refusal(0, "accept", reason="  ") == "needs_reason"
    table.decide(0, "accept", reason="seen it happen")
    table.decide(1, "accept")
    assert [one.override for one in table.log] == [True, False]


def test_a_reason_code_is_one_of_the_list() -> None:
    assert plain().refusal(0, "reject", reason_code="because") == "needs_reason"


def test_quarantine_is_released_only_with_a_reason() -> None:
    table = plain(2, findings=[(0, "quarantine"), (1, "flag")])
    item = table.item(0)
    assert item.releasable and item.blocked == "It is in quarantine: holds x (quarantine)"
    assert table.refusal(0, "accept") == "blocked"
    assert table.refusal(0, "accept", reason="it is public") == "blocked"
    assert table.refusal(0, "accept", reason_code=review.RELEASED) == "blocked"
    table.decide(0, "accept", reason_code=review.RELEASED, reason="it is public")
    assert table.log[-1].override
    assert table.item(1).blocked is None
    table.decide(1, "accept")


def test_an_error_of_the_specification_and_a_missing_place_are_never_accepted() -> None:
    table = Table(report([(added("A rule."),), (replaced(99, "x"),)], findings=[(0, "error")]))
    for number in (0, 1):
        assert table.item(number).blocked and not table.item(number).releasable
        assert table.refusal(number, "accept", reason_code=review.RELEASED, reason="please") == "blocked"
        table.decide(number, "reject")


def test_of_two_changes_to_one_text_one_can_be_accepted() -> None:
    table = Table(report([(replaced(1, "One way."),), (replaced(1, "Another way."),), (after(1, "More."),)]))
    assert set(table.item(0).conflicts) == {table.ids[1], table.ids[2]}
    table.decide(0, "accept")
    assert table.refusal(1, "accept") == "conflict"
    table.decide(0, "reject")
    table.decide(1, "accept")
    assert "Another way." in table.text()


def test_a_change_that_builds_on_another_waits_for_it_and_holds_it() -> None:
    first = added("First rule.")
    table = Table(report([(first,), (added("Second rule.", requires=(first.key,)),)]))
    assert table.refusal(1, "accept") == "conflict"
    table.decide(0, "accept")
    table.decide(1, "accept")
    assert table.refusal(0, "reject") == "conflict"
    table.decide(1, "reject")
    table.decide(0, "reject")


def test_a_change_that_builds_on_an_amended_one_stays() -> None:
    first = added("First rule.")
    table = Table(report([(first,), (added("Second rule.", requires=(first.key,)),)]))
    table.decide(0, "amend", text="- A better first rule.")
    table.decide(1, "accept")
    assert "A better first rule." in table.text() and "Second rule." in table.text()
    assert review.merged(table.board, review.accepted(table.board, table.now)).change_ids == tuple(sorted(table.ids))


def test_an_amendment_goes_in_with_its_own_text_under_the_change_it_amends() -> None:
    table = plain()
    table.decide(0, "amend", text="Rule zero, better said.\n")
    merged = review.merged(table.board, review.accepted(table.board, table.now))
    assert "- Rule zero, better said.\n" in merged.files["SKILL.md"].decode()
    assert "Rule number 0" not in merged.files["SKILL.md"].decode()
    assert [one.change_id for one in merged.lines] == [table.ids[0]]
    assert table.statuses()[0] == "accepted"
    assert table.item(0).text == "Rule zero, better said."


@pytest.mark.parametrize("text", ["", "  \n "])
def test_an_empty_amendment_is_refused(text: str) -> None:
    assert plain().refusal(0, "amend", text=text) == "blocked"


def test_a_change_that_only_removes_cannot_be_amended() -> None:
    from refiner.types import Edit

    table = Table(report([(Edit("SKILL.md", "delete", ("Demo", "Steps"), old=line(2)),)]))
    assert table.refusal(0, "amend", text="x") == "blocked"
    assert table.item(0).intent == f"Remove: {line(2)}"
    table.decide(0, "accept")
    assert line(2) not in table.text()


def test_an_amended_text_is_audited_like_a_proposed_one() -> None:
    table = plain()
    table.found = [Finding("x", "leak", "quarantine", "B7", "a note", "holds B7 of a note")]
    assert table.refusal(0, "amend", text="Always look at B7.") == "blocked"
    table.decide(0, "amend", text="Always look at B7.", reason_code=review.RELEASED, reason="a convention")
    assert table.log[-1].override


def test_undo_takes_back_ones_own_latest_and_then_the_one_before() -> None:
    table = plain()
    before = [table.now]
    for number, action in ((0, "accept"), (1, "reject"), (0, "reject")):
        table.decide(number, action)
        before.append(table.now)
    for earlier in reversed(before[:-1]):
        assert table.undo() == 1
        assert (table.now.latest, table.now.live) == (earlier.latest, earlier.live)
    assert table.undo() == 0


def test_undo_never_touches_what_another_person_said_since() -> None:
    table = plain()
    table.decide(0, "accept", reviewer="ada")
    table.decide(1, "accept", reviewer="grace")
    table.decide(0, "reject", reviewer="grace")
    assert table.undo("ada") == 0
    assert table.undo("grace") == 1
    assert table.statuses()[:2] == ["accepted", "accepted"]
    assert table.undo("ada") == 1
    assert table.statuses()[:2] == ["open", "accepted"]


def test_bulk_takes_supported_open_ones_that_fit_and_is_undone_as_one() -> None:
    edits = [(replaced(1, "One way."),), (replaced(1, "Another way."),), *((added(f"R{n}."),) for n in range(4))]
    table = Table(report(edits, results=["supported"] * 4 + ["undecided"], findings=[(5, "quarantine")]))
    table.decide(2, "reject")
    chosen = review.bulk(table.board, table.now)
    assert {table.ids.index(one) for one in chosen} == {
        min(0, 1, key=lambda n: list(table.board.rows).index(table.ids[n])),
        3,
    }
    batch = [replace(table.draft(table.ids.index(one), "accept"), batch="b1") for one in chosen]
    table.log += batch
    assert table.undo() == 2
    assert review.accepted(table.board, table.now) == {}
    assert table.statuses()[2] == "rejected"


def test_the_time_for_an_item_counts_single_decisions_that_stand() -> None:
    def at(second: int) -> str:
        return f"2026-01-01T00:00:{second:02}.000Z"

    table = plain(4)
    for number, seconds in enumerate((2, 4, 30)):
        table.log.append(replace(table.draft(number, "accept"), shown_at=at(0), decided_at=at(seconds)))
    table.log.append(replace(table.draft(3, "accept"), shown_at=at(0), decided_at=at(59), batch="b"))
    assert review.review(table.board, table.now).median_seconds == 4.0
    assert review.review(plain().board, review.standing([])).median_seconds is None


def test_a_similar_one_that_was_rejected_is_named_but_nothing_is_decided() -> None:
    edits = [(added("Say it once."),), (added("Say it once, politely."),), (added("Other."),)]
    made = report(edits)
    twin = replace(made.proposals[1], behaviour=made.proposals[0].behaviour)
    proposals = (made.proposals[0], twin, made.proposals[2])
    changes = (made.changes[0], replace(made.changes[1], proposal_ids=(twin.key,)), made.changes[2])
    table = Table(replace(made, proposals=proposals, changes=changes))
    assert [table.item(number).similar for number in range(3)] == [None, None, None]
    table.decide(0, "reject")
    assert table.item(1).similar == "A similar one was rejected: Add: Say it once."
    assert (table.item(1).status, table.item(2).similar) == ("open", None)
    later = Table(
        replace(made, proposals=proposals, changes=changes[1:]),
        rejected_before=review.rejected_subjects(table.board, table.now),
    )
    assert later.item(0).similar == "A similar one was rejected: Add: Say it once."


def test_decisions_are_carried_to_equal_changes_that_nobody_has_touched() -> None:
    table = plain(5, results=["unsupported", "supported", "supported", "supported", "supported"])
    table.decide(0, "accept", reason="seen")
    table.decide(1, "reject", reason_code="harmful")
    table.decide(2, "amend", text="Better.")
    table.decide(3, "skip")
    later = Table(replace(plain(6).report, refinement_id="r2"))
    later.decide(1, "accept")
    later.log += review.carried(later.board, later.now, table.now.latest)
    assert later.statuses() == ["carried", "accepted", "carried", "open", "open", "open"]
    assert [item.in_skill for item in map(later.item, range(6))] == [True, True, True, False, False, False]
    assert "Better." in later.text()
    first = later.item(0).decision
    assert first is not None
    assert (first.refinement_id, first.inherited_from, first.inherited, first.override) == ("r2", "r1", "accept", True)
    assert review.carried(later.board, later.now, table.now.latest) == []


def test_history_is_the_log_up_to_a_point() -> None:
    table = plain()
    texts = [table.text()]
    for number in range(3):
        table.decide(number, "accept")
        texts.append(table.text())
    for upto, text in enumerate(texts):
        then = review.standing(table.log[:upto])
        assert review.merged(table.board, review.accepted(table.board, then)).files["SKILL.md"].decode() == text
    assert len(set(texts)) == 4


# Properties. Changes of every kind, some of which touch the same text.

MIXED = Table(
    report(
        [
            *((added(f"Rule {number}."),) for number in range(3)),
            *((after(number, f"- After {number}."),) for number in range(3)),
            (replaced(0, "Step zero is another."),),
            (replaced(4, "Step four is another."), added("And step four has a check.")),
            (replaced(4, "Step four differs."),),
        ],
        results=["supported"] * 5 + ["undecided"] * 2 + ["unsupported"] * 2,
    )
)
NUMBERS = st.integers(0, len(MIXED.ids) - 1)
ACTS = st.tuples(st.sampled_from(["accept", "reject", "amend", "skip", "undo", "bulk"]), NUMBERS, st.sampled_from("ab"))


def played(acts: Sequence[tuple[str, int, str]]) -> Table:
    """A review in which every refusal is simply passed over."""
    table = Table(MIXED.report)
    for act, number, reviewer in acts:
        try:
            if act == "undo":
                table.undo(reviewer)
            elif act == "bulk":
                chosen = review.bulk(table.board, table.now)
                drafts = [table.draft(table.ids.index(one), "accept", reviewer) for one in chosen]
                table.log += [replace(draft, batch=f"b{len(table.log)}") for draft in drafts]
            else:
                text = {"text": f"- Text {number} of {reviewer}."} if act == "amend" else {}
                table.decide(number, act, reviewer=reviewer, reason="because", **text)
        except DecisionRefused:
            continue
    return table


def naive(log: Sequence[Decision]) -> dict[str, Decision]:
    """The same meaning said in another way: strike every undo together with the nearest decision before it."""
    kept: list[Decision] = []
    for decision in log:
        if decision.action != "undo":
            kept.append(decision)
        else:
            at = max((n for n, one in enumerate(kept) if one.change_id == decision.change_id), default=-1)
            if at >= 0:
                del kept[at]
    return {one.change_id: one for one in kept}


@settings(max_examples=60, deadline=None)
@given(st.lists(ACTS, max_size=25))
def test_any_sequence_of_acts_equals_the_fold_of_its_log(acts: list[tuple[str, int, str]]) -> None:
    table = played(acts)
    assert dict(table.now.latest) == naive(table.log)
    assert (
        table.text()
        == review.merged(table.board, review.accepted(table.board, review.standing(list(table.log))))
        .files["SKILL.md"]
        .decode()
    )
    inside = review.accepted(table.board, table.now)
    kept = set(review.merged(table.board, inside).change_ids)
    assert kept == set(inside) or review.clashes(inside)


@settings(max_examples=60, deadline=None)
@given(st.lists(ACTS, max_size=12), st.sampled_from(["accept", "reject", "skip", "amend", "bulk"]), NUMBERS)
def test_undo_is_exact(acts: list[tuple[str, int, str]], act: str, number: int) -> None:
    table = played(acts)
    before, text, events = table.now, table.text(), len(table.log)
    after_act = played([*acts, (act, number, "a")])
    if len(after_act.log) == events:
        return
    after_act.undo("a")
    assert (after_act.now.latest, after_act.now.live) == (before.latest, before.live)
    assert after_act.text() == text


@settings(max_examples=40, deadline=None)
@given(st.sets(NUMBERS), st.randoms(use_true_random=False))
def test_the_text_depends_on_the_set_of_accepted_changes_alone(chosen: set[int], random: Any) -> None:
    changes = [(MIXED.ids[number], MIXED.report.changes[number]) for number in sorted(chosen)]
    expected = review.merged(MIXED.board, dict(changes))
    random.shuffle(changes)
    assert review.merged(MIXED.board, dict(changes)) == expected


def test_texts_of_one_section_are_alike_by_their_words_where_no_behaviour_decides() -> None:
    text, known, here = "text: ", "text beside a behaviour: ", "Steps"
    said = "Read the saved file back before you answer."
    close = "Read back the saved file before you answer."
    assert alike((f"{text}{said}", here), (f"{text}{close}", here))
    assert alike((f"{known}{said}", here), (f"{text}{close}", here))
    assert not alike((f"{known}{said}", here), (f"{known}{close}", here))
    assert not alike((f"{text}{said}", here), (f"{text}{close}", "Else"))
    lead = "Check your result against this correction by a user:"
    quotes = [f"{text}{lead} “{words}”" for words in ("Sum it up.", "Newest first.")]
    assert not alike((quotes[0], here), (quotes[1], here))
