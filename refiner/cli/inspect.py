"""`refiner inspect`: what is in trace files. Reads only; keeps no state."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from refiner.cli.console import safe, table
from refiner.columns import HELP
from refiner.file_reports import counted, skipped_words
from refiner.types import TaskIdOrigin, Trace


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("paths", nargs="+", type=Path, metavar="PATH", help="trace files or folders")
    parser.add_argument("--columns", metavar="TEXT", help=HELP)
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(arguments: argparse.Namespace) -> int:
    from refiner import columns, ingest

    loaded = ingest.load(arguments.paths, corpus="corpus", columns=columns.read(arguments.columns))
    report = counted(loaded.files)
    if arguments.json:
        print(json.dumps(report, indent=2, ensure_ascii=True))
    else:
        print("\n".join([as_text(report), tasks_line(loaded.traces), *map(safe, skipped_words(loaded.skipped))]))
    return 0


def tasks_line(traces: Sequence[Trace]) -> str:
    """How many tasks there are, and how they are known."""
    origins = Counter(origin for _, origin in {(trace.task_id, trace.task_id_origin) for trace in traces})
    words: dict[TaskIdOrigin, str] = {
        "file": "named in the files",
        "text": "guessed from the request",
        "none": "without a name",
    }
    parts = [f"{origins[origin]} {text}" for origin, text in words.items() if origins[origin]]
    return f"Tasks: {len({trace.task_id for trace in traces})} ({', '.join(parts)})."


def as_text(report: dict[str, Any]) -> str:
    """A row a file, the totals, then each rejected record."""
    rows = [_cells(one["path"], one["format"], one, len(one["rejected"])) for one in report["files"]]
    rows.append(_cells("total", "", report["totals"], report["totals"]["rejected"]))
    headers = ("file", "format", "traces", "spans", "pass", "fail", "unknown", "infra.", "rejected")
    text = table(headers, rows, (36, 10, 7, 8, 6, 6, 7, 6, 8))
    rejected = [
        safe(f"{one['path']}:{bad['line']}: {bad['reason']}") for one in report["files"] for bad in one["rejected"]
    ]
    return "\n".join([text, *(["", "Rejected:", *rejected] if rejected else [])])


def _cells(path: str, form: str, counts: dict[str, Any], rejected: int) -> tuple[str, ...]:
    outcomes = [str(counts["outcomes"][status]) for status in ("pass", "fail", "unknown", "infrastructure")]
    return (path, form or "", str(counts["traces"]), str(counts["spans"]), *outcomes, str(rejected))
