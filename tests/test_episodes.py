"""Conversations cut into attempts: what is one, how it was taken, and that nothing of the source is lost."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from refiner import episodes, ingest
from refiner.tasks import split_units
from refiner.types import Span, Trace
from tests.conversations import CORRECTED, INTERRUPTED, INTERRUPTION, TWICE_WRONG, read, talk


def shape(trace: Trace) -> list[tuple[str, str, str]]:
    """Status, sign and the user's words of each episode."""
    return [(one.status, one.sign, one.said) for one in episodes.cut(trace).episodes]


def test_a_mistake_and_its_correction_are_a_failing_and_a_passing_attempt() -> None:
    found = episodes.cut(CORRECTED)
    failed, passed = found.episodes
    assert (failed.status, failed.sign, failed.said) == (
        "fail",
        "correction",
        "No, use a formula instead of a number.",
    )
    assert (passed.status, passed.sign, passed.said) == ("pass", "approval", "Thanks!")
    assert failed.task == passed.task == "Sum column B"
    assert [span.output for span in failed.spans] == ["Sum column B", "ok", "I wrote the sum 41."]
    assert passed.spans[0].output == "No, use a formula instead of a number."


def test_a_request_that_nobody_took_up_is_skipped_and_named() -> None:
    (skipped,) = episodes.cut(CORRECTED).skipped
    assert (skipped.number, skipped.task, skipped.reason) == (3, "What is a pivot table?", "no reaction")


def test_what_is_in_no_attempt_is_kept_apart() -> None:
    assert [span.output for span in episodes.cut(CORRECTED).rest] == ["You edit tables.", "You're welcome."]


def test_two_mistakes_in_a_row_are_two_failures_of_one_task() -> None:
    assert shape(TWICE_WRONG) == [
        ("fail", "correction", "That's not right, the name is still the old one."),
        ("fail", "correction", "it still doesn't work"),
        ("pass", "approval", "perfect, now add a chart"),
    ]
    assert {one.task for one in episodes.cut(TWICE_WRONG).episodes} == {"Rename the sheet to Totals"}
    assert [one.task for one in episodes.cut(TWICE_WRONG).skipped] == ["perfect, now add a chart"]


def test_an_interruption_fails_what_it_stopped_and_the_next_words_say_why() -> None:
    assert shape(INTERRUPTION) == [
        ("fail", "interruption", "only look in the build folder"),
        ("pass", "approval", "great"),
    ]


def test_an_interruption_after_which_the_user_says_go_on_is_none() -> None:
    steps = [
        "user: Build it",
        "tool make: ok",
        f"user: {INTERRUPTED}",
        "user: continue",
        "tool make: ok",
        "user: thanks",
    ]
    assert shape(talk(*steps)) == [("pass", "approval", "thanks")]


def test_a_stop_that_the_tool_wrote_down_between_the_words_is_an_interruption() -> None:
    run = talk("user: Build it", "tool make: ok", "user: only look in the build folder", "tool make: ok", "user: great")
    stop = Span(2, "stop", "event", "interruption", output="[interrupted: Request was aborted.]")
    spans = (*run.spans[:2], stop, *(replace(span, ordinal=span.ordinal + 1) for span in run.spans[2:]))
    assert shape(replace(run, spans=spans)) == shape(INTERRUPTION)


def test_a_command_to_the_tool_is_no_part_of_the_task() -> None:
    found = episodes.cut(talk("user: /clear", "user: Build it", "tool make: ok", "user: thanks"))
    assert [one.task for one in found.episodes] == ["Build it"]


def test_an_interruption_before_the_agent_did_anything_is_no_attempt() -> None:
    found = episodes.cut(
        talk("user: Build it", f"user: {INTERRUPTED}", "user: Test it", "tool test: ok", "user: thanks")
    )
    assert [one.reason for one in found.skipped] == ["no step"]
    assert [(one.task, one.status) for one in found.episodes] == [("Test it", "pass")]


def test_a_redo_passes_when_the_user_goes_on_without_complaint() -> None:
    steps = [
        "user: Sort it",
        "tool sort: ok",
        "user: no, descending",
        "tool sort: ok",
        "user: List the files",
        "agent: a",
    ]
    assert shape(talk(*steps)) == [("fail", "correction", "no, descending"), ("pass", "redo", "")]


def test_a_redo_that_ends_in_an_error_is_skipped() -> None:
    found = episodes.cut(talk("user: Sort it", "tool sort: ok", "user: no, descending", "tool sort: !Error: locked"))
    assert [one.status for one in found.episodes] == ["fail"]
    assert [one.reason for one in found.skipped] == ["no reaction"]


def test_a_change_of_subject_says_nothing_about_what_was_done() -> None:
    found = episodes.cut(talk("user: Sort it", "agent: Sorted.", "user: Now list the files", "agent: a, b"))
    assert not found.episodes
    assert [one.task for one in found.skipped] == ["Sort it", "Now list the files"]


def test_an_answer_to_a_question_goes_on_with_the_attempt() -> None:
    steps = [
        "user: Delete it",
        "agent: Both copies?",
        "user: no",
        "tool delete: ok",
        "agent: Deleted one.",
        "user: Danke",
    ]
    (episode,) = episodes.cut(talk(*steps)).episodes
    assert [span.output for span in episode.spans][2] == "no"
    assert (episode.status, len(episode.spans)) == ("pass", 5)


def test_several_messages_in_a_row_are_one_turn() -> None:
    steps = ["user: Sort it", "user: by date", "tool sort: ok", "user: falsch", "user: absteigend", "tool sort: ok"]
    failed, redone = episodes.cut(talk(*steps)).episodes
    assert (failed.task, failed.said) == ("Sort it\nby date", "falsch\nabsteigend")
    assert [span.output for span in redone.spans] == ["falsch", "absteigend", "ok"]


def test_thanks_that_goes_on_to_ask_opens_the_next_attempt() -> None:
    steps = [
        "user: Sort it",
        "tool sort: ok",
        "user: Thanks. Now add a header.",
        "tool add: ok",
        "user: wrong, in bold",
    ]
    assert [(one.task, one.status) for one in episodes.cut(talk(*steps)).episodes] == [
        ("Sort it", "pass"),
        ("Thanks. Now add a header.", "fail"),
    ]


def test_tool_errors_on_the_way_do_not_decide() -> None:
    assert shape(talk("user: Sort it", "tool sort: !Error: locked", "tool sort: ok", "user: Perfect")) == [
        ("pass", "approval", "Perfect")
    ]


def test_without_a_user_there_is_nothing_to_cut() -> None:
    found = episodes.cut(talk("system: rules", "agent: hello", "tool sort: ok"))
    assert (found.episodes, found.skipped, len(found.rest)) == ((), (), 3)
    assert not episodes.is_conversation(found.source)


TEXTS = ["no, wrong", "thanks", "sort it", "continue", INTERRUPTED, "perfect. now list", "why?", "still broken"]
STEPS = st.one_of(
    st.sampled_from(TEXTS).map("user: {}".format),
    st.sampled_from(["agent: Done.", "agent: Which one?", "tool sort: ok", "tool sort: !Error: no", "system: rules"]),
)


@settings(derandomize=True, max_examples=150, deadline=None)
@given(st.lists(STEPS, max_size=14))
def test_every_span_is_in_one_attempt_or_apart_and_keeps_its_order(steps: list[str]) -> None:
    trace = talk(*steps)
    found = episodes.cut(trace)
    pieces = sorted([*found.episodes, *found.skipped], key=lambda one: one.number)
    within = [span.ordinal for piece in pieces for span in piece.spans]
    reacting = {span.ordinal for one in found.episodes for span in one.reaction}
    apart = [span.ordinal for span in found.rest]
    assert within == sorted(set(within)) and not set(within) & set(apart)
    assert sorted({*within, *reacting, *apart}) == list(range(len(trace.spans)))
    assert [piece.number for piece in pieces] == list(range(1, len(pieces) + 1))


def test_an_episode_is_a_trace_that_leads_back_to_its_conversation() -> None:
    gathered = episodes.gather([episodes.cut(CORRECTED)], "mine")
    failed, passed = gathered.traces
    source = {span.span_id: span for span in CORRECTED.spans}
    assert [one.external_id for one in gathered.traces] == ["talk:e1", "talk:e2"]
    assert {one.meta["conversation"] for one in gathered.traces} == {"talk"}
    assert [span.ordinal for span in passed.spans] == [0, 1, 2, 3, 4, 5]
    assert [span.span_id for span in passed.spans[:3]] == [span.span_id for span in failed.spans]
    assert all(source[span.span_id].output == span.output for one in gathered.traces for span in one.spans)
    assert failed.task_id == passed.task_id
    assert [(one.trace_id, one.status, one.origin) for one in gathered.outcomes] == [
        (failed.id, "fail", "heuristic"),
        (passed.id, "pass", "heuristic"),
    ]
    assert ingest.assign_tasks(gathered.traces) == gathered.traces


def test_a_redo_starts_from_what_was_done_before_so_its_trace_holds_that_too() -> None:
    gathered = episodes.gather([episodes.cut(TWICE_WRONG)], "mine")
    assert [[span.name for span in one.spans if span.kind == "tool_call"] for one in gathered.traces] == [
        ["rename"],
        ["rename", "rename"],
        ["rename", "rename", "rename", "list_sheets"],
    ]


def test_an_interrupted_attempt_is_no_try_that_the_next_could_be_compared_with() -> None:
    stopped, redone = episodes.gather([episodes.cut(INTERRUPTION)], "mine").traces
    assert stopped.task == redone.task and stopped.task_id != redone.task_id


def conversations(*names: str, request: str = "Sort it") -> list[Trace]:
    return [talk(f"user: {request}", "tool sort: ok", "user: thanks", name=name) for name in names]


def tasks(traces: list[Trace]) -> list[str]:
    return [one.task_id for one in episodes.gather(map(episodes.cut, traces), "mine").traces]


def test_a_request_that_opens_most_conversations_is_a_task_of_each() -> None:
    assert len(set(tasks(conversations("a", "b")))) == 2
    others = [*conversations("a", "b"), *(conversations(f"c{n}", request=f"Do {'x' * n}")[0] for n in range(1, 8))]
    assert len(set(tasks(others))) == len(others) - 1


def test_conversations_are_held_out_whole_and_together_when_they_share_a_task() -> None:
    others = [*conversations("b", "a"), *(conversations(f"c{n}", request=f"Do {'x' * n}")[0] for n in range(1, 8))]
    gathered = episodes.gather(map(episodes.cut, [*others, TWICE_WRONG]), "mine")
    units = split_units(gathered.traces)
    named = {trace.external_id: units[trace.id] for trace in gathered.traces}
    assert named["a:e1"] == named["b:e1"] == "a"
    assert {named[f"talk:e{number}"] for number in (1, 2, 3)} == {"talk"}
    assert len(set(named.values())) == len(others)


def test_other_traces_are_held_out_by_task() -> None:
    (trace,) = ingest.assign_tasks([CORRECTED])
    assert split_units([trace]) == {trace.id: trace.task_id}


@pytest.mark.parametrize("source", ["claude-code", "codex", "tau-bench"])
def test_real_conversations_go_through(corpora: Path, source: str) -> None:
    for trace in read(corpora / source):
        found = episodes.cut(trace)
        gathered = episodes.gather([found], "mine")
        kept = {span.ordinal for one in (*found.episodes, *found.skipped) for span in one.spans}
        kept |= {span.ordinal for one in found.episodes for span in one.reaction}
        assert sorted(kept | {span.ordinal for span in found.rest}) == list(range(len(trace.spans)))
        assert all(one.spans[0].ordinal == 0 and one.task.strip() for one in gathered.traces)
