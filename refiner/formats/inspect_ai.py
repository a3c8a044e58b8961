"""Inspect logs, `.eval` and JSON, versions 1 to 4: one trace a sample and epoch. Targets stay out of the trace.

Of several scorers the first one is the outcome; all of them are kept as facts of the trace.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any, BinaryIO

from refiner.formats import _messages
from refiner.formats._blocks import content_text
from refiner.formats._common import Item, json_text, lookup, scalar_id, text_of, utc_time
from refiner.formats._inspect_files import Logged, is_zip, logged
from refiner.formats._steps import Steps, opening
from refiner.formats._values import objects, shallow
from refiner.ports import Source
from refiner.types import BadRecord, EvaluatorNote, Outcome, Status, Trace

_ATTACHED = re.compile(r"attachment://(\w+)")
_WORDS: dict[str, tuple[Status, float]] = {
    "c": ("pass", 1.0),
    "correct": ("pass", 1.0),
    "p": ("fail", 0.5),
    "partial": ("fail", 0.5),
    "i": ("fail", 0.0),
    "incorrect": ("fail", 0.0),
    "n": ("fail", 0.0),
    "noanswer": ("fail", 0.0),
}
"""The letters of Inspect's own scorers, with the numbers it gives them."""
_STOPPED = ("cancelled", "error")
_TOKENS = {"input_tokens": "input_tokens", "output_tokens": "output_tokens", "input_tokens_cache_read": "cached_tokens"}


class InspectAI:
    name = "inspect-ai"

    def sniff(self, head: bytes) -> float:
        if is_zip(head):
            return 1.0 if b"_journal/" in head or b"header.json" in head else 0.0
        return max(
            (float(all(key in one for key in ("status", "eval", "version"))) for one in objects(head)), default=0
        )

    def parse(self, stream: BinaryIO, source: Source) -> Iterator[Item]:
        for one in logged(stream):
            if one.sample is None:
                yield BadRecord(source.path, one.line, one.problem)
                continue
            yield from shallow(_items(one, one.sample, source), source, one.line)


FORMAT = InspectAI()


def _items(one: Logged, record: dict[str, Any], source: Source) -> Iterator[Item]:
    spec, steps = _messages.as_dict(one.header.get("eval")), Steps(strict=True)
    times = _times(record)
    for message in _dialogue(record):
        whole = _attach(message, record)
        start, end = times.get(scalar_id(whole.get("tool_call_id")) or scalar_id(whole.get("id")), (None, None))
        _messages.add(steps, _with_times(whole, times), at=start, until=end)
    error = content_text(_messages.as_dict(record.get("error")).get("message")) or text_of(record.get("error"))
    if error:
        steps.event("harness", error, error=_messages.first_line(error) or "error")
    spans = steps.spans()
    if not spans:
        yield BadRecord(source.path, one.line, f"sample {scalar_id(record.get('id'))} holds no messages")
        return
    name, epoch = scalar_id(record.get("id")), scalar_id(record.get("epoch")) or "1"
    run = scalar_id(spec.get("run_id")) or scalar_id(spec.get("eval_id")) or source.path
    chosen = scalar_id(lookup(record, source.task_key)) if source.task_key else ""
    task_id = chosen or "/".join(filter(None, (scalar_id(spec.get("task")), name))) if name or chosen else ""
    trace = Trace(
        corpus=source.corpus,
        external_id=scalar_id(record.get("uuid")) or f"{run}/{name}/{epoch}",
        format=FORMAT.name,
        task=_goal(record) or opening(spans),
        task_id=task_id,
        task_id_origin="file" if task_id else "none",
        spans=spans,
        model=scalar_id(spec.get("model")) or None,
        source=f"{source.path}:{one.place or one.line}",
        meta=_meta(record, spec, epoch),
    )
    yield trace
    outcome = _outcome(trace, record, one.header.get("status"), bool(error))
    if outcome is not None:
        yield outcome
    yield from _notes(trace, record)


def _dialogue(record: dict[str, Any]) -> list[dict[str, Any]]:
    """The messages; where a log has none, those of its last model call, from its pool where it points there."""
    messages = [message for message in _messages.as_list(record.get("messages")) if isinstance(message, dict)]
    if messages:
        return messages
    events = [event for event in _messages.as_list(record.get("events")) if isinstance(event, dict)]
    last = next((event for event in reversed(events) if event.get("event") == "model"), {})
    pool = _messages.as_list(record.get("message_pool"))
    said = _messages.as_list(last.get("input")) or list(_pooled(last.get("input_refs"), pool))
    choices = _messages.as_list(_messages.as_dict(last.get("output")).get("choices"))
    replies = [choice.get("message") for choice in choices[:1] if isinstance(choice, dict)]
    return [message for message in [*said, *replies] if isinstance(message, dict)]


def _pooled(references: Any, pool: list[Any]) -> Iterator[Any]:
    """Messages of the pool by position or by a range of positions, `[start, end)`."""
    for reference in _messages.as_list(references):
        bounds = reference if isinstance(reference, list) and len(reference) == 2 else [reference]
        if all(isinstance(bound, int) and bound >= 0 for bound in bounds):
            yield from pool[bounds[0] : bounds[1] if len(bounds) == 2 else bounds[0] + 1]


def _attach(message: dict[str, Any], record: dict[str, Any]) -> dict[str, Any]:
    """The message with the texts that it refers to in their place."""
    attachments = _messages.as_dict(record.get("attachments"))
    if not attachments:
        return message
    whole: dict[str, Any] = _filled(message, attachments)
    return whole


def _filled(value: Any, attachments: dict[str, Any]) -> Any:
    if isinstance(value, str):
        return _ATTACHED.sub(lambda hit: str(attachments.get(hit.group(1), hit.group())), value)
    if isinstance(value, list):
        return [_filled(item, attachments) for item in value]
    return {key: _filled(item, attachments) for key, item in value.items()} if isinstance(value, dict) else value


def _times(record: dict[str, Any]) -> dict[str, tuple[str | None, str | None]]:
    """When tool calls and replies began and ended, by the id of the call or the message."""
    times: dict[str, tuple[str | None, str | None]] = {}
    for event in _messages.as_list(record.get("events")):
        if not isinstance(event, dict) or event.get("event") not in ("tool", "model"):
            continue
        name = scalar_id(event.get("id"))
        if event["event"] == "model":
            choices = _messages.as_list(_messages.as_dict(event.get("output")).get("choices"))
            replies = [_messages.as_dict(_messages.as_dict(choice).get("message")) for choice in choices[:1]]
            name = scalar_id(replies[0].get("id")) if replies else ""
        if name:
            times[name] = utc_time(event.get("timestamp")), utc_time(event.get("completed"))
    return times


def _with_times(message: dict[str, Any], times: dict[str, tuple[str | None, str | None]]) -> dict[str, Any]:
    """The message, each of its calls with the time at which it began."""
    calls = [call for call in _messages.as_list(message.get("tool_calls")) if isinstance(call, dict)]
    begun = [{**call, "timestamp": times.get(scalar_id(call.get("id")), (None, None))[0]} for call in calls]
    return {**message, "tool_calls": begun} if begun else message


def _goal(record: dict[str, Any]) -> str:
    """The input; of a list of messages, what the user says first."""
    given = record.get("input")
    if isinstance(given, str):
        return text_of(_attach({"input": given}, record)["input"])
    steps = Steps()
    for message in _messages.as_list(given):
        if isinstance(message, dict):
            _messages.add(steps, _attach(message, record))
    return opening(steps.spans())


def _meta(record: dict[str, Any], spec: dict[str, Any], epoch: str) -> dict[str, str]:
    usage = [_messages.as_dict(one) for one in _messages.as_dict(record.get("model_usage")).values()]
    facts = {"task": scalar_id(spec.get("task")), "epoch": epoch, "run_id": scalar_id(spec.get("run_id"))}
    facts |= {ours: _total(usage, theirs) for theirs, ours in _TOKENS.items()}
    facts["seconds"] = scalar_id(record.get("total_time"))
    facts["ended"] = "limit" if record.get("limit") else ""
    scores = {name: _messages.as_dict(score).get("value") for name, score in _scores(record).items()}
    facts["scores"] = json_text(scores) if scores else ""
    return {key: value for key, value in facts.items() if value}


def _total(usage: list[dict[str, Any]], key: str) -> str:
    counts = [one[key] for one in usage if isinstance(one.get(key), int)]
    return str(sum(counts)) if counts else ""


def _scores(record: dict[str, Any]) -> dict[str, Any]:
    """The scores by scorer; the first logs had one, named `score`."""
    return _messages.as_dict(record.get("scores")) or (
        {"score": record["score"]} if isinstance(record.get("score"), dict) else {}
    )


def _outcome(trace: Trace, record: dict[str, Any], log_status: Any, broken: bool) -> Outcome | None:
    """The first score; a sample without one that ended in an error, or whose log was stopped, is infrastructure."""
    score = _messages.as_dict(next(iter(_scores(record).values()), None))
    status, number = graded(score.get("value"))
    if broken or (not score and log_status in _STOPPED):
        return Outcome(trace.id, "infrastructure")
    if not score:
        return None
    return Outcome(trace.id, status, score=number, feedback=_feedback(score, record) or None)


def _feedback(score: dict[str, Any], record: dict[str, Any]) -> str:
    return text_of(_attach({"text": text_of(score.get("explanation"))}, record)["text"])


def graded(value: Any) -> tuple[Status, float | None]:
    """Status and score of a scorer's value: its letters, booleans, numbers from 0 to 1. All others say nothing sure."""
    if isinstance(value, bool):
        return ("pass", 1.0) if value else ("fail", 0.0)
    if isinstance(value, str):
        return _WORDS.get(value.strip().lower(), ("unknown", None))
    if not isinstance(value, int | float) or math.isnan(value) or not 0 <= value <= 1:
        return "unknown", None
    return ("pass" if value >= 1 else "fail"), float(value)


def _notes(trace: Trace, record: dict[str, Any]) -> Iterator[EvaluatorNote]:
    targets = record.get("target")
    for target in targets if isinstance(targets, list) else [targets]:
        text = text_of(_attach({"text": text_of(target)}, record)["text"]).strip()
        if text:
            yield EvaluatorNote(trace.id, "expected", text)
