"""LangSmith: exported runs and recorded batches of the two halves of runs. One trace a trace id.

Feedback that a run sums up is a judge's, whoever gave it: the sum does not say. Rows of feedback are files of labels.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, BinaryIO

from refiner.formats import _messages
from refiner.formats._building import build, chosen_task
from refiner.formats._common import Item, scalar_id, text_of, utc_time
from refiner.formats._llm_dialects import heard, replied
from refiner.formats._observed import Kind, Seen, account, innermost
from refiner.formats._scores import Score, outcomes_of, score_facts
from refiner.formats._steps import opening
from refiner.formats._values import TOO_DEEP, objects, shallow, values
from refiner.ports import Source
from refiner.types import BadRecord, Span

_KINDS: dict[str, Kind] = {"llm": "model", "tool": "tool", "retriever": "tool"}
_HALVES = ("post", "patch")
_MARKS = ("run_type", "dotted_order")
_ID = 36
"""The characters of a run's id, with which its place in the order of its trace ends."""


class LangSmith:
    name = "langsmith"

    def sniff(self, head: bytes) -> float:
        found = [run for record in objects(head) for run in _runs_in(record)]
        return float(any(all(key in run for key in ("id", "run_type")) and _is_run(run) for run in found))

    def parse(self, stream: BinaryIO, source: Source) -> Iterator[Item]:
        gathered = _Gathered()
        for line, value, problem, _ in values(stream):
            reason = problem or gathered.take(value, line)
            if reason:
                yield BadRecord(source.path, line, reason)
        for trace_id, runs in gathered.traces().items():
            line = gathered.lines[runs[0]["id"]]
            yield from shallow(_items(trace_id, runs, line, source), source, line)


FORMAT = LangSmith()


def _is_run(value: dict[str, Any]) -> bool:
    return any(key in value for key in _MARKS) and any(key in value for key in ("trace_id", "inputs", "outputs"))


def _runs_in(value: Any) -> list[dict[str, Any]]:
    """The runs, or halves of them, that a record or a list holds, and the runs inside of them."""
    items = value if isinstance(value, list) else [value]
    runs = []
    for item in items:
        halves = [half for key in _HALVES for half in _messages.as_list(_messages.as_dict(item).get(key))]
        runs += halves or [item]
    found = [run for run in runs if isinstance(run, dict) and _is_run(run)]
    for run in found:  # grows while it is gone through
        found += _inside(run)
    return found


def _inside(run: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The runs that a run holds, with their place where they do not state it."""
    place = {"parent_run_id": run.get("id"), "trace_id": run.get("trace_id") or run.get("id")}
    for inner in _messages.as_list(run.get("child_runs")):
        if isinstance(inner, dict) and _is_run(inner):
            yield {**place, **{key: value for key, value in inner.items() if value is not None}}


@dataclass(slots=True)
class _Gathered:
    """All runs of a file by their id, each joined from its halves, with the line of the first."""

    runs: dict[str, dict[str, Any]] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)

    def take(self, value: Any, line: int) -> str:
        """Keeps the runs of a record; returns why there are none."""
        try:
            found = _runs_in(value)
        except RecursionError:
            return TOO_DEEP
        for half in found:
            name = scalar_id(half.get("id")) or scalar_id(half.get("dotted_order"))[-_ID:] or f"line {line}"
            run = self.runs.setdefault(name, {"id": name})
            self.lines.setdefault(name, line)
            run.update({key: item for key, item in half.items() if key != "id" and item not in (None, {}, [])})
        return "" if found else "holds no runs"

    def traces(self) -> dict[str, list[dict[str, Any]]]:
        """The runs of each trace, in the order of the file."""
        traces: dict[str, list[dict[str, Any]]] = {}
        for name, run in self.runs.items():
            traces.setdefault(scalar_id(run.get("trace_id")) or name, []).append(run)
        return traces


def _items(trace_id: str, runs: list[dict[str, Any]], line: int, source: Source) -> Iterator[Item]:
    root = min(runs, key=lambda run: (bool(run.get("parent_run_id")), scalar_id(run.get("dotted_order")), run["id"]))
    whole = _whole(root)
    calls = [_seen(run) for run in runs]
    spans = account(calls)
    if whole and not any(span.role == "user" for span in spans):
        spans = account([_around(root), *calls])
    if not spans:
        yield BadRecord(source.path, line, "not one run of the trace has any words or calls")
        return
    scores = [score for run in runs for score in _scores(run)]
    models = [run for run in runs if run.get("run_type") == "llm"]
    trace = build(
        source,
        FORMAT.name,
        trace_id,
        spans,
        place=line,
        task=opening(whole),
        task_id=chosen_task(root, source) or chosen_task(_metadata(root), source),
        model=next((model for run in models if (model := _model(run))), ""),
        meta={
            **_facts(root),
            **_usage(root, [run for run in models if run["id"] in innermost(calls)]),
            "scores": score_facts(scores),
        },
    )
    yield trace
    yield from outcomes_of(trace, scores)


def _seen(run: dict[str, Any]) -> Seen:
    kind: Kind = _KINDS.get(scalar_id(run.get("run_type")), "other")
    error = text_of(run.get("error")).strip()
    return Seen(
        id=run["id"],
        parent=scalar_id(run.get("parent_run_id")),
        kind=kind,
        name=text_of(run.get("name")) or "unnamed",
        input=_messages.arguments_text(_unwrapped(run.get("inputs"), "input")) if kind == "tool" else "",
        output=_observed(run.get("outputs")) if kind == "tool" else "",
        error=_messages.first_line(error) or None,
        start=utc_time(run.get("start_time")),
        end=utc_time(run.get("end_time")),
        heard=tuple(heard(run.get("inputs"))) if kind == "model" else (),
        said=tuple(replied(run.get("outputs"))) if kind == "model" else (),
    )


def _around(root: dict[str, Any]) -> Seen:
    """What went into the outermost run, as something a model was given before everything else."""
    return Seen(f"{root['id']}:inputs", "", "model", heard=heard(root.get("inputs")))


def _whole(root: dict[str, Any]) -> tuple[Span, ...]:
    return account([_around(root)])


def _unwrapped(value: Any, key: str) -> Any:
    return value[key] if isinstance(value, dict) and set(value) == {key} else value


def _observed(outputs: Any) -> str:
    value = _unwrapped(outputs, "output")
    inner = _messages.as_dict(_messages.as_dict(value).get("kwargs")) or value
    if isinstance(inner, dict) and "content" in inner and ("tool_call_id" in inner or set(inner) == {"content"}):
        return _messages.result_text({"content": inner["content"]})
    return text_of(inner)


def _metadata(run: dict[str, Any]) -> dict[str, Any]:
    return _messages.as_dict(_messages.as_dict(run.get("extra")).get("metadata"))


def _model(run: dict[str, Any]) -> str:
    sides = (_messages.as_dict(run.get("outputs")), _metadata(run), _messages.as_dict(run.get("inputs")))
    names = (scalar_id(side.get(key)) for side in sides for key in ("model", "ls_model_name", "model_name"))
    return next((name for name in names if name), "")


def _facts(root: dict[str, Any]) -> dict[str, Any]:
    tags = [tag for tag in _messages.as_list(root.get("tags")) if isinstance(tag, str)]
    session = _metadata(root).get("session_id") or _metadata(root).get("thread_id")
    return {"name": root.get("name"), "project": root.get("session_name"), "session": session, "tags": ", ".join(tags)}


def _usage(root: dict[str, Any], models: list[dict[str, Any]]) -> dict[str, float]:
    """Tokens and cost of the innermost calls of models; where they state none, what the whole run sums up."""
    sums: dict[str, float] = {}
    for name in ("input_tokens", "output_tokens", "cost_usd"):
        found = sum(_used(run, name) for run in models) or _used(root, name)
        sums |= {name: round(found, 9)} if found else {}
    return sums


def _used(run: dict[str, Any], name: str) -> float:
    """Tokens or cost of one run, as the model states them or as LangSmith adds them to the run."""
    outputs = _messages.as_dict(run.get("outputs"))
    usage = _messages.as_dict(outputs.get("usage_metadata")) or _messages.as_dict(_metadata(run).get("usage_metadata"))
    counted = _messages.as_dict(_messages.as_dict(outputs.get("llm_output")).get("token_usage"))
    stated = usage.get({"cost_usd": "total_cost"}.get(name, name))
    theirs = {"input_tokens": "prompt_tokens", "output_tokens": "completion_tokens"}.get(name, "total_cost")
    return _number(stated) or _number(run.get(theirs)) or _number(counted.get(theirs))


def _number(value: Any) -> float:
    """A positive number; costs come as texts, too."""
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return 0
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    return value if is_number and value > 0 else 0


def _scores(run: dict[str, Any]) -> Iterator[Score]:
    for name, stats in _messages.as_dict(run.get("feedback_stats")).items():
        stats = _messages.as_dict(stats)
        said = "\n".join(text_of(one) for one in _messages.as_list(stats.get("comments")) if one)
        labels = list(_messages.as_dict(stats.get("values")))
        label = text_of(labels[0]) if len(labels) == 1 and stats.get("avg") is None else ""
        if stats.get("avg") is not None or label or said:
            yield Score(text_of(name), stats.get("avg"), label, said, "judge")
