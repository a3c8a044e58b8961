"""`refiner ingest`: traces and labels of this machine into a corpus of the review app, however large the files are."""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from refiner import codec
from refiner.cli import scores
from refiner.cli.app import DATABASE
from refiner.cli.console import safe, table
from refiner.columns import HELP
from refiner.file_reports import LISTED, by_format, by_reason, format_words, skipped_words
from refiner.reporting.markup import plural

if TYPE_CHECKING:
    from refiner.views import CorpusView, IngestReport
    from refiner.workspace.desk import Workspace

_SHOWN = 20
_WIDTHS = (48, 17, 8, 8)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("paths", nargs="+", type=Path, metavar="PATH", help="trace files, label files, or folders")
    parser.add_argument("--corpus", required=True, metavar="NAME", help="the corpus; it is made when there is none")
    parser.add_argument("--db", type=Path, default=DATABASE, metavar="FILE", help=f"the database (default {DATABASE})")
    parser.add_argument("--task-key", metavar="FIELD", help="the field that names the task")
    scores.add_arguments(parser)
    parser.add_argument("--columns", metavar="TEXT", help=HELP)
    parser.add_argument("--json", action="store_true", help="print the report as JSON")


def run(arguments: argparse.Namespace) -> int:
    from refiner import columns
    from refiner.workspace.desk import Workspace

    threshold = scores.threshold(arguments)
    arguments.db.parent.mkdir(parents=True, exist_ok=True)
    mapping = columns.read(arguments.columns)
    desk = Workspace.open(arguments.db)
    try:
        _make(desk, arguments.corpus)
        report = desk.ingest_files(
            arguments.corpus, arguments.paths, task_key=arguments.task_key, columns=mapping, threshold=threshold
        )
        if arguments.score is not None:
            taken = desk.use_score(arguments.corpus, arguments.score, threshold)
            report = replace(report, labels=max(report.labels, taken))
        view = desk.corpus(" ".join(arguments.corpus.split()))
    finally:
        desk.close()
    if arguments.json:
        print(json.dumps(codec.to_plain(report), indent=2))
    else:
        print(safe(f"{as_text(report)}\n\n{now(view)}"))
    return 0 if report.accepted or report.grown or report.duplicates or report.labels else 1


def _make(desk: Workspace, name: str) -> None:
    if all(card.name != " ".join(name.split()) for card in desk.corpora()):
        desk.create_corpus(name)


def as_text(report: IngestReport) -> str:
    """A row a file (a row a format when there are many), what became of the traces, then what was not taken and why."""
    conflicts = [*report.conflicts[:_SHOWN], *_more(len(report.conflicts) - _SHOWN, "contradictory")]
    reasons = by_reason(report.rejected)
    rejected = [f"{one.where}: {one.words}" for one in reasons[:_SHOWN]]
    listed = ["", "Rejected:", *rejected, *_more(len(reasons) - _SHOWN, "reasons")] if rejected else []
    said = [counts(report), *skipped_words(report.skipped), *conflicts, *report.warnings, *listed]
    rows = _rows(report)
    return "\n".join([table(("file", "format", "traces", "rejected"), rows, _WIDTHS), "", *said] if rows else said)


def counts(report: IngestReport) -> str:
    """What became of the traces that were read; the numbers add up to all of them."""
    if report.duplicates and not (report.accepted or report.grown or report.conflicts):
        taken = f"Nothing new: {plural(report.duplicates, 'trace')} read, and already there"
    else:
        clash = f", {len(report.conflicts)} contradicting others" if report.conflicts else ""
        taken = (
            f"{plural(report.accepted, 'new trace')}, {report.grown} grown, {report.duplicates} already there{clash}"
        )
    return f"{taken}; {plural(report.labels, 'trace')} labelled."


def now(view: CorpusView) -> str:
    """What the corpus holds after this, by outcome."""
    ends = view.statuses
    parts = [f"{ends['pass']:,} passed", f"{ends['fail']:,} failed", f"{ends['unknown']:,} without an outcome"]
    parts += [f"{ends['infrastructure']:,} ended by infrastructure"] if ends["infrastructure"] else []
    return f"The corpus holds {plural(view.traces, 'trace')} now: {', '.join(parts)}."


def _rows(report: IngestReport) -> list[tuple[str, ...]]:
    if len(report.files) <= LISTED:
        return [(one.path, format_words(one.format), str(one.traces), str(one.rejected)) for one in report.files]
    grouped = [
        (where, format_words(name), sum(one.traces for one in files), sum(one.rejected for one in files))
        for name, where, files in by_format(report.files)
    ]
    total = ("total", "", sum(row[2] for row in grouped), sum(row[3] for row in grouped))
    return [(where, name, str(traces), str(bad)) for where, name, traces, bad in [*grouped, total]]


def _more(number: int, what: str) -> list[str]:
    return [f"{number} more {what}; --json lists all."] if number > 0 else []
