"""What must hold of the counts whatever the runs are: no run that speaks against a behaviour ever helps it."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from corpus import lines, workbook
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from rooms import opened, refine, upload

from refiner.gate.cohort import cohort_of
from refiner.gate.contrast import measure, measured
from refiner.gate.statistics import bh
from refiner.ports import Labelled, Records
from refiner.sides import of_side
from refiner.stages.gate import Gate
from refiner.types import ContrastTable, Outcome, Proposal, SkillVersion, Span, Trace

Row = tuple[int, bool, bool, bool]
"""Task, shows a, shows b, fails."""
rows_of_runs = st.lists(
    st.tuples(st.integers(0, 4), st.booleans(), st.booleans(), st.booleans()), min_size=8, max_size=30
)


def run(task: str, trial: int, tools: Sequence[str], *, fails: bool) -> Labelled:
    spans = tuple(Span(at, f"s{at}", "tool_call", tool, input="{}", output="ok") for at, tool in enumerate(tools))
    trace = Trace("c", f"{task}-{trial}", "test", "request", task, "file", spans)
    return Labelled(trace, Outcome(trace.id, "fail" if fails else "pass"))


def built(rows: Sequence[Row]) -> list[Labelled]:
    return [
        run(f"t{task}", at, [*["a"] * a, *["b"] * b, "end"], fails=fails) for at, (task, a, b, fails) in enumerate(rows)
    ]


def one_sided(items: Sequence[Labelled]) -> float:
    p = measured("called(a)", items).p
    assert p is not None
    return p


@settings(max_examples=25, deadline=None, derandomize=True)
@given(rows_of_runs, st.integers(0, 4), st.lists(st.floats(1e-9, 1.0), max_size=12), st.integers(0, 12))
def test_another_pass_with_the_behaviour_lowers_neither_p_nor_q(
    rows: list[Row], task: int, others: list[float], place: int
) -> None:
    before = built(rows)
    after = [*before, run(f"t{task}", 999, ["a", "end"], fails=False)]
    assume(cohort_of(before).matched and cohort_of(after).matched)
    first, second = one_sided(before), one_sided(after)
    assert second >= first - 1e-12
    at = min(place, len(others))
    qs = [bh([*others[:at], p, *others[at:]])[at] for p in (first, second)]
    assert qs[1] >= qs[0] - 1e-12


@settings(max_examples=20, deadline=None, derandomize=True)
@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=4, max_size=20))
def test_so_it_is_with_one_run_a_task(rows: list[tuple[bool, bool]]) -> None:
    before = built([(at, shows, False, fails) for at, (shows, fails) in enumerate(rows)])
    after = [*before, run("new", 999, ["a", "end"], fails=False)]
    assert not cohort_of(after).matched
    assert one_sided(after) >= one_sided(before) - 1e-12


@settings(max_examples=20, deadline=None, derandomize=True)
@given(rows_of_runs, st.integers(0, 4), st.booleans(), st.booleans())
def test_a_further_trial_of_a_known_task_adds_no_task(rows: list[Row], pick: int, fails: bool, same: bool) -> None:
    before = built(rows)
    known = before[pick % len(before)]
    tools = [span.name for span in known.trace.spans] if same else ["a", "end"]
    shows = "a" in tools
    after = [*before, run(known.trace.task_id, 999, tools, fails=fails)]
    failing = {one.trace.task_id for one in before if one.outcome.status == "fail" and _shows(one)}
    first, second = measured("called(a)", before), measured("called(a)", after)
    new = {known.trace.task_id} - failing if shows and fails else set()
    assert first.tasks_with == len(failing)
    assert second.tasks_with == len(failing | new) <= len({one.trace.task_id for one in before})
    if known.trace.task_id in failing:
        assert second.tasks_with == first.tasks_with


def _shows(item: Labelled) -> bool:
    return any(span.name == "a" for span in item.trace.spans)


@dataclasses.dataclass
class Given(Records):
    """What the gate reads of a refinement."""

    items: list[Labelled]
    proposal: Proposal
    table: ContrastTable

    def labelled(self) -> Sequence[Labelled]:
        return self.items

    def skill(self) -> SkillVersion:
        return SkillVersion({"SKILL.md": b"# S\n"})

    def produced(self, stage: str) -> Sequence[object]:
        return [self.table] if stage == "contrast" else [self.proposal]


def test_the_gate_counts_tasks_and_not_their_trials() -> None:
    """Three trials of one task are never general, whatever else is tried of that task."""
    items = [run("t0", trial, ["a", "end"], fails=True) for trial in range(3)]
    items += [run(f"t{task}", 0, ["end"], fails=False) for task in range(1, 5)]
    claim = Proposal("failure", "cluster", (), "theme", "Do not call a.", "why", behaviour="called(a)")
    for more in range(4):
        all_ = [*items, *(run("t0", 10 + at, ["a", "end"], fails=True) for at in range(more))]
        (step,) = Gate("offline").steps(Given(all_, claim, measure(all_)))
        assert (step.payload.ruling.tasks, step.payload.ruling.traces) == (1, 3 + more)  # type: ignore[attr-defined]


def turned(items: Sequence[Labelled]) -> list[Labelled]:
    status = {"fail": "pass", "pass": "fail"}
    return [
        dataclasses.replace(one, outcome=dataclasses.replace(one.outcome, status=status[one.outcome.status]))
        for one in items
    ]


@settings(max_examples=20, deadline=None, derandomize=True)
@given(rows_of_runs)
def test_swapping_all_outcomes_swaps_the_sides_and_flips_every_direction(rows: list[Row]) -> None:
    items = built(rows)
    swapped = turned(items)
    names = [[one.trace.id for one in of_side(group, "failure")] for group in (items, swapped)]
    assert names[1] == [one.trace.id for one in of_side(items, "success")]
    assert names[0] == [one.trace.id for one in of_side(swapped, "success")]
    claim, denial = measured("called(a)", items), measured("not(called(a))", swapped)
    assert claim.p == pytest.approx(denial.p)
    assert (claim.informative_tasks, claim.causes) == (denial.informative_tasks, denial.causes)
    assert denial.failures_with == claim.passes - claim.passes_with
    assert denial.passes_with == claim.failures - claim.failures_with


@pytest.fixture(scope="module")
def in_order(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return _exported(tmp_path_factory.mktemp("order"), reverse=False)


def test_the_order_of_uploads_changes_no_byte(in_order: bytes, tmp_path: Path) -> None:
    assert _exported(tmp_path, reverse=True) == in_order


def _exported(folder: Path, *, reverse: bool) -> bytes:
    """The provenance of all supported changes, runs and labels coming in many uploads."""
    book = workbook()
    runs = list(book.traces)
    files = [
        ("a.jsonl", lines(runs[:17])),
        ("b.jsonl", lines(runs[17:30])),
        ("c.jsonl", lines(runs[30:])),
        ("rewards.json", json.dumps(dict(book.rewards)).encode()),
        ("feedback.json", json.dumps(dict(book.feedback)).encode()),
    ]
    if reverse:
        files = [("feedback.json", files[4][1]), *((name, _backwards(data)) for name, data in reversed(files[:3]))]
        files.insert(2, ("rewards.json", json.dumps(dict(reversed(book.rewards.items()))).encode()))
    with_labels_last = sorted(files, key=lambda one: one[0].endswith(".json"))  # labels need traces to hang on
    desk = opened(folder / "refiner.duckdb")
    desk.create_corpus("own")
    for name, data in with_labels_last:
        desk.ingest("own", [upload(name, data)])
    assert book.skill is not None
    desk.set_skill("own", {"SKILL.md": book.skill.encode()})
    refinement_id = refine(desk, "own")
    desk.accept_supported(refinement_id)
    made = desk.exports(refinement_id)
    desk.close()
    assert b"read_range" in made.skill_md
    return made.skill_md + made.patch + _without_decisions(made.provenance_json)


def _backwards(data: bytes) -> bytes:
    return b"".join(reversed(data.splitlines(keepends=True)))


def _without_decisions(provenance: bytes) -> bytes:
    """All but when and by whom the changes were accepted."""
    found = json.loads(provenance)
    return json.dumps({name: found[name] for name in found if name != "decisions"}).encode()
