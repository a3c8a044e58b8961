"""The held-out tasks beside the skill: why there are none, sealed with the one way to open them, or what they say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import streamlit as st

from pages._ui import cards, session
from pages._ui.skill_state import Shown
from pages._ui.text import count, esc
from refiner.reporting.heldout import is_suspicious, shares

if TYPE_CHECKING:
    from refiner.evidence_views import HeldOutView
    from refiner.types import HeldOut, HeldOutCount

ASKED: Final = "sk_seal_asked"


def draw(found: Shown) -> None:
    """One panel; one read, and the command that opens the seal after a second press."""
    view = session.workspace().held_out(found.here.name)
    st.html("<h3>Held out</h3>")
    if view.state == "opened" and view.found is not None:
        _opened(view, view.found, found)
        return
    if view.state == "none":
        _lines(view.words)
        return
    size = f"{count(view.tasks, 'task')} ({count(view.traces, 'trace')}) are held out and sealed."
    _lines((size, view.words[0]))
    if view.state == "elsewhere":
        _lines(view.words[1:])
    else:
        _seal(found.here.name, view)


def _lines(words: tuple[str, ...]) -> None:
    st.html("".join(f'<p class="sk-sealed">{esc(one)}</p>' for one in words))


def _seal(name: str, view: HeldOutView) -> None:
    """Opening takes two presses: the second one after what it means was read."""
    if st.session_state.get(ASKED) != name:
        st.button("Open them…", key="sk_seal_ask", icon=":material/lock:", on_click=_ask, args=(name,))
        return
    for words in view.words[1:]:
        cards.line(words)
    with st.container(key="sk_seal_asking", horizontal=True, gap="small"):
        st.button("Open for good", key="sk_seal_open", type="primary", on_click=_open, args=(name,))
        st.button("Leave sealed", key="sk_seal_leave", on_click=_ask, args=(None,))


def _ask(name: str | None) -> None:
    st.session_state[ASKED] = name


def _open(name: str) -> None:
    st.session_state.pop(ASKED, None)
    cards.attempt(session.workspace().open_held_out, name)


def _opened(view: HeldOutView, found: HeldOut, shown: Shown) -> None:
    _lines(view.words)
    if is_suspicious(found.accepted):
        cards.card("warn", "The accepted changes speak of passing held-out tasks only, and of no failing one.")
    rows = []
    for item in shown.here.review.items:
        counted = found.of(item.change_id)
        if counted is not None:
            rows.append((item.intent, counted))
    body = "".join(_row(words, counted) for words, counted in rows)
    together = _row("Accepted, together", found.accepted)
    head = "<tr><th>Change</th><th>failing</th><th>passing</th></tr>"
    st.html(
        f'<table class="sk-held"><thead>{head}</thead><tbody>{together}</tbody></table>'
        '<details class="sk-sealed"><summary>By change</summary>'
        f'<table class="sk-held plain"><thead>{head}</thead><tbody>{body}</tbody></table></details>'
        '<p class="sk-sealed">Held-out tasks in which the behaviour holds: of those that fail, and of those that pass. '
        "In brackets the exact 95 % interval.</p>"
    )


def _row(words: str, counted: HeldOutCount) -> str:
    coverage, exposure = shares(counted)
    if counted.covered is None:
        return f'<tr><td>{esc(words, 90)}</td><td colspan="2" class="sr-muted">not measured</td></tr>'
    odd = ' class="odd"' if is_suspicious(counted) else ""
    return f"<tr{odd}><td>{esc(words, 90)}</td><td>{esc(coverage)}</td><td>{esc(exposure)}</td></tr>"
