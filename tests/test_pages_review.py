"""The review page: the queue, the decisions and what refuses them, the evidence, and every state without a queue."""

from __future__ import annotations

import time
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from pages._ui import decision_bar, evidence, review_panes, session
from refiner.types import Summary
from refiner.workspace.desk import Workspace
from tests.fake_desk import job_view
from tests.scripted_desk import HOSTILE, ScriptedDesk, app, html_of, labels_of, report, words_of


@pytest.fixture
def desk() -> ScriptedDesk:
    return ScriptedDesk(report())


def ids(desk: ScriptedDesk) -> list[str]:
    return [item.change_id for item in desk.review("r1").items]


def by_text(desk: ScriptedDesk, words: str) -> Any:
    return next(item for item in desk.review("r1").items if words in item.intent)


def buttons(test: Any, key: str) -> list[Any]:
    """The buttons with this key, whatever change they decide on."""
    return [one for one in test.button if one.key == key or one.key.rpartition("_")[0] == key]


def press(test: Any, key: str) -> Any:
    return buttons(test, key)[0].click().run()


def test_it_opens_on_the_first_open_change_and_says_so_in_the_address(desk, monkeypatch):
    test = app(desk, "review", monkeypatch, refinement="r1")
    assert not test.exception
    assert test.query_params["change"] == ids(desk)[0]
    assert "Read it back after saving." in words_of(test)
    assert [one.key for one in test.button if one.key.startswith("rv_pick_")] == [f"rv_pick_{key}" for key in ids(desk)]


def test_accept_hands_over_what_was_seen_and_moves_to_the_next_open_one(desk, monkeypatch):
    test = app(desk, "review", monkeypatch, refinement="r1")
    first, second = ids(desk)[:2]
    seen, before = desk.review("r1").items[0].hash, time.time()
    press(test, "rv_accept")
    action, said = desk.calls[0]
    assert (action, said["change_id"], said["seen"]) == ("accept", first, seen)
    assert said["shown_at"] <= before
    assert test.query_params["change"] == second
    assert "1 of 6 decided" in " ".join(words_of(test).split())


def test_with_move_on_switched_off_the_decided_change_stays_with_who_decided_it(desk, monkeypatch):
    test = app(desk, "review", monkeypatch, refinement="r1")
    test.toggle(key="rv_moves").set_value(False).run()
    press(test, "rv_accept")
    assert test.query_params["change"] == ids(desk)[0]
    assert "Accepted by ada" in words_of(test)


def test_a_press_too_soon_decides_nothing_and_says_why(monkeypatch):
    desk = ScriptedDesk(report(), now=time.time)
    test = app(desk, "review", monkeypatch, refinement="r1")
    press(test, "rv_accept")
    assert desk.log == []
    assert "on screen" in test.toast[0].value
    assert test.query_params["change"] == ids(desk)[0]


def test_drawing_the_same_change_again_does_not_restart_its_time_on_screen(desk, monkeypatch):
    test = app(desk, "review", monkeypatch, refinement="r1")
    first = test.session_state[decision_bar.SHOWN]
    test.run()
    assert test.session_state[decision_bar.SHOWN] == first
    press(test, "rv_next")
    assert test.session_state[decision_bar.SHOWN][0] == ids(desk)[1]


def test_a_press_that_the_next_one_cut_short_still_moves_on(desk, monkeypatch):
    test = app(desk, "review", monkeypatch, refinement="r1")
    item = desk.review("r1").items[0]
    test.session_state[decision_bar.PRESSED] = decision_bar.Seat("r1", item, tuple(ids(desk)))
    desk.decide("r1", item.change_id, "accept", shown_at=0.0, seen=item.hash)
    test.run()
    assert test.query_params["change"] == ids(desk)[1]


def test_the_address_that_was_just_left_does_not_come_back_with_a_late_key(desk, monkeypatch):
    test = app(desk, "review", monkeypatch, refinement="r1")
    press(test, "rv_skip")
    test.query_params["change"] = ids(desk)[0]
    test.run()
    assert test.query_params["change"] == ids(desk)[1]


@pytest.mark.parametrize(("number", "code"), list(enumerate(decision_bar.REASONS, start=1)))
def test_reject_asks_for_one_of_six_reasons(desk, monkeypatch, number, code):
    test = press(app(desk, "review", monkeypatch, refinement="r1"), "rv_reject")
    assert desk.log == []
    test.text_input(key="rv_why").input("seen before")
    press(test, f"rv_why_{number}")
    assert (desk.log[0].action, desk.log[0].reason_code, desk.log[0].reason) == ("reject", code, "seen before")


def test_back_leaves_the_reason_without_deciding(desk, monkeypatch):
    test = press(app(desk, "review", monkeypatch, refinement="r1"), "rv_reject")
    press(test, "rv_back")
    assert desk.log == []
    assert buttons(test, "rv_accept")


def test_an_unsupported_change_takes_a_second_key_and_a_reason(desk, monkeypatch):
    change = by_text(desk, "Save twice").change_id
    test = press(app(desk, "review", monkeypatch, refinement="r1", change=change), "rv_accept")
    assert desk.log == []
    press(test, "rv_override")
    assert desk.log == []
    assert "reason" in test.toast[0].value
    press(test, "rv_ground_1")
    assert desk.log[0].override
    assert desk.log[0].reason == decision_bar.GROUNDS[0]


def test_an_undecided_change_is_accepted_with_one_key(desk, monkeypatch):
    change = by_text(desk, "Hurry").change_id
    press(app(desk, "review", monkeypatch, refinement="r1", change=change), "rv_accept")
    assert [one.action for one in desk.log] == ["accept"]


def test_a_quarantined_change_is_released_with_a_reason(desk, monkeypatch):
    change = by_text(desk, "secret-4711").change_id
    test = app(desk, "review", monkeypatch, refinement="r1", change=change)
    assert "holds secret-4711 from the notes" in words_of(test)
    press(test, "rv_accept")
    test.text_input(key="rv_why").input("it is public")
    press(test, "rv_override")
    assert (desk.log[0].reason_code, desk.log[0].reason) == ("released", "it is public")


def test_the_text_is_edited_and_accepted_as_edited(desk, monkeypatch):
    test = press(app(desk, "review", monkeypatch, refinement="r1"), "rv_edit")
    area = test.text_area(key=decision_bar.TEXT)
    assert area.value == "- Read it back after saving."
    area.set_value("- Read back.")
    press(test, "rv_amend")
    assert desk.calls[0][1]["amended"] == "- Read back."
    test.query_params["change"] = desk.log[0].change_id
    test.session_state[decision_bar.MOVED] = None
    test.run()
    assert "- Read back." in words_of(test)
    assert "with the text edited" in words_of(test)


def test_an_emptied_text_is_refused(desk, monkeypatch):
    test = press(app(desk, "review", monkeypatch, refinement="r1"), "rv_edit")
    test.text_area(key=decision_bar.TEXT).set_value("  ")
    press(test, "rv_amend")
    assert desk.calls == []
    assert "reject" in test.toast[0].value


def test_undo_shows_the_change_it_took_back(desk, monkeypatch):
    test = press(app(desk, "review", monkeypatch, refinement="r1"), "rv_accept")
    press(test, "rv_undo")
    assert desk.review("r1").counts["accepted"] == 0
    assert test.query_params["change"] == ids(desk)[0]
    press(test, "rv_undo")
    assert "nothing of yours" in test.toast[0].value


def test_next_and_previous_stop_at_the_ends(desk, monkeypatch):
    test = app(desk, "review", monkeypatch, refinement="r1")
    assert test.button(key="rv_previous").disabled
    press(test, "rv_next")
    assert test.query_params["change"] == ids(desk)[1]
    press(test, "rv_previous")
    assert test.query_params["change"] == ids(desk)[0]


def test_every_key_of_the_page_is_there_once(desk, monkeypatch):
    test = app(desk, "review", monkeypatch, refinement="r1")
    keys = [one.proto.shortcut for one in test.button if one.proto.shortcut]
    assert sorted(keys) == sorted("axesukjoh")
    press(test, "rv_reject")
    keys = [one.proto.shortcut for one in test.button if one.proto.shortcut]
    assert sorted(keys) == ["1", "2", "3", "4", "5", "6", "escape"]


def test_open_run_and_help_lead_there_and_keep_the_change(desk, monkeypatch):
    went: list[tuple[str, dict[str, Any]]] = []
    monkeypatch.setattr(session, "go", lambda page, **params: went.append((page, params)))
    test = app(desk, "review", monkeypatch, refinement="r1")
    press(test, "rv_open")
    press(test, "rv_help")
    trace = desk.made.proposals[0].citations[0].trace_id
    assert went[0] == ("trace", {"id": trace, "at": "1", "change": ids(desk)[0]})
    assert went[1] == ("help", {"change": ids(desk)[0]})


def test_the_diff_is_against_what_is_accepted_now(desk, monkeypatch):
    made = {item.intent: item for item in desk.review("r1").items}
    hurry, dawdle = (next(one for name, one in made.items() if word in name) for word in ("Hurry", "dawdle"))
    desk.decide("r1", dawdle.change_id, "accept", shown_at=0.0, seen=dawdle.hash)
    clash = html_of(app(desk, "review", monkeypatch, refinement="r1", change=hurry.change_id))
    assert "<del>- Never rush, but do not dawdle.\n</del>" in clash
    assert "<ins>- Hurry.\n</ins>" in clash
    beside = html_of(app(desk, "review", monkeypatch, refinement="r1", change=by_text(desk, "Read it back").change_id))
    assert "<ins>- Read it back after saving.\n</ins>" in beside
    assert "- Never rush, but do not dawdle.\n</div>" in beside


def test_conflicting_changes_are_named_and_lead_to_each_other(desk, monkeypatch):
    hurry, dawdle = by_text(desk, "Hurry"), by_text(desk, "dawdle")
    test = app(desk, "review", monkeypatch, refinement="r1", change=hurry.change_id)
    assert "at most one of them can be accepted" in words_of(test)
    press(test, f"rv_clash_{dawdle.change_id}")
    assert test.query_params["change"] == dawdle.change_id


def test_the_queue_is_filtered_by_the_address(desk, monkeypatch):
    for item in desk.review("r1").items[:2]:
        desk.decide("r1", item.change_id, "skip", shown_at=0.0, seen=item.hash)
    test = app(desk, "review", monkeypatch, refinement="r1", show="open", verdict="supported")
    shown = {one.key for one in test.button if one.key.startswith("rv_pick_")}
    assert shown == {f"rv_pick_{by_text(desk, 'secret-4711').change_id}"}


def test_a_long_queue_shows_25_with_the_current_one_among_them(desk, monkeypatch):
    monkeypatch.setattr(review_panes, "PAGE", 2)
    test = app(desk, "review", monkeypatch, refinement="r1", change=ids(desk)[3])
    shown = [one.key for one in test.button if one.key.startswith("rv_pick_")]
    assert shown == [f"rv_pick_{key}" for key in ids(desk)[2:4]]
    press(test, "rv_later")
    assert test.query_params["change"] == ids(desk)[4]


def test_the_verdict_has_five_criteria_with_reasons_and_numbered_runs(desk, monkeypatch):
    test = app(desk, "review", monkeypatch, refinement="r1")
    words = " ".join(words_of(test).split())
    for question, _ in review_panes.QUESTIONS.values():
        assert question in words
    assert "5 runs show it [1] [2] counted" in words
    assert "supported, measured" in words


def test_evidence_counts_and_opens_the_cited_message_between_its_neighbours(desk, monkeypatch):
    test = app(desk, "review", monkeypatch, refinement="r1")
    words = " ".join(words_of(test).split())
    assert "5 of 6 failing runs" in words
    assert "0 of 6 passing runs" in words
    assert "p = 1e-06 q = 2e-05 m = 9" in words
    drawn = html_of(test)
    assert '<mark class="rv-cited">saved page 1</mark>' in drawn
    assert "Please tidy fail-0" in drawn
    assert "saved page 3" in drawn


def test_evidence_says_where_a_run_went_wrong(desk, monkeypatch):
    trace = desk.made.snapshot.training[0].trace
    blamed = Summary(trace.id, "", "failure", "", (), trace.spans[-1].span_id)
    desk.made = replace(desk.made, summaries=(blamed,))
    drawn = html_of(app(desk, "review", monkeypatch, refinement="r1"))
    assert drawn.count("rv-blamed") == 1 and "a guess of the offline analyst" in drawn


def test_counter_examples_are_runs_that_ended_the_other_way(desk, monkeypatch):
    test = app(desk, "review", monkeypatch, refinement="r1")
    test.session_state["evidence"] = "Counter-examples"
    test.run()
    assert "pass-0" in words_of(test)
    assert "fail-0" not in words_of(test)


def test_all_in_group_lists_every_member(desk, monkeypatch):
    test = app(desk, "review", monkeypatch, refinement="r1")
    test.session_state["evidence"] = "All in group"
    test.run()
    members = [one for one in labels_of(test) if one.startswith("fail")]
    assert len(members) == 5


def test_an_outcome_is_disputed_in_words(desk, monkeypatch):
    test = app(desk, "review", monkeypatch, refinement="r1")
    trace = desk.made.proposals[0].citations[0].trace_id
    press(test, f"dispute_do_{trace}")
    assert desk.disputed == []
    test.text_input(key=f"dispute_why_{trace}").input("the checker was wrong")
    press(test, f"dispute_do_{trace}")
    assert desk.disputed == [("books", trace, "the checker was wrong")]


def test_decisions_from_elsewhere_are_announced_and_change_nothing_yet(desk, monkeypatch):
    test = app(desk, "review", monkeypatch, refinement="r1")
    monkeypatch.setattr(desk, "last_event", lambda refinement_id: 2)
    test.run()
    assert test.button(key="rv_news").label == "2 new decisions elsewhere: show"
    assert test.query_params["change"] == ids(desk)[0]


def test_a_press_on_what_somebody_else_decided_meanwhile_is_refused_and_stays(desk, monkeypatch):
    test = app(desk, "review", monkeypatch, refinement="r1")
    item = desk.review("r1").items[0]
    desk.decide("r1", item.change_id, "reject", shown_at=0.0, seen=item.hash)
    press(test, "rv_accept")
    assert [one.action for one in desk.log] == ["reject"]
    assert "look again" in test.toast[0].value
    assert test.query_params["change"] == item.change_id
    assert "Rejected by ada" in words_of(test)


def test_nothing_supported_is_said_in_one_sentence(desk, monkeypatch):
    made = desk.made
    object.__setattr__(made, "verdicts", tuple(one for one in made.verdicts if one.result == "undecided"))
    object.__setattr__(made, "changes", made.changes[2:4])
    test = app(ScriptedDesk(made), "review", monkeypatch, refinement="r1")
    assert "the decision is yours" in words_of(test)


def test_without_a_change_it_shows_what_was_looked_at_and_the_nearest_miss_first(monkeypatch):
    test = app(ScriptedDesk(report(empty=True)), "review", monkeypatch, refinement="r1")
    words = " ".join(words_of(test).split())
    assert "No change is proposed" in words
    assert words.index("close thing") < words.index("rare thing")
    assert {"Add notes to failures", "Add traces", "Use a model"} <= set(labels_of(test))


def test_a_refinement_at_work_is_waited_for(desk, monkeypatch):
    desk.running = job_view("running", done=7)
    test = app(desk, "review", monkeypatch, refinement="r1")
    assert "The refinement is at work" in words_of(test)
    assert "Now: evidence gate, 2 s a step, 6 s left in this stage." in words_of(test)
    assert not buttons(test, "rv_accept")


def test_an_interrupted_refinement_says_what_to_do(desk, monkeypatch):
    desk.running = SimpleNamespace(status="interrupted", error=None)
    test = app(desk, "review", monkeypatch, refinement="r1")
    assert "Resume it on Refine" in words_of(test)


def test_links_to_what_is_gone_say_so(desk, monkeypatch):
    test = app(desk, "review", monkeypatch, refinement="r1", change="gone")
    assert "not in this refinement" in words_of(test)
    assert test.query_params["change"] == ids(desk)[0]
    test = app(desk, "review", monkeypatch, refinement="r9")
    assert "there is no refinement r9" in words_of(test)
    assert "Show the newest refinement of “books”" in labels_of(test)


def test_newer_traces_are_announced(desk, monkeypatch):
    desk.newer_than = (12, 1)
    test = app(desk, "review", monkeypatch, refinement="r1")
    assert "12 newer traces and 1 newer label are not in this refinement" in words_of(test)


@pytest.mark.parametrize("tab", ["Supporting", "Counter-examples", "All in group"])
def test_text_from_runs_is_never_markup(monkeypatch, tab):
    desk = ScriptedDesk(report(hostile=True))
    change = by_text(desk, "Wait for the disk").change_id
    test = app(desk, "review", monkeypatch, refinement="r1", change=change)
    test.session_state["evidence"] = tab
    test.run()
    assert not test.exception
    drawn = html_of(test)
    assert "<img" not in drawn
    assert "<script" not in drawn
    assert HOSTILE.split()[0] in words_of(test)

    assert not [one for one in test.markdown if "evil" in one.value]


@pytest.fixture(scope="module")
def real(tmp_path_factory):
    desk = Workspace.open(tmp_path_factory.mktemp("desk") / "refiner.duckdb", clock=lambda: time.time() + 5)
    name = desk.load_sample()
    refinement = desk.start(name, {})
    assert desk.wait(120)
    yield desk, refinement
    desk.close()


def test_with_a_real_workspace_what_is_accepted_stands_in_the_merged_skill(real, monkeypatch):
    desk, refinement = real
    first, second = desk.review(refinement).items[:2]
    test = app(desk, "review", monkeypatch, refinement=refinement)
    assert test.query_params["change"] == first.change_id
    assert '<div class="row ins"' in html_of(test)
    press(test, "rv_accept")
    assert test.query_params["change"] == second.change_id
    assert desk.merged(refinement).change_ids == (first.change_id,)
    press(test, "rv_reject")
    press(test, "rv_why_1")
    press(test, "rv_undo")
    assert test.query_params["change"] == second.change_id
    assert [one.action for one in desk.decisions(refinement)] == ["accept", "reject", "undo"]
    assert desk.merged(refinement).change_ids == (first.change_id,)


def test_with_a_real_workspace_map_and_run_open_without_an_error(real, monkeypatch):
    desk, refinement = real
    item = desk.review(refinement).items[0]
    group = next(key for one in item.row.proposals for key in one.groups)
    shown = app(desk, "map", monkeypatch, refinement=refinement, pick=group)
    assert not shown.exception
    place = evidence.first_place(item)
    run = app(desk, "trace", monkeypatch, refinement=refinement, id=place[0], at=place[1], change=item.change_id)
    assert not run.exception
    assert '<mark class="rv-cited">' in html_of(run)
