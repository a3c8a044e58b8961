"""What files gave, counted and in sentences. Reads nothing."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, get_args

from refiner.types import BadRecord, Status

_NAMED = 3


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


def skipped_words(skipped: Sequence[BadRecord]) -> list[str]:
    """A sentence for each kind of file that was no trace file, with the first three names."""
    kinds: dict[str, list[str]] = defaultdict(list)
    for record in skipped:
        kinds[record.reason].append(record.path)
    return [f"Not read: {_few(names)}: {reason}." for reason, names in sorted(kinds.items())]


def copied_words(copies: Sequence[tuple[str, str]]) -> str:
    """A sentence on traces that were copies of others: the ids they had, with the ids of the traces that they are."""
    copy, kept = copies[0]
    count = "1 trace is a copy" if len(copies) == 1 else f"{len(copies):,} traces are copies"
    return (
        f"{count} of others that are here under another id and count as these, with the labels given for either id: "
        f"for example, {copy} is {kept}."
    )


def _few(names: Sequence[str]) -> str:
    more = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {more} more" if more > 0 else "")


def _plain(report: FileReport) -> dict[str, Any]:
    return {
        "path": report.path,
        "format": report.format,
        "traces": report.traces,
        "spans": report.spans,
        "outcomes": dict(report.outcomes),
        "rejected": [{"line": record.line, "reason": record.reason} for record in report.rejected],
    }
