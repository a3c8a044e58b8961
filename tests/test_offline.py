"""The offline analyst: what it proposes, how it words it, and what it refuses to claim."""

from __future__ import annotations

import pytest
from memory import MemoryRecords, call, labelled, skill

from refiner.analysts.offline import OfflineAnalyst
from refiner.analysts.offline.summary import summarise
from refiner.analysts.offline.wording import subject_terms
from refiner.briefing import brief
from refiner.gate.contrast import measure
from refiner.mining import fault_of
from refiner.ports import Focus, JudgeRequest, Labelled, MergeRequest, Ruling, SummaryRequest
from refiner.types import Cluster, Proposal, Shortfall, SkillVersion

BASE = skill(
    "---\nname: demo\ndescription: A demo.\n---\n\n# Demo\n\n## Writing\n\n- Use `write_cell` for single cells.\n\n"
    "## Saving\n\n- Save with `save_book` at the end.\n"
)
READ, SAVE = call("read_range", "3 rows"), call("save_book", "saved")


def number() -> tuple[str, str, str, str | None]:
    return call("write_cell", "wrote B2", cell="B2", value=41)


def formula() -> tuple[str, str, str, str | None]:
    return call("write_cell", "wrote B2", cell="B2", value="=A2*2")


def corpus(tasks: int = 12, feedback: str | None = "B2: expected a formula, found the number 41") -> list[Labelled]:
    """Every task has two passing and two failing trials; the failing ones write a number."""
    items = []
    for n in range(tasks):
        items += [labelled(f"t{n:02d}-p{k}", [READ, formula(), SAVE], "pass", f"task{n}") for k in range(2)]
        items += [labelled(f"t{n:02d}-f{k}", [READ, number(), SAVE], "fail", f"task{n}", feedback) for k in range(2)]
    return items


def records(items: list[Labelled], base: SkillVersion = BASE) -> MemoryRecords:
    analyst = OfflineAnalyst()
    summaries = [analyst.summarise(SummaryRequest(item, ())) for item in items]
    return MemoryRecords(items, base, {"contrast": [measure(items)], "summarise": summaries})


def group(items: list[Labelled], side: str = "failure") -> Cluster:
    ids = tuple(item.trace.id for item in items if (item.outcome.status == "fail") == (side == "failure"))
    tasks = len({item.trace.task_id for item in items})
    return Cluster(side, "cluster", "numbers", ids, tuple(1.0 for _ in ids), ids[0], (), tasks)  # type: ignore[arg-type]


def proposed(items: list[Labelled], side: str = "failure", focus: Focus | None = None) -> Proposal | Shortfall:
    return OfflineAnalyst().propose(brief(records(items)).request(group(items, side), focus))


def test_a_fact_that_marks_the_group_is_what_it_is_about() -> None:
    proposal = proposed(corpus())
    assert isinstance(proposal, Proposal)
    assert proposal.behaviour in ("called(write_cell, value: number)", "not(called(write_cell, value: formula))")
    assert proposal.section == ("Demo", "Writing")
    assert all(citation.verified for citation in proposal.citations)
    assert "24 of 24 failing and 0 of 24 passing" in proposal.rationale


def test_the_rule_stands_below_the_line_that_endorses_the_habit() -> None:
    proposal = proposed(corpus())
    assert isinstance(proposal, Proposal)
    (edit,) = proposal.edits
    assert (edit.op, edit.old) == ("insert_after", "- Use `write_cell` for single cells.")
    assert edit.new.startswith("  - ")
    assert proposal.soften == ("- Use `write_cell` for single cells.",)


def test_both_sides_of_one_fact_speak_of_one_fault() -> None:
    failure, success = proposed(corpus()), proposed(corpus(), "success")
    assert isinstance(failure, Proposal) and isinstance(success, Proposal)
    assert fault_of(failure) == fault_of(success)
    assert failure.behaviour != success.behaviour


def test_nothing_recurring_gives_the_nearest_misses_instead_of_an_edit() -> None:
    items = [labelled(f"f{n}", [call(f"tool{n}")], "fail", f"task{n}") for n in range(5)]
    items += [labelled(f"p{n}", [call(f"tool{n}")], "pass", f"task{n}") for n in range(5)]
    found = proposed(items)
    assert isinstance(found, Shortfall)
    assert found.kind == "near_miss"
    assert "Looked for" in found.words


@pytest.mark.parametrize(
    ("name", "classes", "rule"),
    [
        ("when cancel", ("missing cancel",), "When the conditions of this section hold, call `cancel`"),
        ("when cancel", ("unexpected cancel",), "Do not call `cancel` before each condition"),
        ("when cancel", ("missing cancel", "unexpected cancel"), "Before `cancel`, check each condition"),
        ("wrong pay.amount", ("wrong pay.amount",), "Before `pay`, take `amount` from the request"),
        ("expected output not given", ("expected output not given",), "Before ending, tell the user every figure"),
        ("expected <formula>, got <num>", ("expected <formula>, got <num>",), "Give a formula where a formula"),
        ("expected <num>, got <num>", ("expected <num>, got <num>",), "Before finishing, compare each value"),
        ("failing test_totals", ("failing test_totals",), "Before finishing, make sure that what `test_totals`"),
    ],
)
def test_feedback_becomes_a_rule_without_a_literal(name: str, classes: tuple[str, ...], rule: str) -> None:
    proposal = proposed(corpus(), focus=Focus("feedback", name, classes))
    assert isinstance(proposal, Proposal)
    assert proposal.edits[0].new.strip().removeprefix("- ").startswith(rule)
    assert (proposal.behaviour, proposal.feedback_class) == (None, name)


def test_feedback_about_an_action_is_placed_by_its_name_and_other_feedback_by_no_word() -> None:
    assert {"cancel", "order", "cancel_order"} <= subject_terms(("unexpected cancel_order",))
    assert subject_terms(("expected output not given",)) == frozenset()


def judged(items: list[Labelled], base: SkillVersion = BASE) -> dict[str, str]:
    proposal = proposed(items)
    assert isinstance(proposal, Proposal)
    request = JudgeRequest(proposal, Ruling(None, 12, 24), tuple(items), base)
    return {one.name: one.answer for one in OfflineAnalyst().judge(request)}


def test_the_gate_is_answered_by_counting_and_causes_are_never_judged() -> None:
    assert judged(corpus()) == {"occurs": "yes", "causes": "unknown", "covered": "no", "harmful": "no"}


def test_harm_stays_unknown_with_fewer_than_four_passing_traces() -> None:
    proposal = proposed(corpus())
    assert isinstance(proposal, Proposal)
    failing = [item for item in corpus() if item.outcome.status == "fail"]
    passing = [item for item in corpus() if item.outcome.status == "pass"][:3]
    request = JudgeRequest(proposal, Ruling(None, 12, 24), (*failing, *passing), BASE)
    answers = {one.name: one for one in OfflineAnalyst().judge(request)}
    assert answers["harmful"].answer == "unknown"
    assert "0 of 3 passing runs" in answers["harmful"].reason


def test_a_rule_that_most_passing_traces_of_the_same_tasks_break_is_harmful() -> None:
    items = corpus()
    proposal = proposed(items)
    broken = [labelled(f"t{n:02d}-x{k}", [number(), SAVE], "pass", f"task{n}") for n in range(12) for k in range(3)]
    request = JudgeRequest(proposal, Ruling(None, 12, 24), (*items, *broken), BASE)  # type: ignore[arg-type]
    answers = {one.name: one.answer for one in OfflineAnalyst().judge(request)}
    assert answers["harmful"] == "yes"


def test_a_line_that_states_the_rule_covers_it() -> None:
    proposal = proposed(corpus())
    assert isinstance(proposal, Proposal)
    rule = proposal.edits[0].new.strip()
    stated = skill(f"---\nname: demo\ndescription: A demo.\n---\n\n# Demo\n\n## Writing\n\n{rule}\n")
    assert judged(corpus(), stated)["covered"] == "yes"


def test_equal_edits_become_one_change_that_names_both_proposals() -> None:
    one = proposed(corpus())
    other = proposed(corpus(), focus=Focus("feedback", "when x", ("missing x",)))
    assert isinstance(one, Proposal) and isinstance(other, Proposal)
    twin = Proposal(one.side, one.kind, ("g",), "theme", one.suggested_edit, "why", edits=one.edits)
    changes = OfflineAnalyst().merge(MergeRequest((one, other, twin), (), BASE))
    assert [change.proposal_ids for change in changes] == [(one.key, twin.key), (other.key,)]


def test_a_summary_says_what_happened_without_the_literals_of_the_task() -> None:
    item = labelled(
        "a",
        [READ, READ, call("write_cell", "Error: no sheet named Q3", "Error: no sheet named Q3", value=7)],
        "fail",
        feedback="B2: expected a formula, found the number 41",
        request="Put 4711 into B2 of sheet Q3",
    )
    summary = summarise(SummaryRequest(item, ()))
    assert "read_range x2, write_cell" in summary.summary
    assert "4711" not in summary.summary
    assert summary.decisive_span_id == "s3"
    assert summary.observations[0] == "expected <formula>, got <num>"
    assert all(citation.verified for citation in summary.evidence)


def test_equal_requests_give_equal_replies() -> None:
    assert proposed(corpus()) == proposed(corpus())
