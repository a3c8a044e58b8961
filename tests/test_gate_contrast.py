"""Measured contrasts: planted causes are found, shadows and task difficulty are not, and directions are right."""

from __future__ import annotations

import dataclasses
import json
import os
import random
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from refiner.behaviours import parse
from refiner.gate.contrast import measure, measured, of
from refiner.ports import Labelled
from refiner.types import Contrast, ContrastTable, Outcome, Span, Trace

Calls = Sequence[str | tuple[str, dict[str, object], str]]


def item(task: str, trial: int, calls: Calls, *, fails: bool) -> Labelled:
    spans = []
    for ordinal, one in enumerate(calls):
        tool, arguments, result = (one, {}, "ok") if isinstance(one, str) else one
        spans.append(Span(ordinal, f"s{ordinal}", "tool_call", tool, input=json.dumps(arguments), output=result))
    trace = Trace("c", f"{task}-{trial}", "test", "request", task, "file", tuple(spans))
    return Labelled(trace, Outcome(trace.id, "fail" if fails else "pass"))


def corpus(
    make: Callable[[random.Random, int, int], tuple[Calls, bool]], *, tasks: int, trials: int, seed: int = 1
) -> list[Labelled]:
    found = []
    for task in range(tasks):
        for trial in range(trials):
            calls, fails = make(random.Random(f"{seed}/{task}/{trial}"), task, trial)
            found.append(item(f"t{task:02}", trial, calls, fails=fails))
    return found


def noise(rng: random.Random) -> list[str]:
    return [tool for tool in ("list_files", "search", "think", "open") if rng.random() < 0.5]


def planted(rng: random.Random, task: int, trial: int) -> tuple[Calls, bool]:
    """Not reading back after saving fails three times in four; some other failures have no cause in the calls."""
    forgets = rng.random() < 0.4
    read = [] if forgets else ["read_range"]
    hint = {"mode": "fast"} if forgets and rng.random() < 0.9 else {"mode": "slow"}
    calls: Calls = [*noise(rng), ("save_workbook", hint, "saved"), *read]
    return calls, rng.random() < (0.8 if forgets else 0.15)


@pytest.fixture(scope="module")
def planted_items() -> list[Labelled]:
    return corpus(planted, tasks=60, trials=4)


@pytest.fixture(scope="module")
def planted_table(planted_items: list[Labelled]) -> ContrastTable:
    return measure(planted_items)


def by_text(table: ContrastTable, text: str) -> Contrast:
    return next(contrast for contrast in table.contrasts if contrast.predicate == text)


def jaccard(first: Sequence[str], second: Sequence[str]) -> float:
    return len(set(first) & set(second)) / len(set(first) | set(second))


def test_a_planted_cause_is_the_only_fact(planted_items: list[Labelled], planted_table: ContrastTable) -> None:
    assert planted_table.matched
    assert len(planted_table.facts) == 1
    fact = by_text(planted_table, planted_table.facts[0])
    truth = [one.trace.id for one in planted_items if parse("absent(read_range after save_workbook)").holds(one.trace)]
    assert jaccard(fact.holds, truth) >= 0.8
    assert (fact.causes, fact.is_fact, fact.explained_by) == ("yes", True, None)
    assert fact.q is not None and fact.q <= 0.05 and fact.informative_tasks >= 3


def test_shadows_are_significant_and_explained(planted_table: ContrastTable) -> None:
    shadow = next(one for one in planted_table.contrasts if one.predicate == "called(save_workbook, mode: word fast)")
    others = [one for one in planted_table.contrasts if one.causes == "yes" and not one.is_fact]
    assert shadow.causes == "yes"
    assert {one.explained_by for one in others} == set(planted_table.facts)


def test_words_give_shares_tasks_p_q_and_m(planted_table: ContrastTable) -> None:
    fact = by_text(planted_table, planted_table.facts[0])
    assert fact.p is not None and fact.q is not None
    shares = f"{fact.failures_with} of {fact.failures} failing and {fact.passes_with} of {fact.passes} passing runs"
    test = f"within {fact.informative_tasks} tasks p = {fact.p:.2g}, q = {fact.q:.2g} (m = {planted_table.m})"
    assert fact.words == f"{shares}; {test}"


def test_task_difficulty_is_no_cause() -> None:
    """A call of the hard tasks only: it goes with failure overall, and with nothing within a task."""

    def hard_tasks_book(rng: random.Random, task: int, trial: int) -> tuple[Calls, bool]:
        is_hard = task % 2 == 0
        calls = [*noise(rng), *(["book"] if is_hard and rng.random() < 0.6 else [])]
        return calls, rng.random() < (0.85 if is_hard else 0.1)

    table = measure(corpus(hard_tasks_book, tasks=60, trials=4))
    booked = by_text(table, "called(book)")
    assert booked.failures_with / booked.failures > 3 * booked.passes_with / booked.passes
    assert booked.causes != "yes"
    assert table.facts == ()


def test_two_causes_are_two_facts() -> None:
    def two(rng: random.Random, task: int, trial: int) -> tuple[Calls, bool]:
        forgets, guesses = rng.random() < 0.35, rng.random() < 0.35
        write = ("write", {"value": 7 if guesses else "=A1"}, "ok")
        calls: Calls = [*noise(rng), write, "save", *([] if forgets else ["read"])]
        return calls, rng.random() < (0.85 if forgets or guesses else 0.08)

    table = measure(corpus(two, tasks=60, trials=4))
    assert set(table.facts) == {"called(write, value: number)", "absent(read after save)"}


def test_noise_alone_gives_no_fact() -> None:
    tables = [
        measure(corpus(lambda rng, task, trial: (noise(rng), rng.random() < 0.5), tasks=25, trials=4, seed=seed))
        for seed in range(8)
    ]
    assert sum(len(table.facts) for table in tables) <= 1


def test_equal_sets_are_one_test_and_the_atom_that_needs_no_negation_states_it() -> None:
    def either(rng: random.Random, task: int, trial: int) -> tuple[Calls, bool]:
        checks = rng.random() < 0.5
        return (["check", "close"] if checks else ["skip"]), rng.random() < (0.2 if checks else 0.8)

    table = measure(corpus(either, tasks=30, trials=4))
    assert [one.predicate for one in table.contrasts if one.is_fact] == ["called(skip)"]
    assert table.m == 2  # one set, both directions
    checks = [one for one in table.contrasts if "check" in one.predicate or "close" in one.predicate]
    assert checks == []  # complements of called(skip)


def test_absent_stands_for_its_pair_with_sequence(planted_table: ContrastTable) -> None:
    texts = {one.predicate for one in planted_table.contrasts}
    assert "not(sequence(save_workbook, read_range))" not in texts


def test_a_corpus_too_small_to_decide_says_so() -> None:
    def perfect(rng: random.Random, task: int, trial: int) -> tuple[Calls, bool]:
        return ([*noise(rng), *(["skip"] if trial else [])], bool(trial)) if task < 6 else (noise(rng), False)

    items = corpus(perfect, tasks=20, trials=2)
    contrast = by_text(measure(items), "called(skip)")
    assert contrast.attainable_p == pytest.approx(0.5**6)
    assert contrast.causes == "unknown"
    assert contrast.words == (
        f"6 of 6 failing and 0 of {contrast.passes} passing runs; this corpus cannot decide it (6 informative tasks)"
    )


def test_two_tasks_however_often_tried_are_no_cause() -> None:
    def two_tasks(rng: random.Random, task: int, trial: int) -> tuple[Calls, bool]:
        fails = trial % 2 == 0
        return (["skip"] if task < 2 and fails else ["go"]), fails

    items = corpus(two_tasks, tasks=6, trials=20)
    contrast = of("called(skip)", items, measure(items))
    assert contrast.q is not None and contrast.q < 1e-6
    assert (contrast.informative_tasks, contrast.causes) == (2, "unknown")


def test_no_difference_in_six_tasks_is_no_cause_and_in_five_is_unknown() -> None:
    def even(rng: random.Random, task: int, trial: int) -> tuple[Calls, bool]:
        return (["skip", "end"] if trial in (0, 1) else ["end"]), trial in (0, 2)

    six, five = corpus(even, tasks=6, trials=4), corpus(even, tasks=5, trials=4)
    assert of("called(skip)", six, measure(six)).causes == "no"
    assert of("called(skip)", five, measure(five)).causes == "unknown"


def test_a_behaviour_of_too_few_runs_is_not_tested() -> None:
    def rare(rng: random.Random, task: int, trial: int) -> tuple[Calls, bool]:
        return ([*noise(rng), *(["skip"] if trial else [])], bool(trial)) if task < 4 else (noise(rng), False)

    items = corpus(rare, tasks=20, trials=2)
    table = measure(items)
    assert "called(skip)" not in {one.predicate for one in table.contrasts}
    contrast = of("called(skip)", items, table)
    assert (contrast.causes, contrast.exploratory, contrast.q) == ("unknown", True, None)


def test_a_claim_against_the_counts_is_refuted(planted_items: list[Labelled], planted_table: ContrastTable) -> None:
    claim = of("called(read_range)", planted_items, planted_table)
    assert claim.causes == "no"
    assert claim.q is None and claim.p is not None and claim.p > 0.5
    reversed_claim = of("called(read_range)", planted_items, planted_table, side="success")
    assert reversed_claim.causes == "yes"


def test_equal_sets_share_the_measurement(planted_items: list[Labelled], planted_table: ContrastTable) -> None:
    same = of("result(save_workbook, text: word saved)", planted_items, planted_table)
    assert same.exploratory  # every run has it: not a test
    fact = by_text(planted_table, planted_table.facts[0])
    double = of("all(called(save_workbook); absent(read_range after save_workbook))", planted_items, planted_table)
    assert (double.holds, double.q, double.causes) == (fact.holds, fact.q, "yes")


def test_composites_are_exploratory_and_lean_on_their_weakest_atom(
    planted_items: list[Labelled], planted_table: ContrastTable
) -> None:
    fact = planted_table.facts[0]
    mixed = of(f"all({fact}; called(think))", planted_items, planted_table)
    think = of("called(think)", planted_items, planted_table)
    assert mixed.exploratory and mixed.q is None and "uncorrected" in mixed.words
    assert mixed.causes == think.causes != "yes"
    guarded = of(f"all({fact}; not(called(think)))", planted_items, planted_table)
    assert guarded.causes == "yes"
    assert of("not(all(called(think); called(open)))", planted_items, planted_table).causes == "unknown"


def one_trial(rng: random.Random, task: int, trial: int) -> tuple[Calls, bool]:
    skips = rng.random() < 0.4
    return [*noise(rng), *(["skip"] if skips else [])], rng.random() < (0.9 if skips else 0.2)


def test_one_run_a_task_is_never_a_cause() -> None:
    table = measure(corpus(one_trial, tasks=80, trials=1))
    skip = by_text(table, "called(skip)")
    assert not table.matched and table.facts == ()
    assert skip.q is not None and skip.q <= 0.05
    assert skip.causes == "unknown"
    assert skip.words == (
        f"goes with failure ({skip.failures_with} of {skip.failures} against {skip.passes_with} of {skip.passes}), "
        "not matched by task"
    )


def test_unmatched_runs_can_refute() -> None:
    items = corpus(one_trial, tasks=80, trials=1)
    claim = of("not(called(skip))", items, measure(items))
    assert claim.causes == "no"
    assert claim.words.startswith("does not go with failure")


def test_repeated_trials_without_mixed_tasks_count_once() -> None:
    """Ten copies of every run change nothing about how sure one can be."""

    def copied(rng: random.Random, task: int, trial: int) -> tuple[Calls, bool]:
        return one_trial(random.Random(f"same/{task}"), task, 0)

    once, often = measure(corpus(copied, tasks=60, trials=1)), measure(corpus(copied, tasks=60, trials=10))
    assert by_text(often, "called(skip)").p == by_text(once, "called(skip)").p
    assert "one run a task" in by_text(often, "called(skip)").words


def test_runs_without_a_verdict_take_no_part(planted_items: list[Labelled], planted_table: ContrastTable) -> None:
    extra = [item(f"u{n}", 0, ["save_workbook"], fails=True) for n in range(20)]
    unknown = [dataclasses.replace(one, outcome=dataclasses.replace(one.outcome, status="unknown")) for one in extra]
    assert measure([*planted_items, *unknown]) == planted_table


def test_permuting_runs_changes_nothing(planted_items: list[Labelled], planted_table: ContrastTable) -> None:
    shuffled = list(planted_items)
    random.Random(3).shuffle(shuffled)
    assert measure(shuffled) == planted_table


@pytest.mark.parametrize("items", [[], [item("t", 0, ["a"], fails=True)]])
def test_next_to_nothing_gives_an_empty_table(items: list[Labelled]) -> None:
    table = measure(items)
    assert (table.contrasts, table.facts, table.m) == ((), (), 0)
    assert of("called(a)", items, table).causes == "unknown"


def flipped(items: Sequence[Labelled]) -> list[Labelled]:
    return [
        dataclasses.replace(
            one, outcome=dataclasses.replace(one.outcome, status="pass" if one.outcome.status == "fail" else "fail")
        )
        for one in items
    ]


small_runs = st.lists(
    st.tuples(st.integers(0, 4), st.booleans(), st.booleans(), st.booleans()), min_size=8, max_size=30
)


def built(rows: Sequence[tuple[int, bool, bool, bool]]) -> list[Labelled]:
    return [
        item(f"t{task}", number, [*(["a"] if a else []), *(["b"] if b else []), "end"], fails=fails)
        for number, (task, a, b, fails) in enumerate(rows)
    ]


@settings(max_examples=60, deadline=None)
@given(small_runs)
def test_swapping_all_outcomes_turns_every_direction(rows: list[tuple[int, bool, bool, bool]]) -> None:
    items = built(rows)
    before, after = measure(items), measure(flipped(items))
    assert before.m == after.m
    sets = {(one.holds, one.applies): one for one in before.contrasts}
    for turned in (one for one in after.contrasts if "sequence" not in one.predicate):  # absent may stand for these
        shown = set(turned.holds)
        rest = tuple(run for run in turned.applies if run not in shown)
        if (rest, turned.applies) in sets:
            assert sets[rest, turned.applies].p == pytest.approx(turned.p)
        else:  # the two sides are exactly alike
            assert turned.failures_with * turned.passes == turned.passes_with * turned.failures


@settings(max_examples=60, deadline=None)
@given(small_runs, st.integers(0, 4))
def test_another_pass_with_the_behaviour_never_strengthens_it(
    rows: list[tuple[int, bool, bool, bool]], task: int
) -> None:
    before = built(rows)
    after = [*before, item(f"t{task}", 999, ["a", "end"], fails=False)]
    first, second = measured("called(a)", before), measured("called(a)", after)
    if first.matched and second.matched:
        assert first.p is not None and second.p is not None
        assert second.p >= first.p - 1e-12


@pytest.mark.corpora
def test_real_airline_runs_have_no_fact() -> None:
    """200 runs, 50 tasks x 4: what looks strong overall (booking) is task difficulty; nothing survives correction."""
    path = Path(os.environ["REFINER_CORPORA"]) / "tau-bench" / "gpt-4o-airline.json"
    items = []
    for record in json.loads(path.read_text()):
        calls = [
            (call["function"]["name"], json.loads(call["function"]["arguments"]), "ok")
            for message in record["traj"]
            for call in message.get("tool_calls") or []
        ]
        items.append(item(str(record["task_id"]), record["trial"], calls, fails=record["reward"] < 1))
    table = measure(items)
    booking = of("called(book_reservation)", items, table)
    assert (booking.failures, booking.failures_with, booking.passes, booking.passes_with) == (116, 23, 84, 1)
    assert booking.causes == "unknown"
    assert len(table.facts) == 0
