"""What an endpoint's model can do, learnt from its first replies and remembered. No request is made here."""

from __future__ import annotations

import json
import re
import threading
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from refiner.transports.base import Reply, Request
from refiner.transports.files import write_whole
from refiner.transports.schema import for_endpoint, is_strict, problems

Level = Literal["schema", "json", "plain"]
LEVELS: tuple[Level, ...] = ("schema", "json", "plain")

_FORMAT = re.compile(r"response_format|json[_ ](schema|object|mode)|structured|grammar|guided", re.IGNORECASE)
_TOO_LONG = re.compile(
    r"context.{0,20}(length|window|size|exceed)|too (long|many tokens)|max(imum)? .{0,20}context", re.IGNORECASE
)
_INSTRUCTION = "Reply with one JSON object and nothing else. It must fit this JSON schema:"


@dataclass(frozen=True, slots=True)
class Capability:
    """How to ask: for which form of the reply, with which field for its greatest length, with a temperature or not."""

    level: Level = "schema"
    length_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    temperature: bool = True

    def arguments(self, request: Request) -> dict[str, Any]:
        """The request in the terms of a chat completion."""
        system = request.system
        if self.level != "schema":
            schema = json.dumps(request.schema, ensure_ascii=False)
            system = f"{system}\n\n{_INSTRUCTION}\n{schema}".lstrip()
        messages = [{"role": "system", "content": system}] if system else []
        arguments: dict[str, Any] = {
            "model": request.model,
            "messages": [*messages, {"role": "user", "content": request.user}],
            self.length_field: request.max_tokens,
        }
        if self.temperature:
            arguments["temperature"] = request.temperature
        if self.level == "schema":
            arguments["response_format"] = {"type": "json_schema", "json_schema": _named_schema(request)}
        elif self.level == "json":
            arguments["response_format"] = {"type": "json_object"}
        return arguments

    def after_refusal(self, status: int, words: str, *, proven: bool) -> Capability | None:
        """How to ask the same again after a refusal in these words; None when the form of the request is not why.

        While nothing is proven yet, a refusal that gives no reason counts as one of the form.
        """
        if self.length_field == "max_tokens" and "max_completion_tokens" in words:
            return replace(self, length_field="max_completion_tokens")
        if self.temperature and "temperature" in words.lower():
            return replace(self, temperature=False)
        reasonless = not proven and status in (400, 422) and not _TOO_LONG.search(words)
        if self.level != "plain" and (_FORMAT.search(words) or reasonless):
            return replace(self, level=LEVELS[LEVELS.index(self.level) + 1])
        return None

    def after_reply(self, request: Request, reply: Reply) -> Capability:
        """Some endpoints take a schema and ignore it; a finished reply that does not fit it shows that."""
        finished = reply.finish_reason == "stop" and reply.refusal is None
        if self.level != "schema" or not finished or _fits(reply.text, request.schema):
            return self
        return replace(self, level="json")


def names_the_form(words: str) -> bool:
    """Whether a refusal is about the way the form of the reply was asked for."""
    return bool(_FORMAT.search(words))


def _named_schema(request: Request) -> dict[str, Any]:
    schema = for_endpoint(request.schema)
    name = re.sub(r"[^a-zA-Z0-9_-]", "_", request.stage)[:64] or "reply"
    return {"name": name, "schema": schema, "strict": is_strict(schema)}


def _fits(text: str, schema: dict[str, Any]) -> bool:
    try:
        return not problems(json.loads(text), for_endpoint(schema))
    except (ValueError, RecursionError):
        return False


@dataclass
class Capabilities:
    """What is known, by endpoint and model; kept in a file when there is a `path`. A damaged file counts as none."""

    path: Path | None = None
    known: dict[str, Capability] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)
    _first: defaultdict[str, threading.Lock] = field(default_factory=lambda: defaultdict(threading.Lock), repr=False)
    _asked: set[str] = field(default_factory=set, repr=False)

    def __post_init__(self) -> None:
        if self.path is not None and self.path.exists():
            self.known = {**_load(self.path), **self.known}

    def get(self, key: str) -> Capability | None:
        return self.known.get(key)

    def remember(self, key: str, capability: Capability) -> None:
        with self._lock:
            if self.known.get(key) == capability:
                return
            self.known[key] = capability
            if self.path is not None:
                _save(self.path, self.known)

    @contextmanager
    def first(self, key: str) -> Iterator[None]:
        """The first caller goes alone while the others wait for what it learns; once it is through, all go together."""
        with self._lock:
            lock = self._first[key]
        lock.acquire()
        alone = key not in self._asked
        self._asked.add(key)
        if not alone:
            lock.release()
        try:
            yield
        finally:
            if alone:
                lock.release()


def _load(path: Path) -> dict[str, Capability]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        loaded = {str(key): Capability(**value) for key, value in found.items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}
    return {key: value for key, value in loaded.items() if value.level in LEVELS}


def _save(path: Path, known: dict[str, Capability]) -> None:
    write_whole(path, json.dumps({key: asdict(known[key]) for key in sorted(known)}, indent=2) + "\n")
