"""What models write instead of the object they were asked for, and what becomes of it."""

from __future__ import annotations

import json

import pytest

from refiner.analysts.model.replies import Refused, read
from refiner.errors import BadReply
from refiner.transports import Reply

SCHEMA = {
    "type": "object",
    "additionalProperties": False,
    "required": ["a", "b"],
    "properties": {"a": {"type": "string"}, "b": {"type": "array", "items": {"type": "string"}}},
}
GOOD = {"a": "x", "b": ["y"]}
TEXT = json.dumps(GOOD)


def reply(text: str, finish: str = "stop", refusal: str | None = None) -> Reply:
    return Reply(text, "m", finish, 1, 1, refusal=refusal)


@pytest.mark.parametrize(
    "text",
    [
        TEXT,
        f"```json\n{TEXT}\n```",
        f"Sure, {{here}} it is: {TEXT} I hope it helps. {{}}",
        f'<think>perhaps {{"a": "no", "b": []}}?</think>\n{TEXT}',
        f"it began without a mark</think>{TEXT}",
        f"<THINKING>{TEXT[:9]}</THINKING>{TEXT}",
        json.dumps({"name": "reply", "arguments": TEXT}),
        json.dumps({"tool_calls": [{"function": {"name": "reply", "arguments": GOOD}}]}),
        json.dumps({"result": GOOD}),
        json.dumps([GOOD]),
        json.dumps({**GOOD, "confidence": 0.9}),
        json.dumps({"a": "x", "b": "y"}),
        '{"a": "x", "a": "x", "b": ["y"]}',
    ],
)
def test_the_object_is_found_in_whatever_stands_around_it(text: str) -> None:
    assert read(reply(text), SCHEMA) == GOOD


def test_line_ends_inside_of_texts_are_taken() -> None:
    assert read(reply('{"a": "one\ntwo", "b": []}'), SCHEMA)["a"] == "one\ntwo"


@pytest.mark.parametrize(
    ("text", "finish", "words"),
    [
        ("", "stop", "the reply is empty"),
        ("   ", "length", "empty; it was cut off at its length limit, so write less"),
        ("<think>I wonder whether", "length", "the reply is empty"),
        ("I would rather not use JSON.", "stop", "no JSON object"),
        (TEXT[:-4], "length", "cut off before its end; it was cut off at its length limit"),
        ('{"a": "x", "b": [{"c": "inner"}], "c', "stop", "cut off before its end"),
        ('{"a": x}', "stop", "not valid: Expecting value at character 6"),
        ('{"a": "x", "a": "z", "b": []}', "stop", 'the key "a" stands twice with different values'),
        ('{"a": 5, "b": []}', "stop", "does not fit: a: 5 is not of type 'string'"),
        ('{"a": "x"}', "stop", "'b' is a required property"),
        ("{" * 5_000, "stop", "not valid"),
        ('{"a": ' + "[" * 100_000, "stop", "nested too deeply"),
    ],
)
def test_what_cannot_be_read_says_what_is_wrong_in_words_that_a_model_can_act_on(
    text: str, finish: str, words: str
) -> None:
    with pytest.raises(BadReply) as caught:
        read(reply(text, finish), SCHEMA)
    assert words in str(caught.value)


def test_a_refusal_is_told_apart_from_a_bad_reply() -> None:
    with pytest.raises(Refused, match="the model refused: I will not"):
        read(reply("", refusal="I will not"), SCHEMA)


def test_parts_by_reference_are_pruned_and_checked_too() -> None:
    part = {"type": "object", "additionalProperties": False, "required": ["n"], "properties": {"n": {"type": "string"}}}
    schema = {"type": "object", "properties": {"one": {"$ref": "#/$defs/part"}}, "$defs": {"part": part}}
    assert read(reply('{"one": {"n": "x", "more": 1}}'), schema) == {"one": {"n": "x"}}
    with pytest.raises(BadReply, match=r"one\.n: 1 is not of type"):
        read(reply('{"one": {"n": 1}}'), schema)
