"""From paths to traces in memory: sorting, pairing with what is said of them, naming tasks. Nothing is stored here.

The result depends on the content of the files alone, not on the order of files or lines.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple, get_args

from refiner import walking
from refiner.errors import FormatError
from refiner.file_reports import FileReport, counted
from refiner.growth import progress
from refiner.ids import content_key, text_key
from refiner.labels import Threshold, rescored
from refiner.namesakes import Named, renamed
from refiner.reading import WANTED, FileRecord, read_file, source_of
from refiner.tasks import COMMON, folded
from refiner.types import BadRecord, EvaluatorNote, Outcome, Status, Trace, trace_key


class Said(NamedTuple):
    """What a file says of a trace, and where that trace stands."""

    of: str
    record: Outcome | EvaluatorNote


def settle(said: Said, corpus: str, named: Named) -> Said | None:
    """The statement, of the trace as it is called; None where that is not kept."""
    about = (said.record.trace_id, said.of)
    if about not in named:
        return said
    name = named[about]
    return None if name is None else Said(said.of, replace(said.record, trace_id=trace_key(corpus, name)))


@dataclass(frozen=True, slots=True)
class Ingest:
    """All that was read, traces sorted by external id; copies and conflicts are still in it, in a stable order.

    `said` is in the order of the traces. `skipped` are files of a folder that are no traces.
    """

    traces: tuple[Trace, ...]
    said: tuple[Said, ...]
    rejected: tuple[BadRecord, ...]
    files: tuple[FileReport, ...]
    skipped: tuple[BadRecord, ...] = ()

    @property
    def outcomes(self) -> tuple[Outcome, ...]:
        return tuple(dict.fromkeys(one.record for one in self.said if isinstance(one.record, Outcome)))

    @property
    def notes(self) -> tuple[EvaluatorNote, ...]:
        return tuple(dict.fromkeys(one.record for one in self.said if isinstance(one.record, EvaluatorNote)))

    def settled(self, corpus: str, named: Named) -> Ingest:
        """The same with the traces that are kept, as they are called, and with what is said of these alone."""
        kept = (trace for trace in self.traces if named.get((trace.id, trace.source), "") is not None)
        said = (settle(one, corpus, named) for one in self.said)
        traces = tuple(renamed(trace, named) for trace in kept)
        return replace(self, traces=traces, said=tuple(one for one in said if one is not None))


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

    def said(self) -> Iterator[Said]:
        records: list[Outcome | EvaluatorNote] = [*self.outcomes, *self.notes]
        yield from (Said(self.trace.source, one) for one in records)


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
            name, found, problems = _collect(read_file(file, source_of(corpus, file, task_key, columns)), threshold)
            bundles += found
            if name:
                files.append(_report(file.name, name, found, problems))
            else:
                skipped += problems
    if not bundles:
        problems = [record for report in files for record in report.rejected] + skipped
        example = f" (for example {problems[0].path}: {problems[0].reason})" if problems else ""
        raise FormatError(f"no traces in {', '.join(map(str, paths))}{example}; looked for {WANTED}")
    bundles.sort(key=_Bundle.order)
    return Ingest(
        traces=assign_tasks([bundle.trace for bundle in bundles]),
        said=tuple(said for bundle in bundles for said in bundle.said()),
        rejected=tuple(record for report in files for record in report.rejected),
        files=tuple(files),
        skipped=tuple(skipped),
    )


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
    latest = dict[str, _Bundle]()  # by trace id: a reader yields a trace before what it says about it
    for record in records:
        name, item = record.format, record.item
        if isinstance(item, Trace):
            latest[item.id] = _Bundle(item)
            bundles.append(latest[item.id])
        elif isinstance(item, BadRecord):
            problems.append(item)
        elif isinstance(item, Outcome):
            latest[item.trace_id].outcomes.append(rescored(item, threshold) if threshold else item)
        else:
            latest[item.trace_id].notes.append(item)
    return name, bundles, problems


def _report(path: str, name: str, bundles: list[_Bundle], rejected: list[BadRecord]) -> FileReport:
    statuses = Counter(bundle.outcomes[-1].status if bundle.outcomes else "unknown" for bundle in bundles)
    counts: dict[Status, int] = {status: statuses[status] for status in get_args(Status)}
    spans = sum(len(bundle.trace.spans) for bundle in bundles)
    return FileReport(path, name, len(bundles), spans, counts, tuple(rejected))
