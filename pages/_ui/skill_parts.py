"""The skill as a diff, change by change: every hunk with its verdict, who decided, its evidence and its two buttons."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import streamlit as st

from pages._ui import diff, evidence, session, skill_state
from pages._ui.decision_bar import REASONS
from pages._ui.markdown import markdown_html
from pages._ui.review_panes import chips, decided
from pages._ui.skill_state import Shown
from pages._ui.text import count, esc, label, when
from refiner.reporting.html import decoded, ranges

if TYPE_CHECKING:
    from refiner.types import Decision
    from refiner.views import Item

RUNS: Final = 4
ROWS: Final = 20
ACTIONS: Final = {
    "accept": ("✓", "accepted"),
    "amend": ("✎", "edited and accepted"),
    "reject": ("✕", "rejected"),
    "skip": ("→", "skipped"),
    "undo": ("↶", "took back the decision on"),
    "carried": ("↺", "carried over the decision on"),
}


def difference(found: Shown, mode: diff.Mode) -> None:
    """Every file that differs, cut up by change."""
    st.html(diff.style())
    base = found.here.report.base.files
    paths = [path for path in sorted(found.merged.files) if found.merged.files[path] != base.get(path)]
    for path in paths or [found.merged.main]:
        rows = diff.diff_rows(decoded(base.get(path, b"")), decoded(found.merged.files[path]))
        hunks = diff.hunks(rows, ranges(found.merged.lines, path), ranges(found.merged.removed, path))
        if len(found.merged.files) > 1:
            st.html(f'<p class="rv-file">{esc(path)}</p>')
        for at, (hunk, part) in enumerate(diff.blocks(rows, hunks)):
            if hunk is None:
                st.html(diff.rows_html(part, mode, "details" if hunks else "open"))
            else:
                _hunk(found, hunk, part, mode, f"{paths.index(path)}_{at}")


def _hunk(found: Shown, hunk: diff.Hunk, part: Sequence[diff.Row], mode: diff.Mode, place: str) -> None:
    items = [found.items[one] for one in hunk.change_ids if one in found.items]
    with st.container(key=f"sk_hunk_{place}", border=True, gap="small"):
        for item in items:
            _head(found, item, place)
        if not items:
            st.html('<p class="rv-meta">No change of this refinement explains these lines.</p>')
        st.html(diff.rows_html(part, mode))


def _head(found: Shown, item: Item, place: str) -> None:
    key = f"{item.change_id}_{place}"
    with st.container(key=f"sk_head_{key}", horizontal=True, vertical_alignment="top", gap="small"):
        st.html(_words(item, then=found.upto is not None))
        if found.open:
            buttons(found.here.name, item, key)
    if found.open and st.session_state.get(skill_state.ASKING) == item.change_id:
        _reasons(found.here.name, item, key)
    if session.param("change") == item.change_id:
        _evidence(found, item)


def _words(item: Item, *, then: bool) -> str:
    """What a change is and how it stands; `then` = the version on screen is an earlier one."""
    said = decided(item).rstrip(".") if item.status != "open" else "Decided by nobody yet"
    at = when(item.decision.decided_at) if item.decision and item.status != "open" else ""
    parts = [f"Now: {said}" if then else said, at, *dict.fromkeys(one.words for one in item.row.verdicts)]
    facts = " · ".join(esc(one, 240) for one in parts if one)
    return (
        f'<div class="sk-words"><p><b>{esc(item.intent, 200)}</b> {chips(item)}</p><p class="rv-meta">{facts}</p></div>'
    )


def buttons(name: str, item: Item, key: str) -> None:
    """Accept or reject this one change, or see why; a rejection asks for its reason first."""
    if not item.in_skill and item.row.result != "unsupported" and not item.blocked:
        st.button("Accept", key=f"sk_accept_{key}", on_click=skill_state.decide, args=(name, item, "accept"))
    if item.in_skill or (item.status != "rejected" and not item.to_write):
        st.button("Reject", key=f"sk_reject_{key}", on_click=skill_state.ask, args=(item.change_id,))
    here = session.param("change") == item.change_id
    target = None if here else item.change_id
    words = "Hide" if here else "Why"
    st.button(words, key=f"sk_why_{key}", type="tertiary", on_click=_open, args=(target,))


def _open(change_id: str | None) -> None:
    session.put(change=change_id)


def _reasons(name: str, item: Item, key: str) -> None:
    with st.container(key=f"sk_reasons_{key}", horizontal=True, gap="small", vertical_alignment="center"):
        st.html('<p class="rv-meta">Why is it rejected?</p>', width="content")
        for code, words in REASONS.items():
            args = (name, item, "reject", code)
            st.button(words, key=f"sk_because_{code}_{key}", on_click=skill_state.decide, args=args)
        st.button("Back", key=f"sk_back_{key}", type="tertiary", on_click=skill_state.ask, args=(None,))


def _evidence(found: Shown, item: Item) -> None:
    """Where the change comes from: proposals, criteria, and the runs that are cited."""
    themes = [esc(one.theme or one.suggested_edit, 120) for one in item.row.proposals]
    criteria = "".join(
        f"<tr><th>{esc(one.name)}</th><td>{esc(one.answer)}</td><td>{esc(one.reason)} "
        f'<span class="rv-source">{esc(one.source)}</span></td></tr>'
        for verdict in item.row.verdicts
        for one in verdict.criteria
    )
    st.html(
        f'<div class="sk-evidence"><p>{esc(item.row.change.rationale)}</p><p class="rv-meta">Proposed from '
        f"{count(len(themes), 'group')} of runs: {'; '.join(themes)}</p>"
        f'<table class="rv-criteria"><tbody>{criteria}</tbody></table></div>'
    )
    names = found.here.report.names
    cited = {one.trace_id: one for one in reversed(evidence.citations(item)) if one.trace_id in names}
    with st.container(key=f"sk_runs_{item.change_id}", horizontal=True, gap="small", vertical_alignment="center"):
        for citation in list(reversed(cited.values()))[:RUNS]:
            at = str(max(0, citation.ordinal))
            session.link(
                "trace", label(names[citation.trace_id], 40), id=citation.trace_id, at=at, change=item.change_id
            )
        session.link("review", "Decide on Review", icon=":material/arrow_forward:", change=item.change_id)


def rendered(found: Shown) -> None:
    """The skill as it reads, new blocks marked; then its changes with their buttons."""
    path = found.merged.main
    new = [(first, last) for first, last, _ in ranges(found.merged.lines, path)]
    st.html(markdown_html(decoded(found.merged.files[path]), new))
    for other in sorted(found.merged.files):
        if other != path and other.lower().endswith(".md"):
            st.html(f'<p class="rv-file">{esc(other)}</p>{markdown_html(decoded(found.merged.files[other]))}')
    inside = [item for item in found.here.review.items if item.change_id in found.inside]
    listed(found, inside, "In this version", "in")


def outside(found: Shown) -> None:
    """What is not in this version: still open, or rejected."""
    left = [item for item in found.here.review.items if item.change_id not in found.inside]
    listed(found, left, "Not in this version", "out")


def listed(found: Shown, items: Sequence[Item], title: str, kind: str) -> None:
    """One line a change with its buttons, twenty at a time."""
    if not items:
        return
    st.subheader(f"{title}: {count(len(items), 'change')}", anchor=False)
    pages = -(-len(items) // ROWS)
    page = st.pagination(pages, key=f"sk_page_{kind}") if pages > 1 else 1
    for item in items[(page - 1) * ROWS : page * ROWS]:
        with st.container(key=f"sk_row_{kind}_{item.change_id}", border=False, gap="small"):
            _head(found, item, kind)


def history(found: Shown) -> None:
    """The decision log as a strip: any place in it shows the skill as it was then."""
    last = len(found.log)
    if not last:
        return
    at = last if found.upto is None else found.upto
    key = f"sk_upto_{last}"
    with st.container(key="sk_history"):
        strip, words = st.columns([1, 3], vertical_alignment="center", gap="medium")
        with strip:
            st.slider("Decision log", 0, last, at, key=key, on_change=_travel, args=(key, last))
        with words:
            st.html(f'<p class="rv-meta">{_moment(found, at)}</p>')
            if found.upto is not None:
                st.button("Back to now", key="sk_now", type="tertiary", on_click=session.put, kwargs={"upto": None})


def _travel(key: str, last: int) -> None:
    at = int(st.session_state[key])
    session.put(upto=None if at == last else str(at), preview=None if at == last else "none")


def _moment(found: Shown, at: int) -> str:
    if not at:
        return f"Before the first of {count(len(found.log), 'decision')}: the base."
    return f"After decision {at} of {len(found.log)}: {_said(found, found.log[at - 1])}"


def _said(found: Shown, made: Decision) -> str:
    mark, words = ACTIONS[made.action]
    item = found.here.review.item(made.change_id)
    what = f"“{esc(item.intent, 90)}”" if item else "a change"
    return f"{mark} {esc(made.reviewer or 'somebody')} {words} {what}, {esc(when(made.decided_at))}"
