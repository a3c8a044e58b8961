"""Held-out tasks: sealed until a person opens them, counted by task, with exact intervals, and marked ever after."""

from __future__ import annotations

import json
import shlex
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from corpus import Corpus, read, refiner, workbook
from hypothesis import given, settings
from hypothesis import strategies as st
from memory import call, trace
from rooms import Clock, Reviewer, fill, opened, refine, refined

from refiner.errors import ConfigError
from refiner.gate.heldout import LEAST_FAILING, clopper_pearson, estimate
from refiner.ports import Labelled
from refiner.reporting.heldout import cost_of, is_suspicious
from refiner.snapshot import held_out, take
from refiner.tasks import CONVERSATION
from refiner.types import Outcome
from refiner.workspace import Workspace

SHARE = 0.3


@settings(max_examples=30, deadline=None, derandomize=True)
@given(st.integers(0, 40), st.integers(0, 40))
def test_the_interval_is_the_exact_one(hits: int, misses: int) -> None:
    from scipy.stats import binomtest

    total = hits + misses
    if not total:
        assert clopper_pearson(0, 0) == (0.0, 1.0)
        return
    known = binomtest(hits, total).proportion_ci(0.95, method="exact")
    assert clopper_pearson(hits, total) == pytest.approx((known.low, known.high), abs=1e-9)


def test_no_share_is_above_its_whole() -> None:
    with pytest.raises(ValueError, match="5 of 4"):
        clopper_pearson(5, 4)


def run(task: int, trial: int, *tools: str, fails: bool) -> Labelled:
    made = trace(f"t{task:02}-{trial}", [call(tool) for tool in tools], f"t{task:02}")
    return Labelled(made, Outcome(made.id, "fail" if fails else "pass"))


def test_coverage_and_exposure_count_tasks_and_never_runs() -> None:
    """Ten failing tasks, seven with the fault (one of them three times); six passing ones, two with it."""
    items = [run(task, 0, *(["bad"] if task < 7 else []), "end", fails=True) for task in range(10)]
    items += [run(0, trial, "bad", "end", fails=True) for trial in (1, 2)]
    items += [run(task, 5, *(["bad"] if task < 2 else []), "end", fails=False) for task in range(6)]
    faults = {"one": ("called(bad)",), "two": ("called(other)",), "told": ()}
    (one, two, told), together = estimate(faults, ["one", "told"], items)
    assert (one.covered, one.failing, one.exposed, one.passing) == (7, 10, 2, 6)
    assert one.coverage == pytest.approx(clopper_pearson(7, 10)) and one.exposure == pytest.approx(
        clopper_pearson(2, 6)
    )
    assert (two.covered, two.exposed) == (0, 0)
    assert (told.covered, told.words) == (None, "not measured")
    assert (together.change_id, together.covered, together.exposed) == ("", 7, 2)
    assert not is_suspicious(one)


def test_below_ten_failing_tasks_there_are_counts_only() -> None:
    items = [run(task, 0, "bad", fails=True) for task in range(LEAST_FAILING - 1)] + [run(20, 0, "bad", fails=False)]
    ((one,), _) = estimate({"one": ("called(bad)",)}, [], items)
    assert (one.covered, one.coverage, one.exposure) == (LEAST_FAILING - 1, None, None)


def test_exposure_without_coverage_is_suspicious() -> None:
    items = [run(task, 0, "end", fails=True) for task in range(3)] + [run(9, 0, "bad", fails=False)]
    ((one,), _) = estimate({"one": ("called(bad)",)}, ["one"], items)
    assert is_suspicious(one)


def test_the_cost_of_a_share_is_what_learning_would_lose() -> None:
    traces = [trace(f"t{task:02}-{trial}", [call("x")], f"t{task:02}") for task in range(40) for trial in range(2)]
    outcomes = {one.id: Outcome(one.id, "fail" if one.external_id.endswith("1") else "pass") for one in traces}
    cost = cost_of(take(traces, outcomes, {}, 0.0), SHARE)
    out = sum(held_out(f"t{task:02}", SHARE) for task in range(40))
    assert (cost.unit, cost.held, cost.of_held, cost.failing, cost.of_failing) == ("task", out, 40, out, 40)
    assert (cost.both, cost.of_both) == (out, 40) and out


def test_the_cost_is_counted_by_conversation_where_runs_are_attempts() -> None:
    plain = [trace(f"c{talk:02}:e{n}", [call("x")], f"t{talk:02}-{n}") for talk in range(20) for n in (1, 2)]
    traces = [replace(one, meta={CONVERSATION: one.external_id[:3]}) for one in plain]
    outcomes = {one.id: Outcome(one.id, "fail" if one.external_id.endswith("1") else "pass") for one in traces}
    cost = cost_of(take(traces, outcomes, {}, 0.0), SHARE)
    out = sum(held_out(f"c{talk:02}", SHARE) for talk in range(20))
    assert (cost.unit, cost.held, cost.of_held, cost.failing, cost.of_failing) == ("conversation", out, 20, out, 20)


@pytest.fixture(scope="module")
def sealed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sealed")
    said = refiner("refine", *workbook().write(folder / "in"), "--out", folder / "out", "--holdout", SHARE)
    assert said.code == 0 and f"refiner holdout --out {folder / 'out'} --open" in said.out
    return folder / "out"


def held_runs(corpus: Corpus) -> list[str]:
    return [one["trace_id"] for one in corpus.traces if held_out(one["task_id"], SHARE)]


def test_a_result_opened_in_the_app_names_the_command_that_opens_the_seal(sealed: Path, tmp_path: Path) -> None:
    copy = tmp_path / "my out"
    shutil.copytree(sealed, copy)
    desk = opened(tmp_path / "refiner.duckdb")
    made = desk.open_result(copy)
    assert desk.held_out(made).state == "elsewhere"
    command = f"refiner holdout --out '{copy}' --open"
    assert command in desk.held_out(made).words[-1]
    refiner(*shlex.split(command)[1:])
    desk.open_result(copy)
    assert desk.held_out(made).state == "opened"
    desk.close()


def test_the_command_says_sealed_then_opens_once_and_writes_it_everywhere(sealed: Path) -> None:
    book = workbook()
    before = refiner("holdout", "--out", sealed)
    assert f"({len(held_runs(book))} traces) are held out and sealed" in before.out
    assert read(sealed, "combined/provenance.json")["held_out"]["state"] == "sealed"
    report = (sealed / "combined" / "report.html").read_text()
    assert "They are sealed" in report
    skill = (sealed / "combined" / "proposed_skill.md").read_bytes()

    opened_ = refiner("holdout", "--out", sealed, "--open")
    assert opened_.code == 0 and "Opened by" in opened_.out
    found = read(sealed, "combined/provenance.json")["held_out"]
    assert found["state"] == "opened" and found["opened_at"]
    tasks = {one["task_id"] for one in book.traces if held_out(one["task_id"], SHARE)}
    failing = {name.split("-")[0] for name in held_runs(book) if not book.rewards[name]}
    assert found["tasks"] == len(tasks) and found["accepted"]["failing"] == len(failing)
    forgot = {f"t{task:02}" for task in range(8)} & tasks  # the planted fault, in the second run of these tasks
    assert (found["accepted"]["covered"], found["accepted"]["exposed"]) == (len(forgot), 0)
    assert "and opened for the estimate below" in (sealed / "combined" / "report.html").read_text()
    assert (sealed / "combined" / "proposed_skill.md").read_bytes() == skill

    again = json.loads(refiner("holdout", "--out", sealed, "--open", "--json").out)
    assert again == found  # opened once: who and when stay


def test_the_same_refine_command_keeps_what_was_opened(sealed: Path) -> None:
    refiner("holdout", "--out", sealed, "--open")
    refiner("refine", *workbook().write(sealed.parent / "in"), "--out", sealed, "--holdout", SHARE)
    assert read(sealed, "combined/provenance.json")["held_out"]["state"] == "opened"


def test_where_nothing_is_held_out_the_command_says_why_and_what_a_share_would_cost(tmp_path: Path) -> None:
    out = tmp_path / "my out"
    refiner("refine", *workbook().write(tmp_path / "in"), "--out", out)
    said = refiner("holdout", "--out", out)
    assert "a share is kept back from 100 known tasks on, and here 16 are known" in said.out
    assert "Holding out 20% (--holdout 0.2) would take" in said.out
    refused = refiner("holdout", "--out", out, "--open")
    assert refused.code == 2 and "Nothing is held out" in refused.err
    desk = opened(tmp_path / "refiner.duckdb")
    made = desk.open_result(out)
    assert desk.held_out(made).state == "none"
    with pytest.raises(ConfigError, match="Nothing is held out"):
        desk.open_held_out(made)
    desk.close()


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A database of the app with a refinement that holds a share out, and that refinement; tests work on copies."""
    return refined(tmp_path_factory.mktemp("template"), workbook(), holdout=SHARE)


def desk_of(template: tuple[Path, str], folder: Path, clock: Clock | None = None) -> Workspace:
    shutil.copy(template[0], folder / "refiner.duckdb")
    return opened(folder / "refiner.duckdb", clock)


def test_in_the_app_the_opening_is_written_down_and_marks_what_is_decided_after_it(
    template: tuple[Path, str], tmp_path: Path
) -> None:
    clock = Clock()
    desk = desk_of(template, tmp_path, clock)
    ada = Reviewer(desk, template[1], clock)
    supported = ada.item("supported")
    ada.decide(supported, "accept")
    view = desk.held_out(ada.refinement_id)
    assert view.state == "sealed" and view.found is None
    assert json.loads(desk.exports(ada.refinement_id).provenance_json)["held_out"]["state"] == "sealed"

    view = desk.open_held_out(ada.refinement_id)
    assert view.state == "opened" and view.found is not None
    assert view.found.opened_by == desk.reviewer() and view.found.accepted.covered
    ada.decide(ada.item("undecided"), "reject", reason_code="other")
    assert [one.after_unseal for one in desk.decisions(ada.refinement_id)] == [False, True]
    made = desk.exports(ada.refinement_id)
    assert json.loads(made.provenance_json)["held_out"]["changes"][supported.change_id]["covered"]
    assert b"held-out tasks open" in made.report_html

    desk.undo(ada.refinement_id)
    desk.undo(ada.refinement_id)
    after = desk.held_out(ada.refinement_id).found
    assert after is not None and after.accepted.covered is None  # nothing is accepted any more
    desk.close()
    again = opened(tmp_path / "refiner.duckdb", clock)
    assert again.held_out(ada.refinement_id).state == "opened"
    again.close()


def test_a_later_refinement_says_that_the_tasks_were_seen_before(template: tuple[Path, str], tmp_path: Path) -> None:
    desk, first = desk_of(template, tmp_path), template[1]
    desk.open_held_out(first)
    second = refine(desk, "own", holdout=SHARE, gate_q=0.04)
    view = desk.held_out(second)
    assert view.state == "sealed" and "not unseen any more" in view.words[-1]
    desk.close()


def test_tasks_guessed_from_the_request_can_be_opened_too(tmp_path: Path) -> None:
    book = workbook()
    bare = replace(book, traces=tuple({k: v for k, v in one.items() if k != "task_id"} for one in book.traces))
    desk = opened(tmp_path / "refiner.duckdb")
    made = refine(desk, fill(desk, bare), holdout=0.5)
    view = desk.open_held_out(made)
    assert view.found is not None and view.found.tasks == view.tasks > 0
    desk.close()
