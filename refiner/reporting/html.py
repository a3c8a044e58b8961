"""The report as one HTML file that needs nothing else: no script, no network. For a person who was not there.

It tells what was learned from what, how every change was decided and why, and shows the map and the diff. It decides
nothing and computes nothing anew; every string that is not the product's own is escaped.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from refiner import merge, skills
from refiner.reporting import (
    html_changes,
    html_checks,
    html_counted,
    html_gate,
    html_heldout,
    html_ledger,
    html_log,
    html_map,
    html_usage,
)
from refiner.reporting.analysts import analyst_note
from refiner.reporting.diffs import Hunk, Row, blocks, body_html, counts, diff_rows, hunks
from refiner.reporting.fitness import as_decided, fitness
from refiner.reporting.html_changes import Standing, state_words
from refiner.reporting.markup import attribute, coded, number, plural, table, tag, text
from refiner.reporting.report import Report

if TYPE_CHECKING:
    from refiner.ports import Labelled
    from refiner.review.ledger import Ledger
    from refiner.types import Change, Decision
    from refiner.views import Item, Review

_HERE = Path(__file__).parent
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_FACTS = 20
_STATUS = {
    "fail": "failed",
    "pass": "passed",
    "unknown": "with unknown outcome",
    "infrastructure": "broken by the environment",
}
STATES = {
    "accepted": ("Accepted", "in the refined skill"),
    "open": ("Undecided", "nobody has accepted or vetoed these"),
    "rejected": ("Vetoed", "kept out by a person"),
}


def html_report(
    report: Report,
    review: Review | None,
    merged: merge.Merged,
    decisions: Sequence[Decision] = (),
    ledger: Ledger | None = None,
) -> str:
    """The whole document. Without a review it shows the automatic merge, decided by nobody yet.

    `merged` is what the diff leads to, `decisions` the decision log in order.
    """
    standings = standings_of(report, review)
    numbers = owners(report, standings)
    parts = [
        _head(report, standings, review is None),
        _glance(standings, nobody=review is None),
        _changes(report, standings, report.runs, nobody=review is None),
        html_map.section(report, report.names, {one.row.change.key: one.anchor for one in standings}),
        _diff(report, merged, numbers),
        html_heldout.section(report, standings, nobody=review is None),
        html_checks.section(fitness(report, merged, _inside(standings, merged, numbers))),
        _facts(report),
        _shortfalls(report),
        html_gate.section(report),
        html_ledger.section(ledger),
        html_log.section(decisions, numbers),
        html_usage.section(report.usage),
        _made(report),
    ]
    title = f"Skill report: {_skill_name(report)}"
    head = (
        '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        '<meta name="color-scheme" content="light dark">'
        f"<title>{attribute(title)}</title><style>{_style()}</style>"
    )
    return f'<!DOCTYPE html>\n<html lang="en"><head>{head}</head><body><main>{"".join(parts)}</main></body></html>\n'


@cache
def _style() -> str:
    return "".join(_HERE.joinpath(name).read_text(encoding="utf-8") for name in ("report.css", "diff.css"))


def standings_of(report: Report, review: Review | None) -> list[Standing]:
    """Every change with how it stands, in the order in which the report numbers them."""
    items = {item.change_id: item for item in review.items} if review else {}
    found = []
    for at, row in enumerate(report.decided, start=1):
        item = items.get(row.change.key)
        found.append(Standing(at, row, _state(item) if item else "open", item.decision if item else None))
    return found


def _state(item: Item) -> str:
    if item.in_skill:
        return "accepted"
    inherited = item.decision.inherited if item.decision and item.status == "carried" else ""
    return "rejected" if "reject" in (inherited, item.status.removesuffix("ed")) else "open"


def owners(report: Report, standings: Sequence[Standing]) -> dict[str, Standing]:
    """The standing by the id that lines of the merged skill carry; an edited change has an id of its own there."""
    found = {one.row.change.key: one for one in standings}
    for one in standings:
        if one.decision and one.decision.amended:
            edited = replace(one.row.change, edits=one.decision.amended)
            found |= {edited.key: one, merge.settle(report.base, [edited])[0].key: one}
    return found


def _inside(standings: Sequence[Standing], merged: merge.Merged, numbers: Mapping[str, Standing]) -> dict[str, Change]:
    """The changes in the result as they were decided, in the order of the report."""
    taken = {numbers[one].number for one in merged.change_ids if one in numbers}
    return {one.row.change.key: as_decided(one.row.change, one.decision) for one in standings if one.number in taken}


def _skill_name(report: Report) -> str:
    front = skills.front_matter(report.base.files[report.base.main])
    return str(front.values.get("name") or report.base.main) if front and not front.problem else report.base.main


def _head(report: Report, standings: Sequence[Standing], nobody: bool) -> str:
    snapshot, counts_ = report.snapshot, report.counts()
    statuses = ", ".join(f"{count:,} {_STATUS.get(status, status)}" for status, count in snapshot.statuses.items())
    traces = plural(sum(snapshot.statuses.values()), "trace")
    own = sum(one.row.for_a_person for one in standings)
    came = plural(len(standings) - own, "change")
    more = f" {own} more {'is' if own == 1 else 'are'} for the start skill's front matter." if own else ""
    learned = (
        f"From {traces} of {plural(snapshot.tasks, 'task')} ({statuses}) came {came}: "
        f"{counts_['supported']} supported by the evidence, {counts_['undecided']} undecided, "
        f"{counts_['unsupported']} unsupported.{more}"
    )
    states = {name: sum(one.state == name for one in standings) for name in STATES}
    tiles = {STATES[name][0]: count for name, count in states.items()}
    if nobody:
        tiles = {"In the automatic merge": counts_["taken"], "Left out of it": len(standings) - counts_["taken"]}
    cells = "".join(f"<li><b>{count}</b><span>{text(words)}</span></li>" for words, count in tiles.items())
    return (
        f'<header class="top"><p class="kind">Skill report</p><h1>{text(_skill_name(report))}</h1>'
        f'<p class="lead">{text(learned)}</p><ul class="tiles">{cells}</ul>'
        f"<p>{text(_who(standings, nobody))} {text(html_heldout.in_short(report))}</p>"
        f'<p class="badge">{text(analyst_note(report.analyst))}</p></header>'
    )


def _who(standings: Sequence[Standing], nobody: bool) -> str:
    if nobody:
        return "Decided by nobody yet: the skill below is the automatic merge, a preview for a person to review."
    names = sorted({one.decision.reviewer for one in standings if one.decision and one.decision.reviewer})
    return f"Reviewed by {', '.join(names)}." if names else "Nobody has decided on a change yet."


def _glance(standings: Sequence[Standing], *, nobody: bool) -> str:
    """All changes on one page, each a link to its evidence."""
    rows = [
        [
            str(one.number),
            f'<a href="#{one.anchor}">{coded(one.row.rule)}</a>',
            tag(one.row.result.replace(" ", "-"), one.row.result),
            _merged_tag(one) if nobody else tag(one.state, state_words(one)),
        ]
        for one in standings
    ]
    if not rows:
        return ""
    body = table(("", "Change", "Evidence", "Automatic merge" if nobody else "Decision"), rows)
    return f'<section class="glance"><h2>At a glance</h2>{body}</section>'


def _merged_tag(standing: Standing) -> str:
    return tag("accepted", "in") if standing.row.taken else tag("open", "left out")


def _changes(report: Report, standings: Sequence[Standing], items: Mapping[str, Labelled], *, nobody: bool) -> str:
    if not standings:
        words = "No change is proposed. What fell short, and by how much, is listed below."
        return f'<section><h2>Changes</h2><p class="empty">{words}</p></section>'
    if nobody:
        groups = [
            ("In the automatic merge", "decided by nobody yet", [one for one in standings if one.row.taken]),
            ("Left out of it", "decided by nobody yet", [one for one in standings if not one.row.taken]),
        ]
    else:
        groups = [(*words, [one for one in standings if one.state == state]) for state, words in STATES.items()]
    return "".join(_group(report, head, words, group, items) for head, words, group in groups if group)


def _group(report: Report, head: str, words: str, group: Sequence[Standing], items: Mapping[str, Labelled]) -> str:
    articles = "".join(html_changes.article(one, items, report.nearest.get(one.row.change.key, ())) for one in group)
    return f"<section><h2>{head} <small>{plural(len(group), 'change')}, {words}</small></h2>{articles}</section>"


def _diff(report: Report, merged: merge.Merged, numbers: Mapping[str, Standing]) -> str:
    paths = sorted(path for path in merged.files if merged.files[path] != report.base.files.get(path))
    body = "".join(_file(path, report, merged, numbers) for path in paths)
    if not body:
        body = '<p class="empty">The skill is the base, byte for byte: no change is in it.</p>'
    return f'<section id="diff"><h2>The skill <small>from the base to the result</small></h2>{body}</section>'


def _file(path: str, report: Report, merged: merge.Merged, numbers: Mapping[str, Standing]) -> str:
    rows = diff_rows(decoded(report.base.files.get(path, b"")), decoded(merged.files[path]))
    found = hunks(rows, ranges(merged.lines, path), ranges(merged.removed, path))
    body = "".join(_block(hunk, part, numbers) for hunk, part in blocks(rows, found))
    added, removed = counts(rows)
    words = f"{plural(added, 'line')} added, {removed} removed"
    return f'<p class="place">{text(path)} <span>{words}</span></p><div class="sr-diff inline">{body}</div>'


def _block(hunk: Hunk | None, part: Sequence[Row], numbers: Mapping[str, Standing]) -> str:
    """The lines of a hunk, the name of its change right above the first changed one."""
    lead = next((at for at, row in enumerate(part) if row.kind != "same"), 0) if hunk else 0
    named = _owner(hunk, numbers) if hunk else ""
    return body_html(part[:lead]) + named + body_html(part[lead:], fold="open" if hunk else "gap")


def decoded(data: bytes) -> str:
    """The text of a file; bytes that are none show as a replacement sign."""
    return data.decode("utf-8", "replace")


def ranges(lines: Iterable[merge.LineRange], path: str) -> list[tuple[int, int, str]]:
    """Line ranges of one file as `diffs.hunks` takes them."""
    return [(one.start_line, one.end_line, one.change_id) for one in lines if one.path == path]


def _owner(hunk: Hunk, numbers: Mapping[str, Standing]) -> str:
    known = [numbers[one] for one in hunk.change_ids if one in numbers]
    links = ", ".join(f'<a href="#{one.anchor}">change {one.number}</a>, {one.row.result}' for one in known)
    return f'<p class="who">{links}</p>' if links else ""


def _facts(report: Report) -> str:
    known = {one.predicate: one for one in report.table.contrasts}
    facts = [known[name] for name in report.table.facts if name in known]
    if not facts:
        return ""
    rows = [
        [
            f"<code>{text(one.predicate)}</code>{html_counted.explained(report.table, one.predicate)}",
            f"{one.failures_with} of {one.failures}",
            f"{one.passes_with} of {one.passes}",
            str(one.tasks_with),
            number(one.p),
            number(one.q),
        ]
        for one in facts[:_FACTS]
    ]
    matched = "within tasks that have both outcomes" if report.table.matched else "not matched by task"
    words = f"{plural(report.table.m, 'behaviour')} compared, {matched}; q at most {report.table.gate_q:g}"
    heads = ("Behaviour", "Failing runs", "Passing runs", "Tasks", "p", "q")
    left = f"<p>And {len(facts) - _FACTS} more.</p>" if len(facts) > _FACTS else ""
    body = table(heads, rows, (1, 2, 3, 4, 5))
    return f"<section><h2>What goes with failure <small>{words}</small></h2>{body}{left}</section>"


def _shortfalls(report: Report) -> str:
    if not report.shortfalls:
        return ""
    rows = [[text(one.side), text(one.subject), text(one.words)] for one in report.shortfalls]
    body = table(("Side", "What", "Why it became no change"), rows)
    return f"<section><h2>What fell short <small>seen, but not enough for a change</small></h2>{body}</section>"


def _made(report: Report) -> str:
    formats: Counter[str] = Counter()
    for one in report.inputs.files:
        formats[str(one.get("format", ""))] += int(one.get("traces") or 0)
    read = [[text(name or "none"), f"{traces:,}"] for name, traces in sorted(formats.items())]
    ids = {"refinement": report.refinement_id, "base skill": report.base.key, "snapshot": report.snapshot.key}
    ids |= {"analyst": report.analyst, **report.versions}
    warnings = "".join(f'<p class="warn">{text(one)}</p>' for one in (*report.inputs.warnings, *report.failed))
    inputs = table(("Format", "Traces read"), read) if read else ""
    versions = table(("", ""), [[text(name), f"<code>{text(str(value))}</code>"] for name, value in ids.items()])
    return f"<section><h2>How it was made</h2>{warnings}{inputs}{versions}</section>"
