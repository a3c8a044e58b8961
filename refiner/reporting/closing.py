"""The first and the last lines of a refinement: what cannot be had, then what was found and the next command."""

from __future__ import annotations

from pathlib import Path

from refiner import skills
from refiner.audits import contradictions
from refiner.gate.measured import MIN_TASKS
from refiner.model_views import untold_words
from refiner.reporting.heldout import AUTOMATIC, opened_words
from refiner.reporting.report import Report
from refiner.sides import of_side, tasks_of
from refiner.snapshot import Snapshot


def opening_lines(snapshot: Snapshot) -> list[str]:
    """What this corpus cannot give, and the way out; nothing when causes can be counted."""
    if snapshot.tried_twice == 0:
        return [f"no task was tried twice: {_ADVICE}"]
    both = tasks_of(of_side(snapshot.training, "failure")) & tasks_of(of_side(snapshot.training, "success"))
    if len(both) < MIN_TASKS:
        return [f"{len(both)} tasks have both outcomes, it takes {MIN_TASKS}: {_ADVICE}"]
    return []


_ADVICE = "changes can be recommended, none can be supported; several traces a task would let causes be counted."


def closing_lines(report: Report, out: Path) -> list[str]:
    """A few sentences; the first says the outcome, the last the next command."""
    lines = [
        f"{_outcome(report)}{_why_undecided(report)}.",
        *_failed(report),
        *_together(report),
        *_held_out(report, out),
    ]
    lines += [*_taken(report), *_vetoed(report)]
    if not report.decided:
        lines += _nothing(report, out)
    if not report.counts()["taken"]:
        new = skills.is_skeleton(report.base)
        lines.append("The proposed skill has no rule yet." if new else "The proposed skill equals the base.")
    lines.append(f"Result: {out / 'combined' / 'proposed_skill.md'}")
    return [*lines, *_next(report, out)]


def _outcome(report: Report) -> str:
    counts = report.counts()
    words = [f"{counts[name]} {name}" for name in ("supported", "undecided", "unsupported")]
    return ", ".join([*words, *([f"{counts['not_gated']} not gated"] if counts["not_gated"] else [])])


def _taken(report: Report) -> list[str]:
    """What a model took, beside what was expected, and what was kept from it."""
    usage = report.usage
    if not usage:
        return []
    money = "unknown cost" if usage["cost"] is None else f"{usage['cost']:.4f} {usage['currency']}"
    words = f"Model: {usage['calls']} calls, {usage['prompt_tokens'] + usage['completion_tokens']:,} tokens, {money}"
    off = "" if usage["error"] is None else f"; {usage['error']:+.0%} against the estimate"
    kinds = ", ".join(f"{count} {kind}" for kind, count in usage["redacted"].items())
    dropped = usage["quotes"]["dropped"]
    quotes = [f"{dropped} of its quotes could not be verified and were dropped."] if dropped else []
    untold = [untold_words(usage)] if usage["without_usage"] else []
    return [f"{words}{off}.", *untold, *([f"Redacted before sending: {kinds}."] if kinds else []), *quotes]


def _vetoed(report: Report) -> list[str]:
    """What a person rejected in an earlier refinement, and is therefore not proposed again."""
    return [f"Not proposed again: {one.words}" for one in report.shortfalls if one.kind == "vetoed_before"]


def _failed(report: Report) -> list[str]:
    if not report.failed:
        return []
    return [f"Incomplete: {len(report.failed)} steps failed ({report.failed[0]}); the same command tries them again."]


def _nothing(report: Report, out: Path) -> list[str]:
    """Why there is no change, and where all that was looked for is listed."""
    why = [one.words for one in report.shortfalls if one.kind == "nothing_recurs"]
    if not report.table.matched:
        why.append(f"Besides, {_no_cause(report)}.")
    return ["No change is proposed.", *why, f"All that fell short: {out / 'combined' / 'shortfalls.json'}"]


def _why_undecided(report: Report) -> str:
    rows = [row for row in report.decided if row.result == "undecided"]
    tasks = sorted(verdict.tasks for row in rows for verdict in row.verdicts)
    if not tasks:
        return ""
    spread = f"{tasks[0]}" if tasks[0] == tasks[-1] else f"{tasks[0]} to {tasks[-1]}"
    noun = "task" if spread == "1" else "tasks"
    return f" (each undecided one recurs in {spread} {noun}; {_no_cause(report)})"


def _no_cause(report: Report) -> str:
    if report.snapshot.tried_twice == 0:
        return "no task was tried twice, so no cause can be counted"
    if not report.table.matched:
        return "fewer than 3 tasks have both outcomes, so no cause can be counted"
    return "within tasks their counts do not tell passing from failing traces"


def _together(report: Report) -> list[str]:
    """What the changes of the automatic merge say twice, or against each other: nobody has looked at them yet."""
    found = contradictions([row.change for row in report.decided if row.taken])
    return [f"Look at this first: {one.words}" for one in found]


def _held_out(report: Report, out: Path) -> list[str]:
    snapshot = report.snapshot
    if not snapshot.held_out_tasks:
        return []
    if report.held_out is not None:
        return opened_words(report.held_out, AUTOMATIC)
    words = f"Held out of everything: {snapshot.held_out_tasks} tasks ({snapshot.held_out_traces} traces)."
    return [words, f"Open them once, when all is decided: refiner holdout --out {out} --open"]


def _next(report: Report, out: Path) -> list[str]:
    review = f"Review it in the browser: refiner app --open {out}"
    if not report.waiting:
        return [review, f"Next: read {out / 'combined' / 'skill.diff'}"]
    return [
        review,
        f"Read: {out / 'combined' / 'undecided.diff'}",
        "Take all: the same command with `--include undecided`.",
    ]
