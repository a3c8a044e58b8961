"""Uploads put into a folder of their own, archives unpacked within limits. What is refused becomes a row with words."""

from __future__ import annotations

import gzip
import stat
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Protocol, cast

from refiner import registry
from refiner.archives import DAMAGED, is_gzip, zipfile
from refiner.safe_names import safe_name, unused
from refiner.types import BadRecord

CHUNK = 1 << 20
EMPTY = "the file is empty"
_ZIP = (b"PK\x03\x04", b"PK\x05\x06", b"PK\x07\x08")
_ENCRYPTED = 0x1


@dataclass(frozen=True, slots=True)
class Limits:
    """Bytes of one upload unpacked, how many times larger than packed, and how many files."""

    total: int = 2_000_000_000
    ratio: int = 200
    ratio_from: int = 10_000_000
    files: int = 20_000


class Given(Protocol):
    """A file as it arrives. `name` may be hostile; `data` is read in chunks and never closed."""

    @property
    def name(self) -> str: ...

    @property
    def data(self) -> BinaryIO: ...


def is_zip(head: bytes) -> bool:
    """Whether a file that begins like this is a zip of other files, rather than a format of its own that is one."""
    return head.startswith(_ZIP) and registry.recognise(head) in (None, "a zip archive")


class _Refused(Exception):
    """Why a file is not taken."""


@dataclass(slots=True)
class Unpacked:
    """`files`: relative names below `folder` in the order in which they came. `rejected`: what was refused, and why."""

    folder: Path
    limits: Limits = field(default_factory=Limits)
    files: list[str] = field(default_factory=list)
    rejected: list[BadRecord] = field(default_factory=list)
    used: int = 0

    def take(self, uploads: Sequence[Given]) -> Unpacked:
        """Puts the uploads into the folder; never raises for what they hold."""
        for upload in uploads:
            self._try(safe_name(upload.name), upload.data, self._upload)
        return self

    def unpack(self, name: str, data: BinaryIO) -> Unpacked:
        """Unpacks one archive, whose name is not in doubt, into the folder; never raises for what it holds."""
        self._try(name, data, self._upload)
        return self

    def _try(self, name: str, data: BinaryIO, how: Callable[[str, BinaryIO], None]) -> None:
        try:
            how(name, data)
        except _Refused as refused:
            self.rejected.append(BadRecord(name, 0, str(refused)))
        except OSError as error:
            self.rejected.append(BadRecord(name, 0, f"cannot be kept: {error.strerror or error}"))

    def _upload(self, name: str, data: BinaryIO) -> None:
        head = data.read(CHUNK)
        if not head:
            raise _Refused(EMPTY)
        if is_zip(head):
            data.seek(0)
            self._zip(name, data)
        else:
            self._file(name, head, data, self.limits.total)

    def _file(self, name: str, head: bytes, data: BinaryIO, allowed: int) -> None:
        """Writes one file, what is packed with gzip as what it holds, under the name without its ending."""
        if not is_gzip(head):
            self._write(name, _chunks(head, data), allowed)
            return
        data.seek(0)
        try:
            with gzip.GzipFile(fileobj=data) as plain:
                self._write(name.removesuffix(".gz") or name, _chunks(b"", cast("BinaryIO", plain)), allowed)
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise _Refused(f"the gzip file is damaged: {error}") from None

    def _zip(self, name: str, data: BinaryIO) -> None:
        try:
            with zipfile.ZipFile(data) as archive:
                for entry in self._entries(archive):
                    self._entry(name, archive, entry)
        except (*DAMAGED, UnicodeError, ValueError) as error:
            raise _Refused(f"the zip archive is damaged: {error}") from None

    def _entries(self, archive: zipfile.ZipFile) -> list[zipfile.ZipInfo]:
        entries = [entry for entry in archive.infolist() if not entry.is_dir()]
        if not entries:
            raise _Refused("there is no file in it")
        if len(entries) > self.limits.files:
            raise _Refused(f"the zip archive holds {len(entries)} files; at most {self.limits.files} are unpacked")
        if sum(entry.file_size for entry in entries) > self.limits.total - self.used:
            raise _Refused(f"the zip archive unpacks to more than {_size(self.limits.total)}; upload it in parts")
        return entries

    def _entry(self, archive_name: str, archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> None:
        name = safe_name(entry.filename)
        try:
            if entry.flag_bits & _ENCRYPTED:
                raise _Refused("is encrypted; pack it without a password")
            if stat.S_ISLNK(entry.external_attr >> 16):
                raise _Refused("is a link, and links are not followed")
            with archive.open(entry) as stream:
                self._member(name, cast("BinaryIO", stream), entry)
        except _Refused as refused:
            self.rejected.append(BadRecord(f"{archive_name}/{name}", 0, str(refused)))
        except DAMAGED as error:
            self.rejected.append(BadRecord(f"{archive_name}/{name}", 0, f"cannot be unpacked: {error}"))

    def _member(self, name: str, stream: BinaryIO, entry: zipfile.ZipInfo) -> None:
        head = stream.read(CHUNK)
        if is_zip(head):
            raise _Refused("is a zip inside a zip, which is not unpacked; upload it by itself")
        allowed = max(self.limits.ratio_from, entry.compress_size * self.limits.ratio)
        if entry.file_size > allowed:
            raise _Refused(f"would unpack to {_size(entry.file_size)}, more than {self.limits.ratio} times its size")
        self._file(name, head, stream, allowed)

    def _write(self, name: str, chunks: Iterator[bytes], allowed: int) -> None:
        name = unused(name, self.files)
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            self.used += self._copied(path, chunks, min(allowed, self.limits.total - self.used))
        except BaseException:
            path.unlink(missing_ok=True)  # half a file would be read as a whole one
            raise
        self.files.append(name)

    def _copied(self, path: Path, chunks: Iterator[bytes], allowed: int) -> int:
        """Writes a file of at most so many bytes; how many there were."""
        written = 0
        with path.open("xb") as file:
            for chunk in chunks:
                written += len(chunk)
                if written > allowed:
                    raise _Refused(f"is larger than the {_size(allowed)} that are read at once")
                file.write(chunk)
        return written


def _chunks(head: bytes, data: BinaryIO) -> Iterator[bytes]:
    yield head
    while chunk := data.read(CHUNK):
        yield chunk


def _size(count: int) -> str:
    return f"{count / 1_000_000_000:.3g} GB" if count >= 1_000_000_000 else f"{max(1, count // 1_000_000)} MB"
