"""Codex: rollout files (wrapped and, before that, bare items) and the events of `codex exec --json`. No outcome inside.

Events that repeat what items say are read for tokens and failures alone; encrypted reasoning is never read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, BinaryIO

from refiner.formats import _codex_events
from refiner.formats._blocks import content_text
from refiner.formats._codex_items import add_item
from refiner.formats._common import Item, scalar_id, text_of, utc_time
from refiner.formats._messages import as_dict, first_line
from refiner.formats._steps import Steps
from refiner.formats._values import TOO_DEEP, objects
from refiner.jsontext import rows
from refiner.ports import Source
from refiner.types import BadRecord, Outcome, Trace

_WRAPPED = {"session_meta", "response_item", "event_msg", "turn_context", "compacted"}
_BARE = {"message", "function_call", "function_call_output", "reasoning", "custom_tool_call", "local_shell_call"}
_ROLLOUT = re.compile(r"rollout-[\dT-]+-([\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12})\.\w+$")
_USAGE = {
    "input_tokens": "input_tokens",
    "output_tokens": "output_tokens",
    "cached_input_tokens": "cached_tokens",
    "reasoning_output_tokens": "reasoning_tokens",
}


class Codex:
    name = "codex"

    def sniff(self, head: bytes) -> float:
        return max((float(_is_ours(record)) for record in objects(head)), default=0.0)

    def parse(self, stream: BinaryIO, source: Source) -> Iterator[Item]:
        session = _Session()
        for line, record, problem in rows(stream):
            if record is None:
                yield BadRecord(source.path, line, problem)
                continue
            if session.steps.drafts and _starts(record, session):
                yield from session.items(source)
                session = _Session()
            session.line = session.line or line
            try:
                session.take(record)
            except RecursionError:
                yield BadRecord(source.path, line, TOO_DEEP)
        yield from session.items(source)


FORMAT = Codex()


def _is_ours(record: dict[str, Any]) -> bool:
    kind = scalar_id(record.get("type"))
    if kind in _WRAPPED:
        return isinstance(record.get("payload"), dict)
    if record.get("record_type") == "state" or kind == "thread.started":
        return True
    if kind in _codex_events.TYPES:
        return "item" in record or "usage" in record or "error" in record
    if kind in _BARE:
        return any(key in record for key in ("call_id", "encrypted_content", "summary")) or _has_typed_text(record)
    return "instructions" in record and "timestamp" in record and "id" in record


def _has_typed_text(record: dict[str, Any]) -> bool:
    content = record.get("content")
    blocks = content if isinstance(content, list) else []
    return any(isinstance(block, dict) and block.get("type") in ("input_text", "output_text") for block in blocks)


def _starts(record: dict[str, Any], session: _Session) -> bool:
    """Whether another session begins here: files of several are one after the other."""
    if record.get("type") == "session_meta":
        return scalar_id(as_dict(record.get("payload")).get("id")) not in ("", session.id)
    if record.get("type") == "thread.started":
        return scalar_id(record.get("thread_id")) not in ("", session.id)
    return "type" not in record and "instructions" in record and scalar_id(record.get("id")) not in ("", session.id)


@dataclass(slots=True)
class _Session:
    """One session while it is read. The first description counts: a forked session goes on with its parent's."""

    steps: Steps = field(default_factory=lambda: Steps(strict=True))
    id: str = ""
    line: int = 0
    goal: str = ""
    model: str = ""
    usage: dict[str, Any] = field(default_factory=dict)
    failure: str = ""
    begun: set[str] = field(default_factory=set)
    """The calls of `codex exec --json` that have not ended, by id."""

    def take(self, record: dict[str, Any]) -> None:
        at, kind, payload = (
            utc_time(record.get("timestamp")),
            scalar_id(record.get("type")),
            as_dict(record.get("payload")),
        )
        readers: dict[str, Callable[[], None]] = {
            "session_meta": lambda: self._described(payload),
            "turn_context": lambda: self._context(payload),
            "response_item": lambda: self._item(payload, at),
            "compacted": lambda: self.steps.event("compaction", text_of(payload.get("message")), at=at),
            "event_msg": lambda: self._event(payload, at),
            "thread.started": lambda: self._described({"id": record.get("thread_id")}),
        }
        if kind in readers:
            readers[kind]()
        elif kind in _codex_events.TYPES:
            self._exec(record)
        elif kind in _BARE or kind == "custom_tool_call_output":
            self._item(record, at)
        elif "instructions" in record and not kind:
            self._described(record)

    def _described(self, meta: dict[str, Any]) -> None:
        if self.id:
            return
        self.id = scalar_id(meta.get("id"))
        self.steps.say("system", content_text(meta.get("instructions")), at=utc_time(meta.get("timestamp")))

    def _context(self, context: dict[str, Any]) -> None:
        self.model = self.model or scalar_id(context.get("model"))

    def _item(self, item: dict[str, Any], at: str | None) -> None:
        asked = add_item(self.steps, item, at)
        self.goal = self.goal or asked

    def _event(self, event: dict[str, Any], at: str | None) -> None:
        kind = event.get("type")
        if kind == "token_count":
            info = as_dict(event.get("info"))
            self.usage = as_dict(info.get("total_token_usage")) or self.usage
        elif kind in ("error", "stream_error"):
            text = text_of(event.get("message"))
            self.steps.event("error", text, at=at, error=first_line(text) or "error")
        elif kind == "turn_aborted":
            reason = scalar_id(event.get("reason"))
            by_user = reason == "interrupted"
            self.steps.event("interruption" if by_user else kind, "[interrupted]" if by_user else reason, at=at)

    def _exec(self, record: dict[str, Any]) -> None:
        """An event of `codex exec --json`; a turn that fails there does so for the provider or the harness."""
        kind = record.get("type")
        if kind == "turn.completed":
            self.usage, self.failure = _summed(self.usage, as_dict(record.get("usage"))), ""
        elif kind in ("turn.failed", "error"):
            error = record.get("error") if kind == "turn.failed" else record
            text = text_of(as_dict(error).get("message")) or "error"
            self.failure = text if kind == "turn.failed" else self.failure
            self.steps.event("error", text, error=first_line(text))
        else:
            _codex_events.add_event(self.steps, record, self.begun)

    def items(self, source: Source) -> Iterator[Item]:
        spans = self.steps.spans()
        if not any(span.role != "system" for span in spans if span.kind != "event"):
            yield BadRecord(source.path, self.line, "a session without any words or calls")
            return
        counts = {ours: scalar_id(self.usage.get(theirs)) for theirs, ours in _USAGE.items()}
        trace = Trace(
            corpus=source.corpus,
            external_id=self.id or _named(source.path),
            format=FORMAT.name,
            task=self.goal,
            task_id="",
            task_id_origin="none",
            spans=spans,
            model=self.model or None,
            source=f"{source.path}:{self.line}",
            meta={name: count for name, count in counts.items() if count not in ("", "0")},
        )
        yield trace
        if self.failure:
            yield Outcome(trace.id, "infrastructure")


def _named(path: str) -> str:
    """The id of a session that does not say it: the one in the name of its file, else its path."""
    found = _ROLLOUT.search(path)
    return found.group(1) if found else path


def _summed(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """Tokens of turns added up."""
    both = {**one, **other}
    return {key: _number(one.get(key)) + _number(other.get(key)) for key in both}


def _number(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0
