"""`refiner convert`: traces of any format as the three canonical files. Prints what was left out, and why."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

from refiner import codec
from refiner.cli import scores
from refiner.cli.console import safe
from refiner.columns import HELP
from refiner.file_reports import by_reason, conflict_words, copied_words, namesake_words, skipped_words

if TYPE_CHECKING:
    from refiner.convert import Converted

_SHOWN = 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("paths", nargs="+", type=Path, metavar="PATH", help="trace files or folders, of any format")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="the folder for the three files")
    parser.add_argument("--rewards", type=Path, metavar="PATH", help="outcomes, as for `refine`")
    parser.add_argument("--feedback", type=Path, metavar="PATH", help="evaluator feedback by trace id")
    scores.add_arguments(parser)
    parser.add_argument("--task-key", metavar="FIELD", help="the field that names the task")
    parser.add_argument("--overwrite", action="store_true", help="replace the three files where they exist")
    parser.add_argument("--columns", metavar="TEXT", help=HELP)
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(arguments: argparse.Namespace) -> int:
    from refiner import columns, convert

    labelling = convert.Labelling(arguments.rewards, arguments.feedback, arguments.score, scores.threshold(arguments))
    done = convert.convert(
        arguments.paths,
        arguments.out,
        labelling,
        task_key=arguments.task_key,
        columns=columns.read(arguments.columns),
        overwrite=arguments.overwrite,
    )
    if arguments.json:
        print(json.dumps({"traces": done.traces, **codec.to_plain(done)}, indent=2))
    else:
        print(safe("\n".join(as_text(done, arguments.out))))
    return 0


def as_text(done: Converted, out: Path) -> list[str]:
    """What was written, then one line for everything that was not."""
    counts = done.statuses
    labelled = counts["pass"] + counts["fail"]
    lines = [
        f"{out / 'traces.jsonl'}: {done.traces} traces",
        f"{out / 'binary_rewards.json'}: {labelled} outcomes, {counts['pass']} passed and {counts['fail']} failed",
        f"{out / 'feedback.json'}: {done.feedback} texts",
    ]
    left_out = (
        (counts["unknown"], "traces have no known outcome and are not in the rewards"),
        (counts["infrastructure"], "traces ended by infrastructure: their records say so, the rewards leave them out"),
        (done.duplicates, "traces were there twice and are written once"),
        (done.notes_left_out, "notes that only the evaluator may see have no place in these files and are left out"),
    )
    lines += [f"{number} {words}." for number, words in left_out if number]
    lines += map(conflict_words, done.conflicts)
    lines += [*copied_words(done.copies), *namesake_words(done.namesakes)]
    lines += [*done.warnings, *skipped_words(done.skipped)]
    reasons = by_reason(done.rejected)
    lines += [f"Rejected: {one.where}: {one.words}" for one in reasons[:_SHOWN]]
    more = len(reasons) - _SHOWN
    return [*lines, f"Rejected: {more} more reasons; --json lists all."] if more > 0 else lines
