"""Names for files that are recognised but have no reader, so that an error can say what they are. Parses nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from refiner.formats._values import objects

_Test = Callable[[dict[str, Any]], bool]


def _has(*keys: str) -> _Test:
    return lambda record: all(key in record for key in keys)


OF_A_JOB = "the summary or the settings of a Harbor job, whose trials are read one by one"
_SIGNS: tuple[tuple[str, _Test], ...] = (
    (OF_A_JOB, _has("stats", "n_total_trials")),
    (OF_A_JOB, _has("jobs_dir", "n_attempts")),
    ("an MLflow trace", lambda record: isinstance(record.get("data"), dict) and "spans" in record["data"]),
    ("a list of outcomes and reflections without steps (Reflexion)", _has("name", "memory", "is_success")),
)


def name(head: bytes) -> str | None:
    """What a file is, in words with their article, when no reader claims it; None when nothing is recognised."""
    if head.startswith(b"PK\x03\x04"):
        return "an Inspect log (zip)" if b"header.json" in head or b"_journal/" in head else "a zip archive"
    records = objects(head)
    return next((words for words, test in _SIGNS if any(test(record) for record in records)), None)
