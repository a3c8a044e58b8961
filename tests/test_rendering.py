"""Rendering and citations: quotes are checked against what was shown, never against something that was left out."""

from __future__ import annotations

import pytest
from memory import call, trace

from refiner.rendering import SKILL_MARKER, cite, cite_feedback, locate, render_span, without_skill
from refiner.types import Span, Trace


def with_system(text: str) -> Trace:
    made = trace("a", [call("save")])
    first = Span(0, "s0", "message", "system", role="system", output=text)
    return Trace(made.corpus, made.external_id, made.format, made.task, "t", "file", (first, *made.spans[1:]))


def test_a_quote_is_found_with_white_space_folded_and_leads_back_to_the_raw_span() -> None:
    made = trace("a", [call("write_cell", "wrote   B2,\n the total row", cell="B2")])
    citation = cite(made, 1, "wrote B2, the total row")
    rendered = render_span(made.spans[1])
    assert citation.verified
    assert rendered.text[citation.start : citation.end] == "wrote   B2,\n the total row"
    assert rendered.raw(citation.start) == ("output", 0)


def test_an_invented_quote_is_not_verified() -> None:
    made = trace("a", [call("write_cell", "wrote B2")])
    assert not cite(made, 1, "deleted the whole sheet").verified


@pytest.mark.parametrize(("quote", "found"), [("wrote B2", False), ("wrote B2:B14 now", True)])
def test_short_quotes_prove_nothing(quote: str, found: bool) -> None:
    assert (locate(quote, "it wrote B2:B14 now, and more") is not None) is found


def test_a_short_quote_counts_when_it_is_the_whole_text() -> None:
    assert locate("ok", " ok ") == (1, 3)


def test_a_quote_across_something_left_out_is_not_verified() -> None:
    long = Span(0, "s0", "tool_call", "read", output="head " * 400 + "MIDDLE " * 400 + "tail " * 400)
    text = render_span(long, limit=200).text
    marker = text[text.index("[...") : text.index("...]") + 4]
    assert locate(f"head {marker} tail", text) is None
    assert locate("MIDDLE MIDDLE MIDDLE", text) is None
    assert locate("tail tail tail tail", text) is not None


def test_head_and_tail_of_a_long_observation_map_to_raw_offsets() -> None:
    output = "".join(f"{number:05d}" for number in range(1000))
    rendered = render_span(Span(0, "s0", "tool_call", "read", output=output), limit=1000)
    assert rendered.text.endswith(output[-500:])
    assert rendered.raw(len(rendered.text) - 1) == ("output", len(output) - 1)
    assert rendered.raw(rendered.text.index("[...") + 3) is None


def test_feedback_is_cited_by_name() -> None:
    made = trace("a", [call("save")])
    citation = cite_feedback(made, "B2: expected a formula, found 41", "expected a formula")
    assert (citation.span_id, citation.ordinal, citation.verified) == ("feedback", -1, True)


SKILL = ["# Sheets", "- Open the file first.", "- Save at the end.", "- Never guess."]


def test_the_skill_inside_a_trace_becomes_one_marker_and_the_rest_stays() -> None:
    system = (
        "You work alone.\n#  Sheets\n- Open the file   first.\n- Save at the end.\n- Never guess.\nToday is Monday."
    )
    first = without_skill(with_system(system), SKILL).spans[0].output
    assert first == f"{SKILL_MARKER}\nYou work alone.\nToday is Monday."


def test_a_system_message_with_few_lines_of_the_skill_stays_whole() -> None:
    made = with_system("You work alone.\n- Save at the end.")
    assert without_skill(made, SKILL) == made


def test_a_trace_without_system_message_and_an_empty_skill_change_nothing() -> None:
    assert without_skill(trace("a", [call("save")]), SKILL).spans[0].output == "Do it"
    made = with_system("anything")
    assert without_skill(made, []) == made
