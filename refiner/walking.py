"""Which files there are to read: folders walked, archives unpacked within limits. What they hold is not read here."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from refiner import folders, registry
from refiner.archives import is_gzip
from refiner.errors import FormatError
from refiner.ports import HEAD
from refiner.types import BadRecord
from refiner.unpacking import Unpacked, is_zip


class File(NamedTuple):
    path: Path
    name: str
    named: bool
    """Whether the caller named this file itself, rather than its folder or archive."""
    strict: bool = False
    """Whether it is an error when nothing in it can be used."""

    @property
    def is_hidden(self) -> bool:
        return not self.named and any(part.startswith(".") for part in self.name.split("/"))


@dataclass(frozen=True, slots=True)
class Found:
    """The files in a stable order, and what was refused inside of archives."""

    files: list[File]
    refused: list[BadRecord]


@contextmanager
def found(paths: Iterable[Path], *, strict: bool = True) -> Iterator[Found]:
    """The files below the paths; those of archives are there until the end of the block.

    Raises FormatError for a path that does not exist and, when `strict`, for an archive, named by the caller, with
    nothing in it.
    """
    files = [file._replace(strict=strict and file.named) for file in _walk(paths)]
    archives = [file for file in files if not file.is_hidden and _begins(file.path, _is_archive)]
    if not archives:
        yield Found(files, [])
        return
    with tempfile.TemporaryDirectory(prefix="refiner-unpacked-") as folder:
        inside, refused = list[File](), list[BadRecord]()
        for number, archive in enumerate(archives):
            unpacked = _unpacked(archive, Path(folder, str(number)))
            alone = archive.named or _begins(
                archive.path, is_gzip
            )  # one named like a folder, or one file and no folder
            above = "" if alone else f"{archive.name}/"
            inside += [file._replace(name=above + file.name) for file in _walk([unpacked.folder])]
            refused += unpacked.rejected
        plain = [file for file in files if file not in archives]
        yield Found(sorted([*plain, *inside], key=_order), refused)


def _unpacked(archive: File, folder: Path) -> Unpacked:
    folder.mkdir()
    with archive.path.open("rb") as stream:
        unpacked = Unpacked(folder).unpack(archive.name, stream)
    if archive.strict and not unpacked.files:
        reason = unpacked.rejected[0].reason
        raise FormatError(f"nothing of this archive can be read: {reason}", str(archive.path))
    return unpacked


def _is_archive(head: bytes) -> bool:
    return is_gzip(head) or (is_zip(head) and registry.detect(head) is None)


def _begins(path: Path, like: Callable[[bytes], bool]) -> bool:
    try:
        with path.open("rb") as stream:
            return like(stream.read(HEAD))
    except OSError:  # whoever reads it says so
        return False


def _order(file: File) -> tuple[str, str]:
    return file.name, str(file.path)


def _walk(paths: Iterable[Path]) -> list[File]:
    """The files in a stable order, each once, named relative to the folder that was given (or by its own name).

    Files for which another one speaks are read with that one, and are not among them.
    """
    seen: dict[Path, File] = {}
    for path in paths:
        if not path.exists():
            raise FormatError("there is no such file or folder", str(path))
        inside = _inside(path) if path.is_dir() else []
        files = [File(item, item.relative_to(path).as_posix(), False) for item in inside]
        for file in files if path.is_dir() else [File(path, path.name, True)]:
            known = seen.get(file.path.resolve())
            if known is None or (file.named, file.name) > (known.named, known.name):
                seen[file.path.resolve()] = file
    led = folders.led(file.path for file in seen.values())
    return sorted(_told_apart([file for file in seen.values() if file.path not in led]), key=_order)


def _told_apart(files: list[File]) -> Iterator[File]:
    """The files; those of one name are named relative to the folder in which all of them lie."""
    alike: dict[str, list[Path]] = {}
    for file in files:
        alike.setdefault(file.name, []).append(file.path.resolve())
    for file in files:
        paths = alike[file.name]
        above = Path(os.path.commonpath(paths)) if len(paths) > 1 else None
        yield file._replace(name=file.path.resolve().relative_to(above).as_posix()) if above else file


def _inside(folder: Path) -> Iterator[Path]:
    """The files below a folder, and its hidden folders unopened."""
    for parent, below, names in os.walk(folder):
        hidden = [name for name in below if name.startswith(".")]
        below[:] = [name for name in below if not name.startswith(".")]
        yield from (Path(parent, name) for name in hidden)
        yield from (file for name in names if (file := Path(parent, name)).is_file())
