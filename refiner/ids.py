"""Stable identities: hashes of content that are equal on every machine, in every process and for every input order."""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import json
import math
from functools import cache
from typing import Any

LENGTH = 20


_AS_THEY_ARE = frozenset({str, int, bool, type(None)})
"""Asked first: nearly all of a trace is text, and a corpus of gigabytes is hashed through here."""


@cache
def fields_of(kind: type) -> tuple[str, ...] | None:
    """The names of the fields of a dataclass; None for every other type."""
    return tuple(field.name for field in dataclasses.fields(kind)) if dataclasses.is_dataclass(kind) else None


def _plain(value: Any) -> Any:
    """A JSON-able form with tagged types, so that (1, "1", b"1", [1]) never collide."""
    if type(value) in _AS_THEY_ARE:
        return value
    if (names := fields_of(value.__class__)) is not None:
        return {"~": type(value).__name__, **{name: _plain(getattr(value, name)) for name in names}}
    if isinstance(value, bytes):
        return {"~bytes": base64.b64encode(value).decode()}
    if isinstance(value, float) and not math.isfinite(value):
        return {"~float": repr(value)}
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, set | frozenset):
        return sorted(_plain(item) for item in value)
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value


def canonical_json(value: Any) -> str:
    """One text for equal values: keys sorted, no spaces, dataclasses by field name, ASCII only."""
    return json.dumps(_plain(value), sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def content_key(*parts: Any) -> str:
    """20 hex digits of the SHA-256 of the parts (80 bits: no collision expected below 10^11 records)."""
    return hashlib.sha256(canonical_json(list(parts)).encode()).hexdigest()[:LENGTH]


def text_key(*parts: str) -> str:
    """Like `content_key` for plain texts, without the detour over JSON of nested values."""
    joined = json.dumps(parts, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(joined.encode()).hexdigest()[:LENGTH]


def unit_hash(text: str, *, salt: str = "") -> int:
    """A stable integer of 64 bits for sampling and shares: the same text always falls on the same side."""
    return int.from_bytes(hashlib.sha256(f"{salt}\x1f{text}".encode("utf-8", "surrogatepass")).digest()[:8], "big")
