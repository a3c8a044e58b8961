"""The product's own trace file: records `{"trace_id", "spans": [{"name", "input_text", "output_text", ...}]}`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, BinaryIO, get_args

from refiner.formats._common import (
    Item,
    Unusable,
    failed,
    items,
    json_text,
    lookup,
    scalar_id,
    text_of,
    unique_ids,
    utc_time,
)
from refiner.ids import content_key
from refiner.jsontext import clean, kind_of, sample
from refiner.labels import status_of
from refiner.ports import Source
from refiner.types import BadRecord, Outcome, Span, SpanKind, Trace

_ROLES = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "human": "user",
    "assistant": "assistant",
    "ai": "assistant",
    "llm": "assistant",
    "message": "assistant",
}
_KINDS: dict[str, SpanKind] = {kind: kind for kind in get_args(SpanKind)} | {"llm": "message", "tool": "tool_call"}
_TASK_KEYS = ("task", "goal", "prompt")
_READ = {"trace_id", "spans", "task_id", "outcome", "reward", "feedback"}


class Canonical:
    name = "canonical"

    def sniff(self, head: bytes) -> float:
        return max((_likeness(record) for record in sample(head)), default=0.0)

    def parse(self, stream: BinaryIO, source: Source) -> Iterator[Item]:
        copies: Counter[str] = Counter()
        return items(stream, source, lambda record, place: _convert(record, place, source, copies))


FORMAT = Canonical()


def record_of(trace: Trace) -> dict[str, Any]:
    """The record that reads back as this trace, but for its format and source, which are those of its new file.

    A task id that was only guessed is not written. `false` says that there is none where one would be read otherwise:
    `task`, and `error` where an observation looks like one.
    """
    stated = {"model": trace.model, "meta": trace.meta}
    return {
        "trace_id": trace.external_id,
        **({"task_id": trace.task_id} if trace.task_id_origin == "file" else {}),
        "task": trace.task or False,
        **{key: value for key, value in stated.items() if value},
        "spans": [span_record(span) for span in trace.spans],
    }


def span_record(span: Span) -> dict[str, Any]:
    """The span as it stands in a record, see `record_of`."""
    error = span.error if span.error is not None else False if failed(span.output) else None
    facts = {"role": span.role or None, "error": error, "parent_id": span.parent}
    return {
        "span_id": span.span_id,
        "kind": span.kind,
        "name": span.name,
        "input_text": span.input,
        "output_text": span.output,
        "start_time": span.started_at,
        "end_time": span.ended_at,
        **{key: value for key, value in facts.items() if value is not None},
    }


def _likeness(record: dict[str, Any]) -> float:
    spans = record.get("spans")
    if not isinstance(spans, list):
        return 0.0
    if any(isinstance(span, dict) and ("input_text" in span or "output_text" in span) for span in spans):
        return 1.0
    return 0.6 if "trace_id" in record else 0.0


def _convert(record: dict[str, Any], place: str, source: Source, copies: Counter[str]) -> Iterator[Item]:
    raw = record.get("spans")
    if not isinstance(raw, list):
        raise Unusable(f"`spans` is {kind_of(raw)}, not a list" if "spans" in record else "no `spans`")
    usable = [span for span in raw if isinstance(span, dict)]
    if not any(span.get(key) for span in usable for key in ("input_text", "output_text", "error")):
        raise Unusable("no span has `input_text` or `output_text`" if raw else "`spans` is empty")
    trace = _trace(record, usable, place, source, scalar_id(record.get("trace_id")) or _made_id(record, source, copies))
    yield trace
    if len(usable) < len(raw):
        yield BadRecord(source.path, 0, f"{len(raw) - len(usable)} spans are no objects; the other spans are kept")
    yield from _outcome(record, trace, source)


def _made_id(record: dict[str, Any], source: Source, copies: Counter[str]) -> str:
    """File name and hash of the record; equal records are numbered, so the order of lines does not matter."""
    name = f"{source.path}:{content_key(record)}"
    copies[name] += 1
    return name if copies[name] == 1 else f"{name}#{copies[name]}"


def _trace(record: dict[str, Any], raw: list[dict[str, Any]], place: str, source: Source, external_id: str) -> Trace:
    spans = _spans(raw)
    task_id = _task_id(record, source.task_key)
    task_key = next((key for key in _TASK_KEYS if record.get(key)), None)
    model = record.get("model")
    used = _READ | {task_key or "task"} | ({"model"} if isinstance(model, str) else set())
    return Trace(
        corpus=source.corpus,
        external_id=external_id,
        format=FORMAT.name,
        task=text_of(record[task_key]) if task_key else "" if record.get("task") is False else _opening(spans, raw),
        task_id=task_id,
        task_id_origin="file" if task_id else "none",
        spans=spans,
        model=clean(model) if isinstance(model, str) else None,
        source=place,
        meta=_meta({key: value for key, value in record.items() if key not in used}),
    )


def _task_id(record: dict[str, Any], task_key: str | None) -> str:
    keys = (task_key, "task_id") if task_key else ("task_id",)
    return next((found for key in keys if (found := scalar_id(lookup(record, key)))), "")


def _opening(spans: tuple[Span, ...], raw: list[dict[str, Any]]) -> str:
    """The first thing a user says, else what the first span was given."""
    said = (span.output for span in spans if span.kind == "message" and span.role == "user" and span.output)
    return next(said, None) or text_of(raw[0].get("input_text"))


def _meta(extra: dict[str, Any]) -> dict[str, str]:
    """Texts as they are, other values as JSON; the entries of `meta` stand beside the record's own keys, which win."""
    inner = extra.pop("meta", None)
    merged = {**inner, **extra} if isinstance(inner, dict) else extra
    return {clean(key): clean(value) if isinstance(value, str) else json_text(value) for key, value in merged.items()}


def _spans(raw: list[dict[str, Any]]) -> tuple[Span, ...]:
    ids = unique_ids([scalar_id(span.get("span_id")) for span in raw])
    return tuple(_span(ordinal, span_id, span) for ordinal, (span_id, span) in enumerate(zip(ids, raw, strict=True)))


def _span(ordinal: int, span_id: str, raw: dict[str, Any]) -> Span:
    name = scalar_id(raw.get("name"))
    given, shown = text_of(raw.get("input_text")), text_of(raw.get("output_text"))
    kind, role = _kind(raw, name)
    if kind == "message":
        speaks = raw.get("kind") == "message" and raw.get("role")  # then its name is that of who speaks
        name, given, shown = (name if speaks else "") or role, "", shown or given
    return Span(
        ordinal=ordinal,
        span_id=span_id,
        kind=kind,
        name=name or "unnamed",
        role=role if kind == "message" else _ROLES.get(scalar_id(raw.get("role")), "") if kind == "event" else "",
        input=given,
        output=shown,
        error=_error(raw.get("error"), "" if kind == "message" else shown),
        started_at=utc_time(raw.get("start_time")),
        ended_at=utc_time(raw.get("end_time")),
        parent=scalar_id(raw.get("parent_id", raw.get("parent"))) or None,
    )


def _kind(raw: dict[str, Any], name: str) -> tuple[SpanKind, str]:
    """Kind and role. A role is trusted over the name; a tool's role makes its observation, alone, a result."""
    given = scalar_id(raw.get("role")).lower()
    role = _ROLES.get(given or name.lower(), "assistant")
    stated = _KINDS.get(scalar_id(raw.get("kind")).lower())
    if stated:
        return stated, role
    if given in ("tool", "function"):
        return ("tool_call" if raw.get("input_text") else "tool_result"), role
    return ("message" if given or name.lower() in _ROLES else "tool_call"), role


def _error(stated: Any, output: str) -> str | None:
    if isinstance(stated, bool):
        return (output or "error") if stated else None
    return text_of(stated) if stated else failed(output)


def _outcome(record: dict[str, Any], trace: Trace, source: Source) -> Iterator[Item]:
    """The record's own statement about its end: `outcome` says how, `reward` gives a score (and says how, alone)."""
    feedback = text_of(record.get("feedback")) or None
    stated = [record[key] for key in ("outcome", "reward") if record.get(key) is not None]
    try:
        read = [status_of(value) for value in stated]
    except ValueError as error:
        yield BadRecord(source.path, 0, f"the trace is kept, its outcome is not: {error}")
        read = []
    if read or feedback:
        status = read[0][0] if read else "unknown"
        score = next((score for _, score in read if score is not None), None)
        yield Outcome(trace.id, status, score=score, feedback=feedback)
