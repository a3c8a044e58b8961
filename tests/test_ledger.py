"""People against the gate: what counts as an override, by criterion and reviewer, and the second look that is blind."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from corpus import workbook
from reviewing import added, report
from rooms import Clock, Reviewer, fill, opened, refine

from refiner import review
from refiner.errors import DecisionRefused
from refiner.gate.heldout import clopper_pearson
from refiner.reporting.ledger import as_plain, second_words
from refiner.reporting.report import Report
from refiner.review.ledger import Ledger, Look, ledger
from refiner.types import Criterion, Decision, Verdict

FOR = {"occurs": "yes", "causes": "yes", "general": "yes", "covered": "no", "harmful": "no"}


def board(*answers: dict[str, str]) -> review.Board:
    """One change for each set of answers; what is not given speaks for the change."""
    made: Report = report([(added(f"- Rule {at}."),) for at in range(len(answers))])
    verdicts = []
    for verdict, given in zip(made.verdicts, answers, strict=True):
        told = {**FOR, **given}
        criteria = tuple(Criterion(name, told[name], "because", "judged") for name in FOR)  # type: ignore[arg-type]
        against = any(told[name] not in (FOR[name], "unknown") for name in FOR)
        result = "unsupported" if against else "undecided" if "unknown" in told.values() else "supported"
        verdicts.append(Verdict(verdict.proposal_id, result, criteria, "words", "model"))  # type: ignore[arg-type]
    return review.lay_out(Report(**{**vars_of(made), "verdicts": tuple(verdicts)}))


def vars_of(made: Report) -> dict[str, object]:
    return {name: getattr(made, name) for name in Report.__dataclass_fields__}


def decided(at: review.Board, *said: tuple[int, str, str, str]) -> review.Standing:
    """(number of the change, action, reason code, reviewer)."""
    keys = [row.change.key for row in sorted(at.rows.values(), key=lambda row: row.rule)]
    return review.standing(
        [Decision(keys[n], "r1", "b", action, reason_code=code, reviewer=who) for n, action, code, who in said]  # type: ignore[arg-type]
    )


def tallies(found: Ledger) -> dict[str, tuple[int, int]]:
    return {one.name: (one.overridden, one.met) for one in found.criteria}


def test_accepting_against_an_answer_overrides_it_and_the_others_are_upheld() -> None:
    at = board({"harmful": "yes"}, {})
    found = ledger(at, decided(at, (0, "accept", "", "ada"), (1, "accept", "", "ada")), ())
    assert tallies(found) == {
        "occurs": (0, 2), "causes": (0, 2), "general": (0, 2), "covered": (0, 2), "harmful": (1, 2),
    }  # fmt: skip
    (ada,) = found.people
    assert (ada.decided, ada.accepted, ada.against, ada.ruled) == (2, 2, 1, 2)


def test_a_rejection_speaks_of_the_criteria_that_its_reason_is_about() -> None:
    at = board({}, {}, {"covered": "yes"})
    now = decided(
        at, (0, "reject", "too_specific", "ada"), (1, "reject", "badly_worded", "bob"), (2, "reject", "", "bob")
    )
    found = ledger(at, now, ())
    assert tallies(found) == {
        "occurs": (0, 0), "causes": (0, 0), "general": (1, 1), "covered": (0, 1), "harmful": (0, 0),
    }  # fmt: skip
    assert [(one.name, one.against, one.ruled, one.rejected) for one in found.people] == [
        ("ada", 1, 1, 1), ("bob", 1, 2, 2),
    ]  # fmt: skip


def test_deciding_what_is_undecided_overrides_nobody() -> None:
    at = board({"causes": "unknown"})
    found = ledger(at, decided(at, (0, "accept", "", "ada")), ())
    assert tallies(found)["causes"] == (0, 0)
    assert (found.people[0].against, found.people[0].ruled) == (0, 0)


def test_what_was_taken_back_or_carried_over_does_not_count() -> None:
    at = board({}, {})
    now = decided(at, (0, "accept", "", "ada"), (0, "undo", "", "ada"), (1, "carried", "", "ada"))
    assert ledger(at, now, ()).people == ()


def test_a_tenth_of_the_accepted_comes_back_once_nothing_is_open_always_the_same() -> None:
    at = board(*[{}] * 25)
    said = [(n, "reject" if n == 7 else "accept", "other" if n == 7 else "", "ada") for n in range(25)]
    assert ledger(at, decided(at, *said[:-1]), ()).due == ()
    found = ledger(at, decided(at, *said), ()).due
    assert len(found) == 3  # a tenth of 24, rounded up
    assert found == ledger(at, decided(at, *reversed(said)), ()).due
    looked = Look(found[0], "accept", "bob", "", "ada")
    assert ledger(at, decided(at, *said), [looked]).due == found[1:]


def test_agreement_is_told_with_its_interval() -> None:
    at = board({}, {})
    looks = [Look("a", "accept", "bob", "", "ada"), Look("b", "unsure", "bob", "", "ada")]
    found = ledger(at, decided(at, (0, "accept", "", "ada")), looks)
    low, high = clopper_pearson(1, 2)
    assert f"1 of 2 (50%; 95 % interval {low:.0%} to {high:.0%})" in second_words(found)
    assert as_plain(found)["second_look"]["agreed"] == 1


@pytest.fixture
def ada(tmp_path: Path) -> Reviewer:
    clock = Clock()
    desk = opened(tmp_path / "refiner.duckdb", clock)
    made = Reviewer(desk, refine(desk, fill(desk, workbook())), clock)
    for item in made.items():
        made.decide(item, "accept" if item.row.result == "supported" else "reject", reason_code="not_supported")
    return made


def test_a_second_look_is_written_down_beside_the_decision(ada: Reviewer) -> None:
    desk, name = ada.workspace, ada.refinement_id
    (due,) = desk.ledger(name).due
    before = ada.text()
    with pytest.raises(DecisionRefused, match="too fast"):
        desk.look_again(name, due, "reject", shown_at=ada.clock.now)
    shown = ada.clock.now
    ada.clock.tick(2)
    found = desk.look_again(name, due, "reject", shown_at=shown)
    assert found.due == () and [(one.answer, one.change_id) for one in found.looks] == [("reject", due)]
    assert ada.text() == before
    with pytest.raises(DecisionRefused, match="does not wait"):
        desk.look_again(name, due, "accept", shown_at=shown)
    made = desk.exports(name)
    people = json.loads(made.provenance_json)["people"]
    assert people["second_look"]["agreed"] == 0 and len(people["second_look"]["looks"]) == 1
    assert b"Second look, without verdict and earlier answer, at 1 accepted change" in made.report_html
    told = json.loads(made.provenance_json)["audits"]
    assert {one["unit"] for one in told["result"]["sizes"]} == {"lines", "tokens"} and told["result"]["together"] == []
    assert people["people"][0]["decided"] == 3 and people["people"][0]["against"] == 0
    desk.close()
