"""Review: every counted run opens where the behaviour shows, and nothing that speaks against a change is left out."""

from __future__ import annotations

from dataclasses import replace

import pytest
from scripted_desk import ScriptedDesk, app, html_of, labels_of, report, words_of

from refiner.reporting.report import Report
from refiner.types import Contrast


def counted_report() -> Report:
    """Five of six failing and one of six passing runs show the behaviour of every measured change; one shadow."""
    made = report()
    runs = made.snapshot.training
    failed = [one.trace.id for one in runs if one.outcome.status == "fail"]
    passed = [one.trace.id for one in runs if one.outcome.status == "pass"]
    holds, applies = (*failed[:5], passed[0]), tuple(one.trace.id for one in runs)

    def measured(contrast: Contrast | None) -> Contrast | None:
        return replace(contrast, holds=holds, applies=applies, passes_with=1) if contrast else None

    verdicts = tuple(replace(one, contrast=measured(one.contrast)) for one in made.verdicts)
    fact = next(one.contrast for one in verdicts if one.contrast)
    shadow = replace(fact, predicate="called(save_book)", explained_by=fact.predicate, words="6 of 6 against 6 of 6")
    return replace(made, verdicts=verdicts, table=replace(made.table, contrasts=(fact, shadow)))


def opened(monkeypatch: pytest.MonkeyPatch, tab: str, made: Report | None = None):
    test = app(ScriptedDesk(made or counted_report()), "review", monkeypatch, refinement="r1")
    test.session_state["evidence"] = tab
    return test.run()


def plain(words: str) -> str:
    return words.replace("\\", "")


def targets(test) -> dict[str, str]:
    """Links to runs by their label: the address they lead to."""
    return {plain(one.proto.label): one.proto.query_string for one in test.get("page_link") if one.proto.query_string}


def test_counted_runs_open_at_their_witness(monkeypatch):
    test = opened(monkeypatch, "Counted runs")
    links = targets(test)
    assert [name for name in links if name.startswith("fail")] == [f"fail-{at}" for at in range(5)]
    assert "at=3" in links["fail-0"]  # the last save that nobody read back
    assert "at message 4" in words_of(test)


def test_every_group_of_counted_runs_can_be_looked_at(monkeypatch):
    test = opened(monkeypatch, "Counted runs")
    choice = next(one for one in test.get("button_group") if (one.key or "").startswith("counted_"))
    assert [option.content for option in choice.proto.options] == [
        "5 failing with it", "1 passing with it", "1 failing without it", "5 passing without it",
    ]  # fmt: skip
    test.session_state[choice.key] = "failing without it"
    test.run()
    assert "fail-5" in map(plain, labels_of(test)) and "not in this run" in words_of(test)


def test_passing_runs_that_show_the_behaviour_are_counter_examples(monkeypatch):
    words = " ".join(words_of(opened(monkeypatch, "Counter-examples")).split())
    assert "1 passing run shows the behaviour all the same." in words
    none = " ".join(words_of(opened(monkeypatch, "Counter-examples", report())).split())
    assert "None of the passing runs shows the behaviour." in none


def test_the_power_of_the_test_and_what_the_fact_explains_stand_under_the_counts(monkeypatch):
    words = " ".join(words_of(opened(monkeypatch, "Supporting")).split())
    assert "Power: the clearest outcome that 3 informative tasks allow has p = 1e-09" in words
    assert "It explains 1 other behaviour that went with failure too" in words
    assert "called(save_book)" in words and "6 of 6 against 6 of 6" in words


def test_a_change_that_was_not_counted_says_so(monkeypatch):
    made = counted_report()
    undecided = next(row.change.key for row in made.decided if row.result == "undecided")
    test = app(ScriptedDesk(made), "review", monkeypatch, refinement="r1", change=undecided)
    test.session_state["evidence"] = "Counted runs"
    assert "no behaviour that could be looked for" in words_of(test.run())


def test_a_quote_that_is_not_in_the_run_is_shown_as_such(monkeypatch):
    made = report()
    first = made.verdicts[0]
    lost = replace(first.criteria[0].citations[0], quote="never said", verified=False)
    criteria = (replace(first.criteria[0], citations=(lost,)), *first.criteria[1:])
    made = replace(made, verdicts=(replace(first, criteria=criteria), *made.verdicts[1:]))
    test = opened(monkeypatch, "Supporting", made)
    words = " ".join(words_of(test).split())
    assert "Not found in this run as quoted: never said" in words
    assert "1 quote not found in the runs" in words
    assert 'rv-cited">never said' not in html_of(test)


def everything_decided() -> ScriptedDesk:
    desk = ScriptedDesk(report())
    for item in desk.review("r1").items:
        action = "accept" if item.row.result == "supported" and not item.blocked else "skip"
        desk.decide("r1", item.change_id, action, shown_at=0.0, seen=item.hash)
    return desk


def test_a_second_look_is_offered_when_all_is_decided_and_is_blind(monkeypatch):
    desk = everything_decided()
    test = app(desk, "review", monkeypatch, refinement="r1")
    assert "1 accepted change comes back for a second look" in " ".join(words_of(test).split())
    test.button(key="rv_second").click().run()
    words = " ".join(words_of(test).split())
    assert "Second look" in words and "Runs it comes from" in words
    for kept_out in ("Verdict", "Does it occur?", "Accepted by", "p = 1e-06", "supported, measured"):
        assert kept_out not in words
    due = desk.ledger("r1").due[0]
    test.button(key="rv_second_reject").click().run()
    assert [(one.change_id, one.answer) for one in desk.looks] == [(due, "reject")]
    assert desk.review("r1").item(due).in_skill
    assert "accepted again in 0 of 1" in " ".join(words_of(test).split())


def test_while_something_is_open_no_second_look_is_offered(monkeypatch):
    test = app(ScriptedDesk(report()), "review", monkeypatch, refinement="r1")
    assert "rv_second" not in [one.key for one in test.button]
