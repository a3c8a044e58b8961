"""The line on top of every page: the four steps, who made what is shown, and who reviews. No domain rule."""

from __future__ import annotations

from typing import Literal

import streamlit as st

from pages._ui import cards, session, style
from pages._ui.text import esc, label

Step = Literal["corpus", "refine", "review", "export"]
STEPS: tuple[tuple[Step, str, str], ...] = (
    ("corpus", "Corpus", "corpus"),
    ("refine", "Refine", "refine"),
    ("review", "Review", "review"),
    ("export", "Export", "skill"),
)
BADGES = {"offline": "Offline analyst", "model": "Language model", "scripted": "Scripted sample"}


def show(step: Step | None, title: str, *, analyst: str = "", note: str = "", ready: bool = True) -> None:
    """Draws the header of a page; the first thing a page does.

    `step` is the step this page belongs to (None on Trace and Help), `analyst` who made what is shown, `note` one
    sentence under the title, `ready` whether the next step can be taken. Neither text may come from a run or a skill
    unless it went through no markdown: both are shown as text.
    """
    session.through_the_entry()
    style.apply()
    with st.container(key="header", horizontal=True, vertical_alignment="center", gap="small"):
        _steps(step)
        with st.container(
            key="header_right", horizontal=True, horizontal_alignment="right", vertical_alignment="center"
        ):
            _next(step, ready)
            _reviewer()
    badge = f'<span class="sr-badge">{esc(BADGES.get(analyst, analyst))}</span>' if analyst else ""
    note_line = f'<p class="sr-note">{esc(note)}</p>' if note else ""
    st.html(f'<div class="sr-title"><h1>{esc(title)}</h1>{badge}</div>{note_line}')
    cards.notices()


def _steps(here: Step | None) -> None:
    with st.container(key="steps", horizontal=True, vertical_alignment="center", gap="small", width="content"):
        for number, (name, words, page) in enumerate(STEPS, start=1):
            with st.container(key=f"step_here_{name}" if name == here else f"step_{name}", width="content"):
                session.link(page, f"{number}  {words}")


def _next(here: Step | None, ready: bool) -> None:
    names = [name for name, _, _ in STEPS]
    if here is None or here == names[-1] or not ready:
        return
    _, words, page = STEPS[names.index(here) + 1]
    with st.container(key="step_next", width="content"):
        session.link(page, f"Next: {words}", icon=":material/arrow_forward:")


def _reviewer() -> None:
    name = session.workspace().reviewer()
    with st.popover(label(name, 28), key="reviewer", icon=":material/person:", type="tertiary"):
        st.text_input(
            "Your name, recorded with each decision", value=name, key="reviewer_name", max_chars=80, on_change=_rename
        )


def _rename() -> None:
    if name := str(st.session_state.get("reviewer_name", "")).strip():
        cards.attempt(session.workspace().set_reviewer, name)
