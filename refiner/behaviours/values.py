"""The types of values and the words of texts: what a pattern of the vocabulary can see of an argument or a result.

Nothing here knows traces, tools or predicates, and no literal value leaves this module.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

EMBEDDED_LIMIT = 400
"""Longest result text whose single tokens are typed."""

_HEAD_TAIL = 4_000
_MAX_LEAVES = 5_000
_MAX_DEPTH = 12

_STOP_WORDS = (
    "the and for are but not you your yours all any can had her was one our out has him his how its may new now who "
    "did get got let put she too use with that this from they them then than have been were will would could should "
    "shall what when where which while whom whose there their these those here into onto upon over under about after "
    "before again also because being both down during each few more most other only own same some such very just does "
    "doing don doesn didn isn aren wasn weren won wouldn couldn shouldn hasn haven hadn yes per via must might like"
)
STOP_WORDS = frozenset(_STOP_WORDS.split())

_COLUMN_ROW = r"\$?[A-Z]{1,2}\$?[1-9]\d{0,6}"
_AREA = r"\$?[A-Z]{1,3}\$?[1-9]\d{0,6}"
_FORMULA = re.compile(r"=[^=\s].*", re.S)
_DATE = re.compile(
    r"\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?)?"
    r"|\d{4}/\d{1,2}/\d{1,2}|\d{1,2}[/-]\d{1,2}[/-](?:\d{4}|\d{2})|\d{1,2}\.\d{1,2}\.\d{4}"
)
_RANGE = re.compile(rf"(?:'[^']+'|[\w.]+)!{_AREA}(?::{_AREA})?|{_AREA}:{_AREA}|{_COLUMN_ROW}")
_EMAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_URL = re.compile(r"(?:[a-z][a-z0-9+.-]*://|www\.)\S+", re.I)
_PATH = re.compile(r"[^\s\"'<>{}|()=,;]*/[^\s\"'<>{}|()=,;]*|[^\s/\"'<>{}|()=,;:]+\.[A-Za-z][A-Za-z0-9]{0,4}")
_EXTENSION = re.compile(r"[^/]\.([A-Za-z][A-Za-z0-9]{0,4})$")
_NUMBER = re.compile(r"[+-]?[$€£]?(?:\d{1,3}(?:,\d{3})+|\d+)?(?:\.\d+|(?<=\d))(?:[eE][+-]?\d+)?%?")
_ID = re.compile(r"#?(?=[\w#:.-]*\d)(?=[\w#:.-]*[A-Za-z_])\w[\w#:.-]{1,79}")
_CODE = re.compile(r"[A-Z]{3}")
_WORD = re.compile(r"(?<![^\W_])[^\W\d_]{3,20}(?![^\W_])")
_EDGE = " \t\r\n.,;:!?()[]{}<>\"'`"
_UNSAFE_FIELD = re.compile(r"[,();:.\s\[\]]+")


def string_types(text: str) -> tuple[str, ...]:
    """The types of a whole string, most telling first; `()` for free text. An empty string is `empty`.

    A code of three capitals (an airport, a currency) is an `id`, as is any token that mixes letters and digits.
    """
    text = text.strip()
    if not text:
        return ("empty",)
    if _FORMULA.fullmatch(text):
        return ("formula",)
    if len(text) > 300 or text.lower() == "n/a":
        return ()
    for name, pattern in (("date", _DATE), ("range", _RANGE), ("email", _EMAIL), ("url", _URL), ("number", _NUMBER)):
        if pattern.fullmatch(text):
            return (name,)
    if _PATH.fullmatch(text) and text != "/":
        return _path_types(text)
    return ("id",) if _ID.fullmatch(text) or _CODE.fullmatch(text) else ()


def _path_types(text: str) -> tuple[str, ...]:
    extension = _EXTENSION.search(text)
    types = ["path"]
    if extension:
        types.append(f"path .{extension.group(1).lower()}")
    if "test" in text.lower():
        types.append("path test")
    return tuple(types)


def words(text: str) -> list[str]:
    """The distinct lower-case words of a text in order of appearance; of a long text, of its head and tail."""
    if len(text) > 2 * _HEAD_TAIL:
        text = f"{text[:_HEAD_TAIL]} {text[-_HEAD_TAIL:]}"
    return [word for word in dict.fromkeys(_WORD.findall(text.lower())) if word not in STOP_WORDS]


def text_types(text: str) -> list[str]:
    """The types of a result that is plain text: `empty`, or its words and, for a short text, its typed tokens."""
    if not text.strip():
        return ["empty"]
    types = [f"word {word}" for word in words(text)]
    if len(text) <= EMBEDDED_LIMIT:
        for token in text.split():
            token = token.strip(_EDGE)
            types.extend(string_types(token) if token else ())
    return list(dict.fromkeys(types))


def argument_types(text: str) -> Iterator[tuple[str, str]]:
    """(field, type) of every leaf of a tool call's arguments; what is not a JSON object is the field `text`."""
    if not text.strip():
        return
    value = _json(text, "{[")
    if isinstance(value, dict):
        yield from _object_leaves(value)
    else:
        yield from _leaves("text", text if value is None else value, 0)


def result_types(text: str) -> Iterator[tuple[str, str]]:
    """(field, type) of every leaf of a tool's result; what is not JSON is the field `text`."""
    value = _json(text, "{[")
    if value is None:
        yield from (("text", kind) for kind in text_types(text))
    elif isinstance(value, dict) and value:
        yield from _object_leaves(value)
    else:
        yield from _leaves("text", value, 0)


def value_types(value: Any) -> tuple[str, ...]:
    """The types of one JSON value, words included."""
    if value is None or value == "" or value == {}:
        return ("empty",)
    if isinstance(value, bool):
        return ("true" if value else "false",)
    if isinstance(value, int | float):
        return ("number",)
    if isinstance(value, str):
        return string_types(value) or tuple(f"word {word}" for word in words(value))
    if isinstance(value, list):
        return ("list 0", "list 1")[len(value) : len(value) + 1] or ("list more",)
    return ()


def _json(text: str, openings: str) -> Any:
    stripped = text.strip()
    if not stripped or stripped[0] not in openings:
        return None
    try:
        return json.loads(stripped)
    except (ValueError, RecursionError):
        return None


def _object_leaves(value: dict[str, Any]) -> Iterator[tuple[str, str]]:
    count = 0
    for key, item in value.items():
        for leaf in _leaves(_key(key, top=True), item, 0):
            yield leaf
            count += 1
            if count >= _MAX_LEAVES:
                return


def _leaves(path: str, value: Any, depth: int) -> Iterator[tuple[str, str]]:
    yield from ((path, kind) for kind in value_types(value))
    if depth >= _MAX_DEPTH:
        return
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _leaves(f"{path}.{_key(key)}", item, depth + 1)
    elif isinstance(value, list):
        for item in value[:_MAX_LEAVES]:
            yield from _leaves(f"{path}[]", item, depth + 1)


def _key(key: str, *, top: bool = False) -> str:
    """A key as part of a field; below the top level a key that is itself a value (an id, a date) becomes `*`."""
    if not top and (sum(map(str.isdigit, key)) >= 3 or "@" in key or "/" in key):
        return "*"
    return _UNSAFE_FIELD.sub("_", key).strip() or "*"
