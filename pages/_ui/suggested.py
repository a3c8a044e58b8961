"""Suggested outcomes: what signs in the runs say of their end, by kind, each with its reason. None counts by itself."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

import streamlit as st

from pages._ui import cards, session
from pages._ui.text import count, esc

if TYPE_CHECKING:
    from collections.abc import Sequence

    from refiner.views import CorpusView, SuggestionRow

SHOWN = 8
KINDS = {
    "infrastructure": ("A service broke at the end", "infrastructure"),
    "correction": ("The user corrected what was done", "failed"),
    "interruption": ("The user interrupted", "failed"),
    "approval": ("The user was content", "passed"),
    "redo": ("Done again after a correction, without complaint", "passed"),
    "tests_failed": ("Tests failed at the end", "failed"),
    "tests_passed": ("Tests passed at the end", "passed"),
    "last_error": ("The last call failed and nothing followed", "failed"),
}


def draw(view: CorpusView) -> None:
    """The suggestions of a corpus with traces that nobody labelled; nothing where all have an outcome."""
    rows = session.workspace().suggestions(view.name)
    if not (rows or view.statuses.get("unknown")):
        return
    st.subheader("Or what signs in the runs suggest", anchor=False)
    cards.line("Corrections, thanks and interruptions of the user, tests at the end, a last error. Signs can be wrong.")
    st.button("Look for signs", key="suggest", on_click=_look, args=(view.name,))
    order = {kind: place for place, kind in enumerate(KINDS)}
    ranked = sorted(rows, key=lambda row: (order.get(row.kind, len(order)), row.kind))
    for kind, found in groupby(ranked, key=lambda row: row.kind):
        _kind(view.name, kind, list(found))


def _kind(name: str, kind: str, rows: Sequence[SuggestionRow]) -> None:
    head, status = KINDS.get(kind, ("Another sign", rows[0].status))
    ids = [row.trace_id for row in rows]
    with st.container(key=f"suggested_{kind}", border=True):
        with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
            cards.line(f"{head}: {count(len(rows), 'run')}, probably {status}", strong=True)
            with st.container(horizontal=True, width="content"):
                st.button(f"Accept all {len(rows)}", key=f"accept_{kind}", on_click=_accept, args=(name, ids))
                st.button("Dismiss all", key=f"dismiss_{kind}", type="tertiary", on_click=_dismiss, args=(name, ids))
        for row in rows[:SHOWN]:
            _row(name, row)
        if len(rows) > SHOWN:
            cards.line(f"{count(len(rows) - SHOWN, 'more run')}; they come up as these are decided.")


def _row(name: str, row: SuggestionRow) -> None:
    words, keys = st.columns([7, 3], vertical_alignment="center")
    with words:
        goal = f'<span class="sr-muted">{esc(row.goal, 120)}</span>'
        st.html(f'<p class="sr-line"><b>{esc(row.external_id, 60)}</b> “{esc(row.reason, 200)}”<br>{goal}</p>')
    with keys, st.container(horizontal=True, horizontal_alignment="right", vertical_alignment="center"):
        st.button("Accept", key=f"accept_{row.trace_id}", on_click=_accept, args=(name, [row.trace_id]))
        st.button(
            "Dismiss", key=f"dismiss_{row.trace_id}", type="tertiary", on_click=_dismiss, args=(name, [row.trace_id])
        )
        session.link("trace", "Open", id=row.trace_id)


def _look(name: str) -> None:
    done = cards.attempt(session.workspace().suggest_labels, name)
    if done and not done.value:
        cards.notice("say", "No run without an outcome shows a sign of how it ended.")


def _accept(name: str, trace_ids: Sequence[str]) -> None:
    if done := cards.attempt(session.workspace().accept_suggestions, name, trace_ids):
        cards.notice("done", f"{count(done.value, 'run')} labelled.")


def _dismiss(name: str, trace_ids: Sequence[str]) -> None:
    if done := cards.attempt(session.workspace().dismiss_suggestions, name, trace_ids):
        cards.notice("done", f"{count(done.value, 'suggestion')} dismissed.")
