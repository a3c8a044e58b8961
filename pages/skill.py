"""Skill: from the base to what was accepted, change by change; what it weighs, and everything that can be exported."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import streamlit as st

from pages._ui import (
    cards,
    describing,
    review_panes,
    session,
    skill_heldout,
    skill_parts,
    skill_people,
    skill_side,
    skill_state,
    skill_top,
)
from pages._ui.opened import opened, say_newer
from pages._ui.skill_state import Shown
from pages._ui.text import count
from refiner.errors import RefinerError

SHEET: Final = Path(__file__).parent / "_ui" / "skill.css"
VIEWS: Final = {"inline": "Inline", "side": "Side by side", "rendered": "Rendered"}


def page() -> None:
    review_panes.apply_style()
    st.html(SHEET)
    here = opened("Skill", "export")
    if here is None:
        skill_side.other_result()
        return
    found = skill_state.shown(here)
    say_newer(here.name)
    left, right = st.columns([3.1, 1], gap="large")
    with left:
        skill_top.state(found)
        describing.draw(found)
        describing.mend(found)
        view = _bar(found)
        if view == "rendered":
            skill_parts.rendered(found)
        else:
            skill_parts.difference(found, "side" if view == "side" else "inline")
        skill_parts.outside(found)
    with right, st.container(key="sk_side", gap="small"):
        skill_side.checks(found)
        skill_side.export(found)
        skill_people.draw(found)
        skill_heldout.draw(found)
        skill_side.other_result()
    skill_state.drawn(found)


def _bar(found: Shown) -> str:
    """How the skill is drawn, the history strip, and undo."""
    with st.container(key="sk_bar", horizontal=True, vertical_alignment="center", gap="medium"):
        view = st.segmented_control(
            "View", list(VIEWS), default="inline", required=True, format_func=VIEWS.__getitem__, key="view",
            bind="query-params", label_visibility="collapsed",
        )  # fmt: skip
        if found.log:
            st.button("Undo", key="sk_undo", icon=":material/undo:", on_click=skill_state.undo, args=(found.here.name,))
        _watch(found.here.name, found.here.review.last_event)
    skill_parts.history(found)
    return str(view or "inline")


@st.fragment(run_every=3)
def _watch(name: str, drawn: int) -> None:
    """Says that somebody else decided; the page follows when asked, or at the reviewer's next step."""
    new = session.workspace().last_event(name) - drawn
    if new > 0:
        words = f"{count(new, 'new decision')} elsewhere: show"
        if st.button(words, key="sk_news", type="tertiary", icon=":material/sync:"):
            st.rerun()


try:
    page()
except RefinerError as error:
    cards.card("error", str(error))
