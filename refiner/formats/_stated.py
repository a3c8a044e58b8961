"""What a record says beside its messages: its id, its task, how it ended, what only the evaluator knows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from refiner.formats._common import Item, json_text, lookup, scalar_id, text_of
from refiner.formats._messages import as_dict
from refiner.ids import content_key
from refiner.jsontext import clean
from refiner.labels import status_of
from refiner.ports import Source
from refiner.types import BadRecord, EvaluatorNote, Outcome, Trace

_IDS = ("trace_id", "id", "conversation_id", "session_id", "sessionId", "thread_id", "uuid")
_OUTCOMES = ("outcome", "reward", "success", "is_success", "passed", "resolved", "is_correct", "win")
_METADATA = ("metadata", "meta", "extra_metadata")
_MODELS = ("model", "model_name", "modelId", "modelName")
_EXPECTED = ("ground_truth", "expected", "expected_output", "reference", "target")
_HIDDEN = {*_OUTCOMES, *_EXPECTED, "feedback", "annotations", "solution", "gold"}
_SHORT = 200


def made_id(record: Any, source: Source, copies: Counter[str]) -> str:
    """File name and hash of the record; equal records are numbered, so the order of lines does not matter."""
    name = f"{source.path}:{content_key(record)}"
    copies[name] += 1
    return name if copies[name] == 1 else f"{name}#{copies[name]}"


def given_id(record: dict[str, Any]) -> str:
    """The record's own id; an `index` beside it tells the records of one id apart."""
    name = next((found for key in _IDS if (found := scalar_id(record.get(key)))), "")
    index = scalar_id(record.get("index"))
    return f"{name}#{index}" if name and index else name


def task_id(record: dict[str, Any], source: Source) -> str:
    """The task of a record: the field the caller named, else `task_id`, in the record or its metadata."""
    keys = (source.task_key, "task_id") if source.task_key else ("task_id",)
    paths = [path for key in keys for path in (key, f"metadata.{key}", f"extra_metadata.{key}")]
    return next((found for path in paths if (found := scalar_id(lookup(record, path)))), "")


def model_of(record: dict[str, Any], messages: Iterable[Any]) -> str | None:
    """The model that the latest message names, else the record or its metadata."""
    said = [one for one in messages if isinstance(one, dict)]
    places = (*reversed(said), record, _metadata(record))
    return next((found for one in places for key in _MODELS if (found := scalar_id(one.get(key)))), None)


def small_facts(record: dict[str, Any]) -> dict[str, str]:
    """The short values beside the messages, without what tells the outcome or what was expected."""
    facts = {**_metadata(record), **{key: value for key, value in record.items() if key not in _METADATA}}
    kept = {key: value for key, value in facts.items() if key not in _HIDDEN and _is_short(value)}
    return {clean(key): clean(value) if isinstance(value, str) else json_text(value) for key, value in kept.items()}


def statements(record: dict[str, Any], trace: Trace, source: Source) -> Iterator[Item]:
    """The outcome and the feedback that a record states, and notes of what it expected."""
    sides = {**_metadata(record), **record}
    feedback = text_of(sides.get("feedback")) or _annotations(sides.get("annotations"))
    stated = [sides[key] for key in _OUTCOMES if sides.get(key) is not None]
    try:
        status, score = status_of(stated[0]) if stated else ("unknown", None)
    except ValueError as error:
        yield BadRecord(source.path, 0, f"the trace is kept, its outcome is not: {error}")
        stated, status, score = [], "unknown", None
    if stated or feedback:
        yield Outcome(trace.id, status, score=score, feedback=feedback or None)
    texts = (text_of(sides.get(key)) for key in _EXPECTED)
    yield from (EvaluatorNote(trace.id, "expected", text) for text in texts if text)


def _metadata(record: dict[str, Any]) -> dict[str, Any]:
    """All that stands under the names of metadata; of one key the first of them counts."""
    return {key: value for name in reversed(_METADATA) for key, value in as_dict(record.get(name)).items()}


def _annotations(value: Any) -> str:
    """Remarks on single messages, one a line."""
    texts = (
        [text_of(item.get("content")) for item in value if isinstance(item, dict)] if isinstance(value, list) else []
    )
    return "\n".join(filter(None, texts))


def _is_short(value: Any) -> bool:
    return isinstance(value, bool | int | float) or (isinstance(value, str) and 0 < len(value) <= _SHORT)
