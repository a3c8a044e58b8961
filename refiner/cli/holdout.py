"""`refiner holdout`: the held-out tasks of a refinement, sealed until they are opened on purpose."""

from __future__ import annotations

import argparse
import getpass
import json
from datetime import UTC, datetime
from pathlib import Path

from refiner.cli.console import safe, table
from refiner.reporting import heldout
from refiner.reporting.report import Report


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--out", type=Path, metavar="DIR", help="the output folder of a `refiner refine`")
    parser.add_argument("--db", type=Path, metavar="FILE", help="the database, when it lies elsewhere")
    parser.add_argument("--refinement", metavar="ID", help="the refinement (default: the latest)")
    parser.add_argument("--open", action="store_true", help="open them: recorded, once, and never undone")
    parser.add_argument("--json", action="store_true", help="print the state as JSON")


def run(arguments: argparse.Namespace) -> int:
    from refiner.workspace.folder import DATABASE
    from refiner.workspace.seal import unseal

    database = arguments.db or (arguments.out or Path(".refiner")) / DATABASE
    at, who = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"), getpass.getuser()
    report = unseal(database, arguments.out, arguments.refinement, open_=arguments.open, who=who, at=at)
    print(json.dumps(heldout.as_plain(report), indent=2, ensure_ascii=True) if arguments.json else as_text(report))
    return 0


def as_text(report: Report) -> str:
    """Where the held-out tasks stand, in sentences; once open, a row a change."""
    snapshot, found = report.snapshot, report.held_out
    if not snapshot.held_out_tasks:
        return "\n".join(heldout.why_none(report))
    if found is None:
        size = f"{snapshot.held_out_tasks} tasks ({snapshot.held_out_traces} traces) are held out and sealed."
        return "\n".join([size, heldout.SEALED, heldout.ONCE, "Open them with --open."])
    names = [(row.change.key, f"{row.rule} ({row.result})") for row in report.decided]
    rows = heldout.rows_of(found, names)
    heads = ("change", "failing tasks with it", "passing tasks with it")
    marked = "Intervals are exact, 95 %."
    return "\n".join(
        [table(heads, rows, (58, 26, 26)), "", *map(safe, heldout.opened_words(found, heldout.AUTOMATIC)), marked]
    )
