"""Lines of a text as byte ranges, ended the way CommonMark ends them. No markdown in here."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

BOM = b"\xef\xbb\xbf"
_END = re.compile(rb"\r\n|\r|\n")


@dataclass(frozen=True, slots=True)
class Line:
    """`start` to `end` is the text of a line, `end` to `next` its line ending (empty for an unfinished last line)."""

    start: int
    end: int
    next: int


def split(data: bytes) -> tuple[Line, ...]:
    """Every line of `data`; a byte order mark belongs to no line, and a final line ending opens none."""
    lines, start = [], len(BOM) if data.startswith(BOM) else 0
    for match in _END.finditer(data):
        lines.append(Line(start, match.start(), match.end()))
        start = match.end()
    if start < len(data):
        lines.append(Line(start, len(data), len(data)))
    return tuple(lines)


def ending(data: bytes) -> bytes:
    r"""The line ending that `data` uses most; `\n` for a tie or a text of one line."""
    counts = Counter(_END.findall(data))
    return max((b"\n", b"\r\n", b"\r"), key=lambda end: counts[end])


def is_blank(data: bytes) -> bool:
    return not data.strip(b" \t\r\n")


def ends_line(data: bytes | bytearray) -> bool:
    """Whether what follows `data` starts a new line."""
    return not data or data == BOM or data.endswith((b"\n", b"\r"))
