"""The outcome of a refinement in its last lines: what was found, why, what to read, and the next command."""

from __future__ import annotations

from pathlib import Path

from refiner.reporting.report import Report


def closing_lines(report: Report, out: Path) -> list[str]:
    """Two to five sentences; the first says the outcome, the last the next command."""
    counts = report.counts()
    first = f"{counts['supported']} supported, {counts['undecided']} undecided, {counts['unsupported']} unsupported"
    lines = [f"{first}{_why_undecided(report)}."]
    lines += _held_out(report)
    if not report.decided:
        lines.append(
            f"No change is proposed. What was looked for, and the nearest misses: {out / 'combined' / 'shortfalls.json'}"
        )
    if not counts["taken"]:
        lines.append("The proposed skill equals the base.")
    lines.append(f"Result: {out / 'combined' / 'proposed_skill.md'}")
    return [*lines, *_next(report, out)]


def _why_undecided(report: Report) -> str:
    rows = [row for row in report.decided if row.result == "undecided"]
    tasks = sorted(verdict.tasks for row in rows for verdict in row.verdicts)
    if not tasks:
        return ""
    spread = f"{tasks[0]}" if tasks[0] == tasks[-1] else f"{tasks[0]} to {tasks[-1]}"
    return f" (each undecided one recurs in {spread} tasks; {_no_cause(report)})"


def _no_cause(report: Report) -> str:
    if report.snapshot.tried_twice == 0:
        return "no task was tried twice, so no cause can be counted"
    if not report.table.matched:
        return "fewer than 3 tasks have both outcomes, so no cause can be counted"
    return "within tasks their counts do not tell passing from failing traces"


def _held_out(report: Report) -> list[str]:
    snapshot = report.snapshot
    if not snapshot.held_out_tasks:
        return []
    return [f"Held out of everything: {snapshot.held_out_tasks} tasks ({snapshot.held_out_traces} traces)."]


def _next(report: Report, out: Path) -> list[str]:
    if not report.waiting:
        return [f"Next: read {out / 'combined' / 'skill.diff'}"]
    return [
        f"Read: {out / 'combined' / 'undecided.diff'}",
        "Take all: the same command with `--include undecided`.",
    ]
