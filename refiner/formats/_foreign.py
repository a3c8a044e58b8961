"""Names for files that are recognised but have no reader, so that an error can say what they are. Parses nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from refiner.formats._values import objects
from refiner.labels import holds_patches

_Test = Callable[[dict[str, Any]], bool]


def _has(*keys: str) -> _Test:
    return lambda record: all(key in record for key in keys)


OF_A_JOB = "the summary or the settings of a Harbor job, whose trials are read one by one"
PREDICTIONS = "a file of predictions for SWE-bench: patches that are yet to be graded, neither runs nor outcomes"
WITH_RUNS = {OF_A_JOB, PREDICTIONS}
"""What lies beside runs as a matter of course, so that leaving it out loses nothing."""
_SIGNS: tuple[tuple[str, _Test], ...] = (
    (OF_A_JOB, _has("stats", "n_total_trials")),
    (OF_A_JOB, _has("jobs_dir", "n_attempts")),
    (PREDICTIONS, holds_patches),
    ("an MLflow trace", lambda record: isinstance(record.get("data"), dict) and "spans" in record["data"]),
    ("a list of outcomes and reflections without steps (Reflexion)", _has("name", "memory", "is_success")),
)
UTF_16, DATABASE = "UTF-16 text", "an SQLite database"
ARCHIVE, OFFICE = "an archive of another kind than zip", "an Office document"
_BINARY: tuple[tuple[bytes, str], ...] = (
    (b"%PDF-", "a PDF document"),
    (b"\x89PNG\r\n", "a picture"),
    (b"\xff\xd8\xff", "a picture"),
    (b"GIF8", "a picture"),
    (b"\xff\xfe", UTF_16),
    (b"\xfe\xff", UTF_16),
    (b"SQLite format 3\x00", DATABASE),
    (b"7z\xbc\xaf\x27\x1c", ARCHIVE),
    (b"Rar!", ARCHIVE),
    (b"BZh", ARCHIVE),
    (b"\xfd7zXZ\x00", ARCHIVE),
    (b"\x28\xb5\x2f\xfd", ARCHIVE),
)
_TAR = slice(257, 262)
_ADVICE = {
    PREDICTIONS: "have them graded, and give the report of the grader as outcomes",
    UTF_16: "save it as UTF-8",
    DATABASE: "export its rows as JSON lines or CSV",
    ARCHIVE: "unpack it, or pack it as a zip",
    OFFICE: "save a table as CSV",
}


def advice(recognised: str) -> str:
    """What to do with what was recognised, as the end of a sentence; empty when nothing is known to help."""
    return f"; {_ADVICE[recognised]}" if recognised in _ADVICE else ""


def name(head: bytes) -> str | None:
    """What a file is, in words with their article, when no reader claims it; None when nothing is recognised."""
    if head.startswith(b"PK\x03\x04"):
        if b"[Content_Types].xml" in head[:4096]:
            return OFFICE
        return "an Inspect log (zip)" if b"header.json" in head or b"_journal/" in head else "a zip archive"
    binary = (
        ARCHIVE if head[_TAR] == b"ustar" else next((words for sign, words in _BINARY if head.startswith(sign)), None)
    )
    if binary:
        return binary
    records = objects(head)
    return next((words for words, test in _SIGNS if any(test(record) for record in records)), None)
