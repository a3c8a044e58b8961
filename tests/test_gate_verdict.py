"""Counts and answers combined: counting wins, judged causes need three tasks, errors never decide."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from refiner.gate.verdict import combine
from refiner.ports import Ruling
from refiner.types import Citation, Contrast, Criterion, Proposal, Verdict

TASK_OF = {f"r{n}": f"t{n}" for n in range(6)} | {"again": "t0"}


def contrast(causes: Any = "yes", q: float | None = 0.01, *, exploratory: bool = False) -> Contrast:
    return Contrast(
        "called(a)", 30, 15, 30, 3, 8, 7, True, 0.001, q, 40, 1e-5, causes,
        "15 of 30 failing and 3 of 30 passing runs", exploratory=exploratory,
    )  # fmt: skip


def proposal(**more: Any) -> Proposal:
    return Proposal("failure", "cluster", ("g",), "theme", "edit", "why", **more)


def quote(trace: str, *, verified: bool = True) -> Citation:
    return Citation(trace, 0, "s0", "quoted words", 0, 12, verified)


def answer(name: Any, value: Any, *quotes: Citation, source: Any = "judged") -> Criterion:
    return Criterion(name, value, "because", source, quotes)


def answers(**changed: Criterion) -> dict[str, Criterion]:
    good = {"occurs": answer("occurs", "yes", quote("r1"))}
    good |= {name: answer(name, "no") for name in ("covered", "harmful")}
    return good | changed


def verdict(ruling: Ruling, given: dict[str, Criterion], of: Proposal | None = None) -> Verdict:
    return combine(of or proposal(behaviour="called(a)"), ruling, given, gate_q=0.05, analyst="x", task_of=TASK_OF)


def test_measured_and_general_is_supported() -> None:
    found = verdict(Ruling(contrast(), 8, 15), answers())
    assert found.result == "supported"
    assert found.words == "15 of 30 failing and 3 of 30 passing runs"
    assert {one.name: one.source for one in found.criteria} == {
        "occurs": "judged", "causes": "measured", "general": "counted", "covered": "judged", "harmful": "judged",
    }  # fmt: skip
    assert (found.tasks, found.traces, found.analyst, found.contrast) == (8, 15, "x", contrast())


@pytest.mark.parametrize(
    ("occurs", "causes", "tasks", "covered", "harmful"),
    list(product(["yes", "no", "unknown"], ["yes", "no", "unknown"], [3, 2, 1], ["yes", "no"], ["yes", "unknown"])),
)
def test_every_combination_follows_the_rule(occurs: str, causes: str, tasks: int, covered: str, harmful: str) -> None:
    given = answers(
        occurs=answer("occurs", occurs), covered=answer("covered", covered), harmful=answer("harmful", harmful)
    )
    found = verdict(Ruling(contrast(causes), tasks, 15), given)
    general = {3: "yes", 2: "unknown", 1: "no"}[tasks]
    assert found.criterion("general").answer == general
    if "no" in (occurs, causes, general) or "yes" in (covered, harmful):
        assert found.result == "unsupported"
    else:
        assert found.result == ("supported" if (occurs, causes, general) == ("yes",) * 3 else "undecided")


def test_measurement_beats_the_model() -> None:
    quotes = [quote(f"r{n}") for n in range(4)]
    against = answers(causes=answer("causes", "no", *quotes))
    assert verdict(Ruling(contrast("yes"), 8, 15), against).criterion("causes").answer == "yes"
    for_it = answers(causes=answer("causes", "yes", *quotes))
    assert verdict(Ruling(contrast("no"), 8, 15), for_it).result == "unsupported"


def test_a_judged_cause_needs_verified_quotes_of_three_tasks() -> None:
    enough = answers(causes=answer("causes", "yes", quote("r0"), quote("r1"), quote("r2")))
    found = verdict(Ruling(contrast("unknown", 0.4), 8, 15), enough)
    assert (found.result, found.criterion("causes").source) == ("supported", "judged")
    assert "judged, not measured" in found.words
    for quotes in (
        [quote("r0"), quote("r1"), quote("again")],
        [quote("r0"), quote("r1"), quote("r2", verified=False)],
        [quote("r0"), quote("r1"), quote("stranger")],
        [],
    ):
        few = answers(causes=answer("causes", "yes", *quotes))
        assert verdict(Ruling(contrast("unknown", 0.4), 8, 15), few).result == "undecided"
        unmapped = combine(proposal(), Ruling(None, 8, 15), enough, gate_q=0.05)
        assert unmapped.result == "undecided"


def test_answers_without_a_verified_quote_decide_nothing() -> None:
    for name, value in (("covered", "yes"), ("harmful", "yes"), ("occurs", "no")):
        given = answers(**{name: answer(name, value, quote("r1", verified=False))})
        found = verdict(Ruling(contrast(), 8, 15), given)
        assert found.criterion(name).answer == "unknown"
        assert found.result != "unsupported"


def test_no_answers_at_all_is_undecided() -> None:
    found = verdict(Ruling(contrast(), 8, 15), {})
    assert found.result == "undecided"
    assert found.criterion("occurs").source == found.criterion("harmful").source == "not asked"


def test_a_count_of_zero_wins_over_occurs() -> None:
    found = verdict(Ruling(None, 0, 0), answers())
    assert (found.criterion("occurs").answer, found.criterion("occurs").source) == ("no", "counted")
    assert found.result == "unsupported"


def test_a_feedback_class_alone_is_undecided_in_these_words() -> None:
    asked = answers(causes=answer("causes", "unknown", source="not asked"))
    found = verdict(Ruling(None, 10, 22), asked, proposal(feedback_class="unexpected cancel"))
    assert found.result == "undecided"
    assert found.words == "recurs in the evaluator's feedback: 22 traces, 10 tasks"


def test_the_words_of_a_refusal_name_its_reason_first() -> None:
    given = answers(covered=Criterion("covered", "yes", "the skill already says: read back", "counted"))
    found = verdict(Ruling(contrast(), 8, 15), given)
    assert found.words == "covered: the skill already says: read back; 15 of 30 failing and 3 of 30 passing runs"
    assert "2 distinct tasks, it takes 3" in verdict(Ruling(contrast(), 2, 4), answers()).words
    assert "general: 1 distinct task" in verdict(Ruling(contrast(), 1, 4), answers()).words


def test_a_stricter_gate_takes_a_measured_yes_back() -> None:
    ruling = Ruling(contrast(q=0.01), 8, 15)
    strict = combine(proposal(), ruling, answers(), gate_q=0.001)
    assert (strict.criterion("causes").answer, strict.result) == ("unknown", "undecided")


def test_a_composite_keeps_the_cause_of_its_atoms() -> None:
    ruling = Ruling(contrast(q=None, exploratory=True), 8, 15)
    assert verdict(ruling, answers()).criterion("causes").answer == "yes"
