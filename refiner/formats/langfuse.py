"""Langfuse: traces downloaded from the screen, and those of its API. Calls of models and tools tell the run.

A score is an outcome when its name says so (correctness, success, ...): a person's before the API's before a judge's.
All scores of the trace stay as facts of it; of those of single observations what people remarked is feedback. An output
that a person corrected is for evaluators alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, BinaryIO

from refiner.formats import _messages
from refiner.formats._building import build, chosen_task, records
from refiner.formats._common import Item, scalar_id, text_of, utc_time
from refiner.formats._llm_dialects import heard, replied, unpacked
from refiner.formats._observed import Kind, Seen, account, called, innermost
from refiner.formats._scores import Score, outcomes_of, score_facts
from refiner.formats._steps import opening
from refiner.formats._values import objects
from refiner.ports import Source
from refiner.types import BadRecord, EvaluatorNote, Origin, Span

_TOOLS, _MODELS = {"TOOL", "RETRIEVER"}, {"GENERATION"}
_PREFIX = re.compile(r"\A(?:running tool: |execute_tool |tool\.)")
_CORRECTION = "CORRECTION"
_ORIGINS: dict[str, Origin] = {"ANNOTATION": "human", "API": "environment", "EVAL": "judge"}


class Langfuse:
    name = "langfuse"

    def sniff(self, head: bytes) -> float:
        return max((float(_is_ours(record)) for record in objects(head)), default=0.0)

    def parse(self, stream: BinaryIO, source: Source) -> Iterator[Item]:
        yield from records(stream, source, lambda record, name, line: _items(record, name, line, source), ".json")


FORMAT = Langfuse()


def _is_ours(record: dict[str, Any]) -> bool:
    """The mark of the API's form may be cut off: the observations themselves have names of their own."""
    trace = record.get("trace")
    if isinstance(trace, dict) and ("observations" in record or "projectId" in trace or "htmlPath" in trace):
        return True
    first = next((one for one in _messages.as_list(record.get("observations")) if isinstance(one, dict)), {})
    return "traceId" in first or ("observations" in record and "scores" in record and "id" in record)


def _items(record: dict[str, Any], name: str, line: int, source: Source) -> Iterator[Item]:
    about = record["trace"] if isinstance(record.get("trace"), dict) else record
    observations = [one for one in _messages.as_list(record.get("observations")) if isinstance(one, dict)]
    observations = observations or [
        one for one in _messages.as_list(about.get("observations")) if isinstance(one, dict)
    ]
    calls = _seen(observations)
    spans = account(calls) or _asked_and_answered(about)
    if not spans:
        yield BadRecord(source.path, line, "no observation of the trace has any words or calls")
        return
    given = _given_scores(about, record)
    scores = [_score(one) for one in given if not one.get("observationId")]
    models = [one for one in observations if _kind(one) in _MODELS]
    trace = build(
        source,
        FORMAT.name,
        scalar_id(about.get("id")) or name,
        spans,
        place=line,
        task=opening(_asked_and_answered(about)),
        task_id=chosen_task(about, source) or scalar_id(_metadata(about).get("task_id")),
        model=next((model for one in models if (model := scalar_id(one.get("model")))), ""),
        meta={**_facts(about), **_costs(observations, innermost(calls)), "scores": score_facts(scores)},
    )
    yield trace
    yield from outcomes_of(trace, [*scores, *_remarks(given, observations)])
    yield from (EvaluatorNote(trace.id, "expected", text) for text in _corrections(about, record) if text.strip())


def _seen(observations: list[dict[str, Any]]) -> list[Seen]:
    """The observations as calls. A plain span is a tool's when a model called something of its name."""
    models = [_call(one, "model") for one in observations if _kind(one) in _MODELS]
    names = called(models)
    kinds: list[tuple[dict[str, Any], Kind]] = [
        (one, "tool" if _kind(one) in _TOOLS or _name(one) in names else "other")
        for one in observations
        if _kind(one) not in _MODELS
    ]
    return [*models, *(_call(one, kind) for one, kind in kinds)]


def _call(one: dict[str, Any], kind: Kind) -> Seen:
    error = one.get("level") == "ERROR"
    return Seen(
        id=scalar_id(one.get("id")),
        parent=scalar_id(one.get("parentObservationId")),
        kind=kind,
        name=_name(one) or "unnamed",
        input=_given(one.get("input")) if kind == "tool" else "",
        output=_observation(one.get("output")) if kind == "tool" else "",
        error=(text_of(one.get("statusMessage")) or "error") if error else None,
        start=utc_time(one.get("startTime")),
        end=utc_time(one.get("endTime")),
        heard=tuple(heard(one.get("input"))) if kind == "model" else (),
        said=tuple(replied(one.get("output"))) if kind == "model" else (),
    )


def _kind(one: dict[str, Any]) -> str:
    return scalar_id(one.get("type"))


def _name(one: dict[str, Any]) -> str:
    return _PREFIX.sub("", text_of(one.get("name")))


def _given(value: Any) -> str:
    """The arguments of a tool, out of what frameworks put around them."""
    value = unpacked(value)
    inner = value.get("input") if isinstance(value, dict) and set(value) == {"input"} else value
    return "" if inner is None else _messages.arguments_text(inner)


def _observation(value: Any) -> str:
    """What a tool gave back, out of what frameworks put around it."""
    inner = unpacked(value)
    if isinstance(inner, dict) and isinstance(inner.get("kwargs"), dict):
        inner = inner["kwargs"]
    if isinstance(inner, dict) and "content" in inner and ("tool_call_id" in inner or set(inner) == {"content"}):
        return _messages.result_text({"content": inner["content"]})
    return text_of(value if isinstance(value, str) and not isinstance(inner, str) else inner)


def _asked_and_answered(about: dict[str, Any]) -> tuple[Span, ...]:
    """What went into the trace as a whole and what came out: all there is where calls of models were not recorded."""
    whole = Seen("", "", "model", heard=heard(about.get("input")), said=replied(about.get("output")))
    return account([whole])


def _metadata(about: dict[str, Any]) -> dict[str, Any]:
    return _messages.as_dict(unpacked(about.get("metadata")))


def _facts(about: dict[str, Any]) -> dict[str, Any]:
    facts = {"name": about.get("name"), "session": about.get("sessionId"), "release": about.get("release")}
    facts["tags"] = ", ".join(tag for tag in _messages.as_list(about.get("tags")) if isinstance(tag, str))
    return {**facts, "seconds": about.get("latency"), "environment": about.get("environment")}


def _costs(observations: list[dict[str, Any]], counting: set[str]) -> dict[str, Any]:
    """Tokens and cost of the innermost calls of models, and of embeddings."""
    used = [one for one in observations if scalar_id(one.get("id")) in counting or _kind(one) == "EMBEDDING"]
    sums: dict[str, float] = {f"{side}_tokens": sum(_used(one, side) for one in used) for side in ("input", "output")}
    sums["cost_usd"] = round(sum(map(_cost, used)), 9)
    return {key: value for key, value in sums.items() if value}


def _used(one: dict[str, Any], side: str) -> float:
    """Tokens of one side: as summed up in the file, else as Langfuse sums them, every kind with the side in its name.

    Source: https://langfuse.com/docs/token-usage
    """
    old = {"input": "promptTokens", "output": "completionTokens"}[side]
    summed = _number(one.get(f"{side}Usage"))
    details = _messages.as_dict(one.get("usageDetails")) or _messages.as_dict(one.get("usage"))
    return summed or sum(_number(value) for key, value in details.items() if side in key) or _number(one.get(old))


def _cost(one: dict[str, Any]) -> float:
    details = _messages.as_dict(one.get("costDetails"))
    stated = (details.get("total"), one.get("totalCost"), one.get("calculatedTotalCost"), one.get("usage"))
    found = (
        _number(_messages.as_dict(value).get("totalCost") if isinstance(value, dict) else value) for value in stated
    )
    return next((cost for cost in found if cost), 0) or sum(map(_number, details.values()))


def _number(value: Any) -> float:
    return value if isinstance(value, int | float) and not isinstance(value, bool) and value > 0 else 0


def _given_scores(about: dict[str, Any], record: dict[str, Any]) -> list[dict[str, Any]]:
    places = [about] if about is record else [about, record]
    scores = (one for place in places for one in _messages.as_list(place.get("scores")))
    return [one for one in scores if isinstance(one, dict) and one.get("dataType") != _CORRECTION]


def _corrections(about: dict[str, Any], record: dict[str, Any]) -> list[str]:
    """What the output should have been, as people wrote it."""
    places = [place.get(key) for place in (about, record) for key in ("corrections", "scores")]
    made = [
        one
        for place in places
        for one in _messages.as_list(place)
        if isinstance(one, dict) and one.get("dataType") == _CORRECTION
    ]
    return list(dict.fromkeys(text_of(one.get("longStringValue") or one.get("stringValue")) for one in made))


def _remarks(given: list[dict[str, Any]], observations: list[dict[str, Any]]) -> Iterator[Score]:
    """What people said of single observations: feedback, and no outcome of the trace."""
    names = {scalar_id(one.get("id")): _name(one) for one in observations}
    for one in given:
        score = _score(one)
        if one.get("observationId") and score.origin == "human" and score.comment.strip():
            of = names.get(scalar_id(one.get("observationId"))) or "one step"
            yield replace(score, name="remark", value=None, label="", comment=f"{of}: {score.comment}")


def _score(one: dict[str, Any]) -> Score:
    label = scalar_id(one.get("stringValue"))
    value = None if one.get("dataType") == "CATEGORICAL" else one.get("value")
    return Score(
        scalar_id(one.get("name")) or "score",
        value,
        label or (scalar_id(one.get("value")) if value is None else ""),
        text_of(one.get("comment")),
        _ORIGINS.get(scalar_id(one.get("source")), "judge"),
        utc_time(one.get("timestamp")),
    )
