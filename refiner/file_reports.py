"""What files gave, counted and in sentences. Reads nothing."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar, get_args

from refiner.namesakes import is_generated
from refiner.types import BadRecord, Status

_NAMED = 3
LISTED = 20
"""So many files are listed one by one; more are told by format."""


class Named(Protocol):
    @property
    def path(self) -> str: ...
    @property
    def format(self) -> str: ...


F = TypeVar("F", bound=Named)


@dataclass(frozen=True, slots=True)
class FileReport:
    """What one file gave. `outcomes` counts its traces by status; without a statement a trace is unknown."""

    path: str
    format: str
    traces: int
    spans: int
    outcomes: dict[Status, int]
    rejected: tuple[BadRecord, ...] = ()


def counted(files: Sequence[FileReport]) -> dict[str, Any]:
    """The counts of files, as `{"files": [...], "totals": {...}}`."""
    outcomes = {status: sum(report.outcomes[status] for report in files) for status in get_args(Status)}
    return {
        "files": [_plain(report) for report in files],
        "totals": {
            "traces": sum(report.traces for report in files),
            "spans": sum(report.spans for report in files),
            "outcomes": outcomes,
            "rejected": sum(len(report.rejected) for report in files),
        },
    }


@dataclass(frozen=True, slots=True)
class Reason:
    """One reason for which records or whole files were left out: how many, and where the first three are."""

    words: str
    count: int
    where: str


def format_words(name: str) -> str:
    """The name of a format for a person; in a report it is empty or "unknown" for what no reader claims."""
    return {"": "not read", "unknown": "no known format"}.get(name, name)


def by_format(files: Sequence[F]) -> list[tuple[str, str, list[F]]]:
    """(format, where they lie, files) by name of the format, what was not read last."""
    grouped: dict[str, list[F]] = defaultdict(list)
    for file in files:
        grouped[file.format].append(file)
    return [
        (name, _folder([one.path for one in grouped[name]]), grouped[name])
        for name in sorted(grouped, key=lambda one: (format_words(one) != one, one))
    ]


def by_reason(records: Sequence[BadRecord]) -> list[Reason]:
    """The reasons of rejected records or skipped files, the most frequent first."""
    grouped: dict[str, list[str]] = defaultdict(list)
    for record in records:
        grouped[record.reason].append(f"{record.path}:{record.line}" if record.line else record.path)
    found = [Reason(words, len(where), _few(where)) for words, where in grouped.items()]
    return sorted(found, key=lambda one: (-one.count, one.words))


def skipped_words(skipped: Sequence[BadRecord]) -> list[str]:
    """A sentence for each kind of file that was no trace file, with the first three names."""
    return [f"Not read: {one.where}: {one.words}." for one in sorted(by_reason(skipped), key=lambda one: one.words)]


def copied_words(copies: Sequence[tuple[str, str]]) -> list[str]:
    """A sentence on traces that were copies of others, given as (the id they had, that of the trace that they are);
    none where there are none."""
    if not copies:
        return []
    copy, kept = copies[0]
    count = "1 trace is a copy" if len(copies) == 1 else f"{len(copies):,} traces are copies"
    return [
        f"{count} of others that are here under another id and count as these, with the labels given for either id: "
        f"for example, {copy} is {kept}."
    ]


def conflict_words(conflict: tuple[str, str, str]) -> str:
    """What to say of two traces of one id, given as (id, source that stays, source that was left out)."""
    name, stays, left_out = conflict
    other = "corpus" if is_generated(name) else "file name"
    return (
        f"{name}: the trace in {left_out} contradicts the one in {stays}, which stays. "
        f"If these are two runs, they need an id each, or a {other} each."
    )


def namesake_words(namesakes: Sequence[tuple[str, str, str]]) -> list[str]:
    """A sentence on runs whose id a run of another file has, given as (that id, source, the id that they got); none
    where there are none."""
    if not namesakes:
        return []
    given, _, own = namesakes[0]
    count = len({name for _, _, name in namesakes})
    shared = "the id of a different run in another file"
    kept = f"kept under that id with the name of their file: for example, {given} is {own}."
    return [f"1 trace has {shared} and is {kept}" if count == 1 else f"{count:,} traces have {shared} and are {kept}"]


def _few(names: Sequence[str]) -> str:
    more = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {more} more" if more > 0 else "")


def _folder(paths: Sequence[str]) -> str:
    """The path of a single file, else how many files there are and the folder that all of them lie in."""
    if len(paths) == 1:
        return paths[0]
    folder = os.path.commonpath([os.path.dirname(path) for path in paths])
    return f"{len(paths):,} files" + (f" in {folder}" if folder else "")


def _plain(report: FileReport) -> dict[str, Any]:
    return {
        "path": report.path,
        "format": report.format,
        "traces": report.traces,
        "spans": report.spans,
        "outcomes": dict(report.outcomes),
        "rejected": [{"line": record.line, "reason": record.reason} for record in report.rejected],
    }
