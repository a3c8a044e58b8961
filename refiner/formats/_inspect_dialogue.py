"""The dialogue of a sample of an Inspect log: its messages with their attachments in place and their times."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from refiner.formats._blocks import content_text
from refiner.formats._common import scalar_id, utc_time
from refiner.formats._messages import as_dict, as_list

_ATTACHED = re.compile(r"attachment://(\w+)")
_Times = tuple[str | None, str | None]
_NEVER: _Times = (None, None)


def dialogue(record: dict[str, Any]) -> Iterator[tuple[dict[str, Any], _Times]]:
    """Each message, its calls with the time at which they began, and when it began and was complete."""
    known = _Known(record)
    for message in _messages(record):
        whole = attach(message, record)
        yield known.with_times(whole), known.times(whole)


def with_events(record: dict[str, Any]) -> dict[str, Any]:
    """The sample; one of the first logs with events had them, and its attachments, in a transcript."""
    told = as_dict(record.get("transcript"))
    kept = {"events": as_list(told.get("events")), "attachments": as_dict(told.get("content"))}
    return {**{key: value for key, value in kept.items() if value}, **record} if told else record


def attach(message: dict[str, Any], record: dict[str, Any]) -> dict[str, Any]:
    """The message with the texts that it refers to in their place."""
    attachments = as_dict(record.get("attachments"))
    if not attachments:
        return message
    whole: dict[str, Any] = _filled(message, attachments)
    return whole


class _Known:
    """When tool calls and replies began and ended: by the id of the call or the message, else by what a reply says.

    Messages of logs of 2024 have no ids; their replies are looked for in the order of the model's events.
    """

    def __init__(self, record: dict[str, Any]) -> None:
        self.by_id: dict[str, _Times] = {}
        self.replies: list[tuple[str, _Times]] = []
        for event in as_list(record.get("events")):
            if isinstance(event, dict) and event.get("event") in ("tool", "model"):
                self._learn(event, record)

    def _learn(self, event: dict[str, Any], record: dict[str, Any]) -> None:
        times = utc_time(event.get("timestamp")), utc_time(event.get("completed"))
        reply = reply_of(event) if event["event"] == "model" else event
        if name := scalar_id(reply.get("id")):
            self.by_id[name] = times
        elif event["event"] == "model" and reply:
            self.replies.append((_told(attach(reply, record)), times))

    def times(self, message: dict[str, Any]) -> _Times:
        name = scalar_id(message.get("tool_call_id")) or scalar_id(message.get("id"))
        if name or message.get("role") != "assistant":
            return self.by_id.get(name, _NEVER)
        told = _told(message)
        found = next((at for at, (words, _) in enumerate(self.replies) if words == told), None)
        if found is None:
            return _NEVER
        times = self.replies[found][1]
        del self.replies[: found + 1]
        return times

    def with_times(self, message: dict[str, Any]) -> dict[str, Any]:
        calls = [call for call in as_list(message.get("tool_calls")) if isinstance(call, dict)]
        begun = [{**call, "timestamp": self.by_id.get(scalar_id(call.get("id")), _NEVER)[0]} for call in calls]
        return {**message, "tool_calls": begun} if begun else message


def reply_of(record: dict[str, Any]) -> dict[str, Any]:
    """What the model said, of an event or of a sample as its scorers had it."""
    choices = as_list(as_dict(record.get("output")).get("choices"))
    return as_dict(as_dict(choices[0]).get("message")) if choices else {}


def _told(message: dict[str, Any]) -> str:
    """What tells one reply from another: its words and the calls it makes."""
    calls = [scalar_id(as_dict(call).get("id")) for call in as_list(message.get("tool_calls"))]
    return "\n".join([content_text(message.get("content")).strip(), *calls])


def _messages(record: dict[str, Any]) -> list[dict[str, Any]]:
    """The messages; where a log has none, those of its last model call, from its pool where it points there."""
    messages = [message for message in as_list(record.get("messages")) if isinstance(message, dict)]
    if messages:
        return messages
    events = [event for event in as_list(record.get("events")) if isinstance(event, dict)]
    last = next((event for event in reversed(events) if event.get("event") == "model"), {})
    pool = as_list(record.get("message_pool"))
    said = as_list(last.get("input")) or list(_pooled(last.get("input_refs"), pool))
    choices = as_list(as_dict(last.get("output")).get("choices"))
    replies = [choice.get("message") for choice in choices[:1] if isinstance(choice, dict)]
    return [message for message in [*said, *replies] if isinstance(message, dict)]


def _pooled(references: Any, pool: list[Any]) -> Iterator[Any]:
    """Messages of the pool by position or by a range of positions, `[start, end)`."""
    for reference in as_list(references):
        bounds = reference if isinstance(reference, list) and len(reference) == 2 else [reference]
        if all(isinstance(bound, int) and bound >= 0 for bound in bounds):
            yield from pool[bounds[0] : bounds[1] if len(bounds) == 2 else bounds[0] + 1]


def _filled(value: Any, attachments: dict[str, Any]) -> Any:
    if isinstance(value, str):
        return _ATTACHED.sub(lambda hit: str(attachments.get(hit.group(1), hit.group())), value)
    if isinstance(value, list):
        return [_filled(item, attachments) for item in value]
    return {key: _filled(item, attachments) for key, item in value.items()} if isinstance(value, dict) else value
