"""The Refine page: estimate, start, progress, and what can be done with a refinement in each state."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from pages._ui import session
from pages._ui.text import duration
from refiner.errors import ConfigError
from refiner.evidence_views import GateJob, GateView
from refiner.job_views import Arrived
from refiner.model_views import Asks
from refiner.views import Estimate
from tests.fake_desk import (
    HOSTILE,
    FakeDesk,
    corpus_view,
    failure,
    finish,
    job_view,
    open_app,
    refinement_card,
    words,
)


@pytest.fixture
def desk() -> FakeDesk:
    made = FakeDesk()
    made.views["runs"] = corpus_view()
    return made


def run_with(desk: FakeDesk, status: str, **fields: object) -> None:
    """A refinement of `runs` in that state, shown as the newest."""
    finish(desk, "runs")
    desk.jobs["ref-1"] = job_view(status, **{"done": 4, **fields})  # type: ignore[arg-type]
    desk.made["runs"] = [refinement_card(status=status, counts={})]
    desk.now_running = "ref-1" if status == "running" else None


def test_without_a_corpus_the_page_says_where_to_go(monkeypatch: pytest.MonkeyPatch) -> None:
    app = open_app(monkeypatch, FakeDesk(), "refine")
    assert "Nothing to refine yet" in words(app)
    assert "start" not in {button.key for button in app.button}


def test_the_button_says_what_it_starts(monkeypatch: pytest.MonkeyPatch, desk: FakeDesk) -> None:
    app = open_app(monkeypatch, desk, "refine")
    assert app.button(key="start").label == "Refine 34 traces, about 14 s"
    assert "<b>16</b><span>failing traces" in words(app)
    app.button(key="start").click().run()
    assert desk.commands("start") == [("runs", {})]
    assert app.query_params["refinement"] == "ref-1"


def test_what_blocks_a_start_takes_the_place_of_the_button(monkeypatch: pytest.MonkeyPatch, desk: FakeDesk) -> None:
    desk.estimated = Estimate(0, 0, 0, 0, 0.0, 0, 0, 0.0, (), "No trace has an outcome: add labels first.")
    app = open_app(monkeypatch, desk, "refine")
    assert "No trace has an outcome: add labels first." in words(app)
    assert "start" not in {button.key for button in app.button}


def test_warnings_of_the_estimate_are_sentences_on_the_page(monkeypatch: pytest.MonkeyPatch, desk: FakeDesk) -> None:
    desk.estimated = replace(desk.estimated, warnings=("Only one trace passed.",))
    assert "Only one trace passed." in words(open_app(monkeypatch, desk, "refine"))


def test_only_changed_settings_are_sent(monkeypatch: pytest.MonkeyPatch, desk: FakeDesk) -> None:
    app = open_app(monkeypatch, desk, "refine")
    app.number_input(key="set_min_cluster_size").set_value(5)
    app.segmented_control(key="set_sides").set_value("Failures only")
    app.toggle(key="set_holdout_on").set_value(True).run()
    app.slider(key="set_holdout").set_value(0.3).run()
    app.button(key="start").click().run()
    assert desk.commands("start") == [("runs", {"min_cluster_size": 5, "use_positive": False, "holdout": 0.3})]
    assert desk.commands("estimate")[-1] == desk.commands("start")[-1]


def test_a_refused_start_says_why(monkeypatch: pytest.MonkeyPatch, desk: FakeDesk) -> None:
    desk.refusals["start"] = ConfigError("one refinement runs already; wait for it or cancel it")
    app = open_app(monkeypatch, desk, "refine")
    app.button(key="start").click().run()
    assert "wait for it or cancel it" in words(app)


def test_settings_that_cannot_work_leave_the_rest_of_the_page(monkeypatch: pytest.MonkeyPatch, desk: FakeDesk) -> None:
    desk.refusals["estimate"] = ConfigError("holdout: 0.9 leaves nothing to learn from")
    finish(desk, "runs")
    shown = words(open_app(monkeypatch, desk, "refine"))
    assert "leaves nothing to learn from" in shown and "5 supported" in shown


def test_nothing_offers_what_cannot_be_used(monkeypatch: pytest.MonkeyPatch, desk: FakeDesk) -> None:
    app = open_app(monkeypatch, desk, "refine")
    controls = " ".join(str(one.label) for one in (*app.selectbox, *app.radio, *app.segmented_control, *app.text_input))
    assert "model" not in controls.lower() and "preset" not in controls.lower()


# --- progress -----------------------------------------------------------------------------------------------------


def test_a_running_refinement_names_its_stages_and_can_be_cancelled(
    monkeypatch: pytest.MonkeyPatch, desk: FakeDesk
) -> None:
    run_with(desk, "running")
    app = open_app(monkeypatch, desk, "refine")
    shown = words(app)
    assert "Running for 12 s. Now: proposals, 2 s a step, 6 s left in this stage." in shown
    assert shown.count("sr-stage done") == 4 and shown.count("sr-stage running") == 1
    assert "1 of 4" in shown
    assert "start" not in {button.key for button in app.button}
    app.button(key="job_cancel").click().run()
    assert desk.commands("cancel") == [("ref-1",)]


def test_between_the_click_and_the_end_a_refinement_is_cancelling_and_has_no_dead_control(
    monkeypatch: pytest.MonkeyPatch, desk: FakeDesk
) -> None:
    run_with(desk, "running", cancelling=True)
    app = open_app(monkeypatch, desk, "refine")
    assert "Cancelling, 12 s after the start." in words(app)
    assert "The step at work ends first." in words(app)
    assert not {"start", "job_cancel", "job_resume", "job_rerun"} & {button.key for button in app.button}


def test_proposals_can_be_read_while_the_rest_is_at_work(monkeypatch: pytest.MonkeyPatch, desk: FakeDesk) -> None:
    desk.arrivals = (
        Arrived("Read it back.", "saving", "failure", "supported", "5 of 6 failing runs"),
        Arrived("Wait.", "", "failure"),
    )
    run_with(desk, "running", done=4)
    app = open_app(monkeypatch, desk, "refine")
    assert "Read it back." not in words(app) and not desk.commands("arrived")
    app.session_state["job_arrived"] = True
    shown = words(app.run())
    assert "Read it back." in shown and "5 of 6 failing runs" in shown and "not ruled on yet" in shown
    assert "2 proposals so far. They are decided on when the changes are placed." in shown
    run_with(desk, "running", done=3)
    assert "Proposals and verdicts so far" not in [one.label for one in open_app(monkeypatch, desk, "refine").expander]


def test_a_reload_in_mid_job_shows_the_same_job(monkeypatch: pytest.MonkeyPatch, desk: FakeDesk) -> None:
    run_with(desk, "running")
    assert "Now: proposals" in words(open_app(monkeypatch, desk, "refine", refinement="ref-1"))


def test_another_corpus_at_work_is_named_with_a_link(monkeypatch: pytest.MonkeyPatch, desk: FakeDesk) -> None:
    desk.views["other"] = corpus_view("other")
    run_with(desk, "running")
    app = open_app(monkeypatch, desk, "refine", corpus="other")
    assert "Another corpus is being refined" in words(app)
    assert "start" not in {button.key for button in app.button}


def test_the_end_of_a_job_is_noticed_without_a_click(monkeypatch: pytest.MonkeyPatch, desk: FakeDesk) -> None:
    run_with(desk, "running")
    app = open_app(monkeypatch, desk, "refine", refinement="ref-1")
    finish(desk, "runs")
    app.run()
    assert "Done in 12 s." in words(app)
    assert {"job_review", "start"} <= {button.key for button in app.button}


def test_only_a_followed_job_leads_away(monkeypatch: pytest.MonkeyPatch, desk: FakeDesk) -> None:
    run_with(desk, "running")
    app = open_app(monkeypatch, desk, "refine", refinement="ref-1")
    finish(desk, "runs")
    went: list[str] = []
    monkeypatch.setattr(session, "go", lambda page, **params: went.append(page))
    app.run()
    assert went == []


# --- what can be done now -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", ["interrupted", "failed", "cancelled"])
def test_what_did_not_finish_can_be_resumed(monkeypatch: pytest.MonkeyPatch, desk: FakeDesk, status: str) -> None:
    run_with(desk, status)
    app = open_app(monkeypatch, desk, "refine")
    assert app.button(key="job_resume").label == "Resume"
    assert ("job_review" in {button.key for button in app.button}) == (status == "cancelled")
    app.button(key="job_resume").click().run()
    assert desk.commands("resume") == [("ref-1",)]


def test_a_failed_refinement_shows_what_stopped_it(monkeypatch: pytest.MonkeyPatch, desk: FakeDesk) -> None:
    run_with(desk, "failed", error="the disk is full; free some space, then resume")
    assert "the disk is full; free some space, then resume" in words(open_app(monkeypatch, desk, "refine"))


def test_failed_steps_are_rows_that_can_be_tried_again(monkeypatch: pytest.MonkeyPatch, desk: FakeDesk) -> None:
    finish(desk, "runs", failures=(failure(), failure(HOSTILE)))
    app = open_app(monkeypatch, desk, "refine")
    shown = words(app)
    assert "429 too many requests" in shown and "cluster 3" in shown
    assert "<script" not in shown
    assert app.button(key="job_resume").label == "Retry 2 failed steps"
    app.button(key="job_resume").click().run()
    assert desk.commands("resume") == [("ref-1",)]


def test_a_refinement_runs_again_from_a_stage(monkeypatch: pytest.MonkeyPatch, desk: FakeDesk) -> None:
    finish(desk, "runs")
    app = open_app(monkeypatch, desk, "refine")
    assert app.selectbox(key="job_stage").value == "cluster"
    app.selectbox(key="job_stage").set_value("gate")
    app.button(key="job_rerun").click().run()
    assert desk.commands("rerun") == [("ref-1", "gate")]


def test_the_list_says_what_is_newer_than_a_refinement(monkeypatch: pytest.MonkeyPatch, desk: FakeDesk) -> None:
    finish(desk, "runs")
    desk.made["runs"] = [refinement_card(newer_traces=12), refinement_card(id="ref-0", newer_labels=1)]
    shown = words(open_app(monkeypatch, desk, "refine"))
    assert "5 supported, 3 undecided, 1 unsupported; 12 newer traces are not in this refinement" in shown
    assert "1 newer label is not in this refinement" in shown


def test_a_link_to_a_refinement_that_is_gone_shows_the_newest(monkeypatch: pytest.MonkeyPatch, desk: FakeDesk) -> None:
    finish(desk, "runs")
    shown = words(open_app(monkeypatch, desk, "refine", corpus="runs", refinement="gone"))
    assert "not here any more" in shown and "Done in 12 s." in shown


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(0.2, "under a second"), (14.4, "14 s"), (89.0, "89 s"), (200.0, "3 min"), (4000.0, "1 h 7 min")],
)
def test_durations_in_words(seconds: float, shown: str) -> None:
    assert duration(seconds) == shown


# --- every page ---------------------------------------------------------------------------------------------------


def test_the_step_line_marks_where_one_is_and_what_is_next(monkeypatch: pytest.MonkeyPatch, desk: FakeDesk) -> None:
    finish(desk, "runs")
    app = open_app(monkeypatch, desk, "refine")
    labels = [link.proto.label for link in app.get("page_link")]
    assert labels[:4] == ["1  Corpus", "2  Refine", "3  Review", "4  Export"]
    assert "Next: Review" in labels and "Offline analyst" in words(app)


def test_the_reviewer_is_changed_in_the_header(monkeypatch: pytest.MonkeyPatch, desk: FakeDesk) -> None:
    app = open_app(monkeypatch, desk, "refine")
    assert app.text_input(key="reviewer_name").value == "ada"
    app.text_input(key="reviewer_name").set_value(" Grace ").run()
    assert desk.commands("set_reviewer") == [("Grace",)]


def test_help_explains_every_verdict_and_key(monkeypatch: pytest.MonkeyPatch, desk: FakeDesk) -> None:
    shown = words(open_app(monkeypatch, desk, "help"))
    for word in ("Supported", "Undecided", "Unsupported", "accept", "undo", "Held out"):
        assert word in shown


def test_a_server_started_for_a_result_opens_on_its_skill_once(
    monkeypatch: pytest.MonkeyPatch, desk: FakeDesk, tmp_path: Path
) -> None:
    monkeypatch.setenv("REFINER_OPEN", str(tmp_path))
    monkeypatch.setattr(desk, "open_result", {tmp_path: "ref-7"}.__getitem__, raising=False)
    went: list[tuple[str, str]] = []
    monkeypatch.setattr(session, "go", lambda page, **params: went.append((page, params["refinement"])))
    app = open_app(monkeypatch, desk)
    app.run()
    assert went == [("skill", "ref-7")]


def test_advanced_settings_are_as_they_were_when_the_page_is_come_back_to(
    monkeypatch: pytest.MonkeyPatch, desk: FakeDesk
) -> None:
    app = open_app(monkeypatch, desk, "refine")
    app.number_input(key="set_gate_q").set_value(0.2).run()
    app.toggle(key="set_holdout_on").set_value(True).run()
    app.slider(key="set_holdout").set_value(0.3).run()
    app.switch_page(str(Path("pages") / "corpus.py")).run()
    assert not app.number_input
    app.switch_page(str(Path("pages") / "refine.py")).run()
    app.button(key="start").click().run()
    assert desk.commands("start")[-1][1] == {"gate_q": 0.2, "holdout": 0.3}


# --- the gate -----------------------------------------------------------------------------------------------------


def test_beside_the_verdicts_stands_how_steady_the_gate_is(monkeypatch: pytest.MonkeyPatch, desk: FakeDesk) -> None:
    run_with(desk, "done")
    app = open_app(monkeypatch, desk, "refine")
    assert "Gate: deterministic." in words(app)
    assert "gate_again" not in {button.key for button in app.button}


def test_a_model_gate_can_be_asked_again_and_says_what_votes_cost(
    monkeypatch: pytest.MonkeyPatch, desk: FakeDesk
) -> None:
    run_with(desk, "done")
    desk.steady = GateView(
        ("This gate was never calibrated.",), "3 votes instead of 1 would take 30 more calls.", 18, 12
    )
    app = open_app(monkeypatch, desk, "refine")
    assert "never calibrated" in words(app) and "30 more calls" in words(app)
    assert app.button(key="gate_again").label == "Ask the gate again (18 calls)"
    app.checkbox(key="gate_planted").check().run()
    assert app.button(key="gate_again").label == "Ask the gate again (18 calls, at most 12 more on known faults)"
    app.button(key="gate_again").click().run()
    assert desk.commands("calibrate") == [("ref-1", True)]


def test_asking_again_shows_how_far_it_is_also_in_a_new_tab_and_can_be_stopped(
    monkeypatch: pytest.MonkeyPatch, desk: FakeDesk
) -> None:
    run_with(desk, "done")
    desk.steady = GateView(("This gate was never calibrated.",), "", 18, 12, GateJob("running", 3, 18))
    app = open_app(monkeypatch, desk, "refine")
    assert "3 of 18" in words(app) and "gate_again" not in {button.key for button in app.button}
    app.button(key="gate_cancel").click().run()
    assert desk.commands("cancel_calibration") == [("ref-1",)]
    assert "end first" in words(app)
    desk.steady = GateView(("The verdict flips in 1 of 9.",), "", 18, 12)
    app.run()
    assert "The verdict flips in 1 of 9." in words(app) and "Asked again." in words(app)


@pytest.mark.parametrize("status", ["failed", "cancelled", "interrupted"])
def test_a_measurement_that_did_not_end_says_why_and_can_be_started_again(
    monkeypatch: pytest.MonkeyPatch, desk: FakeDesk, status: str
) -> None:
    run_with(desk, "done")
    desk.steady = GateView(
        ("This gate was never calibrated.",), "", 18, 12, GateJob(status, words="The key was refused.")
    )
    app = open_app(monkeypatch, desk, "refine")
    assert "The key was refused." in words(app)
    app.button(key="gate_again").click().run()
    assert desk.commands("calibrate") == [("ref-1", False)]


def test_a_gate_asked_by_hand_off_offers_its_requests_and_goes_on_with_the_replies(
    monkeypatch: pytest.MonkeyPatch, desk: FakeDesk
) -> None:
    run_with(desk, "done")
    asks = Asks("handoff", "m", "", "", "", None, None, "waiting", 6, "hand")
    desk.steady = GateView(("This gate was never calibrated.",), "", 18, 12, GateJob("waiting", asks=asks))
    monkeypatch.setattr(desk, "requests", lambda refinement_id: b"zip", raising=False)
    app = open_app(monkeypatch, desk, "refine")
    assert "Waiting for 6 replies" in words(app) and "press “Ask the gate again”" in words(app)
    assert [one.proto.label for one in app.get("download_button")] == ["Download 6 requests"]
    app.button(key="gate_again").click().run()
    assert desk.commands("calibrate") == [("ref-1", False)]


def test_the_offline_gate_can_be_tried_on_known_faults(monkeypatch: pytest.MonkeyPatch, desk: FakeDesk) -> None:
    run_with(desk, "done")
    desk.steady = GateView(("Gate: deterministic.",), "", 0, 12)
    app = open_app(monkeypatch, desk, "refine")
    app.button(key="gate_again").click().run()
    assert desk.commands("calibrate") == [("ref-1", True)]


def test_while_it_runs_nothing_is_said_of_its_gate(monkeypatch: pytest.MonkeyPatch, desk: FakeDesk) -> None:
    run_with(desk, "running")
    assert "Gate: deterministic." not in words(open_app(monkeypatch, desk, "refine"))
