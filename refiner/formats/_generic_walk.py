"""Finds what looks like messages in records of an unknown shape. Makes no traces."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from refiner.formats._blocks import content_text
from refiner.formats._messages import CONTENT_KEYS, ROLES, as_dict, first, first_line, is_item, is_message
from refiner.formats._steps import Steps

_SPEAKERS = ("role", "from", "speaker", "author", "type")
_SAYING = (*CONTENT_KEYS, "message", "output")
_DEEP, _WIDE = 8, 10_000
_REPLIES = ("outputs", "output", "response", "completion")
_SHELL_ROLE = "bashExecution"
_FAILED = "errorMessage"


def spoken(value: Any) -> dict[str, Any] | None:
    """A value as a message `{role, content, ...}`, or None: a message, a line that wraps one, another spelling."""
    if not isinstance(value, dict):
        return None
    inner = value.get("message")
    if isinstance(inner, dict) and (is_message(inner) or inner.get("role") == _SHELL_ROLE):
        return _with_time(_plain(inner), value)
    if is_message(value) or is_item(value) or value.get("role") == _SHELL_ROLE:
        return _plain(value)
    speaker = next((key for key in _SPEAKERS if str(value.get(key)).lower() in ROLES), None)
    if speaker is None or not any(key in value for key in (*_SAYING, "toolCalls", "tool_calls")):
        return None
    said = {key: item for key, item in value.items() if key not in (*_SPEAKERS, *_SAYING)}
    return {**said, "role": value[speaker], "content": first(value, _SAYING)}


def conversation(record: dict[str, Any]) -> list[dict[str, Any]]:
    """The longest list of messages anywhere in a record, and the reply that stands apart from it."""
    lists = [said for items in _lists(record, 0) if (said := said_in(items))]
    if not lists:
        return []
    longest = max(lists, key=len)
    replies = [reply for key in _REPLIES if key in record for reply in _reply(record[key], 0)]
    return [*longest, *(reply for reply in replies[:1] if reply not in longest)]


def said_in(items: list[Any]) -> list[dict[str, Any]]:
    """The messages of a list in which they are at least half, with what the tool says of failures between them."""
    told = [message for item in items if (message := spoken(item) or _failure(item)) is not None]
    said = sum(_FAILED not in message for message in told)
    return told if said and 2 * said >= len(items) else []


def _failure(value: Any) -> dict[str, Any] | None:
    """An entry of a list of messages that tells of an error (Gemini CLI), as a reply that failed."""
    if not isinstance(value, dict) or value.get("type") != "error":
        return None
    text = content_text(first(value, _SAYING))
    return _with_time({"role": "assistant", "content": None, "stopReason": "error", _FAILED: text}, value)


def ending(steps: Steps, message: dict[str, Any], at: str | None) -> None:
    """How a reply ended, where it says that a user stopped it or that it failed."""
    how, text = message.get("stopReason"), content_text(message.get(_FAILED))
    if how == "aborted":
        steps.event("interruption", f"[interrupted: {first_line(text)}]" if text else "[interrupted]", at=at)
    elif how == "error":
        steps.event("error", text, at=at, error=first_line(text) or "error")


def _lists(value: Any, depth: int) -> Iterator[list[Any]]:
    if depth > _DEEP:
        return
    if isinstance(value, list):
        yield value
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for item in list(inner)[:_WIDE]:
        if isinstance(item, dict | list):
            yield from _lists(item, depth + 1)


def _reply(value: Any, depth: int) -> Iterator[dict[str, Any]]:
    """The first message in what a call gave back."""
    message = spoken(value)
    if message is not None:
        yield message
    elif depth <= _DEEP and isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _reply(item, depth + 1)


def _plain(message: dict[str, Any]) -> dict[str, Any]:
    """A command that a person ran in the session, as the call of a tool that it is."""
    if message.get("role") != _SHELL_ROLE:
        return message
    call = {"name": "bash", "arguments": {"command": message.get("command")}, "result": message.get("output") or ""}
    failed = {"is_error": True} if message.get("exitCode") else {}
    return {"role": "assistant", "content": None, "tool_calls": [call | failed], "timestamp": message.get("timestamp")}


def _with_time(message: dict[str, Any], line: dict[str, Any]) -> dict[str, Any]:
    """The message with the time, and the id, of the line around it."""
    outer = {key: line[key] for key in ("timestamp", "id") if isinstance(line.get(key), str)}
    return {**as_dict(message), **outer}
