"""`refiner refine`: the whole way from traces to a proposed skill."""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

from refiner import config as settings
from refiner.cli.console import Progress, safe, table
from refiner.errors import ConfigError
from refiner.reporting.closing import closing_lines
from refiner.reporting.report import Decided, Report, Result
from refiner.reporting.tree import ANALYST_NOTES
from refiner.resources import SETTINGS


def add_arguments(parser: argparse.ArgumentParser) -> None:
    for flag in settings.flags():
        parser.add_argument(*flag.names, **flag.arguments())
    parser.add_argument("--json", action="store_true", help="print the outcome as JSON instead of tables")


def run(arguments: argparse.Namespace) -> int:
    from refiner import workspace

    config = load(arguments)
    ask(config)
    result = workspace.refine(config, Progress())
    print(as_json(result) if arguments.json else as_text(result))
    return 0


def load(arguments: argparse.Namespace) -> settings.RefineConfig:
    """The configuration from flags, the settings file and the environment; warnings go to standard error."""
    given = {key: value for key, value in vars(arguments).items() if key not in ("run", "json")}
    config, warnings = settings.load(given, os.environ, Path(SETTINGS))
    for warning in warnings:
        print(f"refiner: {warning}", file=sys.stderr)
    return config


def ask(config: settings.RefineConfig) -> None:
    """Asks once before text of traces leaves this machine. Raises ConfigError when the answer is not yes."""
    host = config.embedding_host
    if host is None or config.yes:
        return
    question = f"Summaries of your traces will be sent to {host} for embedding. Go on? [y/N] "
    if not sys.stdin.isatty() or input(question).strip().lower() not in ("y", "yes"):
        raise ConfigError(f"nothing was sent to {host}; add --yes to agree, or leave the embedding endpoint out")


def as_json(result: Result) -> str:
    report = result.report
    changes = [
        {"id": row.change.key, "result": row.result, "in_proposed_skill": row.taken, "rule": row.rule, "why": row.why}
        for row in report.decided
    ]
    body = {
        "refinement": result.refinement_id,
        "out": str(result.out),
        "counts": report.counts(),
        "changes": changes,
        "last_lines": closing_lines(report, result.out),
    }
    return json.dumps(body, indent=2, ensure_ascii=True)


def as_text(result: Result) -> str:
    report = result.report
    parts = [*warnings_of(report), changes_table(report), diff_of(result), *closing_lines(report, result.out)]
    return "\n".join(part for part in parts if part)


def warnings_of(report: Report) -> list[str]:
    """What a reader must know before the table."""
    head = [f"Analyst: {report.analyst}. {ANALYST_NOTES.get(report.analyst, '')}".strip()]
    rejected = len(report.inputs.rejected)
    if rejected:
        head.append(f"{rejected} records were rejected (run.json lists each with file, line and reason).")
    return [*head, *(safe(warning) for warning in report.inputs.warnings), ""]


def changes_table(report: Report) -> str:
    """One row a change: result, rule, and the counts behind it."""
    if not report.decided:
        return "No changes."
    rows = [(row.result + ("" if row.taken else " *"), row.rule, _words(row)) for row in report.decided]
    text = table(("result", "change", "counts"), rows, (14, 58, 66))
    return f"{text}\n* not in the proposed skill\n"


def _words(row: Decided) -> str:
    words = " ".join(verdict.words for verdict in row.verdicts)
    return f"{words} [{row.why}]" if row.why not in ("", row.result) else words


def diff_of(result: Result) -> str:
    diff = (result.out / "combined" / "skill.diff").read_text(encoding="utf-8", errors="replace")
    return safe(diff) if diff else "The skill is unchanged."
