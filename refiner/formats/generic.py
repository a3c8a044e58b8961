"""The last resort: records in which something like messages can be found, read as far as that goes.

Takes pi, Gemini CLI and the like. Every trace says that it was read this way.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, BinaryIO

from refiner.formats import _foreign, _messages, _stated
from refiner.formats._common import Item, utc_time
from refiner.formats._generic_usage import spent
from refiner.formats._generic_walk import conversation, ending, said_in, spoken
from refiner.formats._steps import Steps, opening
from refiner.formats._values import sampled, shallow, values
from refiner.ports import Source
from refiner.types import BadRecord, Trace

_BARELY = 0.5
_SESSION = "session"


class Generic:
    name = "generic"

    def sniff(self, head: bytes) -> float:
        if _foreign.name(head) is not None:
            return 0.0
        try:
            return max((_BARELY * _is_readable(record) for record in sampled(head)), default=0.0)
        except RecursionError:
            return 0.0

    def parse(self, stream: BinaryIO, source: Source) -> Iterator[Item]:
        reading = _Reading(source)
        for line, value, problem, whole in values(stream, _is_conversation):
            found = [BadRecord(source.path, line, problem)] if problem else reading.take(value, line, whole)
            yield from shallow(found, source, line)
        yield from shallow(reading.rest(), source, reading.line)


FORMAT = Generic()


def _is_readable(record: dict[str, Any]) -> bool:
    return spoken(record) is not None or len(conversation(record)) > 1


def _is_conversation(record: dict[str, Any]) -> bool:
    """Whether a record of a list is a run of its own, and the list no conversation."""
    return spoken(record) is None and bool(conversation(record))


@dataclass(slots=True)
class _Reading:
    """One file: a record that holds a conversation is a trace; lines that are messages are one trace at the end."""

    source: Source
    copies: Counter[str] = field(default_factory=Counter)
    loose: list[dict[str, Any]] = field(default_factory=list)
    about: dict[str, Any] = field(default_factory=dict)
    line: int = 0

    def take(self, value: Any, line: int, whole: bool) -> Iterator[Item]:
        if isinstance(value, list):
            yield from self._list(value, line, whole)
            return
        message = spoken(value)
        if message is not None:
            self.line = self.line or line
            self.loose.append(message)
        elif value.get("type") == _SESSION:
            yield from self._new_session(value)
        else:
            yield from self._record(value, line)

    def rest(self) -> Iterator[Item]:
        if self.loose:
            name = _stated.given_id(self.about) or self.source.path
            yield from self._trace(self.loose, self.about, self.line, name)

    def _new_session(self, about: dict[str, Any]) -> Iterator[Item]:
        yield from self.rest()
        self.loose, self.about, self.line = [], about, 0

    def _list(self, items: list[Any], line: int, whole: bool) -> Iterator[Item]:
        said = said_in(items)
        if said:
            name = self.source.path if whole else _stated.made_id(items, self.source, self.copies)
            yield from self._trace(said, {}, line, name)
            return
        for item in items:
            if isinstance(item, dict | list):
                yield from self.take(item, line, False)

    def _record(self, value: dict[str, Any], line: int) -> Iterator[Item]:
        messages = conversation(value)
        if messages:
            name = _stated.given_id(value) or _stated.made_id(value, self.source, self.copies)
            yield from self._trace(messages, value, line, name)
        elif not self.loose and not self.about:
            yield BadRecord(self.source.path, line, "nothing in it looks like a conversation")

    def _trace(self, messages: list[dict[str, Any]], record: dict[str, Any], line: int, name: str) -> Iterator[Item]:
        steps = Steps()
        for message in messages:
            _messages.add(steps, message)
            ending(steps, message, utc_time(message.get("timestamp")))
        spans = steps.spans()
        if all(span.kind == "event" for span in spans):
            yield BadRecord(self.source.path, line, "not one message has any words or calls")
            return
        task_id = _stated.task_id(record, self.source)
        trace = Trace(
            corpus=self.source.corpus,
            external_id=name,
            format=FORMAT.name,
            task=opening(spans),
            task_id=task_id,
            task_id_origin="file" if task_id else "none",
            spans=spans,
            model=_stated.model_of(record, messages),
            source=f"{self.source.path}:{line}",
            meta={**_stated.small_facts(record), **(spent([record]) or spent(messages)), "read_as": FORMAT.name},
        )
        yield trace
        for item in _stated.statements(record, trace, self.source):
            yield BadRecord(item.path, line, item.reason) if isinstance(item, BadRecord) else item
