"""The held-out tasks in an HTML report: sealed, or what they say of every change. Opens nothing."""

from __future__ import annotations

from collections.abc import Sequence

from refiner.reporting.heldout import ACCEPTED, AUTOMATIC, SEALED, is_suspicious, opened_words, shares, why_none
from refiner.reporting.html_changes import Standing
from refiner.reporting.markup import coded, plural, table, text
from refiner.reporting.report import Report
from refiner.types import HeldOut


def in_short(report: Report) -> str:
    """One sentence for the head of the report."""
    tasks, traces = report.snapshot.held_out_tasks, report.snapshot.held_out_traces
    if not tasks:
        return "No task was held out."
    size = f"{plural(tasks, 'task')} ({plural(traces, 'trace')})"
    if report.held_out is None:
        return f"{size} were held out: nothing here has read them."
    return f"{size} were held out of learning and opened for the estimate below."


def section(report: Report, standings: Sequence[Standing], *, nobody: bool) -> str:
    """Why nothing was held out, that it is sealed still, or the estimate by change and for the accepted ones."""
    if not report.snapshot.held_out_tasks:
        body = "".join(f"<p>{text(one)}</p>" for one in why_none(report))
    elif report.held_out is None:
        body = f"<p>{text(f'{in_short(report)} They are sealed. {SEALED}')}</p>"
    else:
        body = _opened(report.held_out, standings, AUTOMATIC if nobody else ACCEPTED)
    return f'<section id="held-out"><h2>Held-out tasks <small>unseen by every stage</small></h2>{body}</section>'


def _opened(found: HeldOut, standings: Sequence[Standing], whose: str) -> str:
    lines = "".join(f"<p>{text(one)}</p>" for one in opened_words(found, whose))
    rows = []
    for one in standings:
        count = found.of(one.row.change.key)
        if count is not None:
            name = f'<a href="#{one.anchor}">{one.number}</a> {coded(one.row.rule)}'
            mark = " (exposure without coverage)" if is_suspicious(count) else ""
            rows.append([name, *map(text, shares(count)), text(one.state + mark)])
    heads = ("Change", "Failing tasks with it", "Passing tasks with it", "")
    note = "By task; in brackets the exact 95 % interval (Clopper and Pearson)."
    return f"{lines}{table(heads, rows)}<p>{note}</p>"
