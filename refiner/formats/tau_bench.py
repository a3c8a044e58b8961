"""tau-bench result files: records `{task_id, reward, info, traj, trial}`. The gold stays out of the trace."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, BinaryIO

from refiner.formats import _tau_feedback
from refiner.formats._common import Item, Unusable, failed, items, json_text, lookup, scalar_id, text_of, unique_ids
from refiner.ids import content_key
from refiner.jsontext import sample
from refiner.ports import Source
from refiner.types import EvaluatorNote, NoteKind, Outcome, Span, Status, Trace

_ROLES = {"system": "system", "developer": "system", "user": "user", "assistant": "assistant"}
_PASS_AT = 1.0


class TauBench:
    name = "tau-bench"

    def sniff(self, head: bytes) -> float:
        return max((_likeness(record) for record in sample(head)), default=0.0)

    def parse(self, stream: BinaryIO, source: Source) -> Iterator[Item]:
        return items(stream, source, lambda record, place: _convert(record, place, source))


FORMAT = TauBench()


def _likeness(record: dict[str, Any]) -> float:
    """A long first record may be cut before `traj`; `reward` and `info.task.actions` are as telling."""
    if "task_id" not in record or "reward" not in record:
        return 0.0
    info = record.get("info")
    task = info.get("task") if isinstance(info, dict) else None
    return 1.0 if "traj" in record or (isinstance(task, dict) and "actions" in task) else 0.0


def _convert(record: dict[str, Any], place: str, source: Source) -> Iterator[Item]:
    info = _dict(record.get("info"))
    spans = _spans(record.get("traj"))
    crash = text_of(info.get("error"))
    if crash:
        spans = (*spans, Span(len(spans), f"s{len(spans)}", "event", "harness", output=crash, error=crash))
    if not spans:
        raise Unusable("`traj` holds no messages" if isinstance(record.get("traj"), list) else "no `traj`")
    trace = _trace(record, info, spans, place, source)
    yield trace
    yield _outcome(trace, record, info, bool(crash))
    yield from _notes(trace, _dict(info.get("task")))


def _trace(record: dict[str, Any], info: dict[str, Any], spans: tuple[Span, ...], place: str, source: Source) -> Trace:
    task_id = scalar_id(record.get("task_id"))
    chosen = scalar_id(lookup(record, source.task_key)) if source.task_key else ""
    trial = scalar_id(record.get("trial"))
    said = (span.output for span in spans if span.role == "user" and span.output)
    limited = "reward_info" in info and info["reward_info"] is None
    return Trace(
        corpus=source.corpus,
        external_id=f"task{task_id}-trial{trial}" if task_id and trial else f"task{task_id}-{content_key(record)}",
        format=FORMAT.name,
        task=next(said, ""),
        task_id=chosen or task_id,
        task_id_origin="file" if chosen or task_id else "none",
        spans=spans,
        source=place,
        meta={"trial": trial} | ({"ended": "limit"} if limited else {}),
    )


def _outcome(trace: Trace, record: dict[str, Any], info: dict[str, Any], crashed: bool) -> Outcome:
    status, score = ("infrastructure", None) if crashed else graded(record.get("reward"))
    feedback = None if crashed else _tau_feedback.diff(info, trace.spans)
    return Outcome(trace.id, status, score=score, feedback=feedback)


def graded(reward: Any) -> tuple[Status, float | None]:
    """Full reward passes; anything that is no number is unknown. Scores are kept within [0, 1]."""
    if not isinstance(reward, int | float) or math.isnan(reward):
        return "unknown", None
    return ("pass" if reward >= _PASS_AT else "fail"), float(min(1, max(0, reward)))


def _notes(trace: Trace, task: dict[str, Any]) -> Iterator[EvaluatorNote]:
    texts: list[tuple[NoteKind, str]] = [("goal", text_of(task.get("instruction")))]
    texts += [("gold", json_text(action)) for action in _list(task.get("actions"))]
    texts += [("expected", text_of(output)) for output in _list(task.get("outputs"))]
    yield from (EvaluatorNote(trace.id, kind, text) for kind, text in texts if text)


def _spans(traj: Any) -> tuple[Span, ...]:
    """Messages and tool calls in order, each call joined with its own observation."""
    drafts: list[Span] = []
    waiting: list[tuple[int, int]] = []
    for turn, message in enumerate(_list(traj)):
        if not isinstance(message, dict):
            continue
        role, text = scalar_id(message.get("role")), text_of(message.get("content"))
        if role == "tool":
            _observe(drafts, waiting, message, text)
            continue
        role = _ROLES.get(role, "assistant")
        if text:
            drafts.append(Span(0, "", "message", role, role=role, output=text))
        for call in _list(message.get("tool_calls")):
            waiting.append((turn, len(drafts)))
            drafts.append(_call(_dict(call)))
    ids = unique_ids([span.span_id for span in drafts])
    return tuple(replace(span, ordinal=i, span_id=ids[i]) for i, span in enumerate(drafts))


def _call(call: dict[str, Any]) -> Span:
    function = _dict(call.get("function"))
    name = scalar_id(function.get("name")) or "unnamed"
    return Span(0, scalar_id(call.get("id")), "tool_call", name, input=text_of(function.get("arguments")))


def _observe(drafts: list[Span], waiting: list[tuple[int, int]], message: dict[str, Any], text: str) -> None:
    """Gives an observation to the call it answers: the same id first, the latest turn first, then in order.

    Ids repeat within a file (a call of a later turn may carry the id of an earlier one), so an answered call leaves.
    """
    given, name = scalar_id(message.get("tool_call_id")), scalar_id(message.get("name")) or "unnamed"
    if not waiting:
        drafts.append(Span(0, "", "tool_result", name, output=text, error=failed(text)))
        return
    chosen = min(waiting, key=lambda call: (drafts[call[1]].span_id != given, -call[0], call[1]))
    waiting.remove(chosen)
    drafts[chosen[1]] = replace(drafts[chosen[1]], output=text, error=failed(text))


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
