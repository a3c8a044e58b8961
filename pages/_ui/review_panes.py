"""The queue and the proposal of the review page: what waits, what one change does, what the gate says of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import streamlit as st

from pages._ui import cards, session
from pages._ui.diff import diff_html
from pages._ui.text import count, esc, label
from refiner.reporting.html import decoded

if TYPE_CHECKING:
    from refiner.types import Criterion
    from refiner.views import Item, Review

SHEET: Final = Path(__file__).with_name("review.css")
Go = Callable[[str], None]
"""Shows the change with this id."""
PAGE: Final = 25
STATES: Final = {"open": "open", "decided": "decided", "all": "all"}
RESULTS: Final = ("supported", "undecided", "unsupported", "not gated")
TONES: Final = {
    "supported": "good",
    "undecided": "warn",
    "unsupported": "bad",
    "accepted": "good",
    "rejected": "bad",
    "skipped": "plain",
    "carried": "accent",
}
MARKS: Final = {"open": "○", "accepted": "✓", "rejected": "✕", "skipped": "→", "carried": "↺"}
QUESTIONS: Final[Mapping[str, tuple[str, str]]] = {
    "occurs": ("Does it occur?", "yes"),
    "causes": ("Does it cause the failures?", "yes"),
    "general": ("Is it general?", "yes"),
    "covered": ("Does the skill say it already?", "no"),
    "harmful": ("Would it do harm?", "no"),
}


def apply_style() -> None:
    """The style sheet of the map, the review and the trace page."""
    st.html(SHEET)


def chip(words: str, tone: str = "plain") -> str:
    return f'<span class="rv-chip {tone}">{esc(words)}</span>'


def basis(item: Item) -> str:
    """Whether the support was measured, judged or only counted."""
    sources = {one.source for verdict in item.row.verdicts for one in verdict.criteria if one.name == "causes"}
    return next((one for one in ("measured", "judged") if one in sources), "counted")


def chips(item: Item) -> str:
    """The verdict and the decision on a change as small labels; each says in words what its colour means."""
    result = item.row.result
    words = f"{result}, {basis(item)}" if result == "supported" else result
    words = "to write" if item.to_write else "front matter" if item.mends else words
    decided = "" if item.status == "open" else chip(item.status, TONES[item.status])
    return chip(words, TONES.get(result, "plain")) + decided


def strength(review: Review) -> str:
    """One sentence when nothing is supported; empty otherwise."""
    results = [item.row.result for item in review.items if not (item.to_write or item.mends)]
    if not results or "supported" in results:
        return ""
    undecided = results.count("undecided")
    verb = "recurs" if undecided == 1 else "recur"
    return (
        f"Nothing here is supported by counts alone: {count(undecided, 'change')} {verb} but no cause could be "
        "measured, so the decision is yours. Runs of the same task with both outcomes would settle more."
    )


def filtered(review: Review) -> tuple[Item, ...]:
    """The queue as the filters leave it; both are kept in the address."""
    present = [one for one in RESULTS if any(item.row.result == one for item in review.items)]
    state = st.segmented_control(
        "Show", list(STATES), default="all", required=True, format_func=STATES.__getitem__, key="show",
        bind="query-params", label_visibility="collapsed",
    )  # fmt: skip
    results = (
        st.pills(
            "Verdict", present, selection_mode="multi", key="verdict", bind="query-params", label_visibility="collapsed"
        )
        if len(present) > 1
        else []
    )
    kept = (item for item in review.items if not results or item.row.result in results)
    return tuple(item for item in kept if state == "all" or (item.status == "open") == (state == "open"))


def progress(review: Review) -> None:
    """How far the queue is, and how long one item takes."""
    total = len(review.items)
    done = total - sum(item.status == "open" for item in review.items)
    pace = "" if review.median_seconds is None else f" · {review.median_seconds:.0f} s each"
    share = done / total if total else 1
    st.html(
        f'<div class="rv-progress"><p><b>{done} of {total}</b> decided<span>{pace}</span></p>'
        f'<div class="rv-bar"><i style="width:{share:.1%}"></i></div></div>'
    )


def queue(items: Sequence[Item], current: Item | None, go_to: Go) -> None:
    """One button a change; 25 at a time, the current one among them."""
    if not items:
        st.html('<p class="sr-muted">No change is left under these filters.</p>')
        return
    at = next((place for place, item in enumerate(items) if current and item.change_id == current.change_id), 0)
    first = at // PAGE * PAGE
    for item in items[first : first + PAGE]:
        _queue_row(item, go_to, here=bool(current and item.change_id == current.change_id))
    if len(items) > PAGE:
        _turn(items, first, go_to)


def _queue_row(item: Item, go_to: Go, *, here: bool) -> None:
    with st.container(key=f"rv_row_{'here_' if here else ''}{item.change_id}", gap=None):
        st.button(
            f"{MARKS[item.status]} {label(item.intent, 80)}",
            key=f"rv_pick_{item.change_id}",
            type="tertiary",
            wrap=True,
            on_click=go_to,
            args=(item.change_id,),
        )
        section = item.place.rsplit(" › ", 1)[-1]
        result = f'<b class="{TONES.get(item.row.result, "plain")}">{esc(item.row.result)}</b>'
        clash = ' · <b class="bad">conflict</b>' if item.conflicts else ""
        again = " · taken back" if item.seen and item.status == "open" else ""
        st.html(f'<p class="rv-meta">{result} · {count(item.tasks, "task")} · {esc(section, 28)}{clash}{again}</p>')


def _turn(items: Sequence[Item], first: int, go_to: Go) -> None:
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        before, after = items[max(0, first - PAGE)], items[min(len(items) - 1, first + PAGE)]
        st.button("Earlier", key="rv_earlier", disabled=first == 0, on_click=go_to, args=(before.change_id,))
        last = min(first + PAGE, len(items))
        st.html(f'<p class="rv-meta">{first + 1} to {last} of {len(items)}</p>')
        st.button("Later", key="rv_later", disabled=last == len(items), on_click=go_to, args=(after.change_id,))


def proposal(review: Review, item: Item, go_to: Go) -> None:
    """Intent, place, diff, why, what else to know, and the verdict."""
    path = "".join(f"<span>{esc(part)}</span>" for part in item.place.split(" › "))
    st.html(
        f'<div class="rv-intent"><p class="rv-path">{path}</p><h2>{esc(item.intent)}</h2><p>{chips(item)}</p></div>'
    )
    notes(review, item, go_to)
    if item.in_skill or not item.to_write:
        difference(review.refinement_id, item)
    if item.row.change.rationale:
        st.html(f'<h3>Why</h3><p class="rv-why">{esc(item.row.change.rationale)}</p>')
    for words in item.row.earlier:
        cards.line(words)


def notes(review: Review, item: Item, go_to: Go) -> None:
    """What has to be known before deciding: what blocks it, findings, conflicts, a similar rejection, the decision."""
    if item.blocked:
        cards.card("say" if item.to_write else "error", item.blocked)
    found = () if item.to_write else item.row.findings
    cards.sentences([f"{one.kind}: {one.words}" for one in found if one.words not in (item.blocked or "")])
    cards.sentences([item.similar] if item.similar else [], "say")
    if item.row.change.unplaced:
        cards.card("warn", f"It has no place in the skill: {item.row.change.unplaced}")
    if item.conflicts:
        cards.card("warn", "It edits the same text as the changes below: at most one of them can be accepted.")
        for key in item.conflicts:
            if other := review.item(key):
                words = f"{MARKS[other.status]} {label(other.intent, 90)}"
                st.button(words, key=f"rv_clash_{key}", type="tertiary", wrap=True, on_click=go_to, args=(key,))
    if item.decision and item.status != "open":
        cards.sentences([decided(item)], "say")


def decided(item: Item) -> str:
    """Who decided what, and why, in one sentence."""
    made = item.decision
    if made is None:
        return ""
    who = f"{item.status.capitalize()} by {made.reviewer or 'somebody'}"
    code = made.reason_code.replace("_", " ")
    why = ": ".join(one for one in (code, made.reason) if one)
    extra = ", against the gate" if made.override else ""
    return f"{who}{', with the text edited' if made.amended else ''}{extra}{f' ({why})' if why else ''}."


def difference(refinement_id: str, item: Item) -> None:
    """What the change does to the merged skill as it stands now, line by line and word by word."""
    without, with_it = session.workspace().preview(refinement_id, item.change_id)
    before, after = without.files, with_it.files
    changed = [path for path in sorted(before.keys() | after.keys()) if before.get(path) != after.get(path)]
    if not changed and not item.row.change.unplaced:
        st.html('<p class="sr-muted">It changes nothing in the skill as it is merged now.</p>')
    for path in changed:
        title = f'<p class="rv-file">{esc(path)}</p>' if len(changed) > 1 or path != without.main else ""
        st.html(f"{title}{diff_html(decoded(before.get(path, b'')), decoded(after.get(path, b'')), 'inline', 'gap')}")


def verdict(item: Item, numbers: Mapping[str, int]) -> None:
    """The gate's result with its five criteria; `numbers` are those of the runs under Evidence."""
    for one in item.row.verdicts:
        rows = "".join(_criterion(criterion, numbers) for criterion in one.criteria)
        votes = f", {one.votes} votes" if one.votes > 1 else ""
        st.html(
            f'<h3>Verdict: {esc(one.result)}</h3><p class="rv-why">{esc(one.words)}</p>'
            f'<table class="rv-criteria"><tbody>{rows}</tbody></table>'
            f'<p class="rv-meta">by the {esc(one.analyst)} analyst{votes}; numbers are the runs on the right</p>'
        )
    if not item.row.verdicts:
        why = "no run asks for it" if item.to_write or item.mends else "this refinement ran without one"
        st.html(f'<h3>Verdict</h3><p class="sr-muted">It met no gate: {why}.</p>')


def _criterion(criterion: Criterion, numbers: Mapping[str, int]) -> str:
    question, good = QUESTIONS[criterion.name]
    tone = "plain" if criterion.answer == "unknown" else "good" if criterion.answer == good else "bad"
    cited = sorted({numbers[one.trace_id] for one in criterion.citations if one.trace_id in numbers})
    refs = "".join(f"<sup>[{number}]</sup>" for number in cited)
    lost = sum(not one.verified for one in criterion.citations)
    unfound = f' <span class="rv-unverified">{count(lost, "quote")} not found in the runs</span>' if lost else ""
    source = f'<span class="rv-source">{esc(criterion.source)}</span>{unfound}'
    answer = f"<td>{chip(criterion.answer, tone)}</td><td>{esc(criterion.reason)}{refs} {source}</td>"
    return f"<tr><th>{question}</th>{answer}</tr>"
