"""JSON as it is found on disk: lines, a list, one object, broken ones too. No knowledge of traces or labels lives here.

Everything read here is untrusted. What cannot be used comes back as a problem in words, with its line.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, BinaryIO, NamedTuple

from refiner.jsonstream import BETWEEN, BLANK, CHUNK, DECODER, Values

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|["\[\]{},]', re.DOTALL)
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_KINDS = {list: "a list", str: "a text", bool: "true or false", int: "a number", float: "a number", type(None): "null"}
_CUT = "cut off: the file ends"
_NESTED = "nested too deeply to read"


class Row(NamedTuple):
    """One record of a file: where it starts (1-based line), and either the object or why there is none."""

    line: int
    record: dict[str, Any] | None
    problem: str = ""


class Pair(NamedTuple):
    """One entry of a JSON object, in file order, repeated keys included."""

    line: int
    key: str
    value: Any


def clean(text: str) -> str:
    """The text without NUL characters and lone surrogates, which neither UTF-8 files nor databases can hold."""
    return text if _is_storable(text) else _UNSTORABLE.sub("\ufffd", text)


def _is_storable(text: str) -> bool:
    """Looks far faster than the pattern does, and nearly every text is fine."""
    if "\x00" in text or text.isascii():
        return "\x00" not in text
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def decode(data: bytes) -> str:
    """UTF-8 text; bytes that are none become U+FFFD, a byte order mark goes."""
    return data.decode("utf-8", errors="replace").removeprefix("\ufeff")


def loads(text: str) -> Any:
    """The JSON value of a text; raises ValueError for anything that cannot be read, whatever the cause."""
    try:
        return DECODER.decode(text)
    except RecursionError:
        raise ValueError(_NESTED) from None


def kind_of(value: Any) -> str:
    """What a JSON value is, in words: "a list"."""
    return _KINDS.get(type(value), "an object")


def rows(stream: BinaryIO) -> Iterator[Row]:
    """The objects of JSON lines, of JSON lists, or of one or more objects spread over lines, streamed."""
    number = 1
    while head := stream.readline(CHUNK):
        if not (text := decode(head).strip()):
            number += head.endswith(b"\n")
            continue
        if text.startswith("["):
            yield from _without_lines(Values(head, stream, number))
            return
        raw = head if head.endswith(b"\n") else head + stream.readline()
        first = _row(number, decode(raw).strip())
        if first.record is not None:
            yield first
            yield from _lines(stream, number + 1)
        else:
            yield from _without_lines(Values(raw, stream, number))
        return


def pairs(text: str) -> Iterator[Pair]:
    """The entries of the one object that a text holds, with their lines. Raises ValueError naming the line."""
    at, line, seen = BLANK.match(text).end(), 1, 0  # type: ignore[union-attr]
    _expect(text, at, "{", line)
    at = _skip(text, at + 1)
    while text[at : at + 1] != "}":
        line, seen = line + text.count("\n", seen, at), at
        _expect(text, at, '"', line)
        try:
            key, at = DECODER.raw_decode(text, at)
            at = _skip(text, at)
            _expect(text, at, ":", line)
            value, at = DECODER.raw_decode(text, _skip(text, at + 1))
        except json.JSONDecodeError as error:
            raise ValueError(f"line {error.lineno}: {error.msg}") from None
        except RecursionError:
            raise ValueError(f"line {line}: {_NESTED}") from None
        yield Pair(line, clean(key), value)
        at = _skip(text, at)
        if text[at : at + 1] == ",":
            at = _skip(text, at + 1)
        elif text[at : at + 1] != "}":
            raise ValueError(f"line {line + text.count(chr(10), seen, at)}: a comma or }} is missing")
    if text[at + 1 :].strip():
        raise ValueError("something follows after the closing }")


def sample(head: bytes) -> list[dict[str, Any]]:
    """The first objects of a file from its first bytes; the last one may hold only what fitted in."""
    text = decode(head).strip()
    if text[:1] in ("[", "{"):
        whole = _completed(text)
        if isinstance(whole, list) and any(isinstance(item, dict) for item in whole):
            return [item for item in whole if isinstance(item, dict)]
        if isinstance(whole, dict) and whole and "\n" in text and _loaded(text.split("\n", 1)[0]) is None:
            return [whole]
    found = (_completed(line) for line in text.split("\n")[:50] if line.strip().startswith("{"))
    return [record for record in found if isinstance(record, dict)]


def _loaded(text: str) -> Any:
    try:
        return loads(text.strip())
    except ValueError:
        return None


def _completed(text: str) -> Any:
    """The value of a JSON text that may end early: what is complete in it, with the open brackets closed."""
    stack: list[str] = []
    cut, closers = 0, ""
    for token in _TOKEN.finditer(text):
        mark = token.group()
        if mark in "[{":
            stack.append("]" if mark == "[" else "}")
        elif mark in "]}":
            if not stack:
                return None
            stack.pop()
        elif mark == '"':
            break
        elif mark != ",":
            continue
        cut, closers = (token.start() if mark == "," else token.end()), "".join(reversed(stack))
        if not stack:
            break
    return _loaded(text[:cut] + closers)


def _skip(text: str, at: int) -> int:
    return BLANK.match(text, at).end()  # type: ignore[union-attr]


def _expect(text: str, at: int, character: str, line: int) -> None:
    if text[at : at + 1] != character:
        raise ValueError(f"line {line}: {character} was expected")


def _row(number: int, text: str) -> Row:
    try:
        value = loads(text)
    except json.JSONDecodeError as error:
        return Row(number, None, f"not JSON: {error.msg} at column {error.colno}")
    except ValueError as error:
        return Row(number, None, f"not JSON: {error}")
    return _checked(number, value)


def _checked(line: int, value: Any) -> Row:
    return Row(line, value) if isinstance(value, dict) else Row(line, None, f"not an object but {kind_of(value)}")


def _lines(stream: Iterator[bytes] | BinaryIO, number: int) -> Iterator[Row]:
    for line, raw in enumerate(stream, number):
        if not (text := decode(raw).strip()):
            continue
        row = _row(line, text)
        if row.record is None and not raw.endswith(b"\n") and row.problem.startswith("not JSON"):
            row = Row(line, None, f"{_CUT} inside this record")
        yield row


def _without_lines(source: Values) -> Iterator[Row]:
    """A file whose first line is no object: a list, objects spread over lines, or lines of which the first is bad."""
    number, held = source.line, list[Row]()
    if source.skip(BLANK) in ("[", "{"):
        found = _values(source)
        for row in found:
            held.append(row)
            if row.record is not None:
                source.forget()
                yield from held
                yield from found
                return
    lines = _lines(iter(source.everything().splitlines(keepends=True)), number)
    yield from _instead(held[-1], lines) if held and held[-1].problem.startswith(_CUT) else lines


def _instead(cut: Row, lines: Iterator[Row]) -> Iterator[Row]:
    """One problem for one value that is cut off, where its lines would each be a problem of their own."""
    held: list[Row] = []
    for row in lines:
        held.append(row)
        if row.record is not None:
            yield from held
            yield from lines
            return
    yield cut


def _values(source: Values) -> Iterator[Row]:
    """The elements of lists, or the values of a text one after the other, up to the first that cannot be read."""
    in_list = False
    while comes := source.skip(BETWEEN if in_list else BLANK):
        if comes == ("]" if in_list else "["):
            in_list = not in_list
            source.step()
            continue
        line = source.line
        try:
            yield _checked(line, source.value())
        except (ValueError, RecursionError) as error:
            yield Row(line, None, _unreadable(error, source))
            return
    if in_list:
        yield Row(source.line, None, f"{_CUT} inside the list")


def _unreadable(error: Exception, source: Values) -> str:
    if isinstance(error, RecursionError):
        return f"{_NESTED}; nothing after it could be read"
    if isinstance(error, json.JSONDecodeError) and source.is_cut(error):
        return f"{_CUT} inside this record"
    return f"not JSON: {getattr(error, 'msg', error)}; nothing after it could be read"
