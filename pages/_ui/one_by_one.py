"""Suggested outcomes one after the other, a key each; used for nothing before a person accepts them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import streamlit as st

from pages._ui import cards, session
from pages._ui.text import count, esc

if TYPE_CHECKING:
    from refiner.types import Status
    from refiner.views import SuggestionRow

WORDS = {"pass": "passed", "fail": "failed", "infrastructure": "infrastructure"}
REVERSE: dict[Status, Status] = {"pass": "fail", "fail": "pass"}
REASONS = {
    "correction": "The user corrected it.",
    "interruption": "The user interrupted it.",
    "approval": "The user approved of it.",
    "redo": "It was done again after a correction, and the user did not complain.",
}


def draw(name: str) -> None:
    """The suggestions of a corpus that wait, and the one that is next."""
    rows = session.workspace().suggestions(name)
    if not rows:
        cards.empty("No suggestion waits", "Every suggested outcome was answered. Go on to Refine, or label by hand.")
        return
    cards.line(
        f"{count(len(rows), 'suggested outcome')}, used for nothing until accepted: signs were read, nothing was "
        "understood. All of a kind at once: “Add outcomes”."
    )
    here = next((place for place, row in enumerate(rows) if row.trace_id == session.param("trace")), 0)
    left, right = st.columns([2, 5], gap="large")
    with left:
        _list(rows, here)
    with right:
        _keys(name, rows, here)
        _attempt(rows[here])


def _list(rows: Sequence[SuggestionRow], here: int) -> None:
    first = max(0, min(here - 3, len(rows) - 10))
    items = "".join(
        f'<li class="{"here" if place == here else ""}"><b>{esc(row.external_id, 40)}</b>'
        f'<span class="sr-{esc(row.status)}">{esc(WORDS.get(row.status, row.status))}?</span>'
        f"<p>{esc(row.reason or row.goal, 90)}</p></li>"
        for place, row in list(enumerate(rows))[first : first + 10]
    )
    cards.line(f"{here + 1} of {len(rows)} that wait")
    st.html(f'<ol class="sr-queue">{items}</ol>')


def _attempt(row: SuggestionRow) -> None:
    said = "The user's words" if row.kind in REASONS else "The sign"
    parts = [("Asked", row.goal), ("Last answer", row.last_answer), (said, row.reason)]
    body = "".join(f'<dt>{esc(head)}</dt><dd class="sr-quote">{esc(text, 1200)}</dd>' for head, text in parts if text)
    status = esc(WORDS.get(row.status, row.status))
    head = f"<b>{esc(row.external_id, 80)}</b> <span class='sr-{esc(row.status)}'>{status}?</span>"
    why = f'<p class="sr-line sr-muted">{esc(REASONS.get(row.kind, ""))}</p>'
    st.html(f'<div class="sr-card sr-run"><div class="sr-run-head">{head}</div>{why}<dl>{body}</dl></div>')


def _keys(name: str, rows: Sequence[SuggestionRow], here: int) -> None:
    row = rows[here]
    following = rows[here + 1].trace_id if here + 1 < len(rows) else None
    workspace, one = session.workspace(), [row.trace_id]
    with st.container(key="one_keys", horizontal=True, vertical_alignment="center", gap="small"):
        accept = f"Accept: {WORDS.get(row.status, row.status)}"
        _key("accept", accept, "A", row, lambda: workspace.accept_suggestions(name, one), following)
        if other := REVERSE.get(row.status):
            _key("other", f"It {WORDS[other]}", "O", row, lambda: workspace.label(name, row.trace_id, other), following)
        _key("dismiss", "Dismiss", "D", row, lambda: workspace.dismiss_suggestions(name, one), following)
        st.button("Next", key="one_next", shortcut="J", on_click=_move, args=(following,))
        before = rows[max(here - 1, 0)].trace_id
        st.button("Previous", key="one_previous", shortcut="K", on_click=_move, args=(before,))
        session.link("trace", "Open the run", icon=":material/open_in_new:", id=row.trace_id)


def _key(
    name: str, words: str, key: str, row: SuggestionRow, command: Callable[[], object], following: str | None
) -> None:
    """A button of its own for every trace: a press on what the browser still shows never answers the next one."""
    st.button(
        words,
        key=f"one_{name}_{row.trace_id}",
        shortcut=key,
        type="primary" if name == "accept" else "secondary",
        on_click=_answer,
        args=(command, following),
    )


def _answer(command: Callable[[], object], following: str | None) -> None:
    if cards.attempt(command):
        _move(following)


def _move(trace_id: str | None) -> None:
    session.put(trace=trace_id)
