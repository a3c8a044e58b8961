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
from refiner.file_reports import LISTED, FileReport, by_format, by_reason, counted, format_words, skipped_words
from refiner.types import TaskIdOrigin, Trace

_WIDTHS = (36, 17, 7, 8, 6, 6, 7, 6, 8)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("paths", nargs="+", type=Path, metavar="PATH", help="trace files or folders")
    parser.add_argument("--columns", metavar="TEXT", help=HELP)
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(arguments: argparse.Namespace) -> int:
    from refiner import columns, ingest

    loaded = ingest.load(arguments.paths, corpus="corpus", columns=columns.read(arguments.columns))
    if arguments.json:
        print(json.dumps(counted(loaded.files), indent=2, ensure_ascii=True))
    else:
        print("\n".join([as_text(loaded.files), tasks_line(loaded.traces), *map(safe, skipped_words(loaded.skipped))]))
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


def as_text(files: Sequence[FileReport]) -> str:
    """A row a file (a row a format when there are many), the totals, then what was rejected, by reason."""
    headers = ("file", "format", "traces", "spans", "pass", "fail", "unknown", "infra.", "rejected")
    if len(files) > LISTED:
        rows = [_cells(where, name, counted(inside)["totals"]) for name, where, inside in by_format(files)]
    else:
        rows = [_cells(file.path, file.format, counted([file])["totals"]) for file in files]
    text = table(headers, [*rows, _cells("total", "", counted(files)["totals"])], _WIDTHS)
    rejected = [
        safe(f"{one.where}: {one.words}") for one in by_reason([bad for file in files for bad in file.rejected])
    ]
    every = ["--json lists each file."] if len(files) > LISTED else []
    return "\n".join([text, *every, *(["", "Rejected:", *rejected] if rejected else [])])


def _cells(path: str, form: str, counts: dict[str, Any]) -> tuple[str, ...]:
    outcomes = [str(counts["outcomes"][status]) for status in ("pass", "fail", "unknown", "infrastructure")]
    return (
        path,
        form and format_words(form),
        str(counts["traces"]),
        str(counts["spans"]),
        *outcomes,
        str(counts["rejected"]),
    )
