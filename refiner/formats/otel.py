"""OpenTelemetry: one trace a trace id, from the spans of models and tools that a file holds of it.

A failed span is no failed task: outcomes come from evaluation events alone, and those are a judge's.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, BinaryIO

from refiner.formats import _messages
from refiner.formats._building import build, file_id
from refiner.formats._common import Item, scalar_id, text_of
from refiner.formats._observed import Kind, account, called, innermost
from refiner.formats._otel_meaning import counts_of, kind_of, model_of, seen
from refiner.formats._otel_spans import Event, Recorded, is_spans, spans_of, with_logs
from refiner.formats._scores import Score, outcomes_of, score_facts
from refiner.formats._values import TOO_DEEP, objects, shallow, values
from refiner.ports import Source
from refiner.types import BadRecord

_EVALUATED = "gen_ai.evaluation.result"
_SESSIONS = ("session.id", "gen_ai.conversation.id", "ai.telemetry.metadata.sessionId", "thread.id")


class OpenTelemetry:
    name = "otel"

    def sniff(self, head: bytes) -> float:
        return max((float(is_spans(record)) for record in objects(head)), default=0.0)

    def parse(self, stream: BinaryIO, source: Source) -> Iterator[Item]:
        gathered = _Gathered()
        for line, value, problem, _ in values(stream):
            if problem:
                yield BadRecord(source.path, line, problem)
                continue
            for record in value if isinstance(value, list) else [value]:
                reason = gathered.take(record, line)
                if reason:
                    yield BadRecord(source.path, line, reason)
        empty = 0
        for trace_id, run in gathered.runs.items():
            items = list(shallow(_items(trace_id, run, source), source, run.line))
            empty += not items
            yield from items
        if empty:
            yield BadRecord(source.path, 0, f"{empty} of {len(gathered.runs)} traces hold no calls of models or tools")


FORMAT = OpenTelemetry()


@dataclass(slots=True)
class _Run:
    line: int
    spans: list[Recorded] = field(default_factory=list)


@dataclass(slots=True)
class _Gathered:
    """All spans of a file by their trace, in the order of the first span of each."""

    runs: dict[str, _Run] = field(default_factory=dict)

    def take(self, record: Any, line: int) -> str:
        """Keeps the spans of a record; returns why there are none."""
        if not isinstance(record, dict):
            return "holds no spans"
        try:
            found = list(spans_of(record))
        except RecursionError:
            return TOO_DEEP
        for span in found:
            self.runs.setdefault(span.trace_id, _Run(line)).spans.append(span)
        return "" if found else "holds no spans"


def _items(trace_id: str, run: _Run, source: Source) -> Iterator[Item]:
    whole = with_logs(run.spans)
    recorded = {span.span_id or f"{number}": span for number, span in enumerate(whole)}
    kinds = _kinds(list(recorded.values()))
    calls = [seen(span, kinds[name]) for name, span in recorded.items()]
    spans = account(calls)
    if not spans:
        return
    models = [span for name, span in recorded.items() if kinds[name] == "model"]
    root = min(recorded.values(), key=lambda span: (bool(span.parent), not span.name, span.start or "", span.span_id))
    scores = [_score(event) for span in whole for event in span.events if event.name == _EVALUATED]
    everything = [root, *whole]
    task = (scalar_id(span.attributes.get(source.task_key)) for span in everything if source.task_key)
    trace = build(
        source,
        FORMAT.name,
        trace_id or file_id(source, ".json", ".jsonl"),
        spans,
        place=run.line,
        task_id=next((name for name in task if name), ""),
        model=next((model for span in models if (model := model_of(span))), ""),
        meta={**_facts(root, everything), **_counts(models, innermost(calls)), "scores": score_facts(scores)},
    )
    yield trace
    yield from outcomes_of(trace, scores)


def _kinds(spans: list[Recorded]) -> dict[str, Kind]:
    """What each span is, by id. Where no model was recorded, the outermost span with words stands for it."""
    kinds = {span.span_id or f"{number}": kind_of(span) for number, span in enumerate(spans)}
    if "model" in kinds.values():
        names = called(seen(span, "model") for span in spans if kinds.get(span.span_id) == "model")
        return {name: _named(kind, spans[at], names) for at, (name, kind) in enumerate(kinds.items())}
    for number, span in enumerate(spans):
        name = span.span_id or f"{number}"
        if kinds[name] == "other" and not span.parent and (seen(span, "model").said or seen(span, "model").heard):
            kinds[name] = "model"
    return kinds


def _named(kind: Kind, span: Recorded, names: set[str]) -> Kind:
    """A span around nothing that has the name of a tool that a model called is that tool."""
    return "tool" if kind == "other" and seen(span, "tool").name in names else kind


def _facts(root: Recorded, spans: list[Recorded]) -> dict[str, Any]:
    sessions = (scalar_id(_messages.first(span.attributes, _SESSIONS)) for span in spans)
    return {
        "name": root.name,
        "service": root.resource.get("service.name"),
        "session": next((session for session in sessions if session), ""),
    }


def _counts(models: list[Recorded], counting: set[str]) -> dict[str, float]:
    """Tokens and cost of the innermost calls of models."""
    sums: dict[str, float] = {}
    for span in models:
        for name, value in counts_of(span).items() if span.span_id in counting else ():
            sums[name] = round(sums.get(name, 0) + value, 9)
    return sums


def _score(event: Event) -> Score:
    told = {key: event.attributes.get(f"gen_ai.evaluation.{key}") for key in ("name", "score.value", "score.label")}
    comment = text_of(event.attributes.get("gen_ai.evaluation.explanation"))
    name = scalar_id(told["name"]) or "evaluation"
    return Score(name, told["score.value"], scalar_id(told["score.label"]), comment, "judge", event.at)
