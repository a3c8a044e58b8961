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
    return 1 if result.report.failed else 0


def load(arguments: argparse.Namespace) -> settings.RefineConfig:
    """The configuration from flags, the settings file and the environment; warnings go to standard error."""
    given = {key: value for key, value in vars(arguments).items() if key not in ("run", "json")}
    config, warnings = settings.load(given, os.environ, Path(SETTINGS))
    for warning in warnings:
        print(f"refiner: {warning}", file=sys.stderr)
    return config


def ask(config: settings.RefineConfig) -> None:
    """Asks once before text of traces leaves this machine. Raises ConfigError when the answer is not yes."""
    hosts = config.hosts
    if not hosts or config.yes:
        return
    if not sys.stdin.isatty() or not _agrees(_statement(config)):
        raise ConfigError(f"nothing was sent to {' or '.join(hosts)}; add --yes to agree, or {_other_way(config)}")


def _statement(config: settings.RefineConfig) -> str:
    """What would be sent where; every receiving host is named once."""
    model, embedding = config.model_host, config.embedding_host
    if model is None:
        return f"Summaries of your traces will be sent to {embedding} for embedding."
    rest = f", and summaries of them to {embedding} for embedding" if embedding not in (None, model) else ""
    return f"Text of your traces, without secrets, e-mails and home paths, will be sent to {model}{rest}."


def _other_way(config: settings.RefineConfig) -> str:
    return "leave the embedding endpoint out" if config.model_host is None else "use `--analyst offline`"


def _agrees(statement: str) -> bool:
    print(f"{statement} Go on? [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


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
    skipped = [one.words for one in report.shortfalls if one.kind == "skipped_side"]
    return [*head, *(safe(warning) for warning in (*report.inputs.warnings, *skipped)), ""]


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
