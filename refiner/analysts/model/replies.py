"""What a model wrote, turned into the JSON object that was asked for. Reads text only; asks nobody anything.

Models wrap their answer in thoughts, fences, prose or a tool call, cut it short, leave it out. Whatever cannot be read
for certain is a BadReply whose message a model can act on; nothing is guessed, nothing is dropped in silence.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from refiner.errors import BadReply
from refiner.transports.base import Reply
from refiner.transports.schema import problems

_THOUGHT = re.compile(r"<(think|thinking|reasoning)>.*?</\1>", re.DOTALL | re.IGNORECASE)
_OPEN_THOUGHT = re.compile(r"\A\s*<(?:think|thinking|reasoning)>", re.IGNORECASE)
_CLOSED_THOUGHT = re.compile(r"\A.*</(?:think|thinking|reasoning)>", re.DOTALL | re.IGNORECASE)
_WRAPPERS = ("arguments", "parameters", "input", "tool_input")
_STARTS = 200  # braces tried as the beginning of the object
_CUT_OFF = "the JSON object is cut off before its end"
_CUT = ("length", "max_tokens")


class Refused(BadReply):
    """The model will not answer; asking again in the same words is money for nothing."""


def read(reply: Reply, schema: Mapping[str, Any]) -> dict[str, Any]:
    """The object of a reply, fitting the schema; what the schema does not name is left out of it.

    Raises BadReply saying what is wrong; Refused when the model declined.
    """
    if reply.refusal:
        raise Refused(f"the model refused: {_short(reply.refusal)}")
    text = _without_thoughts(reply.text)
    if not text.strip():
        raise BadReply(f"the reply is empty{_cut_words(reply)}")
    found, wrong = _candidates(text)
    best: list[str] | None = None
    for value in found:
        fitting: dict[str, Any] = _pruned(_unwrapped(value, schema), schema, schema)
        wrongs = problems(fitting, dict(schema))
        if not wrongs:
            return fitting
        best = wrongs if best is None else best
    if best is not None and not wrong.startswith(_CUT_OFF):
        raise BadReply(f"the JSON object does not fit: {'; '.join(best[:5])}")
    raise BadReply(f"{wrong or 'there is no JSON object in the reply'}{_cut_words(reply)}")


def _cut_words(reply: Reply) -> str:
    return "; it was cut off at its length limit, so write less" if reply.finish_reason in _CUT else ""


def _without_thoughts(text: str) -> str:
    text = _THOUGHT.sub("", text)
    if "</think" in text.lower() or "</reasoning" in text.lower():
        text = _CLOSED_THOUGHT.sub("", text)  # the opening mark was part of the template
    return "" if _OPEN_THOUGHT.match(text) and "{" not in text else text


def _candidates(text: str) -> tuple[list[dict[str, Any]], str]:
    """Every outermost object that can be read, largest first, and what was wrong with the first that cannot."""
    found: list[tuple[int, dict[str, Any]]] = []
    wrong = ""
    at, tried = text.find("{"), 0
    while at >= 0 and tried < _STARTS:
        tried += 1
        try:
            value, end = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError) as error:
            wrong = wrong or _what(error, text, at)
            if isinstance(error, _Twice):
                break
            at = text.find("{", at + 1)
            continue
        found.append((end - at, value))
        at = text.find("{", end)
    found.sort(key=lambda pair: -pair[0])
    return [value for _, value in found], wrong


def _what(error: Exception, text: str, at: int) -> str:
    if isinstance(error, json.JSONDecodeError):
        if error.pos >= len(text.rstrip()) - 1 or "Unterminated" in error.msg:
            return _CUT_OFF
        return f"the JSON is not valid: {error.msg} at character {error.pos - at} of the object"
    return str(error) if isinstance(error, _Twice) else "the JSON is nested too deeply"


class _Twice(ValueError):
    pass


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The pairs as an object. Raises _Twice: which of two values a model meant is anybody's guess."""
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found and found[key] != value:
            raise _Twice(f'the key "{_short(key)}" stands twice with different values')
        found[key] = value
    return found


_DECODER = json.JSONDecoder(strict=False, object_pairs_hook=_object)


def _unwrapped(value: dict[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a reply in the shape of a tool call, else the value itself."""
    wanted = set(schema.get("properties", {}))
    for inner in _inside(value):
        if isinstance(inner, str):
            try:
                inner = _DECODER.decode(inner)
            except ValueError:
                continue
        if isinstance(inner, dict) and wanted & set(inner) and not wanted & set(value):
            return inner
    return value


def _inside(value: dict[str, Any]) -> Iterator[Any]:
    yield from (value[name] for name in _WRAPPERS if name in value)
    for call in value.get("tool_calls") or [value.get("function") or value.get("function_call")]:
        function = call.get("function", call) if isinstance(call, dict) else None
        if isinstance(function, dict):
            yield from (function[name] for name in _WRAPPERS if name in function)
    if len(value) == 1:
        yield next(iter(value.values()))


def _pruned(value: Any, schema: Mapping[str, Any], root: Mapping[str, Any]) -> Any:
    """The value without properties that the schema does not name; one text becomes a list where a list is due."""
    if "$ref" in schema:
        schema = root.get("$defs", {}).get(str(schema["$ref"]).rpartition("/")[2], {})
    if schema.get("type") == "array":
        items = schema.get("items", {})
        if isinstance(value, str) and items.get("type") == "string":
            value = [value] if value.strip() else []
        return [_pruned(item, items, root) for item in value] if isinstance(value, list) else value
    properties = schema.get("properties")
    if isinstance(value, dict) and isinstance(properties, dict):
        return {name: _pruned(value[name], inner, root) for name, inner in properties.items() if name in value}
    return value


def _short(text: str) -> str:
    folded = " ".join(text.split())
    return folded if len(folded) <= 200 else folded[:199] + "…"
