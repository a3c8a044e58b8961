"""Inspect logs on disk, zip and JSON, as pairs of a header and a sample. What they mean is not known here."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, BinaryIO, NamedTuple

from refiner.archives import DAMAGED, zipfile
from refiner.jsontext import decode, kind_of, loads, rows

_HEADERS = ("header.json", "_journal/start.json")
_LARGEST = 1 << 30
"""A member that unpacks to more is refused unread."""
_UNREADABLE = (*DAMAGED, OSError, ValueError, UnicodeError)


class Logged(NamedTuple):
    """One sample with the header of its log, where it stands, or why there is none."""

    place: str
    line: int
    header: dict[str, Any]
    sample: dict[str, Any] | None
    problem: str = ""


def is_zip(head: bytes) -> bool:
    return head.startswith(b"PK\x03\x04")


def logged(stream: BinaryIO) -> Iterator[Logged]:
    """Every sample of a log of either form; a running log without its header is read from its journal."""
    head = stream.read(4)
    stream.seek(0)
    if not is_zip(head):
        yield from _from_json(stream)
        return
    try:
        archive = zipfile.ZipFile(stream)
    except _UNREADABLE as error:
        yield Logged("", 0, {}, None, f"the zip archive is damaged or cut off ({error}): copy it again")
        return
    with archive:
        yield from _from_zip(archive)


def _from_json(stream: BinaryIO) -> Iterator[Logged]:
    for line, record, problem in rows(stream):
        if record is None:
            yield Logged("", line, {}, None, problem)
            continue
        samples = record.get("samples")
        if not isinstance(samples, list) or not samples:
            yield Logged("", line, {}, None, "the log holds no samples")
            continue
        for number, sample in enumerate(samples, 1):
            found = sample if isinstance(sample, dict) else None
            yield Logged(
                "", line, record, found, "" if found else f"sample {number} is {kind_of(sample)}, not a record"
            )


def _from_zip(archive: zipfile.ZipFile) -> Iterator[Logged]:
    names = sorted(archive.namelist())
    header = next(
        (found for name in _HEADERS if name in names and isinstance(found := _member(archive, name), dict)), {}
    )
    samples = [name for name in names if name.startswith("samples/") and name.endswith(".json")]
    if not samples:
        yield Logged("", 0, {}, None, "the log holds no samples")
    for name in dict.fromkeys(samples):
        found = _member(archive, name)
        if isinstance(found, dict):
            yield Logged(name, 0, header, found)
        else:
            yield Logged(name, 0, header, None, f"{name}: {found if isinstance(found, str) else 'is no sample'}")


def _member(archive: zipfile.ZipFile, name: str) -> Any:
    """The value of a member, or in words why it cannot be had."""
    try:
        info = archive.getinfo(name)
        if info.file_size > _LARGEST:
            return "unpacks to more than 1 GiB"
        return loads(decode(archive.read(info)))
    except _UNREADABLE as error:
        return f"cannot be unpacked: {error}"
