"""Records to JSON texts and back, exactly: `decode(type, encode(record)) == record` for all of `refiner.types`."""

from __future__ import annotations

import base64
import json
import types
import typing
from functools import cache
from typing import Any, TypeVar

from refiner.ids import fields_of

R = TypeVar("R")


def to_plain(value: Any) -> Any:
    """The JSON-able form of a record: fields by name, tuples as lists, bytes as base64."""
    if isinstance(value, str) or value is None:
        return value
    if (names := fields_of(value.__class__)) is not None:
        return {name: to_plain(getattr(value, name)) for name in names}
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, dict):
        return {key: to_plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [to_plain(item) for item in value]
    return value


def encode(record: Any) -> str:
    """One line of ASCII JSON. ASCII, because a database text can hold neither NUL nor a lone surrogate unescaped."""
    return json.dumps(to_plain(record), ensure_ascii=True, separators=(",", ":"))


def decode(kind: type[R], text: str) -> R:
    """The record of type `kind` that `encode` wrote."""
    return typing.cast(R, from_plain(kind, json.loads(text)))


@cache
def _hints(kind: type) -> dict[str, Any]:
    return typing.get_type_hints(kind)


def from_plain(kind: Any, value: Any) -> Any:
    """Rebuilds a value of the annotated type `kind` from its JSON-able form."""
    if isinstance(kind, type) and fields_of(kind) is not None:
        hints = _hints(kind)
        return kind(**{name: from_plain(hints[name], item) for name, item in value.items()})
    origin = typing.get_origin(kind)
    if origin in (typing.Union, types.UnionType):
        inner = [option for option in typing.get_args(kind) if option is not type(None)]
        return None if value is None else from_plain(inner[0], value)
    if origin is tuple:
        return _tuple(typing.get_args(kind), value)
    if origin is dict:
        of = typing.get_args(kind)[1]
        return {key: from_plain(of, item) for key, item in value.items()}
    if kind is bytes:
        return base64.b64decode(value)
    return float(value) if kind is float else value


def _tuple(args: tuple[Any, ...], value: list[Any]) -> tuple[Any, ...]:
    if len(args) == 2 and args[1] is Ellipsis:
        return tuple(from_plain(args[0], item) for item in value)
    return tuple(from_plain(of, item) for of, item in zip(args, value, strict=True))
