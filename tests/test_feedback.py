"""Feedback classes: structured lines, tests, differences, templates; no literal of a task survives."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refiner import feedback
from refiner.behaviours import parse


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ('Missing action: cancel_reservation(reservation_id="XQ1")', "missing cancel_reservation"),
        ("Unexpected action: book_reservation({})", "unexpected book_reservation"),
        ('Wrong argument: update_flights.cabin: expected "economy", got "business"', "wrong update_flights.cabin"),
        ("Wrong argument: pay.parts.0.amount: expected 12, got 13", "wrong pay.parts[].amount"),
        ('Expected output not given: "1286"', "expected output not given"),
        ("Failing test: test_totals", "failing test_totals"),
        ("Failing test: tests/test_a.py::TestX::test_rows[7-mei]", "failing test_rows"),
        ("FAILED tests/test_a.py::TestX::test_rows[7-mei] - AssertionError: 7", "failing test_rows"),
        ("FAIL: test_rows (suite.Case)", "failing test_rows"),
        ("--- FAIL: TestRows (0.01s)", "failing TestRows"),
        ('<testcase classname="a.b" name="test_rows" time="0.01"><failure message="x">', "failing test_rows"),
        ("B2: expected a formula, found the number 41", "expected <formula>, got <num>"),
        ("D2:D9: expected the number format 0.00, found General", "expected <str>, got <str>"),
        ("B2: expected a formula in B2, found the text 'Pieces'", "expected <formula>, got <str>"),
        ("Total of Mei Kim: expected 12.5, but was None", "expected <num>, got <none>"),
        ("expected economy, got business", "expected <str>, got <str>"),
        ('Expected "2024-05-16" but got [1, 2]', "expected <date>, got <list>"),
        ("E   AssertionError: assert 3 == 4", "expected <num>, got <num>"),
        ('- Cell C4 holds the text "2024-05-16"', "Cell <range> holds the text <date>"),
        ("The header of Sheet1 was overwritten by Mei Kim.", "The header of <id> was overwritten by <str>"),
        ("missing header", "note: missing header"),
    ],
)
def test_classes_of_a_line(line: str, name: str) -> None:
    assert feedback.classes(line) == (name,)


def test_classes_are_distinct_in_order_and_at_most_eight() -> None:
    text = "Missing action: b(1)\n\nUnexpected action: a(2)\nMissing action: b(3)\n"
    assert feedback.classes(text) == ("missing b", "unexpected a")
    many = "\n".join(f"Missing action: tool_{letter}()" for letter in "abcdefghijkl")
    assert feedback.classes(many) == tuple(f"missing tool_{letter}" for letter in "abcdefgh")


@pytest.mark.parametrize("text", ["", "\n \n", "42", "A long story about one run. " * 9])
def test_what_cannot_recur_gives_no_class(text: str) -> None:
    assert feedback.classes(text) == ()


secrets = st.one_of(
    st.integers(100, 10**9).map(str),
    st.dates().map(str),
    st.from_regex(r"[A-Z]{2}[0-9]{4}", fullmatch=True),
    st.from_regex(r"user_[0-9]{4}", fullmatch=True),
    st.from_regex(r"[a-z]{5}[0-9]@example\.com", fullmatch=True),
    st.from_regex(r"/home/[a-z]{6}9/f\.txt", fullmatch=True),
)
lines = st.sampled_from(
    [
        'Missing action: pay(id="{}")',
        'Wrong argument: pay.id: expected "{}", got "{}"',
        "Expected output not given: {}",
        "the value {} is wrong",
        "expected {}, got {}",
        "Total: expected {} (got {})",
        "FAILED tests/test_a.py::test_rows[{}] - no",
        "assert {} == 4",
        "value='{}'; retry",
        "see ({}).",
    ]
)


@given(lines, secrets)
def test_literals_never_survive_in_a_class(line: str, secret: str) -> None:
    for name in feedback.classes(line.replace("{}", secret)):
        assert secret not in name
    assert secret not in feedback.normalise(line.replace("{}", secret))


def test_normalised_feedback_keeps_names_and_order() -> None:
    text = 'Wrong argument: pay.amount: expected 12, got "twelve"\nMissing action: pay(to="mei_1234")'
    assert feedback.normalise(text) == (
        "Wrong argument: pay.amount: expected <num>, got <str>\nMissing action: pay(to=<id>)"
    )


def test_very_long_lines_are_met_in_no_time() -> None:
    assert feedback.classes("expected " * 200_000) == ()


@pytest.mark.parametrize(
    ("name", "action"),
    [
        ("missing pay", "pay"),
        ("unexpected pay", "pay"),
        ("wrong pay.amount", "pay"),
        ("failing test_a", None),
        ("expected <num>, got <none>", None),
        ("expected output not given", None),
        ("note: missing header", None),
    ],
)
def test_the_action_of_a_class(name: str, action: str | None) -> None:
    assert feedback.action(name) == action


def test_opposites() -> None:
    assert feedback.opposite("missing pay", "unexpected pay")
    assert feedback.opposite("unexpected pay", "missing pay")
    assert not feedback.opposite("missing pay", "missing pay")
    assert not feedback.opposite("missing pay", "unexpected book")
    assert not feedback.opposite("missing pay", "wrong pay.amount")


@pytest.mark.parametrize(
    ("line", "predicate"),
    [
        ("Unexpected action: pay(1)", "called(pay)"),
        ("Missing action: pay(1)", "not(called(pay))"),
        ('Wrong argument: write.value: expected "=SUM(A1:A3)", got 41', "called(write, value: number)"),
        ('Wrong argument: write.rows[2].date: expected nothing, got "2024-05-16"', "called(write, rows[].date: date)"),
        ("Wrong argument: write.value: expected true, got false", "called(write, value: false)"),
        ("Wrong argument: write.value: expected 41, got 42", None),
        ('Wrong argument: write.value: expected 41, got "forty-one"', None),
        ('Wrong argument: write.cabin: expected "economy", got "business"', None),
        ("Failing test: test_a", None),
    ],
)
def test_counterparts(line: str, predicate: str | None) -> None:
    (name,) = feedback.classes(line)
    found = feedback.counterpart(name, line)
    assert found == predicate
    assert found is None or str(parse(found)) == found


@given(st.text(max_size=200))
def test_any_text_gives_at_most_eight_clean_classes(text: str) -> None:
    found = feedback.classes(text)
    assert len(found) <= 8 and len(set(found)) == len(found)
    assert all(name == re.sub(r"\s+", " ", name).strip() for name in found)
