"""Chat messages in the OpenAI manner: a list of `{role, content}`, or records with `messages`. Outcomes as siblings."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, BinaryIO

from refiner.formats import _foreign, _messages, _react_chat, _stated
from refiner.formats._common import Item
from refiner.formats._generic_usage import spent
from refiner.formats._steps import Steps, opening
from refiner.formats._values import sampled, shallow, values
from refiner.ports import Source
from refiner.types import BadRecord, Trace

_SURE = 0.8
"""Less than certain: formats that also hold chat messages say more about themselves."""
_TURN = re.compile(r"^(system|user|assistant|tool): ?", re.MULTILINE)


class Chat:
    name = "chat"

    def sniff(self, head: bytes) -> float:
        if _foreign.name(head) is not None:
            return 0.0
        return max((_SURE * _is_chat(record) for record in sampled(head)), default=0.0)

    def parse(self, stream: BinaryIO, source: Source) -> Iterator[Item]:
        reading = _Reading(source)
        for line, value, problem, whole in values(stream, _is_conversation):
            found = [BadRecord(source.path, line, problem)] if problem else reading.take(value, line, whole)
            yield from shallow(found, source, line)
        yield from shallow(reading.rest(), source, reading.line)


FORMAT = Chat()


def _is_chat(record: dict[str, Any]) -> bool:
    """A long first message may be cut off before its content: its role alone is enough there."""
    if _speaks(record) or isinstance(record.get("messages_display"), str):
        return True
    messages = record.get("messages")
    return isinstance(messages, list) and any(_speaks(message) for message in messages if isinstance(message, dict))


def _is_conversation(record: dict[str, Any]) -> bool:
    """Whether a record of a list is a run of its own, and the list no conversation."""
    return isinstance(record.get("messages"), list) and not _messages.is_message(record)


def _speaks(record: dict[str, Any]) -> bool:
    known = str(record.get("role")).lower() in _messages.ROLES
    return known and (_messages.is_message(record) or set(record) == {"role"})


@dataclass(slots=True)
class _Reading:
    """One file: records become traces at once; messages that stand alone are one trace at the end."""

    source: Source
    copies: Counter[str] = field(default_factory=Counter)
    loose: list[dict[str, Any]] = field(default_factory=list)
    line: int = 0

    def rest(self) -> Iterator[Item]:
        if self.loose:
            yield from self._conversation({"messages": self.loose}, self.line, self.source.path)

    def take(self, value: Any, line: int, whole: bool) -> Iterator[Item]:
        if isinstance(value, list):
            yield from self._list(value, line, whole)
        elif _messages.is_message(value):
            self.line = self.line or line
            self.loose.append(value)
        elif isinstance(value.get("messages_display"), str):
            shown = {**value, "messages": _turns(value["messages_display"])}
            yield from self._conversation(shown, line, self._id(value))
        elif isinstance(value.get("messages"), list):
            yield from self._conversation(value, line, self._id(value))
        elif set(value) != {"metadata"}:
            yield BadRecord(self.source.path, line, "no `messages`")

    def _list(self, items: list[Any], line: int, whole: bool) -> Iterator[Item]:
        """A list of messages is a conversation, named by the file where it is all of it; other lists hold records."""
        if any(_messages.is_message(item) for item in items):
            name = self.source.path if whole else _stated.made_id(items, self.source, self.copies)
            yield from self._conversation({"messages": items}, line, name)
            return
        for item in items:
            if isinstance(item, dict | list):
                yield from self.take(item, line, False)
            else:
                yield BadRecord(self.source.path, line, "a list holds something that is neither record nor message")

    def _id(self, record: dict[str, Any]) -> str:
        return _stated.given_id(record) or _stated.made_id(record, self.source, self.copies)

    def _conversation(self, record: dict[str, Any], line: int, external_id: str) -> Iterator[Item]:
        steps, retold = Steps(), _react_chat.retold(record["messages"])
        for message in record["messages"] if retold is None else retold:
            if isinstance(message, dict):
                _messages.add(steps, message)
        spans = steps.spans()
        if not spans:
            yield BadRecord(self.source.path, line, "not one of the `messages` has any words or calls")
            return
        task_id = _stated.task_id(record, self.source)
        trace = Trace(
            corpus=self.source.corpus,
            external_id=external_id,
            format=FORMAT.name,
            task=opening(spans) if retold is None else _react_chat.goal(opening(spans)),
            task_id=task_id,
            task_id_origin="file" if task_id else "none",
            spans=spans,
            model=_stated.model_of(record, record["messages"]),
            source=f"{self.source.path}:{line}",
            meta={**_stated.small_facts(record), **(spent([record]) or spent(record["messages"]))},
        )
        yield trace
        for item in _stated.statements(record, trace, self.source):
            yield BadRecord(item.path, line, item.reason) if isinstance(item, BadRecord) else item


def _turns(text: str) -> list[dict[str, Any]]:
    """Messages of a dialogue written as one text, `role: words`. `None` is an assistant that only called a tool."""
    marks = list(_TURN.finditer(text))
    ends = [*(mark.start() for mark in marks[1:]), len(text)][: len(marks)]
    turns = [(mark.group(1), text[mark.end() : end].strip()) for mark, end in zip(marks, ends, strict=True)]
    return [{"role": role, "content": None if words == "None" else words} for role, words in turns]
