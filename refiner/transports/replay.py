"""Replies from a recording, without network. A prompt that was never recorded is an error that shows what differs."""

from __future__ import annotations

import difflib
import json
from collections import Counter
from pathlib import Path

from refiner.errors import ConfigError, NotRecorded
from refiner.transports.base import Reply, Request
from refiner.transports.record import from_text, place

MOST_LINES = 40


class ReplayTransport:
    """Raises ConfigError when the folder holds no recording."""

    name = "replay"

    def __init__(self, folder: Path) -> None:
        if not folder.is_dir() or not any(folder.glob("*/*.json")):
            raise ConfigError(f"record: {folder} holds no recorded replies; record some with `--record {folder}`")
        self._folder = folder

    def complete(self, request: Request) -> Reply:
        """The recorded reply. Raises NotRecorded, with the difference to the nearest prompt of that stage."""
        path = place(self._folder, request)
        try:
            return from_text(path.read_text(encoding="utf-8"))[1]
        except FileNotFoundError:
            raise NotRecorded(self._unseen(request)) from None
        except ValueError as problem:
            raise NotRecorded(f"{path}: cannot be read ({problem}); record this stage again") from None

    def _unseen(self, request: Request) -> str:
        head = f"{self._folder} has no reply to this prompt (stage {request.stage}, {request.label}, id {request.id})"
        recorded = self._of_stage(request.stage)
        if not recorded:
            return f"{head}; no prompt of this stage is recorded: record it with `--record`"
        nearest = min(recorded, key=lambda other: (_unlikeness(request, other), other.id))
        lines = difference(nearest, request)
        shown = lines[:MOST_LINES] + ([f"… and {len(lines) - MOST_LINES} more lines"] if lines[MOST_LINES:] else [])
        return "\n".join([f"{head}. The nearest recorded one is {nearest.id} ({nearest.label}); what differs:", *shown])

    def _of_stage(self, stage: str) -> list[Request]:
        found = []
        for path in sorted((self._folder / stage).glob("*.json")):
            try:
                found.append(from_text(path.read_text(encoding="utf-8"))[0])
            except ValueError:
                continue
        return found


def difference(recorded: Request, asked: Request) -> list[str]:
    """What differs between two requests: settings first, then the lines of schema, system message and prompt."""
    settings = [
        f"{name}: recorded {getattr(recorded, name)!r}, asked {getattr(asked, name)!r}"
        for name in ("model", "max_tokens", "temperature")
        if getattr(recorded, name) != getattr(asked, name)
    ]
    texts = (
        ("schema", _lines(recorded.schema), _lines(asked.schema)),
        ("system", recorded.system.splitlines(), asked.system.splitlines()),
        ("prompt", recorded.user.splitlines(), asked.user.splitlines()),
    )
    for name, before, after in texts:
        settings += difflib.unified_diff(before, after, f"recorded {name}", f"asked {name}", lineterm="", n=1)
    return settings


def _lines(schema: object) -> list[str]:
    return json.dumps(schema, indent=1, sort_keys=True, ensure_ascii=False).splitlines()


def _unlikeness(asked: Request, recorded: Request) -> tuple[float, bool]:
    """The share of lines that differ between the prompts, then whether they are about different things."""
    ours, theirs = (Counter(one.user.splitlines() + one.system.splitlines()) for one in (asked, recorded))
    together = max(ours.total() + theirs.total(), 1)
    return 1 - 2 * (ours & theirs).total() / together, asked.label != recorded.label
