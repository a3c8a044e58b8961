"""JSON schemas on both ends of a call: in the dialect that endpoints accept, and as a check of what came back."""

from __future__ import annotations

from typing import Any

from refiner.jsontext import clean

# Left out of what is sent: endpoints that enforce schemas refuse these, and the analyst checks the reply anyway.
_UNSENT = {"minLength", "maxLength", "pattern", "format", "minItems", "maxItems", "uniqueItems", "minimum", "maximum"}
_NAMED = ("properties", "$defs", "definitions")
MOST_PROBLEMS = 8


def for_endpoint(schema: Any) -> Any:
    """The schema without keywords that endpoints refuse, and with the type named where an enumeration implies it."""
    if isinstance(schema, list):
        return [for_endpoint(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    sent = {
        key: {name: for_endpoint(item) for name, item in value.items()} if key in _NAMED else for_endpoint(value)
        for key, value in schema.items()
        if key not in _UNSENT
    }
    values = sent.get("enum")
    if isinstance(values, list) and "type" not in sent and all(isinstance(value, str) for value in values):
        sent["type"] = "string"
    return sent


def is_strict(schema: Any) -> bool:
    """Whether every object names all its properties as required and allows no others, as strict mode demands."""
    if isinstance(schema, list):
        return all(map(is_strict, schema))
    if not isinstance(schema, dict):
        return True
    properties = schema.get("properties")
    if isinstance(properties, dict) and (
        schema.get("additionalProperties") is not False or set(schema.get("required", ())) != set(properties)
    ):
        return False
    return all(is_strict(item) for key, value in schema.items() for item in _below(key, value))


def _below(key: str, value: Any) -> list[Any]:
    return list(value.values()) if key in _NAMED and isinstance(value, dict) else [value]


def problems(value: Any, schema: dict[str, Any]) -> list[str]:
    """What is wrong with a value, a line each with its place (`observations[2]: ...`), at most eight of them."""
    from jsonschema import Draft202012Validator

    found = sorted(Draft202012Validator(schema).iter_errors(value), key=lambda error: (error.json_path, error.message))
    lines = [f"{_place(error.absolute_path)}: {_message(error.message)}" for error in found]
    more = len(lines) - MOST_PROBLEMS
    return lines if more <= 0 else [*lines[:MOST_PROBLEMS], f"and {more} more"]


def _place(path: Any) -> str:
    text = "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in path).lstrip(".")
    return clean(text) or "the reply"


def _message(text: str) -> str:
    text = clean(" ".join(text.split()))
    return text if len(text) <= 200 else f"{text[:120]} … {text[-70:]}"
