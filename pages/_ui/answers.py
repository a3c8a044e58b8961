"""Suggested outcomes: by kind, all of a kind at once or one after the other with a key each. None counts by itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import streamlit as st

from pages._ui import cards, session, signs
from pages._ui.text import count, esc

if TYPE_CHECKING:
    from refiner.types import Status
    from refiner.views import SuggestionRow

REVERSE: dict[Status, Status] = {"pass": "fail", "fail": "pass"}
KIND = "sign_kind"


def draw(name: str) -> None:
    """The suggestions of a corpus that wait: a kind at a time, all of it at once or one after the other."""
    waiting = signs.by_kind(session.workspace().suggestions(name))
    if not waiting:
        cards.empty("No suggestion waits", "Every suggested outcome was answered. Go on to Refine, or label by hand.")
        return
    rows = waiting[_kind(waiting)]
    _all(name, rows)
    here = next((place for place, row in enumerate(rows) if row.trace_id == session.param("trace")), 0)
    left, right = st.columns([2, 5], gap="large")
    with left:
        _list(rows, here)
    with right:
        _keys(name, rows, here)
        _attempt(rows[here])


def _kind(waiting: Mapping[str, Sequence[SuggestionRow]]) -> str:
    """The kind that is shown: the chosen one while some of it wait, else the first."""
    cards.line("Used for nothing until you accept it: signs were read, nothing was understood.")
    linked = [kind for kind, rows in waiting.items() if session.param("trace") in {row.trace_id for row in rows}]
    chosen = st.session_state.get(KIND)
    kind = (linked or [chosen if chosen in waiting else next(iter(waiting))])[0]
    st.session_state[KIND] = kind
    st.segmented_control(
        "Sign",
        list(waiting),
        required=True,
        format_func=lambda one: f"{signs.short(one)} ({len(waiting[one])})" if one in waiting else signs.short(one),
        key=KIND,
        label_visibility="collapsed",
        on_change=_move,
        args=(None,),
    )
    return kind


def _all(name: str, rows: Sequence[SuggestionRow]) -> None:
    """What the kind means, and the two answers to all of it."""
    kind, ids, workspace = rows[0].kind, [row.trace_id for row in rows], session.workspace()
    with st.container(key="suggested_kind", horizontal=True, vertical_alignment="center", gap="small"):
        words = f"{signs.meaning(kind)}: {count(len(rows), 'run')}, probably {signs.guess(rows)}"
        st.html(f'<p class="sr-line"><b>{esc(words)}</b></p>', width="content")
        if len(rows) > 1:
            accept, dismiss = workspace.accept_suggestions, workspace.dismiss_suggestions
            _whole("accept", f"Accept all {len(rows)}", lambda: f"{count(accept(name, ids), 'run')} labelled.", kind)
            _whole("dismiss", "Dismiss all", lambda: f"{count(dismiss(name, ids), 'suggestion')} dismissed.", kind)


def _whole(answer: str, words: str, command: Callable[[], str], kind: str) -> None:
    st.button(words, key=f"{answer}_{kind}", on_click=_answer_all, args=(command,))


def _answer_all(command: Callable[[], str]) -> None:
    if done := cards.attempt(command):
        cards.notice("done", done.value)
        _move(None)


def _list(rows: Sequence[SuggestionRow], here: int) -> None:
    first = max(0, min(here - 3, len(rows) - 10))
    items = "".join(
        f'<li class="{"here" if place == here else ""}"><b>{esc(row.external_id, 40)}</b>'
        f'<span class="sr-{esc(row.status)}">{esc(signs.WORDS.get(row.status, row.status))}?</span>'
        f"<p>{esc(row.reason or row.goal, 90)}</p></li>"
        for place, row in list(enumerate(rows))[first : first + 10]
    )
    cards.line(f"{here + 1} of {len(rows)} that wait")
    st.html(f'<ol class="sr-queue">{items}</ol>')


def _attempt(row: SuggestionRow) -> None:
    said = "The user's words" if row.kind in signs.SAID else "The sign"
    parts = [("Asked", row.goal), ("Last answer", row.last_answer), (said, row.reason)]
    body = "".join(f'<dt>{esc(head)}</dt><dd class="sr-quote">{esc(text, 1200)}</dd>' for head, text in parts if text)
    status = esc(signs.WORDS.get(row.status, row.status))
    head = f"<b>{esc(row.external_id, 80)}</b> <span class='sr-{esc(row.status)}'>{status}?</span>"
    st.html(f'<div class="sr-card sr-run"><div class="sr-run-head">{head}</div><dl>{body}</dl></div>')


def _keys(name: str, rows: Sequence[SuggestionRow], here: int) -> None:
    row = rows[here]
    following = rows[here + 1].trace_id if here + 1 < len(rows) else None
    workspace, one = session.workspace(), [row.trace_id]
    with st.container(key="one_keys", horizontal=True, vertical_alignment="center", gap="small"):
        accept = f"Accept: {signs.WORDS.get(row.status, row.status)}"
        _key("accept", accept, "A", row, lambda: workspace.accept_suggestions(name, one), following)
        if other := REVERSE.get(row.status):
            _key(
                "other",
                f"It {signs.WORDS[other]}",
                "O",
                row,
                lambda: workspace.label(name, row.trace_id, other),
                following,
            )
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
