"""Pack B keeps the rules of a fault pack: on two executed corpora, and for the wording that its agents heed."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from refiner.behaviours import parse, vocabulary
from refiner.ingest import load
from refiner.types import Trace
from sample_data.generator.heeding import heeded
from sample_data.generator.pack import Fault, Habit
from sample_data.generator.pack_b import PACK
from sample_data.generator.run import Corpus, generate, problems

SEEDS = (7, 8)
FAULTS = (*PACK.faults, PACK.stated)

# fault -> sentences that state its rule
STATE = {
    "sorted_too_early": (
        "Append all new rows before sorting.",
        "Call `sort_rows` only after `append_rows`.",
        "After adding the new entries, sort the list.",
        "Never call `append_rows` after `sort_rows`.",
        "Do not sort until the new rows are in.",
        "Do not sort before all new entries have been added.",
        "Sort once the new rows have been added.",
        "If rows were appended after the sort, sort again.",
    ),
    "one_column_compared": (
        "Give `remove_duplicates` all columns of the list.",
        "Compare whole rows when you look for duplicates.",
        "Never remove duplicates by one column only.",
        "Rows are duplicates when every column agrees, not when the name does.",
        "Do not call `remove_duplicates` with a single column.",
    ),
    "raised_twice": (
        "Call `change_by_percent` only once for each column.",
        "Never repeat `change_by_percent`: it works on the changed amounts.",
        "Do not send the same percent change twice.",
        "Do not repeat a call with the same arguments.",
        "Raise the amounts exactly once.",
    ),
    "filter_left_on": (
        "Call `clear_filter` after `filter_rows`.",
        "Clear the filter before saving.",
        "Never leave a filter on.",
        "Do not save while a filter is active.",
        "Do not finish before the filter is cleared.",
        "When the visible rows are written, take the filter off again.",
        "Never save before clearing the filter.",
    ),
    "matched_by_name": (
        "Match the two lists on the code.",
        "Use the code column as the key of `match_column`.",
        "Never look entries up by name: names are spelled in different ways.",
        "Match by code, not by name.",
        "When `match_column` reports unmatched rows, fix the key.",
        "Do not go on with unmatched rows.",
    ),
    "semicolons": (
        "Separate the arguments of a formula with commas.",
        "Do not use semicolons in formulas.",
        "In `fill_formula`, write commas instead of semicolons.",
        "When a formula is refused, correct it and fill the column again.",
        "Never ignore an error of `fill_formula`.",
        "Never go on after a call fails: correct it.",
    ),
}

# fault -> sentences that say the opposite, or speak of the same things and say something else
OTHER = {
    "sorted_too_early": (
        "Append the new rows after sorting.",
        "Sort before adding the new entries.",
        "Do not append rows before sorting.",
        "Sort the list by column A.",
    ),
    "one_column_compared": (
        "Remove duplicates by one column only.",
        "Do not give `remove_duplicates` all columns.",
        "Do not compare whole rows for duplicates.",
        "Remove duplicates first.",
    ),
    "raised_twice": (
        "Call `change_by_percent` twice to be sure.",
        "Repeat the percent change.",
        "Do not call `change_by_percent` only once.",
        "Give the percentage as a number.",
    ),
    "filter_left_on": (
        "Leave the filter on.",
        "Do not clear the filter.",
        "Never call `clear_filter` after `filter_rows`.",
        "Filter by the group that the request names.",
    ),
    "matched_by_name": (
        "Match the lists by name.",
        "Do not match by code.",
        "Match by name, not by code.",
        "Go on with unmatched rows.",
    ),
    "semicolons": (
        "Separate the arguments of a formula with semicolons.",
        "Do not use commas in formulas.",
        "Ignore an error of `fill_formula`.",
        "Write the formula for row 2.",
    ),
}


@cache
def _run(seed: int) -> tuple[Corpus, tuple[Trace, ...]]:
    """A corpus, and its runs as the product reads them."""
    corpus = generate(PACK, seed)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "traces.jsonl"
        path.write_text("".join(json.dumps(trace) + "\n" for trace in corpus.traces), encoding="utf-8")
        return corpus, tuple(load([path], corpus="b").traces)


def _holds(predicate: str, traces: tuple[Trace, ...]) -> set[str]:
    parsed = parse(predicate)
    return {trace.external_id for trace in traces if parsed.holds(trace)}


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("part", [*FAULTS, *PACK.habits], ids=lambda part: part.name)
def test_predicate_is_an_atom_that_holds_exactly_where_acted_out(part: Fault | Habit, seed: int) -> None:
    corpus, traces = _run(seed)
    assert part.predicate in vocabulary(traces)
    assert str(parse(part.predicate)) == part.predicate
    assert _holds(part.predicate, traces) == set(corpus.acted[part.name])


@pytest.mark.parametrize("seed", SEEDS)
def test_faults_fail_and_habits_pass(seed: int) -> None:
    corpus, _ = _run(seed)
    assert len(corpus.rewards) == 240
    assert problems(PACK, corpus) == []


@pytest.mark.parametrize("seed", SEEDS)
def test_about_half_of_the_runs_pass(seed: int) -> None:
    corpus, _ = _run(seed)
    assert 0.45 <= sum(corpus.rewards.values()) / len(corpus.rewards) <= 0.55


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("fault", PACK.faults, ids=lambda fault: fault.name)
def test_each_fault_is_common_enough_to_be_learned(fault: Fault, seed: int) -> None:
    assert 12 <= len(_run(seed)[0].acted[fault.name]) <= 45  # about 26 expected, four standard deviations


@pytest.mark.parametrize("habit", PACK.habits, ids=lambda habit: habit.name)
def test_habits_are_as_common_in_passing_as_in_failing_runs(habit: Habit) -> None:
    """Over both corpora; a difference of 0.15 is more than three standard errors."""
    runs: dict[bool, list[bool]] = {True: [], False: []}
    for corpus, _ in map(_run, SEEDS):
        for trace_id, reward in corpus.rewards.items():
            runs[reward].append(trace_id in corpus.acted[habit.name])
    shares = {reward: sum(acted) / len(acted) for reward, acted in runs.items()}
    assert abs(shares[True] - shares[False]) < 0.15


def test_every_accident_happens_in_one_run_or_one_task() -> None:
    corpus, _ = _run(SEEDS[0])
    for accident in PACK.accidents:
        tasks = {trace_id.rpartition("-")[0] for trace_id in corpus.acted[accident.name]}
        assert len(tasks) == 1
        assert len(corpus.acted[accident.name]) == (4 if accident.scope == "task" else 1)


def test_six_faults_show_in_several_kinds_of_atom() -> None:
    assert len(PACK.faults) == 6
    assert len({fault.predicate.partition("(")[0] for fault in PACK.faults}) >= 4


def test_same_seed_gives_same_corpus() -> None:
    few = [generate(PACK, SEEDS[0], tasks=2) for _ in range(2)]
    assert few[0] == few[1]


def test_skill_has_front_matter_and_a_natural_length() -> None:
    _, front, body = PACK.skill.split("---\n", 2)
    fields = dict(line.split(": ", 1) for line in front.splitlines())
    assert list(fields) == ["name", "description"]
    assert fields["name"] == "list-keeping"
    assert 0 < len(fields["description"]) <= 1024
    assert ": " not in fields["description"]
    assert 25 <= len(PACK.skill.splitlines()) <= 40
    assert body.startswith("\n# ")


def test_skill_states_no_rule_but_the_stated_one() -> None:
    assert heeded(PACK, "", PACK.skill) == set()
    assert "Never call `merge_cells`" in PACK.skill
    assert [fault.name for fault in PACK.faults if fault.endorsed_by] == ["sorted_too_early"]
    assert f"- {PACK.faults[0].endorsed_by}\n" in PACK.skill


@pytest.mark.parametrize(("name", "sentence"), [(name, one) for name, said in STATE.items() for one in said])
def test_agents_heed_a_rule_that_is_stated(name: str, sentence: str) -> None:
    assert heeded(PACK, PACK.skill, f"{PACK.skill}- {sentence}\n") == {name}


@pytest.mark.parametrize(("name", "sentence"), [(name, one) for name, said in OTHER.items() for one in said])
def test_agents_do_not_heed_the_opposite_of_a_rule(name: str, sentence: str) -> None:
    assert name not in heeded(PACK, PACK.skill, f"{PACK.skill}- {sentence}\n")


def test_heeded_faults_are_gone_and_nothing_else_changes() -> None:
    refined = PACK.skill + "".join(f"- {said[0]}\n" for said in STATE.values())
    plain, better = generate(PACK, SEEDS[0], tasks=4), generate(PACK, SEEDS[0], tasks=4, skill=refined)
    for part in (PACK.stated, *PACK.habits, *PACK.accidents):
        assert better.acted[part.name] == plain.acted[part.name]
    assert all(not better.acted[fault.name] for fault in PACK.faults)
