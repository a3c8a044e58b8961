"""The shipped sample is what its generator executes, its truth file is true, and agents heed what they are told to."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from refiner import behaviours
from refiner.formats.canonical import FORMAT
from refiner.gate import contrast
from refiner.ports import Labelled, Source
from refiner.types import Outcome, Trace
from sample_data.generator import PACK_A, Corpus, generate, heeded, problems
from sample_data.generator.__main__ import shipped_files
from sample_data.generator.checker import check
from sample_data.generator.desk import Desk
from sample_data.generator.pack import Task

SAMPLE = Path(__file__).parent.parent / "sample_data"
SEED, TASKS, TRIALS = 7, 60, 4
CAUSES = (*PACK_A.faults, PACK_A.stated)

# One plain statement of each rule, and the same rule turned round.
RULES = {
    "no_read_back": (
        "After `save_workbook`, call `read_range` before finishing.",
        "After `save_workbook`, do not call `read_range` before finishing.",
    ),
    "hard_coded_value": (
        "Where a formula is asked for, do not type the computed number.",
        "Where a formula is asked for, type the computed number.",
    ),
    "header_overwritten": (
        "Do not let `write_range` start in the header row.",
        "Let `write_range` start in the header row.",
    ),
    "filled_past_the_end": (
        "Never fill a formula past the last row of data.",
        "Always fill a formula past the last row of data.",
    ),
    "date_as_text": ("Do not write a date with `write_cell`.", "Write a date with `write_cell`."),
    "no_number_format": (
        "After `fill_down`, set the number format with `set_number_format`.",
        "After `fill_down`, never set the number format with `set_number_format`.",
    ),
}


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return generate(PACK_A, SEED, tasks=TASKS, trials=TRIALS)


@pytest.fixture(scope="module")
def traces() -> list[Trace]:
    """The shipped file as the product reads it."""
    with (SAMPLE / "traces.jsonl").open("rb") as stream:
        return [item for item in FORMAT.parse(stream, Source("sample", "traces.jsonl")) if isinstance(item, Trace)]


@pytest.fixture(scope="module")
def truth() -> dict[str, Any]:
    return json.loads((SAMPLE / "truth.json").read_text("utf-8"))


def test_the_shipped_files_are_what_the_generator_makes_byte_for_byte(corpus: Corpus) -> None:
    files = shipped_files(PACK_A, corpus, seed=SEED, tasks=TASKS, trials=TRIALS)
    assert len(files) == 5
    for name, text in files.items():
        assert (SAMPLE / name).read_bytes() == text.encode("utf-8"), name
    assert (SAMPLE / "traces.jsonl").stat().st_size < 1_500_000


def test_another_seed_gives_other_runs() -> None:
    first, second = (generate(PACK_A, seed, tasks=3) for seed in (1, 2))
    assert first.traces != second.traces


def test_the_reader_takes_every_run_with_calls_and_messages_told_apart(traces: list[Trace]) -> None:
    assert len(traces) == 240
    assert len({trace.task_id for trace in traces}) == 60
    for trace in traces:
        kinds = [(span.kind, span.role) for span in trace.spans if span.kind == "message"]
        assert kinds[:2] == [("message", "system"), ("message", "user")]
        assert trace.spans[-1].role == "assistant"
        assert sum(span.kind == "tool_call" for span in trace.spans) >= 12


def test_about_half_of_the_runs_pass_and_trials_of_a_task_differ(corpus: Corpus) -> None:
    assert 0.45 <= sum(corpus.rewards.values()) / 240 <= 0.55
    by_task: dict[str, list[bool]] = {}
    for trace_id, reward in corpus.rewards.items():
        by_task.setdefault(trace_id[:-2], []).append(reward)
    assert sum(len(set(rewards)) == 2 for rewards in by_task.values()) >= 40


def test_feedback_exists_exactly_for_the_failing_runs(corpus: Corpus) -> None:
    assert set(corpus.feedback) == {trace_id for trace_id, reward in corpus.rewards.items() if not reward}


@pytest.mark.parametrize("seed", [SEED, 11])
def test_runs_fail_exactly_when_a_fault_or_an_accident_was_acted_out(seed: int, corpus: Corpus) -> None:
    assert problems(PACK_A, corpus if seed == SEED else generate(PACK_A, seed, tasks=12)) == []


@pytest.mark.parametrize("part", [*CAUSES, *PACK_A.habits], ids=lambda part: part.name)
def test_each_predicate_is_one_atom_and_holds_exactly_where_it_was_acted_out(
    part: Any, traces: list[Trace], truth: dict[str, Any], vocabulary: list[str]
) -> None:
    assert part.predicate in vocabulary
    predicate = behaviours.parse(part.predicate)
    entries = {entry["name"]: entry for entry in (*truth["faults"], truth["stated"], *truth["habits"])}
    entry = entries[part.name]
    assert entry["predicate"] == part.predicate
    assert [trace.external_id for trace in traces if predicate.holds(trace)] == entry["traces"]
    assert len(entry["traces"]) >= 15


@pytest.fixture(scope="module")
def vocabulary(traces: list[Trace]) -> list[str]:
    return behaviours.vocabulary(traces)


def test_habits_are_equally_common_in_passing_and_failing_runs(corpus: Corpus) -> None:
    passing = sum(corpus.rewards.values())
    for habit in PACK_A.habits:
        acted = corpus.acted[habit.name]
        passed = sum(corpus.rewards[trace_id] for trace_id in acted)
        assert abs(passed / passing - (len(acted) - passed) / (240 - passing)) < 0.1, habit.name


def test_an_accident_happens_in_one_run_or_one_task_and_alone(corpus: Corpus) -> None:
    faulty = {trace_id for fault in CAUSES for trace_id in corpus.acted[fault.name]}
    for accident in PACK_A.accidents:
        acted = corpus.acted[accident.name]
        assert len(acted) == (TRIALS if accident.scope == "task" else 1)
        assert len({trace_id[:-2] for trace_id in acted}) == 1
        assert not faulty & set(acted)


def test_no_other_behaviour_goes_with_failure_as_strongly_as_the_faults(corpus: Corpus, traces: list[Trace]) -> None:
    status = {trace_id: "pass" if reward else "fail" for trace_id, reward in corpus.rewards.items()}
    labelled = [Labelled(trace, Outcome(trace.id, status[trace.external_id])) for trace in traces]
    strong = [item for item in contrast.measure(labelled).contrasts if item.q is not None and item.q <= 0.05]
    planted = {fault.predicate for fault in CAUSES}
    assert planted <= {item.predicate for item in strong}
    assert {item.predicate for item in strong if item.explained_by is None} <= planted


# --- the checker sees the file, nothing else ---------------------------------------------------------------------


def _execute(task: Task, plan: Any, folder: Path) -> list[str]:
    path = folder / task.file_name
    task.workbook().save(path)
    desk = Desk(folder)
    for step in plan:
        desk.call(step.tool, step.arguments)
    desk.close()
    return check(path, task.checks)


@pytest.fixture
def tasks() -> Iterator[Task]:
    return (PACK_A.task(Random(f"test {index}"), index) for index in range(12))


def test_the_right_plan_passes_on_every_subject(tasks: Iterator[Task], tmp_path: Path) -> None:
    assert [_execute(task, task.plan, tmp_path) for task in tasks] == [[]] * 12


@pytest.mark.parametrize(
    ("name", "feedback"),
    [
        ("no_read_back", "G5: expected the text"),
        ("hard_coded_value", "expected a formula, found the number"),
        ("header_overwritten", "B1: expected the header"),
        ("filled_past_the_end", "expected nothing below the table, found a formula"),
        ("date_as_text", "expected a date, found the text"),
        ("no_number_format", "expected the number format"),
        ("sheet_deleted", "sheet Notes: expected to be kept"),
    ],
)
def test_each_fault_alone_leaves_a_file_that_the_checker_rejects(
    name: str, feedback: str, tasks: Iterator[Task], tmp_path: Path
) -> None:
    fault = next(fault for fault in CAUSES if fault.name == name)
    for task in tasks:
        lines = _execute(task, fault.act(task.plan, task, Random(name)), tmp_path)
        assert len(lines) == 1
        assert feedback in lines[0]


def test_a_saved_file_that_is_tampered_with_is_caught(tasks: Iterator[Task], tmp_path: Path) -> None:
    from openpyxl import load_workbook

    task = next(tasks)
    assert _execute(task, task.plan, tmp_path) == []
    book = load_workbook(tmp_path / task.file_name)
    book[task.facts["sheet"]]["G2"].value = 12.5
    book.save(tmp_path / task.file_name)
    assert check(tmp_path / task.file_name, task.checks) == ["G2: expected a formula, found the number 12.5"]


def test_what_a_save_leaves_out_is_there_after_a_read(tasks: Iterator[Task], tmp_path: Path) -> None:
    task = next(tasks)
    task.workbook().save(tmp_path / task.file_name)
    desk = Desk(tmp_path)
    before_save = task.plan[:-2]
    for step in before_save:
        desk.call(step.tool, step.arguments)
    assert before_save[-1].tool == "read_range"
    desk.call("save_workbook", {"path": task.file_name})
    desk.call("read_range", {"sheet": task.facts["sheet"], "range": "A1:B2"})
    assert check(tmp_path / task.file_name, task.checks) == []


# --- heeding -------------------------------------------------------------------------------------------------------


def _with(*rules: str) -> str:
    return PACK_A.skill + "".join(f"- {rule}\n" for rule in rules)


@pytest.mark.parametrize("name", sorted(RULES))
def test_a_stated_rule_is_heeded_and_the_same_rule_turned_round_is_not(name: str) -> None:
    rule, reverse = RULES[name]
    assert heeded(PACK_A, PACK_A.skill, _with(rule)) == {name}
    assert heeded(PACK_A, PACK_A.skill, _with(reverse)) == set()


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("Never finish without calling `read_range` after `save_workbook`.", {"no_read_back"}),
        ("Do not stop before the file saved is read back, once, with `read_range`.", {"no_read_back"}),
        ("`read_range` must not be called after `save_workbook`.", set()),
        ("Call `read_range` before `save_workbook`.", set()),
        ("Write a formula, not a number.", {"hard_coded_value"}),
        ("Write a number, not a formula.", set()),
        ("When `fill_down` says that it went past the last row, undo it.", {"filled_past_the_end"}),
        ("Enter dates with `enter_date`, not with `write_cell`.", {"date_as_text"}),
        ("Enter dates with `write_cell`, not with `enter_date`.", set()),
        ("Work carefully and check everything.", set()),
    ],
)
def test_other_ways_to_say_it(line: str, names: set[str]) -> None:
    assert heeded(PACK_A, PACK_A.skill, _with(line)) == names


def test_only_added_lines_count() -> None:
    text = _with(*(rule for rule, _ in RULES.values()))
    assert heeded(PACK_A, text, text) == set()
    assert heeded(PACK_A, "", PACK_A.skill) == set(), "the weak skill states no rule but that of the seventh fault"
    assert heeded(PACK_A, PACK_A.skill, text) == set(RULES)


def test_a_rule_over_two_lines_is_one_rule() -> None:
    text = PACK_A.skill + "- After `save_workbook`, and before the last\n  message, call `read_range`.\n"
    assert heeded(PACK_A, PACK_A.skill, text) == {"no_read_back"}


def test_the_weak_skill_endorses_one_fault_and_forbids_the_seventh() -> None:
    assert [fault.name for fault in PACK_A.faults if fault.endorsed_by] == ["filled_past_the_end"]
    assert f"- {PACK_A.faults[3].endorsed_by}\n" in PACK_A.skill
    assert "- Never call `delete_sheet`" in PACK_A.skill


def test_with_every_rule_stated_only_the_seventh_fault_and_accidents_remain() -> None:
    """On other tasks; every draw but those of the heeded faults stays as it was."""
    refined = _with(*(rule for rule, _ in RULES.values()))
    settings = {"seed": SEED, "tasks": 10, "tasks_offset": 60}
    before, after = generate(PACK_A, **settings), generate(PACK_A, **settings, skill=refined)
    assert not any(after.acted[fault.name] for fault in PACK_A.faults)
    for part in (PACK_A.stated, *PACK_A.habits, *PACK_A.accidents):
        assert after.acted[part.name] == before.acted[part.name]
    assert sum(after.rewards.values()) - sum(before.rewards.values()) >= 10
    assert problems(PACK_A, after) == []
    assert "`read_range` before finishing" in after.traces[0]["spans"][0]["output_text"]
    assert not {trace["task"] for trace in before.traces} & {trace["task"] for trace in _shipped()}


def _shipped() -> list[dict[str, Any]]:
    return [json.loads(line) for line in io.StringIO((SAMPLE / "traces.jsonl").read_text("utf-8"))]
