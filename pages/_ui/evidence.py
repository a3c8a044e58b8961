"""The evidence of one change: counts, runs that support it, runs that speak against it, and the rest of its groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final, TypeVar

import streamlit as st

from pages._ui import cards, counted, messages, session
from pages._ui.text import count, esc, label
from refiner.errors import RefinerError
from refiner.reporting.analysts import decisive_words
from refiner.reporting.counted import power
from refiner.types import Citation, Contrast, Outcome, Trace

if TYPE_CHECKING:
    from refiner.ports import Labelled
    from refiner.reporting.report import Report
    from refiner.views import Item

TABS: Final = ("Supporting", "Counter-examples", "Counted runs", "All in group")
CARDS: Final = 3
ROWS: Final = 20
T = TypeVar("T")
Runs = Mapping[str, "Labelled"]


def citations(item: Item) -> tuple[Citation, ...]:
    """What the verdicts, then the proposals quote, each place once."""
    judged = [one for verdict in item.row.verdicts for criterion in verdict.criteria for one in criterion.citations]
    proposed = [one for proposal in item.row.proposals for one in proposal.citations]
    return tuple({(*_place(one), one.verified): one for one in [*judged, *proposed]}.values())


def _place(citation: Citation) -> tuple[str, int, int, int]:
    return citation.trace_id, citation.ordinal, citation.start, citation.end


def numbers(item: Item) -> dict[str, int]:
    """The number of each cited run, from 1 in the order in which they are cited."""
    return {trace_id: at for at, trace_id in enumerate(dict.fromkeys(one.trace_id for one in citations(item)), start=1)}


def first_place(item: Item) -> tuple[str, str | None] | None:
    """The run and message that O opens: the first one that is cited; no message when its feedback is."""
    cited = citations(item)
    return (cited[0].trace_id, _at(cited[0].ordinal)) if cited else None


def _at(ordinal: int | None) -> str | None:
    """The address of a message; None for the feedback, which stands on top of every run."""
    return None if ordinal is None or ordinal == messages.FEEDBACK else str(ordinal)


def pane(refinement_id: str, report: Report, item: Item, runs: Runs) -> None:
    """Counts on top, then the four tabs; only the open one is filled."""
    if item.to_write:
        cards.empty("No run asks for it", "It stands on no evidence: it is for a person to write.")
        return
    if item.mends:
        cards.empty(
            "No run asks for it", "It mends the front matter of the start skill, as the specification wants it."
        )
        return
    counts(report, item)
    supporting, opposite, every, everything = st.tabs(TABS, key="evidence", on_change="rerun")
    if supporting.open:
        with supporting:
            cited_runs(item, runs, report)
    if opposite.open:
        with opposite:
            _showing(refinement_id, item)
            _opposite(refinement_id, item)
    if every.open:
        with every:
            counted.runs(refinement_id, item)
    if everything.open:
        with everything:
            _members(report, item, runs)


def counts(report: Report, item: Item) -> None:
    """How the behaviour is spread over failing and passing runs, as measured; a sentence when it was not."""
    shown = [verdict.contrast for verdict in item.row.verdicts if verdict.contrast]
    for contrast in shown:
        st.html(contrast_table(contrast))
        counted.explained(report.table, contrast)
    if not shown:
        words = next((verdict.words for verdict in item.row.verdicts), "")
        st.html(f'<h3>Contrast</h3><p class="sr-muted rv-why">Not measured: {esc(words)}.</p>')


def contrast_table(contrast: Contrast) -> str:
    """x of n failures, y of m passes with bars, and what stands behind p and q."""
    rows = _share("failing runs", contrast.failures_with, contrast.failures, "bad") + _share(
        "passing runs", contrast.passes_with, contrast.passes, "good"
    )
    matched = f"within {count(contrast.informative_tasks, 'task')}" if contrast.matched else "not matched by task"
    numbers = [f"{count(contrast.tasks_with, 'task')} show it", matched, *_tested(contrast)]
    line = "".join(f"<span>{esc(one)}</span>" for one in numbers)
    shadow = f'<p class="sr-muted">Explained by {esc(contrast.explained_by)}.</p>' if contrast.explained_by else ""
    return (
        f'<h3>Contrast</h3><p class="rv-predicate"><code>{esc(contrast.predicate)}</code></p>'
        f'<table class="rv-contrast"><tbody>{rows}</tbody></table><p class="rv-facts rv-small">{line}</p>'
        f'<p class="rv-meta">{esc(power(contrast))}</p>{shadow}'
    )


def _share(words: str, part: int, whole: int, tone: str) -> str:
    share = part / whole if whole else 0.0
    bar = f'<div class="rv-bar {tone}"><i style="width:{share:.1%}"></i></div>'
    return f'<tr><th>{part:,} of {whole:,} {words}</th><td>{bar}</td><td class="n">{share:.0%}</td></tr>'


def _tested(contrast: Contrast) -> list[str]:
    if contrast.p is None:
        return ["not tested"]
    q = [] if contrast.q is None else [f"q = {contrast.q:.2g}"]
    note = ["exploratory: no correction"] if contrast.exploratory else [f"m = {contrast.m}"]
    return [f"p = {contrast.p:.2g}", *q, *note]


def cited_runs(item: Item, runs: Runs, report: Report | None = None) -> None:
    """The cited runs, each with what is quoted of it, and with a report where each went wrong."""
    cited, numbered = citations(item), numbers(item)
    known = [trace_id for trace_id in numbered if trace_id in runs]
    if not known:
        cards.empty("No quote", "Nothing was quoted for this change: read the group, or reject it as not supported.")
    for trace_id in _so_many(known, f"support_{item.change_id}"):
        one = runs[trace_id]
        blamed = blamed_of(report, trace_id) if report else None
        run_card(one.trace, one.outcome, cited, item.change_id, number=numbered[trace_id], blamed=blamed)


def blamed_of(report: Report, trace_id: str) -> messages.Blamed | None:
    """Where a failing run went wrong, as the analyst of the refinement sees it."""
    at = report.decisive.get(trace_id)
    return None if at is None else messages.Blamed(at, decisive_words(report.analyst))


def _showing(refinement_id: str, item: Item) -> None:
    """Passing runs in which the behaviour holds: what speaks most plainly against a change."""
    found = session.workspace().counted(refinement_id, item.change_id)
    if not found:
        return
    against = found["passing with it"]
    words = "None of the passing runs shows the behaviour." if not against else (
        f"{count(len(against), 'passing run')} {'shows' if len(against) == 1 else 'show'} the behaviour all the same."
    )  # fmt: skip
    st.html(f'<p class="rv-meta">{words}</p>')
    for one in _so_many(against, f"against_{item.change_id}", "passing runs that show it"):
        run_card(one.item.trace, one.item.outcome, (), item.change_id, at=one.at, name="against")


def _opposite(refinement_id: str, item: Item) -> None:
    views = session.workspace().nearest_opposite(refinement_id, item.change_id)
    if not views:
        cards.empty("None", "There is no run of the opposite outcome to compare with.")
        return
    st.html('<p class="rv-meta">The nearest runs that ended the other way; same tasks first. They cite nothing.</p>')
    tools = _cited_tools(item)
    for view in views:
        alike = next((span.ordinal for span in view.trace.spans if span.name in tools and span.kind != "message"), None)
        run_card(view.trace, view.outcome, (), item.change_id, at=alike)


def _cited_tools(item: Item) -> frozenset[str]:
    return frozenset(one.quote.split("\n", 1)[0] for one in citations(item) if one.ordinal != messages.FEEDBACK)


def _members(report: Report, item: Item, runs: Runs) -> None:
    members = group_members(report, item)
    known = [trace_id for trace_id in members if trace_id in runs]
    if not known:
        cards.empty("No list", "This change comes from what recurs over the whole corpus, not from one group.")
        return
    pages = -(-len(known) // ROWS)
    page = st.pagination(pages, key=f"members_{item.change_id}") if pages > 1 else 1
    quoted = (
        " quoted; the change comes from what recurs, not from one group" if set(known) == set(numbers(item)) else ""
    )
    st.html(f'<p class="rv-meta">{count(len(known), "run")}{quoted}</p>')
    for trace_id in known[(page - 1) * ROWS : page * ROWS]:
        one = runs[trace_id]
        with st.container(key=f"member_{trace_id}", gap=None):
            session.link("trace", label(one.trace.external_id, 60), id=trace_id, change=item.change_id)
            st.html(f'<p class="rv-meta">{messages.outcome_chip(one.outcome)} {esc(one.trace.task, 150)}</p>')


def group_members(report: Report, item: Item) -> tuple[str, ...]:
    """The runs of the groups that the change comes from; else those that show the behaviour, else the cited ones."""
    wanted = {key for proposal in item.row.proposals for key in proposal.groups}
    groups = [one for clustering in report.clusterings for one in clustering.clusters if one.key in wanted]
    showing = [key for verdict in item.row.verdicts if verdict.contrast for key in verdict.contrast.holds]
    members = [key for group in groups for key in group.members] or showing or list(numbers(item))
    return tuple(dict.fromkeys(members))


def _so_many(keys: Sequence[T], name: str, what: str = "quoted runs") -> Sequence[T]:
    """The first few, and more at each press of the button that it draws when there are more."""
    shown = int(st.session_state.get(f"so_many_{name}", CARDS))
    if shown < len(keys) and st.button(f"Show all {len(keys)} {what}", key=f"more_{name}", type="tertiary"):
        st.session_state[f"so_many_{name}"] = shown = len(keys)
    return keys[:shown]


def run_card(
    trace: Trace,
    outcome: Outcome,
    cited: Sequence[Citation],
    change_id: str,
    *,
    number: int | None = None,
    at: int | None = None,
    name: str = "run",
    blamed: messages.Blamed | None = None,
) -> None:
    """One run: what was asked, the cited message with two around it, the way to the whole run, and disputing it."""
    mine = [one for one in cited if one.trace_id == trace.id]
    place = _at(mine[0].ordinal if mine else at)
    shown = messages.excerpt(trace, outcome, mine, blamed=blamed) if mine else _around(trace, outcome, at)
    badge = f"<sup>[{number}]</sup> " if number else ""
    with st.container(border=True, key=f"{name}_{trace.id}", gap="small"):
        st.html(
            f'<div class="rv-run-line">{badge}<b>{esc(trace.external_id, 60)}</b> {messages.outcome_chip(outcome)}'
            f'<details class="rv-task"><summary>{esc(trace.task, 110)}</summary>{esc(trace.task)}</details></div>'
            f"{shown}{unverified(mine)}"
        )
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            session.link("trace", "Open run", icon=":material/notes:", id=trace.id, at=place, change=change_id)
            if name == "run":
                dispute(trace)


def unverified(cited: Sequence[Citation]) -> str:
    """Quotes that do not stand in the run as they were given, shown as such."""
    lines = (
        f'<p class="rv-unverified">Not found in this run as quoted: <q>{esc(one.quote, 300)}</q></p>'
        for one in cited
        if not one.verified
    )
    return "".join(lines)


def _around(trace: Trace, outcome: Outcome, at: int | None) -> str:
    spans = messages.window(trace, messages.FEEDBACK if at is None else at)
    return messages.feedback(outcome) + "".join(messages.message(span, limit=420) for span in spans)


def dispute(trace: Trace) -> None:
    """Says that the recorded outcome is wrong; the run then counts on neither side from the next refinement on."""
    with (
        st.popover("Dispute outcome", key=f"dispute_{trace.id}", type="tertiary"),
        st.form(f"dispute_form_{trace.id}", border=False),
    ):
        st.text_input("What is wrong with the outcome?", key=f"dispute_why_{trace.id}", max_chars=300)
        st.form_submit_button("Record it", key=f"dispute_do_{trace.id}", on_click=_dispute, args=(trace.id,))


def _dispute(trace_id: str) -> None:
    reason = str(st.session_state.get(f"dispute_why_{trace_id}", "")).strip()
    if not reason:
        st.toast("Say in a few words what is wrong with it.")
        return
    try:
        session.workspace().dispute(session.current_corpus() or "", trace_id, reason)
    except RefinerError as error:
        cards.notice("error", str(error))
    else:
        st.toast("Recorded. The run leaves both sides at the next refinement.")
