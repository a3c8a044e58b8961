"""Types of values, words of texts and typed templates: no literal of a task survives."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refiner import behaviours
from refiner.behaviours.literals import signature, typed
from refiner.behaviours.values import argument_types, result_types, string_types


@pytest.mark.parametrize(
    ("text", "types"),
    [
        ("=SUM(B2:B14)", ("formula",)),
        ("2024-05-16", ("date",)),
        ("2024-05-16T10:00:00Z", ("date",)),
        ("16/05/2024", ("date",)),
        ("A1", ("range",)),
        ("B2:B14", ("range",)),
        ("Totals!A1", ("range",)),
        ("'Q1 totals'!A1:C9", ("range",)),
        ("mei.kim@example.com", ("email",)),
        ("https://example.com/a", ("url",)),
        ("out/report.XLSX", ("path", "path .xlsx")),
        ("report.csv", ("path", "path .csv")),
        ("tests/test_sum.py", ("path", "path .py", "path test")),
        ("HAT136", ("id",)),
        ("gift_card_6276644", ("id",)),
        ("123e4567-e89b-12d3-a456-426614174000", ("id",)),
        ("JFK", ("id",)),
        ("1,234.50", ("number",)),
        ("-3", ("number",)),
        ("", ("empty",)),
        ("economy", ()),
        ("n/a", ()),
        ("two words", ()),
    ],
)
def test_the_first_fitting_type_of_a_string(text: str, types: tuple[str, ...]) -> None:
    assert string_types(text) == types


def test_leaves_of_arguments() -> None:
    arguments = {"a": {"b": [True, None]}, "none": [], "one": ["x1y2"], "note": "Please cancel the basic_economy trip"}
    assert sorted(argument_types(json.dumps(arguments))) == [
        ("a.b", "list more"),
        ("a.b[]", "empty"),
        ("a.b[]", "true"),
        ("none", "list 0"),
        ("note", "word basic"),
        ("note", "word cancel"),
        ("note", "word economy"),
        ("note", "word please"),
        ("note", "word trip"),
        ("one", "list 1"),
        ("one[]", "id"),
    ]


def test_keys_that_are_values_are_folded_away() -> None:
    found = {field for field, _ in result_types(json.dumps({"flights": {"2024-05-16": 1}, "line2": "lane"}))}
    assert found == {"flights.*", "line2"}


@pytest.mark.parametrize(
    ("text", "types"),
    [
        ("", [("text", "empty")]),
        ("  \n", [("text", "empty")]),
        ("{}", [("text", "empty")]),
        ("[]", [("text", "list 0")]),
        ('{"status": "delivered"}', [("status", "word delivered")]),
        ("{not json", [("text", "word json")]),
        ("paid 12.50 on 2024-01-02", [("text", "word paid"), ("text", "number"), ("text", "date")]),
    ],
)
def test_results(text: str, types: list[tuple[str, str]]) -> None:
    assert list(result_types(text)) == types


def test_long_texts_give_words_but_no_tokens() -> None:
    assert {kind for _, kind in result_types("total 12 " * 60)} == {"word total"}


@given(st.text(max_size=300))
def test_any_text_has_types_that_parse(text: str) -> None:
    for field, kind in [*argument_types(text), *result_types(text)]:
        behaviours.parse(f"result(tool, {field}: {kind})")


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(max_size=10), json_values, max_size=4))
def test_any_arguments_have_fields_that_parse(arguments: dict[str, object]) -> None:
    for field, kind in argument_types(json.dumps(arguments)):
        text = f"called(tool, {field}: {kind})"
        assert str(behaviours.parse(text)) == text


@pytest.mark.parametrize(
    ("text", "template"),
    [
        ('Cell B2 holds 41, not "=SUM(A1)"', "Cell <range> holds <num>, not <formula>"),
        ("order #W12345 of Mei Kim is late", "order <id> of <str> is late"),
        ("flight from JFK to SEA on 2024-05-16", "flight from <id> to <id> on <date>"),
        ("name='Mei', age=41", "name=<str>, age=<num>"),
        ("KeyError: 'total' in /tmp/run_41/a.py", "KeyError: <str> in <path>"),
        ("mail mei@example.com or see https://a.b/c?d=1", "mail <email> or see <url>"),
        ("got None", "got <none>"),
        ("call `read_range` first", "call read_range first"),
    ],
)
def test_templates(text: str, template: str) -> None:
    assert typed(text) == template


def test_signatures_are_short_single_lines_without_signs_of_the_grammar() -> None:
    text = signature("\n\nError (fatal); " + "something went badly wrong " * 9 + "\nsecond line")
    assert text.startswith("Error fatal something went")
    assert len(text) <= 80 and not set("();\n") & set(text)


@given(st.text(max_size=200))
def test_any_error_has_a_predicate(text: str) -> None:
    found = f"error({signature(text) or 'no message'})"
    assert str(behaviours.parse(found)) == found


@given(st.integers(min_value=10, max_value=10**12), st.sampled_from(["total {}", "({})", "x={};", "a-{}-b", "'{}'"]))
def test_numbers_never_survive(number: int, around: str) -> None:
    assert str(number) not in typed(around.format(number))
