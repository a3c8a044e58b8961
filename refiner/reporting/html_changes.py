"""The changes of an HTML report: what each says, who decided what, and everything the decision can be checked by."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from refiner.ports import Labelled
from refiner.reporting import html_counted
from refiner.reporting.diffs import diff_rows, rows_html
from refiner.reporting.markup import attribute, clock, coded, plural, table, tag, text
from refiner.reporting.report import Decided
from refiner.types import Citation, Criterion, Edit, Finding, Verdict

if TYPE_CHECKING:
    from refiner.types import Decision

QUOTES = 3
"""Citations printed for one criterion; the rest is counted."""
_LONGEST_QUOTE = 420
_QUESTIONS = {
    "occurs": "Does it occur in these runs?",
    "causes": "Does it go with the outcome?",
    "general": "Is it general?",
    "covered": "Does the skill say it already?",
    "harmful": "Would it do harm?",
}
_WORDS = {
    "replace": "replaces text",
    "delete": "removes text",
    "insert_before": "before a line",
    "insert_after": "after a line",
    "append_to_section": "at the end of the section",
    "add_section": "a new section",
    "create_file": "a new file",
}
REASONS = {
    "not_supported": "not supported",
    "too_specific": "too specific",
    "already_covered": "already covered",
    "harmful": "harmful",
    "badly_worded": "badly worded",
    "other": "other",
}


@dataclass(frozen=True, slots=True)
class Standing:
    """A change as it stands: `state` is accepted, rejected or open; `decision` the one that made it so."""

    number: int
    row: Decided
    state: str
    decision: Decision | None

    @property
    def anchor(self) -> str:
        return f"change-{self.number}"


def edit_texts(edit: Edit) -> tuple[str, str]:
    """What an edit finds and what it leaves there."""
    old, new = _ended(edit.old), _ended(edit.new)
    if edit.op == "insert_after":
        return old, old + new
    return (old, new + old) if edit.op == "insert_before" else (old, new)


def _ended(text_: str) -> str:
    return text_ if not text_ or text_.endswith("\n") else text_ + "\n"


def article(standing: Standing, items: Mapping[str, Labelled], nearest: Sequence[str] = ()) -> str:
    """One change with all its evidence and, when somebody decided on it, who and why."""
    row, names = standing.row, {key: item.trace.external_id for key, item in items.items()}
    result = row.result.replace(" ", "-")
    head = f'<span class="no">{standing.number}</span><h3>{coded(row.rule)}</h3>'
    marks = tag(result, row.result) + tag(standing.state, state_words(standing))
    parts = [
        f'<header>{head}<p class="marks">{marks}</p></header>',
        f'<p class="by">{_decision(standing.decision) or text(_nobody(row))}</p>',
        *(f'<p class="warn">Cannot be placed: {text(row.change.unplaced)}</p>' for _ in [0] if row.change.unplaced),
        *map(finding_html, row.findings),
        *map(_edit, _edits(standing)),
        f'<p class="why">{coded(row.change.rationale)}</p>',
        *(_verdict(verdict, items, names) for verdict in row.verdicts),
        *(f'<p class="id">Nearest runs of the other outcome: {text(", ".join(nearest))}</p>' for _ in nearest[:1]),
        _sources(row, names),
    ]
    return f'<article id="{standing.anchor}" data-change="{attribute(row.change.key)}">{"".join(parts)}</article>'


def state_words(standing: Standing) -> str:
    """`accepted`, `accepted, edited`, `rejected` or `open`."""
    decision = standing.decision
    amended = decision is not None and decision.amended
    return f"{standing.state}, edited" if amended and standing.state == "accepted" else standing.state


def _edits(standing: Standing) -> Sequence[Edit]:
    decision = standing.decision
    return decision.amended if decision and decision.amended else standing.row.change.edits


def _decision(decision: Decision | None) -> str:
    if decision is None:
        return ""
    verb = {"accept": "Accepted", "amend": "Edited and accepted", "reject": "Rejected", "skip": "Skipped"}
    words = verb.get(decision.action, "Carried over from an earlier refinement")
    parts = [f"{words} by <b>{text(decision.reviewer)}</b>", text(clock(decision.decided_at))]
    if decision.override:
        parts.append("<b>against the verdict</b>")
    if decision.batch:
        parts.append("together with all supported ones")
    said = reason(decision)
    return ", ".join(parts) + (f". Reason: {text(said)}" if said else ".")


def reason(decision: Decision) -> str:
    """The reason in words: its kind, then what the person wrote."""
    return ": ".join(
        part for part in (REASONS.get(decision.reason_code, decision.reason_code), decision.reason) if part
    )


def _nobody(row: Decided) -> str:
    why = f" The automatic merge leaves it out: {row.why}." if row.why else ""
    return f"Decided by nobody yet.{why}"


def finding_html(finding: Finding) -> str:
    words = f"{finding.kind}, {finding.severity}: {finding.words} ({finding.match}; from {finding.source})"
    line = f"<br><code>{text(finding.line)}</code>" if finding.line else ""
    return f'<p class="warn">{text(words)}{line}</p>'


def _edit(edit: Edit) -> str:
    place = " › ".join((edit.path, *edit.section))
    head = f'<p class="place">{text(place)} <span>{_WORDS[edit.op]}</span></p>'
    return head + rows_html(diff_rows(*edit_texts(edit)), numbers=False)


def _verdict(verdict: Verdict, items: Mapping[str, Labelled], names: Mapping[str, str]) -> str:
    rows = [[_QUESTIONS[one.name], _answer(one), coded(one.reason), one.source] for one in verdict.criteria]
    cited = "".join(_cited(one, names) for one in verdict.criteria)
    words = f'<p class="verdict"><b>{text(verdict.result)}</b> {coded(verdict.words)}</p>'
    counted = html_counted.counts(verdict.contrast, items) if verdict.contrast else _spread(verdict)
    return words + table(("Question", "Answer", "Because", "How"), rows) + counted + cited


def _answer(criterion: Criterion) -> str:
    good = {"covered": "no", "harmful": "no"}.get(criterion.name, "yes")
    kind = "open" if criterion.answer == "unknown" else "good" if criterion.answer == good else "bad"
    return f'<span class="answer {kind}">{criterion.answer}</span>'


def _spread(verdict: Verdict) -> str:
    words = f"Not measured; seen in {plural(verdict.traces, 'trace')} of {plural(verdict.tasks, 'task')}."
    return f'<p class="place">{text(words)}</p>'


def _cited(criterion: Criterion, names: Mapping[str, str]) -> str:
    return quotes(criterion.citations, names, f"Cited for “{criterion.name}”")


def _sources(row: Decided, names: Mapping[str, str]) -> str:
    already = {citation for verdict in row.verdicts for one in verdict.criteria for citation in one.citations}
    more = [citation for proposal in row.proposals for citation in proposal.citations if citation not in already]
    themes = [one.theme for one in row.proposals if one.theme]
    said = f"Proposed from {plural(len(row.proposals), 'group')} of runs" + (f": {'; '.join(themes)}" if themes else "")
    return quotes(more, names, "Cited by the proposal") + f'<p class="id">{text(said)} · change {row.change.key}</p>'


def quotes(citations: Iterable[Citation], names: Mapping[str, str], head: str) -> str:
    """Verified quotes with the run and the span they come from; those that were not found there, marked as such."""
    distinct = list(dict.fromkeys(citations))
    verified = [one for one in distinct if one.verified]
    lost = "".join(_unfound(one, names) for one in distinct if not one.verified)
    if not verified:
        return lost
    items = "".join(_quote(one, names) for one in verified[:QUOTES])
    left = len(verified) - QUOTES
    more = f'<li class="more">and {plural(left, "more quote")}</li>' if left > 0 else ""
    return f'<div class="quotes"><p class="place">{text(head)}</p><ol>{items}{more}</ol></div>{lost}'


def _unfound(citation: Citation, names: Mapping[str, str]) -> str:
    words = f"Not found as quoted in {names.get(citation.trace_id, citation.trace_id)}: {citation.quote}"
    return f'<p class="warn">{text(words[:_LONGEST_QUOTE])}</p>'


def _quote(citation: Citation, names: Mapping[str, str]) -> str:
    where = "feedback" if citation.span_id == "feedback" else f"step {citation.ordinal + 1}"
    shown = citation.quote if len(citation.quote) <= _LONGEST_QUOTE else citation.quote[:_LONGEST_QUOTE] + "…"
    source = f"{names.get(citation.trace_id, citation.trace_id)}, {where}"
    return f"<li><q>{text(shown)}</q><cite>{text(source)}</cite></li>"
