"""JSON values out of a file of any size: those of a list, or spread over lines, one in memory at a time."""

from __future__ import annotations

import codecs
import json
import re
from typing import Any, BinaryIO

CHUNK = 1 << 20
"""Characters that are read on at least; a value that is longer is read in steps that double."""
DECODER = json.JSONDecoder(strict=False)
BLANK = re.compile(r"[\s\ufeff]*")
BETWEEN = re.compile(r"[\s\ufeff,]*")
_CLOSERS = ("}", "]", '"')


class Values:
    """The values of a UTF-8 text, one after the other. `line` is that of the next character (1-based).

    Bytes that are no UTF-8 become U+FFFD. What was read stays in memory until `forget`, then only what is not used yet.
    """

    def __init__(self, head: bytes, stream: BinaryIO, line: int = 1) -> None:
        self.line = line
        self.raw: list[bytes] | None = [head]
        self._stream, self._decoder = stream, codecs.getincrementaldecoder("utf-8")("replace")
        self._text, self._at, self._is_over = self._decoder.decode(head), 0, False

    def forget(self) -> None:
        """From here on the file is not held any more."""
        self.raw = None

    def skip(self, what: re.Pattern[str]) -> str:
        """Passes over what the pattern matches; returns the character that comes then, or "" at the end."""
        while True:
            end = what.match(self._text, self._at).end()  # type: ignore[union-attr]
            self._pass(end)
            if end < len(self._text) or not self._more():
                return self._text[self._at : self._at + 1]

    def step(self) -> None:
        """Passes over one character."""
        self._pass(self._at + 1)

    def value(self) -> Any:
        """The value that begins here. Raises ValueError or RecursionError when it cannot be read."""
        while True:
            try:
                value, end = DECODER.raw_decode(self._text, self._at)
            except ValueError:
                if not self._more():
                    raise
                continue
            if end < len(self._text) or self._text.endswith(_CLOSERS) or not self._more():
                self._pass(end)
                return value

    def is_cut(self, error: json.JSONDecodeError) -> bool:
        """Whether the text ends inside the value that `value` could not read."""
        return error.pos >= len(self._text.rstrip()) or "Unterminated" in error.msg

    def everything(self) -> bytes:
        """All bytes from the beginning; only before `forget`."""
        assert self.raw is not None
        return b"".join(self.raw) + self._stream.read()

    def _pass(self, end: int) -> None:
        self.line += self._text.count("\n", self._at, end)
        self._at = end

    def _more(self) -> bool:
        """Reads on; False at the end of the file."""
        if self._is_over:
            return False
        self._text, self._at = self._text[self._at :], 0
        data = self._stream.read(max(CHUNK, len(self._text)))
        self._is_over = not data
        if self.raw is not None:
            self.raw.append(data)
        self._text += self._decoder.decode(data, final=self._is_over)
        return True
