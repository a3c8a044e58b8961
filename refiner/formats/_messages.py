"""Messages of chat dialects (OpenAI, Anthropic, Google, Inspect and others) as steps. Knows no records."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from refiner.formats._blocks import block_text, content_text
from refiner.formats._common import json_text, scalar_id, text_of, utc_time, without_images
from refiner.formats._steps import Steps
from refiner.jsontext import clean, loads

ROLES = {
    **dict.fromkeys(("system", "developer"), "system"),
    **dict.fromkeys(("user", "human"), "user"),
    **dict.fromkeys(("assistant", "ai", "gpt", "model", "bot", "chatbot", "gemini", "llm"), "assistant"),
    **dict.fromkeys(("tool", "function", "toolresult", "tool_result", "observation", "ipython"), "tool"),
}
"""What the dialects call the four who speak, in lower case."""
CONTENT_KEYS = ("content", "parts", "value", "text")
_CALL_KEYS = ("tool_calls", "toolCalls")
_CALL_IDS = ("tool_call_id", "toolCallId", "tool_use_id", "call_id", "id")
_NAMES = ("name", "toolName", "tool_name")
_ARGUMENTS = ("arguments", "args", "input", "parameters")
_RESULTS = ("result", "output", "response")
_CALL_BLOCKS = {"tool_use", "toolCall", "tool_call", "server_tool_use", "mcp_tool_use", "function_call"}
_MAX_REPR, _MAX_BRACKETS = 100_000, 200


def is_message(value: Any) -> bool:
    """Whether a value is a message: a role, and words or calls."""
    if not isinstance(value, dict) or not isinstance(value.get("role"), str):
        return False
    return any(key in value for key in (*CONTENT_KEYS, *_CALL_KEYS, "function_call"))


def add(steps: Steps, message: dict[str, Any], at: str | None = None, until: str | None = None) -> None:
    """Adds what a message says, calls and observes. `at` and `until` win over its own time."""
    steps.turn += 1
    role = role_of(message)
    at = at or utc_time(message.get("timestamp"))
    content = [message] if is_item(message) else first(message, CONTENT_KEYS)
    if role == "tool":
        error = stated_error(message, content)
        name = first_id(message, (*_NAMES, "function"))
        steps.answer(content_text(content), first_id(message, _CALL_IDS), name, until or at, error)
        return
    calls = [call for key in _CALL_KEYS for call in as_list(message.get(key))]
    legacy = _legacy(message.get("function_call"))
    if (calls or legacy) and content == "None":
        content = None
    _speak(steps, role, content, scalar_id(message.get("id")), at, _speaker(message, role))
    for call in [*calls, *legacy]:
        add_call(steps, call, at)


def _speaker(message: dict[str, Any], role: str) -> str:
    """The name of the agent that speaks, where there are several; they may stand in the role as well."""
    given = scalar_id(message.get("role"))
    other = "" if given.lower() in ROLES else given
    return "" if role == "system" else scalar_id(message.get("name")) or other


def is_item(value: Any) -> bool:
    """Whether a value is a call or an observation that stands among messages as one of them, without a role."""
    return isinstance(value, dict) and "role" not in value and _step(value) is not None


def role_of(message: dict[str, Any]) -> str:
    """system, user, assistant or tool; a role of another name is one of several agents."""
    return ROLES.get(scalar_id(message.get("role")).lower(), "assistant")


def add_call(steps: Steps, call: Any, at: str | None = None) -> None:
    """A tool call of any dialect; one that carries its own result is answered at once."""
    if not isinstance(call, dict):
        return
    function = call.get("function")
    inner = function if isinstance(function, dict) else call
    name = first_id(inner, _NAMES) or scalar_id(function)
    call_id = first_id(call, _CALL_IDS)
    steps.call(name, arguments_text(first(inner, _ARGUMENTS)), call_id, utc_time(call.get("timestamp")) or at)
    result = first(call, _RESULTS)
    if result is not None:
        text = result_text(result)
        steps.answer(text, call_id, name, error=stated_error(call, text))


def arguments_text(arguments: Any) -> str:
    """Arguments as they were given: a text as it is, anything else as JSON."""
    return (
        text_of(arguments) if arguments is None or isinstance(arguments, str) else without_images(json_text(arguments))
    )


def stated_error(message: dict[str, Any], content: Any) -> str | None:
    """What failed, where a message or call says that something did."""
    error = message.get("error")
    if error and error is not True:
        return content_text(error.get("message") if isinstance(error, dict) else error) or "error"
    flags = (error, message.get("is_error"), message.get("isError"))
    if any(flag is True for flag in flags) or message.get("status") == "error":
        return first_line(content_text(content)) or "error"
    return None


def first_line(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if line.strip()), "")


def first(record: dict[str, Any], keys: tuple[str, ...]) -> Any:
    """The value of the first key that has one."""
    return next((record[key] for key in keys if record.get(key) is not None), None)


def first_id(record: dict[str, Any], keys: tuple[str, ...]) -> str:
    return next((found for key in keys if (found := scalar_id(record.get(key)))), "")


def as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def as_dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _speak(steps: Steps, role: str, content: Any, span_id: str, at: str | None, speaker: str) -> None:
    """Words, with the calls and observations that stand among them in their place. `speaker`: one of several agents."""
    words: list[str] = []
    for block in content if isinstance(content, list) else [content]:
        step = _step(block)
        if step is None:
            words.append(content_text(block))
            continue
        steps.say(role, "\n".join(filter(None, words)), span_id, at, speaker)
        words = []
        kind, inner = step
        if kind == "call":
            add_call(steps, inner, at)
        else:
            result = first(inner, ("content", *_RESULTS))
            name, error = first_id(inner, _NAMES), stated_error(inner, result)
            steps.answer(result_text(result), first_id(inner, _CALL_IDS[:-1]), name, at, error)
    steps.say(role, "\n".join(filter(None, words)), span_id, at, speaker)


def _step(block: Any) -> tuple[str, dict[str, Any]] | None:
    """The call or the observation that a block is."""
    if not isinstance(block, dict):
        return None
    kind = scalar_id(block.get("type"))
    if kind in _CALL_BLOCKS:
        return "call", block
    if kind.endswith(("tool_result", "function_call_output")):
        return "answer", block
    for key, what in (("functionCall", "call"), ("functionResponse", "answer")):
        if isinstance(block.get(key), dict):
            return what, block[key]
    return None


def result_text(result: Any) -> str:
    """An observation as text; Google wraps it in `functionResponse.response.output`."""
    unwrapped = list(_unwrapped(result)) if isinstance(result, list) else []
    if unwrapped:
        return "\n".join(unwrapped)
    if isinstance(result, dict) and set(result) in ({"output"}, {"result"}, {"content"}):
        return content_text(next(iter(result.values())))
    return block_text(result) if isinstance(result, dict) else content_text(result)


def _unwrapped(blocks: list[Any]) -> Iterator[str]:
    for block in blocks:
        response = block.get("functionResponse") if isinstance(block, dict) else None
        if isinstance(response, dict):
            said = response.get("response")
            yield result_text(said["error"] if isinstance(said, dict) and set(said) == {"error"} else said)


def _legacy(call: Any) -> list[dict[str, Any]]:
    """`function_call` of the time before tool calls: an object, its JSON, or the Python text of one."""
    if isinstance(call, str):
        call = parsed(call)
    return [call] if isinstance(call, dict) and call.get("name") else []


def parsed(text: str) -> Any:
    """The value of a text that is JSON or a Python literal; None for any other text."""
    try:
        return loads(text)
    except ValueError:
        pass
    if len(text) > _MAX_REPR or sum(map(text.count, "([{")) > _MAX_BRACKETS:
        return None
    try:
        return ast.literal_eval(clean(text))
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        return None
