"""A hand-off folder through a browser: open requests as one zip, replies from uploaded files. Takes in nothing else."""

from __future__ import annotations

import io
import re
import zipfile
from pathlib import Path, PurePosixPath

from refiner.errors import FormatError
from refiner.transports.files import write_whole
from refiner.transports.handoff import ANSWERER, ERRORS, REPLIES, REQUESTS

MOST_BYTES = 50_000_000


def pack(folder: Path) -> bytes:
    """The open requests, their index and the explanations of refused replies as a zip file."""
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        for part in (REQUESTS, ERRORS):
            for path in sorted((folder / part).glob("*.md")):
                archive.write(path, f"{part}/{path.name}")
    return held.getvalue()


def take_in(folder: Path, name: str, data: bytes) -> int:
    """Puts uploaded replies into the folder: a .json file, or a zip of them wherever they lie in it. Returns how many.

    Raises FormatError for anything else.
    """
    if not name.lower().endswith(".zip"):
        return _keep(folder, name, data) or _no_reply(name)
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            if sum(one.file_size for one in archive.infolist()) > MOST_BYTES:
                raise FormatError(f"unpacks to more than {MOST_BYTES // 1_000_000} MB", name)
            return sum(_keep(folder, one.filename, archive.read(one)) for one in archive.infolist())
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError) as problem:
        raise FormatError(f"is no zip file that can be read ({problem})", name) from None


def _keep(folder: Path, name: str, data: bytes) -> int:
    """Writes one reply under its own name; 1, or 0 for a file that is no reply."""
    base = PurePosixPath(name.replace("\\", "/")).name
    if base != ANSWERER and not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}\.json", base):
        return 0
    write_whole(folder / REPLIES / base, data.decode("utf-8", "replace"))
    return int(base != ANSWERER)


def _no_reply(name: str) -> int:
    raise FormatError("is no reply; upload ID.json, batch-NAME.json or a zip of them", name)
