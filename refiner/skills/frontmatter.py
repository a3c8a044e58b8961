"""The YAML block at the top of a skill: where it lies, what it says, what is wrong with it. Checks no limits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from refiner.skills.lines import split


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """Byte offsets: `start` of the first `---` line, `own_start` to `own_end` the YAML, `end` after the closing line.

    `values` is empty and `problem` says why when the YAML cannot be read or is not a mapping.
    """

    start: int
    own_start: int
    own_end: int
    end: int
    values: dict[str, Any]
    problem: str | None = None


def front_matter(data: bytes) -> FrontMatter | None:
    """The front matter of a text, or None when its first line is not `---` or no later line closes it."""
    lines = split(data)
    if not lines or data[lines[0].start : lines[0].end].rstrip() != b"---":
        return None
    for line in lines[1:]:
        if data[line.start : line.end].rstrip() == b"---":
            values, problem = _values(data[lines[0].next : line.start].decode("utf-8", "replace"))
            return FrontMatter(lines[0].start, lines[0].next, line.start, line.next, values, problem)
    return None


def _values(text: str) -> tuple[dict[str, Any], str | None]:
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    try:
        loaded = YAML(typ="safe", pure=True).load(text)
    except (YAMLError, ValueError, RecursionError) as error:
        return {}, " ".join(str(error).split())
    if loaded is None:
        return {}, None
    if not isinstance(loaded, dict):
        return {}, f"it is a {type(loaded).__name__}, not a list of `key: value` lines"
    return {str(key): value for key, value in loaded.items()}, None
