"""Replies from files that a person or an agent writes: no network, no key. What they mean is the analyst's business.

A folder holds `requests/` (one file a request, and INDEX.md), `replies/` (one file a request, or one for a whole batch)
and `errors/` (replies that could not be used, as they came, and why).
"""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from refiner.errors import Waiting
from refiner.ids import content_key
from refiner.transports.base import Reply, Request
from refiner.transports.files import write_whole
from refiner.transports.handoff_text import Open, index, request_text, trouble_text
from refiner.transports.schema import problems
from refiner.transports.tokens import PER_MESSAGE, estimate

REQUESTS, REPLIES, ERRORS = "requests", "replies", "errors"
INDEX = "INDEX.md"
ANSWERER = "ANSWERER.txt"
UNNAMED = "hand-off"
"""What the answerer is called until it says its name."""


class HandoffTransport:
    """Takes a reply from the folder, or leaves the request there and raises Waiting. Makes no folder yet."""

    name = "handoff"

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._open: dict[str, Open] = {}
        self._begun = False
        self._rounds: Mapping[str, str] = {}

    def again(self, rounds: Mapping[str, str]) -> None:
        """From now on requests of these stages have other ids, so that earlier replies, which stay, are not theirs."""
        self._rounds = dict(rounds)

    def complete(self, request: Request) -> Reply:
        """The reply that lies in the folder. Raises Waiting when there is none yet, or none that fits the schema."""
        request = self._of_round(request)
        with self._lock:
            self._begin()
            answer = self._answer(request.id)
            found = _problems(answer[0], request) if answer else []
            if answer and not found:
                self._close(request.id)
                return Reply(answer[0], answer[1], "stop", None, None)
            if answer:
                self._refuse(request, answer[0], found)
            self._ask(request)
        place = self._folder / REQUESTS
        raise Waiting(f"{place / _file(request.id)} has no reply yet", str(place))

    def _of_round(self, request: Request) -> Request:
        name = self._rounds.get(request.stage)
        return request if name is None else replace(request, id=content_key("round", name, request.id))

    def _begin(self) -> None:
        """At the first request of a run: what lies open from an earlier one is asked again if it is still needed."""
        if self._begun:
            return
        for name in (REQUESTS, REPLIES):
            (self._folder / name).mkdir(parents=True, exist_ok=True)
        for path in (self._folder / REQUESTS).glob("*.md"):
            path.unlink()
        self._begun = True

    def _answer(self, key: str) -> tuple[str, str] | None:
        """The text of a reply and who gave it, from its own file or from that of a batch."""
        own = self._folder / REPLIES / f"{key}.json"
        if own.exists():
            return _text(own), self._answerer()
        for path in sorted((self._folder / REPLIES).glob("batch*.json")):
            replies, answerer = _batch(_text(path))
            if key in replies:
                return _as_text(replies[key]), answerer or self._answerer()
        return None

    def _answerer(self) -> str:
        path = self._folder / REPLIES / ANSWERER
        return (" ".join(_text(path).split())[:100] if path.exists() else "") or UNNAMED

    def _refuse(self, request: Request, text: str, found: list[str]) -> None:
        """Moves a reply that cannot be used out of the way, as it came, and says why."""
        errors = self._folder / ERRORS
        number = 1 + len(list(errors.glob(f"{request.id}.*.json")))
        kept = errors / f"{request.id}.{number}.json"
        write_whole(kept, text)
        write_whole(errors / _file(request.id), trouble_text(request, found, kept.name))
        own = self._folder / REPLIES / f"{request.id}.json"
        if own.exists():
            own.unlink()
        else:
            self._take_out_of_batch(request.id)

    def _take_out_of_batch(self, key: str) -> None:
        for path in sorted((self._folder / REPLIES).glob("batch*.json")):
            whole = _parsed(_text(path))
            replies = whole.get("replies") if isinstance(whole, dict) else None
            if isinstance(replies, dict) and key in replies:
                del replies[key]
                write_whole(path, json.dumps(whole, indent=1, ensure_ascii=False) + "\n")

    def _close(self, key: str) -> None:
        for folder in (REQUESTS, ERRORS):
            (self._folder / folder / _file(key)).unlink(missing_ok=True)
        if self._open.pop(key, None):
            self._write_index()

    def _ask(self, request: Request) -> None:
        refused = (self._folder / ERRORS / _file(request.id)).exists()
        text = request_text(request, refused=refused)
        write_whole(self._folder / REQUESTS / _file(request.id), text)
        size = estimate(text) + PER_MESSAGE
        self._open[request.id] = Open(request.id, request.stage, request.label, size, refused)
        self._write_index()

    def _write_index(self) -> None:
        write_whole(self._folder / REQUESTS / INDEX, index(list(self._open.values())))


def _file(key: str) -> str:
    return f"{key}.md"


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8-sig", errors="replace")


def _as_text(reply: Any) -> str:
    """A reply of a batch as the text it would have in a file of its own."""
    return reply if isinstance(reply, str) else json.dumps(reply, indent=1, ensure_ascii=False)


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _batch(text: str) -> tuple[dict[str, Any], str]:
    """The replies of a batch file and who gave them; nothing when it cannot be read."""
    whole = _parsed(text)
    replies = whole.get("replies") if isinstance(whole, dict) else None
    answerer = whole.get("answerer") if isinstance(whole, dict) else None
    return (replies if isinstance(replies, dict) else {}), (answerer if isinstance(answerer, str) else "")


def _problems(text: str, request: Request) -> list[str]:
    """Why a reply cannot be used, in words; [] when it can."""
    if not text.strip():
        return ["the file is empty"]
    repeated: list[str] = []

    def entries(found: list[tuple[str, Any]]) -> dict[str, Any]:
        repeated.extend(key for key, count in Counter(key for key, _ in found).items() if count > 1)
        return dict(found)

    try:
        value = json.loads(text, object_pairs_hook=entries)
    except json.JSONDecodeError as problem:
        return [f"not JSON: {problem.msg} in line {problem.lineno}, column {problem.colno}"]
    except RecursionError:
        return ["nested too deeply"]
    return [f'the key "{key}" stands twice in one object' for key in repeated] or problems(value, request.schema)
