"""Every record of `refiner.types` comes back from its text exactly, whatever its texts and numbers hold."""

from __future__ import annotations

import dataclasses
import inspect
import json
import types
import typing
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from refiner import codec
from refiner import types as records

KINDS = [
    kind
    for _, kind in sorted(inspect.getmembers(records, inspect.isclass))
    if dataclasses.is_dataclass(kind) and kind.__module__.startswith(records.__name__) and kind is not records.Step
]

_PIECES = st.sampled_from(
    ["\x00", "\ud800", "\udc80", "\udfff", "\x1f", "\u2028", "é", "漢", "😀", '"', "\\", "\n", "{}"]
)
# A high surrogate right before a low one is one character to JSON; nothing else is left out.
TEXT = (st.text(max_size=5) | st.lists(_PIECES | st.text(max_size=2), max_size=5).map("".join)).filter(
    lambda text: not any("\ud800" <= a <= "\udbff" and "\udc00" <= b <= "\udfff" for a, b in pairwise(text))
)


def _values(kind: Any) -> st.SearchStrategy[Any]:
    """Values of an annotated type, as deep as the annotations of the records go."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is typing.Literal:
        return st.sampled_from(arguments)
    if origin in (typing.Union, types.UnionType):
        return st.one_of([st.none() if option is type(None) else _values(option) for option in arguments])
    if origin is tuple and len(arguments) == 2 and arguments[1] is Ellipsis:
        return st.lists(_values(arguments[0]), max_size=2).map(tuple)
    if origin is tuple:
        return st.tuples(*(_values(of) for of in arguments))
    if origin is dict:
        return st.dictionaries(_values(arguments[0]), _values(arguments[1]), max_size=2)
    if dataclasses.is_dataclass(kind):
        hints = typing.get_type_hints(kind)
        return st.builds(kind, **{field.name: _values(hints[field.name]) for field in dataclasses.fields(kind)})
    plain = {
        str: TEXT,
        bytes: st.binary(max_size=9),
        bool: st.booleans(),
        int: st.integers(),
        float: st.floats(allow_nan=False),
    }
    return plain[kind]


def test_the_kinds_under_test_are_the_records() -> None:
    names = {kind.__name__ for kind in KINDS}
    assert {"Trace", "Outcome", "Summary", "Clustering", "ContrastTable", "Change", "SkillVersion"} <= names


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_record_comes_back(kind: type[Any]) -> None:
    @settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
    @given(_values(kind))
    def check(record: Any) -> None:
        text = codec.encode(record)
        assert text.isascii() and "\n" not in text and "\x00" not in text
        back = codec.decode(kind, text)
        assert back == record and type(back) is kind
        assert codec.encode(back) == text

    check()


def test_types_survive_where_equality_would_not_tell() -> None:
    trace = records.Trace("c", "e", "f", "t", "i", "file", (records.Span(0, "s", "message", "user"),), meta={"a": "b"})
    back = codec.decode(records.Trace, codec.encode(trace))
    assert isinstance(back.spans, tuple) and isinstance(back.spans[0], records.Span)
    assert back.id == trace.id and back.revision == trace.revision
    score = codec.decode(records.Outcome, codec.encode(records.Outcome("t", "pass", score=1))).score
    assert isinstance(score, float) and score == 1.0
    edit = codec.decode(records.Edit, codec.encode(records.Edit("p", "replace", ("a",), anchor=(1, 2))))
    assert edit.anchor == (1, 2) and isinstance(edit.anchor, tuple)


def test_a_text_is_plain_json_with_fields_by_name() -> None:
    skill = records.SkillVersion({"SKILL.md": b"\xff"}, parent_ids=("p",))
    assert json.loads(codec.encode(skill)) == {
        "files": {"SKILL.md": "/w=="},
        "main": "SKILL.md",
        "parent_ids": ["p"],
        "change_ids": [],
    }


def test_a_field_added_later_takes_its_default_when_old_texts_are_read() -> None:
    assert codec.decode(records.Outcome, '{"trace_id":"t","status":"fail"}') == records.Outcome("t", "fail")
