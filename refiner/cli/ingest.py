"""`refiner ingest`: traces and labels of this machine into a corpus of the review app, however large the files are."""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from refiner import codec
from refiner.cli.app import DATABASE
from refiner.cli.console import safe, table
from refiner.columns import HELP

if TYPE_CHECKING:
    from refiner.views import IngestReport
    from refiner.workspace.desk import Workspace

_SHOWN = 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("paths", nargs="+", type=Path, metavar="PATH", help="trace files, label files, or folders")
    parser.add_argument("--corpus", required=True, metavar="NAME", help="the corpus; it is made when there is none")
    parser.add_argument("--db", type=Path, default=DATABASE, metavar="FILE", help=f"the database (default {DATABASE})")
    parser.add_argument("--task-key", metavar="FIELD", help="the field that names the task")
    parser.add_argument("--score", metavar="NAME", help="the score of the traces that says how they ended")
    parser.add_argument("--pass-at", type=float, default=1.0, metavar="X", help="a score passes from here (default 1)")
    parser.add_argument("--lower-is-better", action="store_true", help="a score passes up to --pass-at, not from it on")
    parser.add_argument("--columns", metavar="TEXT", help=HELP)
    parser.add_argument("--json", action="store_true", help="print the report as JSON")


def run(arguments: argparse.Namespace) -> int:
    from refiner import columns
    from refiner.labels import Threshold
    from refiner.workspace.desk import Workspace

    arguments.db.parent.mkdir(parents=True, exist_ok=True)
    threshold = Threshold(arguments.pass_at, arguments.lower_is_better)
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
    finally:
        desk.close()
    if arguments.json:
        print(json.dumps(codec.to_plain(report), indent=2))
    else:
        print(safe(as_text(report)))
    return 0 if report.accepted or report.grown or report.duplicates or report.labels else 1


def _make(desk: Workspace, name: str) -> None:
    if all(card.name != " ".join(name.split()) for card in desk.corpora()):
        desk.create_corpus(name)


def as_text(report: IngestReport) -> str:
    """A row a file, what became of its traces, then what was rejected."""
    rows = [(one.path, one.format or "not read", str(one.traces), str(one.rejected)) for one in report.files]
    counts = (
        f"{report.accepted} new traces, {report.grown} grown, {report.duplicates} already there; "
        f"{report.labels} traces labelled."
    )
    rejected = [f"{bad.path}:{bad.line}: {bad.reason}" for bad in report.rejected]
    more = [f"{len(rejected) - _SHOWN} more; --json lists all."] if len(rejected) > _SHOWN else []
    listed = ["", "Rejected:", *rejected[:_SHOWN], *more] if rejected else []
    files = table(("file", "format", "traces", "rejected"), rows, (48, 12, 8, 8))
    return "\n".join([files, "", counts, *report.conflicts, *report.warnings, *listed])
