"""The parts of the HTTP transport that need no server: bodies of replies, wishes to wait, files written whole."""

from __future__ import annotations

import json
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from stub_model import completion

from refiner.transports import envelope
from refiner.transports.files import write_whole
from refiner.transports.retry import backoff, wished

NOW = 1_767_225_600.0  # 2026-01-01 00:00:00 UTC


def read(body: Any, content_type: str = "application/json") -> envelope.Reply:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return envelope.read(data, content_type, model="asked", seconds=1.0)


@pytest.mark.parametrize(
    ("message", "text"),
    [
        ({"content": "plain"}, "plain"),
        ({"content": None}, ""),
        ({}, ""),
        ({"content": [{"type": "text", "text": "a"}, {"type": "image"}, {"type": "text", "text": "b"}]}, "ab"),
        ({"content": "a\x00b\ud800"}, "a\ufffdb\ufffd"),
        ({"content": "", "tool_calls": [{"function": {"arguments": '{"a": 1}'}}]}, '{"a": 1}'),
        ({"content": None, "function_call": {"name": "f", "arguments": {"a": 1}}}, '{"a": 1}'),
        ({"content": None, "tool_calls": [{"function": {"arguments": "1"}}, {"function": {"arguments": "2"}}]}, ""),
        ({"content": "said", "tool_calls": [{"function": {"arguments": "called"}}]}, "said"),
        ({"content": None, "tool_calls": "odd"}, ""),
        ({"content": "said", "reasoning_content": "thought"}, "said"),
    ],
)
def test_the_text_of_a_message_is_found_in_every_shape(message: dict[str, Any], text: str) -> None:
    assert read({"choices": [{"message": message}]}).text == text


def test_what_an_endpoint_leaves_out_is_unknown() -> None:
    reply = read({"choices": [{"message": {"content": "x"}}]})
    assert (reply.model, reply.finish_reason) == ("asked", "")
    assert (reply.prompt_tokens, reply.completion_tokens, reply.refusal) == (None, None, None)


@pytest.mark.parametrize(
    "usage", [None, [], "many", {"prompt_tokens": "12"}, {"prompt_tokens": -1}, {"prompt_tokens": True}]
)
def test_odd_usage_is_unknown(usage: Any) -> None:
    assert read(completion("x", usage=None) | {"usage": usage}).prompt_tokens is None


@pytest.mark.parametrize(
    ("body", "content_type", "words"),
    [
        (b"", "application/json", "an empty body"),
        (b" \n", "", "an empty body"),
        (b"<html>", "text/html; charset=utf-8", "text/html; charset=utf-8 instead of JSON"),
        (b"oops", "", "a body of no type instead of JSON"),
        (b"\xff\xfe\x00", "image/png", "no text but image/png"),
        (b"[" * 100_000, "application/json", "nested too deeply"),
        (b"[]", "application/json", "a list instead of an object"),
        (b"null", "application/json", "null instead of an object"),
        (b'{"choices": {}}', "application/json", "no list `choices`"),
        (b'{"choices": [null]}', "application/json", "no list `choices`"),
        (b'{"choices": [{}]}', "application/json", "no `message` in the first choice"),
        (b'{"choices": [{"message": {"content": 3}}]}', "application/json", "a `content` that is a number"),
        (b'{"error": "gone"}', "application/json", "an error in place of a reply: gone"),
        (b'{"choices": [{"message": {"content": "a", "content": "b"}}]}', "", 'the key "content" stands twice'),
    ],
)
def test_a_body_that_is_no_reply_is_said_in_words(body: bytes, content_type: str, words: str) -> None:
    with pytest.raises(ValueError, match=re.escape(words)):
        read(body, content_type)


def test_json_counts_whatever_its_type_is_called() -> None:
    assert read(completion("x"), "text/plain").text == "x"


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ('{"error": {"message": "m", "code": "c"}}', "m"),
        ('{"error": {"code": "c"}}', "c"),
        ('{"error": "e"}', "e"),
        ('{"detail": "d"}', "d"),
        ('{"message": "m"}', "m"),
        ("a\n  b", "a b"),
        ("x" * 900, "x" * 299 + "…"),
        ("[1]", "[1]"),
        ("", ""),
    ],
)
def test_the_words_of_an_error_are_short(body: str, words: str) -> None:
    assert envelope.said(body) == words


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "12"}, 12.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after": "Thu, 01 Jan 2026 00:01:30 GMT"}, 90.0),
        ({"retry-after": "Thu, 01 Jan 2026 00:01:30"}, 90.0),
        ({"retry-after": "Wed, 31 Dec 2025 00:00:00 GMT"}, 0.0),
    ],
)
def test_a_wish_to_wait_is_read_in_every_form(headers: dict[str, str], seconds: float | None) -> None:
    assert wished(headers, NOW) == seconds


def test_waits_double_up_to_half_a_minute() -> None:
    assert [backoff(failures, 1.0) for failures in range(1, 8)] == [1, 2, 4, 8, 16, 30, 30]
    assert backoff(3, 0.0) == 2.0


def test_a_file_is_never_seen_half_written(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b.txt"
    texts = [str(number) * 200_000 for number in range(8)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda text: write_whole(path, text), texts))
    assert path.read_text() in texts
    assert list(path.parent.iterdir()) == [path]
