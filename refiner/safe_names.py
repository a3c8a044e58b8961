"""Names of uploaded files made harmless: relative, without tricks, each once. Touches no file."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import PurePosixPath

LONGEST_PART = 120
MOST_PARTS = 8
_UNSAFE = re.compile(r"[\x00-\x1f\x7f<>:\"|?*\ud800-\udfff]")


def safe_name(name: str) -> str:
    """A relative path inside of whatever folder it is put into: no drive, no root, no `..`, no control characters."""
    parts = [_part(part) for part in re.sub(r"^[A-Za-z]:", "", name.replace("\\", "/")).split("/")]
    kept = [part for part in parts if part not in ("", ".", "..")]
    return "/".join(kept[-MOST_PARTS:]) or "file"


def _part(part: str) -> str:
    clean = _UNSAFE.sub("_", part).strip().rstrip(".") if set(part) != {"."} else part
    if len(clean.encode()) <= LONGEST_PART:
        return clean
    _, dot, ending = clean.rpartition(".")
    ending = f".{ending}" if dot and len(ending) <= 10 else ""
    return clean.encode()[: LONGEST_PART - len(ending)].decode("utf-8", "ignore") + ending


def unused(name: str, taken: Iterable[str]) -> str:
    """The name, or `stem (2).ending`, `stem (3).ending` ... when it is taken, whatever its case."""
    used = {one.casefold() for one in taken}
    path = PurePosixPath(name)
    candidate, number = name, 2
    while candidate.casefold() in used:
        candidate, number = str(path.with_name(f"{path.stem} ({number}){path.suffix}")), number + 1
    return candidate
