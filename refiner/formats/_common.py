"""What readers share: records to items, texts, times, errors, span ids. No format is known here."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, BinaryIO

from refiner.jsontext import clean, loads, rows
from refiner.ports import Source
from refiner.types import BadRecord, EvaluatorNote, Outcome, Trace

Item = Trace | Outcome | EvaluatorNote | BadRecord

_DATA_URI = re.compile(r"data:image/([\w.+-]+);base64,([A-Za-z0-9+/=_-]+)")
_SIGNS = ("iVBORw0KGgo", "/9j/", "R0lGOD", "UklGR")
_BARE = re.compile(rf"(?<![A-Za-z0-9+/])(?:{'|'.join(_SIGNS)})[A-Za-z0-9+/]{{200,}}={{0,2}}")
_SHORTEST_BARE = 200
_MAGIC = {"iVB": "png", "/9j": "jpeg", "R0l": "gif", "Ukl": "webp"}
_ERROR = re.compile(r"\s*(?:Error|Traceback|Exception)\b")
_STATED_ERROR = re.compile(r'\s*\{\s*"error"\s*:\s*("(?:[^"\\]|\\.)+")')
"""A JSON object that begins with an error in words. It may be cut off behind them."""
_USUAL_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", re.ASCII)
_EPOCH_UNITS = ((1e11, 1.0), (1e14, 1e3), (1e17, 1e6), (1e20, 1e9))
_EARLIEST_EPOCH = 1e8
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Unusable(Exception):
    """A record that cannot become a trace; the message says why. Never leaves a reader."""


def items(stream: BinaryIO, source: Source, convert: Callable[[dict[str, Any], str], Iterable[Item]]) -> Iterator[Item]:
    """What `convert(record, place)` makes of each object of a file, in file order; the rest as `BadRecord`."""
    for line, record, problem in rows(stream):
        if record is None:
            yield BadRecord(source.path, line, problem)
            continue
        try:
            converted = list(convert(record, f"{source.path}:{line}"))
        except Unusable as error:
            converted = [BadRecord(source.path, line, str(error))]
        except RecursionError:
            converted = [BadRecord(source.path, line, "nested too deeply to read")]
        yield from (BadRecord(source.path, line, x.reason) if isinstance(x, BadRecord) else x for x in converted)


def text_of(value: Any) -> str:
    """A value as text: None is empty, content blocks are joined by newlines, others JSON; images placeholders."""
    if value is None:
        return ""
    if isinstance(value, str):
        return without_images(clean(value))
    if isinstance(value, list) and value and all(_is_block(block) for block in value):
        return "\n".join(_block_text(block) for block in value)
    return without_images(json_text(value))


def json_text(value: Any) -> str:
    """Compact JSON in the order of the file, readable (not escaped) and storable."""
    return clean(json.dumps(value, ensure_ascii=False))


def _is_block(value: Any) -> bool:
    return isinstance(value, str) or (isinstance(value, dict) and isinstance(value.get("type"), str))


def _block_text(block: Any) -> str:
    if isinstance(block, str) or isinstance(block.get("text"), str):
        return text_of(block if isinstance(block, str) else block["text"])
    whole = without_images(json_text(block))
    image = re.search(r"\[image [\w.+-]+ \d+ KB\]", whole)
    return image.group() if image else whole


def without_images(text: str) -> str:
    """The text with base64 images replaced by `[image png 640 KB]`."""
    if ";base64," in text:
        text = _DATA_URI.sub(lambda hit: _placeholder(hit.group(1), hit.group(2)), text)
    if len(text) < _SHORTEST_BARE or not any(sign in text for sign in _SIGNS):
        return text
    return _BARE.sub(lambda hit: _placeholder(_MAGIC[hit.group()[:3]], hit.group()), text)


def _placeholder(kind: str, data: str) -> str:
    return f"[image {kind} {max(1, round(len(data) * 3 / 4 / 1024))} KB]"


def utc_time(value: Any) -> str | None:
    """An ISO time in UTC from an ISO text (naive = UTC) or an epoch number in s, ms, us or ns; else None."""
    try:
        if isinstance(value, str) and _USUAL_TIME.fullmatch(value):
            datetime.fromisoformat(value)
            return value
        moment = _moment(value)
    except (ValueError, OverflowError):
        return None
    return None if moment is None else moment.isoformat().replace("+00:00", "Z")


def seconds_between(start: Any, end: Any) -> str:
    """How many seconds lie between two times as `utc_time` takes them; empty without both or with the end first."""
    try:
        begun, ended = _moment(start), _moment(end)
    except (ValueError, OverflowError):
        return ""
    if begun is None or ended is None or ended < begun:
        return ""
    return str(round((ended - begun).total_seconds(), 3))


def _moment(value: Any) -> datetime | None:
    if isinstance(value, str):
        value = value.strip()
        if re.fullmatch(r"\d{9,}(\.\d+)?", value):
            return _moment(float(value))
        moment = datetime.fromisoformat(value)
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    if isinstance(value, bool) or not isinstance(value, int | float) or value < _EARLIEST_EPOCH:
        return None
    unit = next((unit for limit, unit in _EPOCH_UNITS if value < limit), None)
    return None if unit is None else _EPOCH + timedelta(microseconds=round(value / unit * 1e6))


def failed(output: str) -> str | None:
    """The line that names the failure when an observation is one: the last of a traceback, the `error` of a JSON
    object that begins with it, else the first."""
    stated = _STATED_ERROR.match(output)
    if stated:
        return next((line.strip() for line in _loaded(stated[1]).splitlines() if line.strip()), None)
    if not _ERROR.match(output):
        return None
    lines = output.strip().splitlines()
    return lines[-1 if lines[0].startswith("Traceback") else 0].strip()


def _loaded(quoted: str) -> str:
    try:
        return clean(str(loads(quoted)))
    except ValueError:
        return clean(quoted)


def scalar_id(value: Any) -> str:
    """A non-empty text or number as an id; empty for everything else."""
    if isinstance(value, str):
        return clean(value).strip()
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else ""


def lookup(record: dict[str, Any], path: str) -> Any:
    """The value at a field name, at the same name inside `meta`, or at a dotted path; None when there is none."""
    meta = record.get("meta")
    for place in (record, meta if isinstance(meta, dict) else {}):
        if place.get(path) is not None:
            return place[path]
    value: Any = record
    for key in path.split("."):
        value = value.get(key) if isinstance(value, dict) else None
    return value


def unique_ids(given: list[str]) -> list[str]:
    """Span ids as given; an empty or repeated one becomes `s<ordinal>` (with `_` appended while that is taken)."""
    taken = set(given)
    seen: set[str] = set()
    ids = []
    for ordinal, name in enumerate(given):
        if not name or name in seen:
            name = f"s{ordinal}"
            while name in taken:
                name += "_"
            taken.add(name)
        seen.add(name)
        ids.append(name)
    return ids
