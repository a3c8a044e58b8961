"""Records to JSON texts and back, exactly: `decode(type, encode(record)) == record` for all of `refiner.types`."""

from __future__ import annotations

import base64
import json
import types
import typing
from collections.abc import Callable
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


def from_plain(kind: Any, value: Any) -> Any:
    """Rebuilds a value of the annotated type `kind` from its JSON-able form."""
    return _reader(kind)(value)


Reader = Callable[[Any], Any]


def _same(value: Any) -> Any:
    return value


@cache
def _reader(kind: Any) -> Reader:
    """How values of an annotated type are rebuilt; worked out once for each type."""
    origin, of = typing.get_origin(kind), typing.get_args(kind)
    if isinstance(kind, type) and fields_of(kind) is not None:
        return _record(kind)
    if origin in (typing.Union, types.UnionType):
        return _optional(_reader(next(option for option in of if option is not type(None))))
    if origin is tuple:
        return _tuple(of)
    if origin is dict:
        return _dict(_reader(of[1]))
    return base64.b64decode if kind is bytes else float if kind is float else _same


def _record(kind: type) -> Reader:
    hints = typing.get_type_hints(kind)
    readers = {name: _reader(hint) for name, hint in hints.items() if _reader(hint) is not _same}

    def read(value: dict[str, Any]) -> Any:
        rebuilt = {name: readers[name](value[name]) for name in readers if name in value}
        return kind(**{**value, **rebuilt})

    return read


def _optional(read: Reader) -> Reader:
    return _same if read is _same else lambda value: None if value is None else read(value)


def _dict(read: Reader) -> Reader:
    return _same if read is _same else lambda value: {key: read(item) for key, item in value.items()}


def _tuple(of: tuple[Any, ...]) -> Reader:
    if len(of) == 2 and of[1] is Ellipsis:
        read = _reader(of[0])
        return tuple if read is _same else lambda value: tuple(map(read, value))
    each = [_reader(kind) for kind in of]
    return lambda value: tuple(read(item) for read, item in zip(each, value, strict=True))
