"""The JSON values of a file, lists as well as objects, and what its first bytes hold. Knows no format."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from io import BytesIO
from typing import Any, BinaryIO, NamedTuple

from refiner.formats._common import Item
from refiner.jsonstream import BETWEEN, BLANK, CHUNK, Values
from refiner.jsontext import decode, kind_of, loads, rows, sample
from refiner.ports import Source
from refiner.types import BadRecord

_LINES = 50
TOO_DEEP = "nested too deeply to read"


class Value(NamedTuple):
    """One object or list: the line where it starts (1-based), or why there is none. `whole`: the file is this value."""

    line: int
    value: Any
    problem: str = ""
    whole: bool = False


def values(stream: BinaryIO, is_record: Callable[[dict[str, Any]], bool] | None = None) -> Iterator[Value]:
    """The values of a file of lines, one a line and streamed; or the one value that is spread over its lines.

    Where the file is a long list that begins with what `is_record` calls a record of its own, its records, streamed.
    """
    if is_record is not None and _lists_records(stream, is_record):
        yield from (Value(row.line, row.record, row.problem) for row in rows(stream))
        return
    for number, raw in enumerate(stream, 1):
        if not decode(raw).strip():
            continue
        found = _value(number, raw)
        if found.problem:
            yield from _spread(raw + stream.read(), number)
            return
        rest = next(((line, text) for line, text in enumerate(stream, number + 1) if text.strip()), None)
        yield found._replace(whole=rest is None)
        if rest is not None:
            yield _value(*rest)
            yield from (_value(line, text) for line, text in enumerate(stream, rest[0] + 1) if text.strip())
        return


def _lists_records(stream: BinaryIO, is_record: Callable[[dict[str, Any]], bool]) -> bool:
    """Whether the file is a list too long for a line, of records; the stream is where it was afterwards."""
    head = stream.readline(CHUNK)
    while head.endswith(b"\n") and not decode(head).strip():
        head = stream.readline(CHUNK)
    try:
        found = _begins_with_record(Values(head, stream), is_record) if not _is_whole(head) else False
    except (ValueError, RecursionError):
        found = False
    stream.seek(0)
    return found


def _is_whole(line: bytes) -> bool:
    try:
        loads(decode(line).strip())
    except ValueError:
        return False
    return True


def _begins_with_record(source: Values, is_record: Callable[[dict[str, Any]], bool]) -> bool:
    if source.skip(BLANK) != "[":
        return False
    source.step()
    return source.skip(BETWEEN) == "{" and is_record(source.value())


def shallow(items: Iterable[Item], source: Source, line: int) -> Iterator[Item]:
    """The items; where finding them goes too deep, one bad record instead of them all."""
    try:
        found = list(items)
    except RecursionError:
        found = [BadRecord(source.path, line, TOO_DEEP)]
    yield from found


def _value(line: int, raw: bytes) -> Value:
    try:
        value = loads(decode(raw).strip())
    except ValueError as error:
        cut = not raw.endswith(b"\n")
        return Value(line, None, "cut off: the file ends inside this record" if cut else f"not JSON: {error}")
    return Value(line, value) if isinstance(value, dict | list) else Value(line, None, f"is {kind_of(value)}")


def _spread(data: bytes, line: int) -> Iterator[Value]:
    """A value over several lines; failing that, whatever objects can be found."""
    try:
        value = loads(decode(data).strip())
    except ValueError:
        value = None
    if isinstance(value, dict | list):
        yield Value(line, value, whole=True)
        return
    for row in rows(BytesIO(data)):
        yield Value(row.line + line - 1, row.record, row.problem)


@lru_cache(maxsize=8)
def objects(head: bytes) -> tuple[dict[str, Any], ...]:
    """The first objects of a file. Remembered, because every format asks for those of the same bytes."""
    return tuple(sample(head))


@lru_cache(maxsize=8)
def sampled(head: bytes) -> tuple[dict[str, Any], ...]:
    """The first objects of a file, those inside lists that stand on lines of their own included."""
    found = objects(head)
    lines = decode(head).strip().split("\n")[:_LINES]
    lists = [line for line in lines[1:] if line.startswith("[{")] if len(lines) > 1 else []
    return (*found, *(record for line in lists for record in sample(line.encode(errors="replace"))))
