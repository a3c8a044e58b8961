"""What a recorded call of a model was given and gave, in the dialects of frameworks, as messages. Knows no spans."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from refiner.formats import _messages
from refiner.formats._blocks import content_text
from refiner.formats._common import json_text, scalar_id, without_images
from refiner.formats._generic_walk import conversation, spoken
from refiner.jsontext import loads

Message = dict[str, Any]

_TURN = re.compile(r"^(system|developer|user|human|assistant|ai|tool): ?", re.MULTILINE)
_REPR = re.compile(r"role='(\w+)' content=(?:None|(['\"])(.*?)\2) name=", re.DOTALL)
_CLASSES = {"HumanMessage": "user", "AIMessage": "assistant", "AIMessageChunk": "assistant", "SystemMessage": "system"}
_SYSTEM = ("system_instruction", "systemInstruction", "system", "instructions")
_SAID = ("messages", "contents", "input_messages", "input", "prompt", "new_message", "query", "question", "args")
_NOTHING = {"", "None", "null", "{}", "[]"}
_CALLS = {"tool_call": "arguments", "tool-call": "input", "function_call": "arguments", "tool_use": "input"}
_ANSWERS = {"tool_call_response": "response", "tool-result": "output", "function_call_output": "output"}
_IDS = ("id", "call_id", "toolCallId", "tool_call_id", "tool_use_id")
_DEEP = 3


def unpacked(value: Any) -> Any:
    """The value inside JSON texts, which exports wrap up to three times; every other text as it is."""
    for _ in range(_DEEP):
        if not isinstance(value, str) or value.lstrip()[:1] not in ("{", "[", '"'):
            return value
        try:
            value = loads(value.strip())
        except ValueError:
            return value
    return value


def heard(value: Any) -> list[Message]:
    """The messages that a call was given."""
    value = unpacked(value)
    if isinstance(value, str):
        return _turns(value)
    if isinstance(value, list):
        said = [message for item in value for message in (heard(item) if isinstance(item, list) else _heard_of(item))]
        return list(_tools_named(said))
    if not isinstance(value, dict):
        return []
    if _messages.is_message(value):
        return plain(value)
    sources = (value, _messages.as_dict(value.get("config")))
    told = [source[key] for source in sources for key in _SYSTEM if source.get(key) is not None][:1]
    found = (heard(value[key]) for key in _SAID if value.get(key) is not None)
    said = next((messages for messages in found if messages), [])
    said = said or [message for item in conversation(value) for message in plain(item)]
    return [*({"role": "system", "content": content_text(unpacked(text))} for text in told), *said]


def _heard_of(item: Any) -> list[Message]:
    return _turns(item) if isinstance(item, str) else plain(item)


def _tools_named(messages: list[Message]) -> Iterator[Message]:
    """The messages; one whose role is the name of a tool that was called before is that tool's observation."""
    names: set[str] = set()
    for message in messages:
        role = scalar_id(message.get("role"))
        yield {**message, "role": "tool", "name": role} if role in names and role not in _messages.ROLES else message
        calls = [call for call in _messages.as_list(message.get("tool_calls")) if isinstance(call, dict)]
        names |= {scalar_id(_messages.as_dict(call.get("function")).get("name") or call.get("name")) for call in calls}


def replied(value: Any) -> list[Message]:
    """The messages that a call gave back, those of the model alone."""
    value = unpacked(value)
    if isinstance(value, str):
        return [] if value.strip() in _NOTHING else [{"role": "assistant", "content": value}]
    if isinstance(value, list):
        return [message for item in value for message in replied(item)]
    if not isinstance(value, dict):
        return []
    for key in ("choices", "candidates", "output", "messages", "outputs", "generations"):
        if isinstance(value.get(key), list) and value[key]:
            found = value[key][:1] if key in ("choices", "candidates", "generations") else value[key]
            return replied(found)
    for key in ("message", "content", "output"):
        if isinstance(value.get(key), dict) and "role" not in value:
            return replied(value[key])
    message = plain(value if "role" in value or "lc" in value or _is_step(value) else {**value, "role": "assistant"})
    own = [one for one in message if _messages.role_of(one) == "assistant"]
    return own or ([] if message else [{"role": "assistant", "content": without_images(json_text(value))}])


def plain(item: Any) -> list[Message]:
    """A message of any dialect as those of one; what holds no message is none."""
    if not isinstance(item, dict):
        return []
    inner = item.get("kwargs")
    if "lc" in item and isinstance(inner, dict):
        name = scalar_id(_messages.as_list(item.get("id"))[-1:] and item["id"][-1])
        return plain({**inner, "role": _CLASSES.get(name, "tool")})
    if _is_step(item):
        return [_with_step({"role": "assistant", "content": None, "tool_calls": []}, item)]
    message = spoken(item)
    if message is None or _is_definition(message):
        return []
    extra = _messages.as_dict(message.get("additional_kwargs"))
    if not message.get("tool_calls") and extra.get("tool_calls"):
        message = {**message, "tool_calls": extra["tool_calls"]}
    return list(_apart(message))


def _apart(message: Message) -> Iterator[Message]:
    """The message, its calls and observations taken out of its parts."""
    parts = unpacked(_messages.first(message, ("content", "parts")))
    if isinstance(parts, list) and all(isinstance(part, dict) and "function" in part for part in parts) and parts:
        yield {**message, "role": "assistant", "content": None, "tool_calls": parts}
        return
    if not isinstance(parts, list):
        yield message if parts is None or isinstance(parts, str) else {**message, "content": parts}
        return
    rest = {key: value for key, value in message.items() if key != "parts"}
    whole: Message = {**rest, "content": [], "tool_calls": [*_messages.as_list(message.get("tool_calls"))]}
    answers = []
    for part in parts:
        step = _step(part)
        if step is None:
            whole["content"].append(_words(part))
        elif "role" in step:
            answers.append(step)
        else:
            whole["tool_calls"].append(step)
    if whole["content"] or whole["tool_calls"]:
        yield whole
    yield from answers


def _words(part: Any) -> Any:
    """A part with words; the semantic conventions call them `content`."""
    if isinstance(part, dict) and part.get("type") == "text" and "text" not in part:
        return {"type": "text", "text": content_text(part.get("content"))}
    if isinstance(part, dict) and part.get("type") == "reasoning":
        return {"type": "reasoning"}
    return part


def _is_step(item: dict[str, Any]) -> bool:
    return "role" not in item and _step(item) is not None and ("type" in item or "toolCallId" in item)


def _step(part: Any) -> dict[str, Any] | None:
    """A part that is a call (without a role) or an observation (a message of the role tool)."""
    if not isinstance(part, dict):
        return None
    for key in ("function_call", "functionCall"):
        if isinstance(part.get(key), dict):
            call: dict[str, Any] = part[key]
            return call
    for key in ("function_response", "functionResponse"):
        if isinstance(part.get(key), dict):
            return _answer(part[key], part[key].get("response"))
    kind = scalar_id(part.get("type"))
    if kind in _CALLS or (not kind and "toolName" in part and "toolCallId" in part):
        arguments = _messages.first(part, (_CALLS.get(kind, "input"), "input", "args", "arguments"))
        name = _messages.first(part, ("name", "toolName"))
        return {"id": _messages.first(part, _IDS[1:]) or part.get("id"), "name": name, "arguments": arguments}
    if kind in _ANSWERS:
        return _answer(part, _messages.first(part, (_ANSWERS[kind], "result", "output")))
    return None


def _answer(part: dict[str, Any], result: Any) -> Message:
    if isinstance(result, dict) and set(result) == {"type", "value"}:
        result = result["value"]
    call_id = _messages.first_id(part, ("call_id", "toolCallId", "tool_call_id", "id"))
    name = _messages.first(part, ("name", "toolName"))
    return {"role": "tool", "tool_call_id": call_id, "name": name, "content": _messages.result_text(result)}


def _with_step(message: Message, item: dict[str, Any]) -> Message:
    step = _step(item) or {}
    return step if "role" in step else {**message, "tool_calls": [step]}


def _is_definition(message: Message) -> bool:
    """The description of a tool, which some frameworks list among the messages."""
    content = message.get("content")
    return (
        isinstance(content, dict) and isinstance(content.get("function"), dict) and "parameters" in content["function"]
    )


def _turns(text: str) -> list[Message]:
    """A dialogue written as one text; any other text is what a user says."""
    shown = _REPR.match(text)
    if shown is not None:
        return [{"role": shown.group(1), "content": shown.group(3)}]
    marks = list(_TURN.finditer(text)) if _TURN.match(text) else []
    ends = [*(mark.start() for mark in marks[1:]), len(text)][: len(marks)]
    turns = [(mark.group(1), text[mark.end() : end].strip()) for mark, end in zip(marks, ends, strict=True)]
    said = [{"role": role, "content": words} for role, words in turns if words not in _NOTHING]
    return said if marks else [{"role": "user", "content": text}] if text.strip() not in _NOTHING else []
