"""Refinements as jobs at the desk: progress, cancel, resume, re-run, a killed server, and the command line's text."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from corpus import Corpus, call, lines, run, workbook
from rooms import Clock, fill, opened, refine, upload

import refiner
from refiner.analysts.offline import OfflineAnalyst
from refiner.errors import BadReply, ConfigError, JobRunning, LabelError, NotReady, StoreError
from refiner.job_views import Arrived, JobView
from refiner.resources import SAMPLE_DATA
from refiner.workspace import Workspace

ROOT = Path(__file__).parent.parent


@pytest.fixture
def desk(tmp_path: Path) -> Workspace:
    return opened(tmp_path / "refiner.duckdb")


def doubled() -> Corpus:
    """96 traces: more than the engine commits at once."""
    corpus = workbook()
    more = [{**one, "trace_id": f"x{one['trace_id']}", "task_id": f"x{one['task_id']}"} for one in corpus.traces]
    rewards = {**corpus.rewards, **{f"x{name}": passed for name, passed in corpus.rewards.items()}}
    feedback = {**corpus.feedback, **{f"x{name}": words for name, words in corpus.feedback.items()}}
    return replace(corpus, traces=(*corpus.traces, *more), rewards=rewards, feedback=feedback)


def at_call(monkeypatch: pytest.MonkeyPatch, number: int, act: Callable[[], Any], method: str = "summarise") -> None:
    """Does something in the middle of a job: when the analyst is asked for the n-th time."""
    original, calls = getattr(OfflineAnalyst, method), [0]

    def counted(self: OfflineAnalyst, request: Any) -> Any:
        calls[0] += 1
        if calls[0] == number:
            act()
        return original(self, request)

    monkeypatch.setattr(OfflineAnalyst, method, counted)


def by_stage(desk: Workspace, refinement_id: str) -> dict[str, Any]:
    return {stage.name: stage for stage in desk.job(refinement_id).stages}


def test_a_refinement_runs_to_its_end_and_says_so(tmp_path: Path) -> None:
    clock = Clock()
    desk = opened(tmp_path / "a.duckdb", clock)
    refinement_id = refine(desk, fill(desk, workbook()))
    job = desk.job(refinement_id)
    assert (job.status, job.error, job.failures, job.reviewable) == ("done", None, (), True)
    assert {stage.state for stage in job.stages} == {"done"}
    assert by_stage(desk, refinement_id)["summarise"].done == 48
    assert (job.started_at, job.seconds, desk.running()) == ("2026-01-01T00:00:00Z", 0.0, None)
    (card,) = desk.refinements("own")
    assert (card.id, card.status, card.analyst, card.preset) == (refinement_id, "done", "offline", "standard")
    assert card.counts == desk.report(refinement_id).counts()
    assert desk.corpus_of(refinement_id) == "own"


def test_while_it_runs_it_shows_where_it_is_and_nothing_to_review(
    desk: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Any] = []

    def look() -> None:
        running = desk.running()
        assert running is not None
        with pytest.raises(NotReady, match="still running"):
            desk.report(running)
        seen.extend([desk.job(running), desk.refinements("own")[0], desk.estimate("own", {}).blocked])

    at_call(monkeypatch, 1, look, "propose")
    refinement_id = refine(desk, fill(desk, workbook()))
    job, card, blocked = seen
    assert desk.job(refinement_id).status == "done"
    assert (job.status, job.stage, card.status, card.counts) == ("running", "propose", "running", {})
    states = {stage.name: stage.state for stage in job.stages}
    assert (states["summarise"], states["propose"], states["gate"]) == ("done", "running", "waiting")
    assert "Another refinement is running" in blocked


def test_two_refinements_never_run_at_once(desk: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    refused: list[str] = []

    def again() -> None:
        for act in (lambda: desk.start("own", {}), lambda: desk.resume(str(desk.running()))):
            with pytest.raises(JobRunning) as caught:
                act()
            refused.append(str(caught.value))
        with pytest.raises(ConfigError, match="is running; cancel it first"):
            desk.remove_corpus("own")

    at_call(monkeypatch, 1, again)
    refinement_id = refine(desk, fill(desk, workbook()))
    assert len(refused) == 2
    assert desk.job(refinement_id).status == "done"
    assert len(desk.refinements("own")) == 1


def test_after_a_cancel_what_is_finished_can_be_reviewed_and_resumed(
    desk: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    between: list[JobView] = []

    def cancel() -> None:
        name = str(desk.running())
        desk.cancel(name)
        between.append(desk.job(name))

    at_call(monkeypatch, 10, cancel)
    refinement_id = refine(desk, fill(desk, doubled()))
    job = desk.job(refinement_id)
    assert [(one.status, one.cancelling) for one in between] == [("running", True)]
    assert (job.status, job.reviewable, job.cancelling) == ("cancelled", True, False)
    assert 0 < len(desk.report(refinement_id).summaries) < 96
    assert desk.report(refinement_id).clusterings == ()
    assert desk.review(refinement_id).items == ()
    monkeypatch.undo()
    desk.resume(refinement_id)
    assert desk.wait(120)
    whole = desk.report(refinement_id)
    assert (desk.job(refinement_id).status, len(whole.summaries)) == ("done", 96)
    assert whole.counts()["supported"] >= 1


def test_what_is_proposed_and_ruled_on_can_be_read_before_the_end(
    desk: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[Arrived, ...]] = []
    at_call(monkeypatch, 1, lambda: seen.append(desk.arrived(str(desk.running()))), "judge")
    at_call(monkeypatch, 1, lambda: seen.append(desk.arrived(str(desk.running()))), "merge")
    refinement_id = refine(desk, fill(desk, workbook()))
    before, after = seen
    assert before and {one.result for one in before} == {""}
    assert [one.text for one in before] == [one.text for one in after]
    assert {one.result for one in after} == {"supported", "undecided", "unsupported"}
    assert {one.text for one in after} == {one.suggested_edit for one in desk.report(refinement_id).proposals}


def test_cancelled_after_the_proposals_keeps_them_for_review(desk: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    at_call(monkeypatch, 1, lambda: desk.cancel(str(desk.running())), "judge")
    refinement_id = refine(desk, fill(desk, workbook()))
    assert desk.job(refinement_id).status == "cancelled"
    assert len(desk.review(refinement_id).items) == 3


def test_a_failing_step_is_a_row_that_resume_tries_again(desk: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise BadReply("the reply was no JSON")

    at_call(monkeypatch, 5, fail)
    refinement_id = refine(desk, fill(desk, workbook()))
    job = desk.job(refinement_id)
    (failure,) = job.failures
    assert (failure.stage, failure.error) == ("summarise", "the reply was no JSON")
    assert (job.status, by_stage(desk, refinement_id)["summarise"].failed) == ("done", 1)
    desk.resume(refinement_id)
    assert desk.wait(120)
    assert desk.job(refinement_id).failures == ()
    assert len(desk.report(refinement_id).summaries) == 48


def test_a_failure_of_the_whole_has_words_and_frees_the_worker(
    desk: Workspace, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def crash() -> None:
        raise ZeroDivisionError("a mistake in the program")

    at_call(monkeypatch, 1, crash)
    refinement_id = refine(desk, fill(desk, workbook()))
    job = desk.job(refinement_id)
    assert (job.status, job.reviewable, desk.running()) == ("failed", False, None)
    assert job.error is not None and "a mistake in the program" in job.error
    assert "Traceback" in caplog.text
    with pytest.raises(NotReady, match="failed before there was anything to review"):
        desk.report(refinement_id)
    desk.resume(refinement_id)
    assert desk.wait(120)
    assert desk.job(refinement_id).status == "done"


def test_a_stage_is_done_anew_without_the_ones_before_it(desk: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    refinement_id = refine(desk, fill(desk, workbook()))
    before = desk.report(refinement_id)
    asked: list[str] = []
    for method in ("summarise", "propose", "judge"):
        at_call(monkeypatch, 1, lambda name=method: asked.append(name), method)  # type: ignore[misc]
    desk.rerun(refinement_id, "cluster")
    assert desk.wait(120)
    assert asked == ["propose", "judge"]
    after = desk.report(refinement_id)
    assert (after.skill_text, after.changes) == (before.skill_text, before.changes)
    with pytest.raises(ConfigError, match="there is no stage"):
        desk.rerun(refinement_id, "sing")


def test_nothing_new_means_the_same_refinement(desk: Workspace) -> None:
    first = refine(desk, fill(desk, workbook()))
    assert refine(desk, "own") == first
    assert refine(desk, "own", gate_q=0.01) != first
    assert len(desk.refinements("own")) == 2


def test_newer_traces_and_labels_are_counted_and_leave_an_old_refinement_as_it_was(desk: Workspace) -> None:
    corpus = workbook()
    bare = replace(corpus, traces=tuple({k: v for k, v in one.items() if k != "task_id"} for one in corpus.traces))
    refinement_id = refine(desk, fill(desk, bare))
    before, job = desk.report(refinement_id), desk.job(refinement_id)
    assert desk.newer(refinement_id) == (0, 0)
    grown = [{**one, "spans": [*one["spans"], call("bye", "bye")]} for one in bare.traces[:3]]
    same_opening = [run(f"new{number}", "Set the total of sheet 1.", [call("look")]) for number in range(40)]
    desk.ingest("own", [upload("more.jsonl", lines([*grown, *same_opening]))])
    desk.label("own", desk.label_rows("own")[0].trace_id, "infrastructure")
    assert desk.newer(refinement_id) == (43, 1)
    assert (desk.refinements("own")[0].newer_traces, desk.refinements("own")[0].newer_labels) == (43, 1)
    desk.close()
    again = opened(desk_path(desk))
    assert again.report(refinement_id) == before
    assert again.job(refinement_id) == job


def desk_path(desk: Workspace) -> Path:
    return desk._room.store.database.path


def test_settings_are_checked_before_anything_starts(desk: Workspace) -> None:
    fill(desk, workbook())
    for settings, words in (
        ({"gate_qq": 1}, 'did you mean "gate_q"'),
        ({"gate_q": 7}, "out of range"),
        ({"traces": "x"}, "unknown|not set here"),
        ({"raw_jsonl": ["x"]}, "not set here: add traces on the corpus page"),
    ):
        with pytest.raises(ConfigError, match=words):
            desk.start("own", settings)
        assert desk.estimate("own", settings).blocked
    assert desk.refinements("own") == [] and desk.running() is None


def test_without_outcomes_nothing_starts_and_the_estimate_says_why(desk: Workspace) -> None:
    desk.create_corpus("own")
    assert "no traces yet" in str(desk.estimate("own", {}).blocked)
    with pytest.raises(LabelError, match="no traces yet"):
        desk.start("own", {})
    desk.ingest("own", [upload("a.jsonl", lines(workbook().traces))])
    assert "No trace passed or failed yet" in str(desk.estimate("own", {}).blocked)
    with pytest.raises(LabelError, match="add labels"):
        desk.start("own", {})


def test_an_estimate_counts_what_will_be_learned_from(desk: Workspace) -> None:
    fill(desk, workbook())
    estimate = desk.estimate("own", {})
    assert (estimate.failing, estimate.passing, estimate.held_out_tasks, estimate.blocked) == (18, 30, 0, None)
    assert (estimate.calls, estimate.tokens, estimate.money) == (0, 0, 0.0)
    assert estimate.seconds > 0
    held = desk.estimate("own", {"holdout": 0.5})
    assert 0 < held.held_out_tasks < 16
    refinement_id = refine(desk, "own", holdout=0.5)
    snapshot = desk.report(refinement_id).snapshot
    assert (snapshot.held_out_tasks, len(snapshot.training)) == (held.held_out_tasks, held.failing + held.passing)


def test_a_disputed_trace_is_left_out_of_the_next_refinement(desk: Workspace) -> None:
    first = refine(desk, fill(desk, workbook()))
    row = desk.label_rows("own", status="fail")[0]
    desk.dispute("own", row.trace_id, "the checker is wrong")
    second = refine(desk, "own")
    assert second != first
    for refinement_id, there in ((first, True), (second, False)):
        names = {item.trace.id for item in desk.report(refinement_id).snapshot.training}
        assert (row.trace_id in names) is there


def test_links_to_what_is_gone_say_so(desk: Workspace) -> None:
    refinement_id = refine(desk, fill(desk, workbook()))
    for act in (desk.job, desk.report, desk.review, desk.corpus_of, desk.resume):
        with pytest.raises(StoreError, match="there is no refinement"):
            act("nobody")
    with pytest.raises(StoreError, match="there is no trace"):
        desk.trace("nobody")
    desk.remove_corpus("own")
    desk.close()
    again = opened(desk_path(desk))
    for act in (again.report, again.corpus_of):
        with pytest.raises(ConfigError, match='"own" was removed'):
            act(refinement_id)


def test_the_text_is_that_of_the_command_line_byte_for_byte(desk: Workspace, tmp_path: Path) -> None:
    """Also where the tasks have to be guessed over the whole corpus."""
    corpus = workbook()
    bare = replace(corpus, traces=tuple({k: v for k, v in one.items() if k != "task_id"} for one in corpus.traces))
    bare.write(tmp_path / "in")
    same_as_the_command_line(desk, refine(desk, fill(desk, bare)), tmp_path / "in", tmp_path / "out")


def test_so_it_is_for_the_sample(desk: Workspace, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    files = ("SKILL.md", "traces.jsonl", "feedback.json", "binary_rewards.json")
    for name in files:
        (tmp_path / "in" / name.removeprefix("binary_")).write_bytes((SAMPLE_DATA / name).read_bytes())
    refinement_id = refine(desk, desk.load_sample())
    assert desk.report(refinement_id).counts()["supported"] == 6
    same_as_the_command_line(desk, refinement_id, tmp_path / "in", tmp_path / "out")


def same_as_the_command_line(desk: Workspace, refinement_id: str, given: Path, out: Path) -> None:
    config = refiner.RefineConfig(
        skill_file=given / "SKILL.md",
        raw_jsonl=(given / "traces.jsonl",),
        binary_rewards=given / "rewards.json",
        ground_truth_file=given / "feedback.json",
        output_dir=out,
    )
    result = refiner.refine(config)
    report = desk.report(refinement_id)
    assert report.skill_text == result.skill_text
    assert {change.key for change in report.changes} == {change.key for change in result.changes}
    written = (out / "combined" / "proposed_skill.md").read_bytes()
    assert desk.merged(refinement_id, preview="automatic").files["SKILL.md"] == written


KILLED = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from refiner.analysts.offline import OfflineAnalyst
from refiner.workspace import Workspace
from rooms import fill
from test_workspace_jobs import doubled
original, calls = OfflineAnalyst.propose, []
def stuck(self, request):
    print(desk.running(), flush=True)
    sys.stdin.readline()
OfflineAnalyst.propose = stuck
desk = Workspace.open(Path(sys.argv[1]), environ={})
fill(desk, doubled())
desk.start("own", {})
desk.wait()
"""


def test_a_killed_server_leaves_an_interrupted_refinement_that_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "refiner.duckdb"
    child = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(path), str(Path(__file__).parent)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert child.stdout is not None
    refinement_id = child.stdout.readline().strip()
    child.send_signal(signal.SIGKILL)
    child.communicate(timeout=60)
    desk = opened(path)
    job = desk.job(refinement_id)
    assert (job.status, job.stage, job.reviewable, desk.running()) == ("interrupted", "propose", False, None)
    assert by_stage(desk, refinement_id)["summarise"].done == 96
    with pytest.raises(NotReady, match="interrupted before"):
        desk.report(refinement_id)
    desk.resume(refinement_id)
    assert desk.wait(120)
    assert desk.job(refinement_id).status == "done"
    fresh = opened(tmp_path / "fresh.duckdb")
    assert desk.report(refinement_id).skill_text == fresh.report(refine(fresh, fill(fresh, doubled()))).skill_text


def test_the_stored_settings_are_those_that_were_given(desk: Workspace) -> None:
    refinement_id = refine(desk, fill(desk, workbook()), gate_q=0.01, seed=7)
    config = desk.report(refinement_id).config
    assert (config["gate_q"], config["seed"]) == (0.01, 7)
    json.dumps(config)
