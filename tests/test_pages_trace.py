"""The trace page: fifty messages a page, the one a link points at, search, speakers, cited places, the raw record."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from pages._ui import messages
from refiner.types import Citation, Span, Summary
from tests.scripted_desk import HOSTILE, ScriptedDesk, app, html_of, labels_of, quote, report, run, words_of


@pytest.fixture
def desk() -> ScriptedDesk:
    return ScriptedDesk(report())


def with_run(one) -> ScriptedDesk:
    made = report()
    return ScriptedDesk(replace(made, snapshot=replace(made.snapshot, training=(one,))))


def numbers(test) -> list[int]:
    return [int(part.split("<")[0]) for part in html_of(test).split('rv-no">#')[1:]]


def test_it_shows_the_run_with_its_cited_place_marked(desk, monkeypatch):
    cited = desk.made.proposals[0].citations[0]
    test = app(desk, "trace", monkeypatch, refinement="r1", id=cited.trace_id)
    assert not test.exception
    assert numbers(test) == [1, 2, 3, 4, 5]
    assert html_of(test).count('<mark class="rv-cited">') == 2
    assert "5 messages, 1 of them cited" in words_of(test)
    assert "told so" in words_of(test)


def blaming(one, span_id: str, side: str = "failure") -> ScriptedDesk:
    """A desk whose analyst takes one step of a run for the one that decided it."""
    made = with_run(one).made
    return ScriptedDesk(replace(made, summaries=(Summary(one.trace.id, "", side, "", (), span_id),)))


def test_the_step_where_a_run_went_wrong_is_marked_as_a_guess_and_a_link_leads_to_it(monkeypatch):
    long = run("long", "fail", messages=120)
    test = app(blaming(long, "s71"), "trace", monkeypatch, refinement="r1", id=long.trace.id)
    assert "rv-blamed" not in html_of(test)
    link = next(one.proto for one in test.get("page_link") if one.proto.label == "Where it may have gone wrong: #71")
    assert "at=70" in link.query_string
    opened = html_of(app(blaming(long, "s71"), "trace", monkeypatch, refinement="r1", id=long.trace.id, at="70"))
    (mark,) = opened.split("rv-blamed")[1:]
    assert "a guess of the offline analyst" in mark and opened.split("rv-blamed")[0].endswith(
        '#71</span></header><p class="'
    )


def test_a_passing_run_went_wrong_nowhere(monkeypatch):
    one = run("good", "pass")
    test = app(blaming(one, "s2", "success"), "trace", monkeypatch, refinement="r1", id=one.trace.id)
    assert "rv-blamed" not in html_of(test)
    assert not any("went wrong" in label for label in labels_of(test))


def test_a_long_run_opens_on_the_page_that_the_link_points_at(monkeypatch):
    long = run("long", "fail", messages=120)
    desk = with_run(long)
    assert numbers(app(desk, "trace", monkeypatch, refinement="r1", id=long.trace.id)) == list(range(1, 51))
    test = app(desk, "trace", monkeypatch, refinement="r1", id=long.trace.id, at="70")
    assert numbers(test) == list(range(51, 101))
    assert '<article class="rv-msg rv-tool rv-here">' in html_of(test)


def test_find_keeps_the_messages_that_hold_it_and_marks_it(monkeypatch):
    long = run("long", "fail", messages=120)
    test = app(with_run(long), "trace", monkeypatch, refinement="r1", id=long.trace.id, find="PAGE 11")
    assert numbers(test) == [12, *range(111, 120)]
    assert '<mark class="rv-hit">page 11</mark>' in html_of(test)
    assert "10 of 120 messages" in words_of(test)


def test_what_a_run_says_of_time_tokens_cost_and_score_is_shown(monkeypatch):
    one = run("timed", "pass", messages=3)
    first, call, last = one.trace.spans
    spans = (
        replace(first, started_at="2026-01-31T12:00:00Z"),
        replace(call, started_at="2026-01-31T12:00:02Z", ended_at="2026-01-31T12:00:05Z"),
        replace(last, name="planner", started_at="2026-01-31T12:00:42"),
    )
    meta = {"input_tokens": "14828", "output_tokens": "358", "cached_tokens": "0", "cost_usd": "0.00358214"}
    trace = replace(one.trace, spans=spans, meta=meta, source="a.jsonl:3")
    scored = replace(one, trace=trace, outcome=replace(one.outcome, score=0.75))
    said = words_of(app(with_run(scored), "trace", monkeypatch, refinement="r1", id=trace.id))
    for words in (
        "m1",
        "read as canonical",
        "a.jsonl:3",
        "2026-01-31 12:00 UTC",
        "took 42 s",
        "score 0.75",
        "$0.003582",
    ):
        assert words in said
    assert "tokens: 14,828 in, 358 out" in said
    assert "12:00:02" in said and "planner" in said
    meta = {"seconds": "7.4", "cost_usd": "unknown"}
    bare = replace(one, trace=replace(one.trace, meta=meta, format="generic"))
    said = words_of(app(with_run(bare), "trace", monkeypatch, refinement="r1", id=trace.id))
    assert "took 7 s" in said and "read by the generic walker" in said
    assert "$" not in said and "tokens" not in said and "UTC" not in said and "score" not in said


def test_nothing_found_says_what_to_do(desk, monkeypatch):
    trace = desk.made.snapshot.training[0].trace
    test = app(desk, "trace", monkeypatch, refinement="r1", id=trace.id, find="zebra")
    assert "Clear the search" in words_of(test)


def test_speakers_are_filtered_by_the_address(desk, monkeypatch):
    trace = desk.made.snapshot.training[0].trace
    test = app(desk, "trace", monkeypatch, refinement="r1", id=trace.id, role="user")
    assert numbers(test) == [1]
    assert "1 of 5 messages" in words_of(test)


def test_the_raw_record_is_there_to_read_and_to_keep(desk, monkeypatch):
    trace = desk.made.snapshot.training[0].trace
    test = app(desk, "trace", monkeypatch, refinement="r1", id=trace.id)
    raw = json.loads(next(one.value for one in test.code if "external_id" in one.value))
    assert raw["external_id"] == "fail-0"
    assert [one.proto.label for one in test.get("download_button")] == ["Download"]


def test_it_leads_back_to_the_proposal_it_was_opened_from(desk, monkeypatch):
    trace = desk.made.snapshot.training[0].trace
    test = app(desk, "trace", monkeypatch, refinement="r1", id=trace.id, change="c1")
    link = next(one.proto for one in test.get("page_link") if "Back" in one.proto.label)
    assert link.label == "Back to the proposal"
    assert "change=c1" in link.query_string
    assert "refinement=r1" in link.query_string


def test_a_run_that_is_gone_and_no_run_at_all_say_what_to_do(desk, monkeypatch):
    test = app(desk, "trace", monkeypatch, refinement="r1", id="gone")
    assert "there is no run gone; open one from Review" in words_of(test)
    assert "Open one from Review" in words_of(app(desk, "trace", monkeypatch, refinement="r1"))


def test_text_from_runs_is_never_markup(monkeypatch):
    desk = ScriptedDesk(report(hostile=True))
    trace = desk.made.snapshot.training[0].trace
    test = app(desk, "trace", monkeypatch, refinement="r1", id=trace.id)
    assert not test.exception
    drawn = html_of(test)
    assert "<img" not in drawn
    assert "<script" not in drawn
    assert (
        HOSTILE in words_of(test).replace(" onerror ", "onerror").replace("x onerror", "x onerror") or "![x]" in drawn
    )
    assert not [one for one in labels_of(test) if "![" in one or "**" in one]


def test_a_quote_of_a_shortened_message_is_found_in_the_whole_one():
    long = "lead " * 2000 + "the decisive words here" + " tail" * 2000
    span = Span(3, "s4", "tool_call", "read", input="{}", output=long)
    citation = Citation("t", 3, "s4", "the decisive  words here", 17, 40, True)
    ((start, end),) = messages.places(messages.whole(span), [citation])
    assert messages.whole(span)[start:end] == "the decisive words here"
    assert '<mark class="rv-cited">the decisive words here</mark>' in messages.message(span, [citation], limit=100)


def test_of_equal_quotes_the_one_that_was_cited_is_marked():
    span = Span(0, "s1", "message", "assistant", "assistant", output="again and again")
    at = messages.whole(span).rindex("again")
    citation = Citation("t", 0, "s1", "again", at, at + 5, True)
    assert messages.places(messages.whole(span), [citation]) == ((at, at + 5),)


def test_unverified_quotes_mark_nothing():
    span = Span(0, "s1", "message", "user", "user", output="again")
    assert messages.places(messages.whole(span), [Citation("t", 0, "s1", "again", 0, 5, False)]) == ()


def test_overlapping_marks_keep_every_character():
    text = "a <b> & c"
    drawn = messages.marked(text, [(0, 5)], [(2, 9)])
    assert "<b>" not in drawn
    assert drawn.replace('<mark class="rv-cited">', "").replace('<mark class="rv-hit">', "").replace("</mark>", "") == (
        "a &lt;b&gt; &amp; c"
    )


def test_an_excerpt_has_two_messages_around_the_cited_one_and_names_the_gap():
    one = run("long", "fail", messages=40, feedback="told so")
    drawn = messages.excerpt(one.trace, one.outcome, [quote(one, 10), quote(one, 20)])
    shown = [int(part.split("<")[0]) for part in drawn.split('rv-no">#')[1:]]
    assert shown == [9, 10, 11, 12, 13, 21]
    assert "7 messages between" in drawn


def test_an_excerpt_opens_the_step_where_the_run_went_wrong_first():
    one = run("long", "fail", messages=40)
    apart = messages.excerpt(one.trace, one.outcome, [quote(one, 10)], blamed=messages.Blamed(20, "here <b>"))
    numbers = [int(part.split("<")[0]) for part in apart.split('rv-no">#')[1:]]
    assert numbers == [21, 9, 10, 11, 12, 13]
    assert apart.count("here &lt;b&gt;") == 1 and "quoted from the run" in apart
    among = messages.excerpt(one.trace, one.outcome, [quote(one, 10)], blamed=messages.Blamed(9, "here"))
    assert [int(part.split("<")[0]) for part in among.split('rv-no">#')[1:]] == [9, 10, 11, 12, 13]
    assert among.count("rv-blamed") == 1 and "quoted from the run" not in among


def test_quoted_feedback_is_shown_with_its_place_marked():
    one = run("r", "fail", feedback="B2: expected 3, found 4")
    citation = Citation(one.trace.id, messages.FEEDBACK, "feedback", "expected 3", 4, 14, True)
    assert '<mark class="rv-cited">expected 3</mark>' in messages.excerpt(one.trace, one.outcome, [citation])
