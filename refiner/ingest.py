"""From paths to traces in memory: walking, detecting, reading, sorting, naming tasks. Nothing is stored here.

The result depends on the content of the files alone, not on the order of files or lines.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, get_args

from refiner import columns as columns_
from refiner import folders, registry, walking
from refiner.errors import FormatError
from refiner.file_reports import FileReport, counted
from refiner.formats import table
from refiner.growth import progress
from refiner.ids import content_key, text_key
from refiner.jsontext import sample
from refiner.labels import Threshold, looks_like_labels, rescored
from refiner.ports import Source, TraceFormat
from refiner.tasks import COMMON, folded
from refiner.types import BadRecord, EvaluatorNote, Outcome, Status, Trace
from refiner.walking import HEAD, File

_TRIES = 1000
_TABLES = (".csv", ".tsv")
_WANTED = (
    "JSON lines with `trace_id` and `spans`, tau-bench and tau2-bench results, chat lists of `role` and `content`, "
    "sessions of Claude Code or Codex, Inspect logs, Who&When records, Reflexion and ReAct logs and notebooks, "
    "trajectories of SWE-agent, mini-swe-agent and OpenHands, Langfuse and LangSmith traces, OpenTelemetry spans, "
    "Harbor trials and ATIF trajectories, Terminal-Bench runs, SpreadsheetBench transcripts, ToolBench answers"
)

Item = Trace | Outcome | EvaluatorNote | BadRecord


class FileRecord(NamedTuple):
    """One item of one file; `item` is a BadRecord with line 0 and format "" for a file that was skipped.

    `expected`: that file lies beside runs as a matter of course, and nothing is lost with it.
    """

    path: str
    format: str
    item: Item
    expected: bool = False


@dataclass(frozen=True, slots=True)
class Ingest:
    """All that was read, traces sorted by external id; copies and conflicts are still in it, in a stable order.

    `outcomes` and `notes` are in the order of their traces. `skipped` are files of a folder that are no traces.
    """

    traces: tuple[Trace, ...]
    outcomes: tuple[Outcome, ...]
    notes: tuple[EvaluatorNote, ...]
    rejected: tuple[BadRecord, ...]
    files: tuple[FileReport, ...]
    skipped: tuple[BadRecord, ...] = ()


@dataclass(slots=True)
class _Bundle:
    """A trace with what its file says about it."""

    trace: Trace
    outcomes: list[Outcome] = field(default_factory=list)
    notes: list[EvaluatorNote] = field(default_factory=list)

    def order(self) -> tuple[str, tuple[int, int], str, str]:
        """By external id; of one id the shorter trace first, so that a grown trace follows what it grew from."""
        about = content_key(self.trace.meta, self.trace.model, self.outcomes, self.notes)
        return self.trace.external_id, progress(self.trace), self.trace.revision, about


def load(
    paths: Sequence[Path],
    *,
    corpus: str,
    task_key: str | None = None,
    threshold: Threshold | None = None,
    columns: Mapping[str, str] | None = None,
) -> Ingest:
    """Every trace of the files and folders, with tasks assigned. `threshold` re-judges scores found in the files.

    `columns`: what a column of a table is, by field, where its name does not tell (see `refiner.columns`).

    Raises FormatError when a path does not exist, when a file named by the caller has nothing usable, or when no file
    of the folders has.
    """
    bundles: list[_Bundle] = []
    files, skipped = list[FileReport](), list[BadRecord]()
    with walking.found(paths) as there:
        skipped += there.refused
        for file in there.files:
            name, found, problems = _collect(_read_file(file, _source(corpus, file, task_key, columns)), threshold)
            bundles += found
            if name:
                files.append(_report(file.name, name, found, problems))
            else:
                skipped += problems
    if not bundles:
        problems = [record for report in files for record in report.rejected] + skipped
        example = f" (for example {problems[0].path}: {problems[0].reason})" if problems else ""
        raise FormatError(f"no traces in {', '.join(map(str, paths))}{example}; looked for {_WANTED}")
    bundles.sort(key=_Bundle.order)
    return Ingest(
        traces=assign_tasks([bundle.trace for bundle in bundles]),
        outcomes=tuple(dict.fromkeys(outcome for bundle in bundles for outcome in bundle.outcomes)),
        notes=tuple(dict.fromkeys(note for bundle in bundles for note in bundle.notes)),
        rejected=tuple(record for report in files for record in report.rejected),
        files=tuple(files),
        skipped=tuple(skipped),
    )


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
        yield from _read_file(file, _source(corpus, file, task_key, columns))


def _source(corpus: str, file: File, task_key: str | None, columns: Mapping[str, str] | None) -> Source:
    beside = folders.BesideFile(file.path.parent)
    return Source(corpus, file.name, task_key, beside, tuple((columns or {}).items()))


def assign_tasks(traces: Sequence[Trace]) -> tuple[Trace, ...]:
    """The traces, each with a task id: the one it has; else a hash of the folded request; else one of its own.

    A request counts as a task's name unless it opens more than a quarter of the distinct traces.
    """
    requests = {trace.external_id: folded(trace.task) for trace in traces}
    openings = Counter(requests.values())
    return tuple(_with_task(trace, openings, len(requests)) for trace in traces)


def inspect_report(paths: Sequence[Path]) -> dict[str, Any]:
    """What the files hold, as `{"files": [...], "totals": {...}}`. Raises FormatError like `load`."""
    return counted(load(paths, corpus="corpus").files)


def _with_task(trace: Trace, openings: Counter[str], total: int) -> Trace:
    if trace.task_id:
        return trace
    request = folded(trace.task)
    if request and openings[request] * COMMON <= total:
        return replace(trace, task_id=text_key("task", request), task_id_origin="text")
    return replace(trace, task_id=trace.external_id, task_id_origin="none")


def _collect(records: Iterable[FileRecord], threshold: Threshold | None) -> tuple[str, list[_Bundle], list[BadRecord]]:
    """One file's format, its traces with what belongs to each, and what could not be used."""
    name, bundles, problems = "", list[_Bundle](), list[BadRecord]()
    for _, name, item, _ in records:  # noqa: B007
        if isinstance(item, Trace):
            bundles.append(_Bundle(item))
        elif isinstance(item, BadRecord):
            problems.append(item)
        elif isinstance(item, Outcome):
            _owner(bundles, item.trace_id).outcomes.append(rescored(item, threshold) if threshold else item)
        else:
            _owner(bundles, item.trace_id).notes.append(item)
    return name, bundles, problems


def _owner(bundles: list[_Bundle], trace_id: str) -> _Bundle:
    """The latest trace of that id in the file: a reader yields a trace before what it says about it."""
    return next(bundle for bundle in reversed(bundles) if bundle.trace.id == trace_id)


def _report(path: str, name: str, bundles: list[_Bundle], rejected: list[BadRecord]) -> FileReport:
    statuses = Counter(bundle.outcomes[-1].status if bundle.outcomes else "unknown" for bundle in bundles)
    counts: dict[Status, int] = {status: statuses[status] for status in get_args(Status)}
    spans = sum(len(bundle.trace.spans) for bundle in bundles)
    return FileReport(path, name, len(bundles), spans, counts, tuple(rejected))


def _read_file(file: File, source: Source) -> Iterator[FileRecord]:
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
    usable, first = False, None
    for item in known.parse(stream, source):
        usable = usable or isinstance(item, Trace)
        first = first or (item if isinstance(item, BadRecord) else None)
        yield FileRecord(file.name, known.name, item)
    if file.strict and not usable:
        where = f"line {first.line}: " if first and first.line else ""
        problem = f"; {where}{first.reason}" if first else ""
        raise FormatError(f"reads like {known.name}, but not one record can be used{problem}", str(file.path))
    if not usable and first is None:
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
        raise FormatError(reason if foreign or unnamed else f"{reason}; looked for {_WANTED}", str(file.path))
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
