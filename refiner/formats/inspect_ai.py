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
from refiner.formats._common import Item, json_text, lookup, scalar_id, text_of
from refiner.formats._inspect_dialogue import attach, dialogue, reply_of, with_events
from refiner.formats._inspect_files import Logged, is_zip, logged
from refiner.formats._steps import Steps, opening
from refiner.formats._values import objects, shallow
from refiner.ports import Source
from refiner.types import BadRecord, EvaluatorNote, Outcome, Status, Trace

_WORDS: dict[str, tuple[Status, float]] = {
    "c": ("pass", 1.0),
    "correct": ("pass", 1.0),
    "p": ("fail", 0.5),
    "partial": ("fail", 0.5),
    "i": ("fail", 0.0),
    "incorrect": ("fail", 0.0),
    "n": ("fail", 0.0),
    "noanswer": ("fail", 0.0),
    **dict.fromkeys(("yes", "true"), ("pass", 1.0)),
    **dict.fromkeys(("no", "false"), ("fail", 0.0)),
}
"""The letters and words of Inspect's own scorers, with the numbers it gives them."""
_NUMBER = re.compile(r"\d{1,9}(?:\.\d{1,9})?", re.ASCII)
_STOPPED = ("cancelled", "error")
_TOKENS = {
    "input_tokens": "input_tokens",
    "output_tokens": "output_tokens",
    "input_tokens_cache_read": "cached_tokens",
    "input_tokens_cache_write": "cache_write_tokens",
}


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
            yield from shallow(_items(one, with_events(one.sample), source), source, one.line)


FORMAT = InspectAI()


def _items(one: Logged, record: dict[str, Any], source: Source) -> Iterator[Item]:
    spec, steps = _messages.as_dict(one.header.get("eval")), Steps(strict=True)
    for message, (start, end) in dialogue(record):
        _messages.add(steps, message, at=start, until=end)
    error = content_text(_messages.as_dict(record.get("error")).get("message")) or text_of(record.get("error"))
    if error:
        steps.event("harness", error, error=_messages.first_line(error) or "error")
    spans = steps.spans()
    if not spans:
        yield BadRecord(source.path, one.line, f"sample {scalar_id(record.get('id'))} holds no messages")
        return
    name, epoch = scalar_id(record.get("id")), scalar_id(record.get("epoch")) or "1"
    chosen = scalar_id(lookup(record, source.task_key)) if source.task_key else ""
    task_id = chosen or "/".join(filter(None, (scalar_id(spec.get("task")), name))) if name or chosen else ""
    trace = Trace(
        corpus=source.corpus,
        external_id=scalar_id(record.get("uuid")) or f"{_run(spec, source)}/{name}/{epoch}",
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


def _goal(record: dict[str, Any]) -> str:
    """The input; of a list of messages, what the user says first."""
    given = record.get("input")
    if isinstance(given, str):
        return text_of(attach({"input": given}, record)["input"])
    steps = Steps()
    for message in _messages.as_list(given):
        if isinstance(message, dict):
            _messages.add(steps, attach(message, record))
    return opening(steps.spans())


def _run(spec: dict[str, Any], source: Source) -> str:
    """What tells the samples of logs apart: one run may try several tasks, or one task with several models."""
    run = scalar_id(spec.get("run_id")) or scalar_id(spec.get("eval_id")) or source.path
    return "/".join(filter(None, (run, scalar_id(spec.get("task_id")))))


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
    """The explanation; that of a scorer which only compares texts is the reply itself, which says nothing about it."""
    told = text_of(attach({"text": text_of(score.get("explanation"))}, record)["text"])
    replies = (attach(reply, record) for reply in (reply_of(record), {"content": score.get("answer")}))
    return "" if told.strip() in {content_text(reply.get("content")).strip() for reply in replies} else told


def graded(value: Any) -> tuple[Status, float | None]:
    """Status and score of a scorer's value: its letters and words, booleans, numbers from 0 to 1, also as a text.

    All others say nothing sure.
    """
    if isinstance(value, str) and _NUMBER.fullmatch(value.strip()):
        value = float(value)
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
        text = text_of(attach({"text": text_of(target)}, record)["text"]).strip()
        if text:
            yield EvaluatorNote(trace.id, "expected", text)
