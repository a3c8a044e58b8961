"""Keeps every exchange of another transport in a folder, as it came, good or bad, for a replay. Judges nothing."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from refiner.transports.base import Reply, Request, Transport, again, halt
from refiner.transports.files import write_whole


class Recorder:
    """Passes requests on to `transport` and writes FOLDER/STAGE/ID.json for each reply. Errors are not recorded."""

    def __init__(self, transport: Transport, folder: Path) -> None:
        self._transport, self._folder = transport, folder

    @property
    def name(self) -> str:
        return self._transport.name

    def halt(self) -> None:
        halt(self._transport)

    def again(self, rounds: Mapping[str, str]) -> None:
        again(self._transport, rounds)

    def complete(self, request: Request) -> Reply:
        reply = self._transport.complete(request)
        write_whole(place(self._folder, request), as_text(request, reply))
        return reply


def place(folder: Path, request: Request) -> Path:
    """The file of a request; stages have folders of their own, so that one can be recorded anew."""
    return folder / request.stage / f"{request.id}.json"


def as_text(request: Request, reply: Reply) -> str:
    """One exchange as readable JSON; long texts are lists of lines."""
    asked, came = asdict(request), asdict(reply)
    asked |= {name: asked[name].split("\n") for name in ("system", "user")}
    return json.dumps({"request": asked, "reply": came}, indent=1, ensure_ascii=False) + "\n"


def from_text(text: str) -> tuple[Request, Reply]:
    """The exchange that `as_text` wrote. Raises ValueError for anything else."""
    found: Any = json.loads(text)
    try:
        asked = found["request"]
        asked |= {name: "\n".join(asked[name]) for name in ("system", "user")}
        return Request(**asked), Reply(**found["reply"])
    except (TypeError, KeyError) as problem:
        raise ValueError(f"not a recorded exchange: {problem}") from None
