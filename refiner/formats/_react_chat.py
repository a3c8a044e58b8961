"""Chats in the ReAct manner, told with calls: `Thought: ... Action: ...`, then `Observation: ...` as a user's message.

A chat with calls of its own is left as it is, and so is one in which no action is observed.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any

from refiner.formats import _messages
from refiner.formats._blocks import content_text

_ACTION = re.compile(r"^Action(?: \d+)?:[ \t]*", re.MULTILINE)
_OBSERVED = re.compile(r"\s*Observation(?: \d+)?:")
_FIRST_OBSERVED = re.compile(r"\s*Observation(?: \d+)?:.*", re.DOTALL)
_TASK = re.compile(r"\A\s*(?:Now given a )?task:\s*", re.IGNORECASE)
_INPUT = re.compile(r"(?P<name>[^\n]+?)\s*\nAction Input:[ \t]*(?P<given>.*)", re.DOTALL)
_BRACKETS = re.compile(r"(?P<name>[\w-]+)\[(?P<given>.*)\]", re.DOTALL)
_WORD = re.compile(r"(?P<name>[\w-]+)[;:, \t]*(?P<given>.*)", re.DOTALL)


def retold(messages: list[Any]) -> list[Any] | None:
    """The messages with actions as calls and observations as their answers; None for a chat of another manner."""
    said = [one for one in messages if isinstance(one, dict)]
    if any(_calls(one) for one in said) or not any(_observed(*two) for two in pairwise(said)):
        return None
    answers = {id(after) for before, after in pairwise(said) if _observed(before, after)}
    return [_seen(one) if id(one) in answers else _acting(one) for one in said]


def goal(opening: str) -> str:
    """What the user asks for, without the first observation in the same message."""
    return _TASK.sub("", _FIRST_OBSERVED.sub("", opening, count=1)).strip() or opening


def _calls(message: dict[str, Any]) -> bool:
    return _messages.role_of(message) == "tool" or any(message.get(key) for key in ("tool_calls", "function_call"))


def _observed(before: dict[str, Any], after: dict[str, Any]) -> bool:
    """Whether a message is what was observed on the action in the message before it."""
    if (_messages.role_of(before), _messages.role_of(after)) != ("assistant", "user"):
        return False
    seen = _OBSERVED.match(content_text(after.get("content")))
    return seen is not None and _ACTION.search(content_text(before.get("content"))) is not None


def _seen(message: dict[str, Any]) -> dict[str, Any]:
    return {**message, "role": "tool", "content": _OBSERVED.sub("", content_text(message["content"]), count=1).strip()}


def _acting(message: dict[str, Any]) -> dict[str, Any]:
    """A reply with its last action as a call; any other message as it is."""
    text = content_text(message.get("content")) if _messages.role_of(message) == "assistant" else ""
    marks = list(_ACTION.finditer(text))
    action = text[marks[-1].end() :].strip() if marks else ""
    found = next(filter(None, (kind.fullmatch(action) for kind in (_INPUT, _BRACKETS, _WORD))), None)
    if found is None:
        return message
    call = {"function": {"name": found["name"], "arguments": found["given"].strip()}}
    return {**message, "content": text[: marks[-1].start()].strip(), "tool_calls": [call]}
