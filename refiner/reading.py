"""The items of files, one file after the other: what each file is, and what to say of one that no reader claims.

Streams: one item is in memory at a time. Which items belong together is not decided here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import BinaryIO, NamedTuple

from refiner import columns as columns_
from refiner import folders, registry, walking
from refiner.errors import FormatError
from refiner.formats import table
from refiner.jsontext import sample
from refiner.labels import looks_like_labels
from refiner.ports import HEAD, Source, TraceFormat
from refiner.types import BadRecord, EvaluatorNote, Outcome, Trace
from refiner.walking import File

_TRIES = 1000
_TABLES = (".csv", ".tsv")
WANTED = (
    "JSON lines with `trace_id` and `spans`, tau-bench and tau2-bench results, chat lists of `role` and `content`, "
    "sessions of Claude Code or Codex, Inspect logs, Who&When records, Reflexion and ReAct logs and notebooks, "
    "trajectories of SWE-agent, mini-swe-agent and OpenHands, Langfuse and LangSmith traces, OpenTelemetry spans, "
    "Harbor trials and ATIF trajectories, Terminal-Bench runs, SpreadsheetBench transcripts, ToolBench answers"
)

Item = Trace | Outcome | EvaluatorNote | BadRecord


class FileRecord(NamedTuple):
    """One item of one file; `item` is a BadRecord with line 0 and format "" for a file that was skipped.

    `expected`: that file lies beside runs as a matter of course, and nothing is lost with it. `of`: where the trace
    stands that an outcome or note is about; two traces of one id tell their own apart by it.
    """

    path: str
    format: str
    item: Item
    expected: bool = False
    of: str = ""


def read(
    paths: Sequence[Path], *, corpus: str, task_key: str | None = None, columns: Mapping[str, str] | None = None
) -> Iterator[FileRecord]:
    """The items of all files, one file after the other, tasks not yet assigned. Raises FormatError like `load`."""
    with walking.found(paths) as there:
        yield from read_found(there, corpus=corpus, task_key=task_key, columns=columns)


def read_found(
    there: walking.Found, *, corpus: str, task_key: str | None = None, columns: Mapping[str, str] | None = None
) -> Iterator[FileRecord]:
    """Like `read`, for files that were looked for already."""
    yield from (FileRecord(bad.path, "", bad) for bad in there.refused)
    for file in there.files:
        yield from read_file(file, source_of(corpus, file, task_key, columns))


def source_of(corpus: str, file: File, task_key: str | None, columns: Mapping[str, str] | None) -> Source:
    """What a reader is told of a file."""
    beside = folders.BesideFile(file.path.parent)
    return Source(corpus, file.name, task_key, beside, tuple((columns or {}).items()))


def read_file(file: File, source: Source) -> Iterator[FileRecord]:
    """The items of one file, or why it was skipped. Raises FormatError."""
    if file.is_hidden:
        yield _skipped(file, "hidden")
        return
    try:
        with file.path.open("rb") as stream:
            head = stream.read(HEAD)
            known = registry.detect(head) or _detect_later(stream) or _table(head, source)
            if known is not None:
                stream.seek(0)
                yield from _parsed(file, known, stream, source)
                return
    except OSError as error:
        raise FormatError(f"cannot be read: {error.strerror}", str(file.path)) from None
    yield _refused(file, head)


def _table(head: bytes, source: Source) -> TraceFormat | None:
    """The format of tables, for one with the columns that were given, whatever they are called."""
    names = table.header(head)
    return table.FORMAT if names and set(dict(source.columns).values()) & set(names) else None


def _detect_later(stream: BinaryIO) -> TraceFormat | None:
    """The format of the first line that has one: a bad beginning does not spoil a file."""
    stream.seek(0)
    for _, line in zip(range(_TRIES), stream, strict=False):
        known = registry.detect(line[:HEAD]) if line.lstrip()[:1] == b"{" else None
        if known is not None:
            return known
    return None


def _parsed(file: File, known: TraceFormat, stream: BinaryIO, source: Source) -> Iterator[FileRecord]:
    places, first = dict[str, str](), None
    for item in known.parse(stream, source):
        if isinstance(item, Trace):
            places[item.id] = item.source
        first = first or (item if isinstance(item, BadRecord) else None)
        of = places.get(item.trace_id, "") if isinstance(item, Outcome | EvaluatorNote) else ""
        yield FileRecord(file.name, known.name, item, of=of)
    if file.strict and not places:
        where = f"line {first.line}: " if first and first.line else ""
        problem = f"; {where}{first.reason}" if first else ""
        raise FormatError(f"reads like {known.name}, but not one record can be used{problem}", str(file.path))
    if not places and first is None:
        yield _skipped(file, f"reads like {known.name}, but holds no runs")


def _refused(file: File, head: bytes) -> FileRecord:
    """A file that no reader claims: an error when it was named, a rejected or skipped file of a folder otherwise."""
    foreign = registry.recognise(head)
    labels = not foreign and looks_like_labels(head)
    reason = (
        f"is {foreign}, which is not read{registry.advice(foreign)}"
        if foreign
        else "holds labels, feedback or other single values, not traces"
        if labels
        else "holds no traces of a known format"
        if head.strip()
        else "the file is empty"
    )
    unnamed = None if foreign or labels else _unnamed(file, head)
    reason = unnamed or reason
    if file.strict:
        raise FormatError(reason if foreign or unnamed else f"{reason}; looked for {WANTED}", str(file.path))
    if registry.goes_with_runs(foreign):
        return FileRecord(file.name, "", BadRecord(file.name, 0, f"is {foreign}"), True)
    if not unnamed and (labels or not sample(head)):
        return _skipped(file, reason)
    return FileRecord(file.name, table.FORMAT.name if unnamed else "unknown", BadRecord(file.name, 0, reason))


def _unnamed(file: File, head: bytes) -> str | None:
    """Why a table whose columns have no usual names cannot be read, with what to do; None for other files."""
    names = table.header(head) if file.path.suffix.lower() in _TABLES else None
    return columns_.problem(columns_.guessed(names), names) if names else None


def _skipped(file: File, reason: str) -> FileRecord:
    return FileRecord(file.name, "", BadRecord(file.name, 0, reason))
