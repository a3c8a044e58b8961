"""Skill: from the base to what was accepted, change by change; what it weighs, and everything that can be exported."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import streamlit as st

from pages._ui import cards, describing, review_panes, session, skill_heldout, skill_parts, skill_side, skill_state
from pages._ui.opened import opened
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
    _newer(here.name)
    left, right = st.columns([3.1, 1], gap="large")
    with left:
        _state(found)
        describing.draw(found)
        view = _bar(found)
        if view == "rendered":
            skill_parts.rendered(found)
        else:
            skill_parts.difference(found, "side" if view == "side" else "inline")
        skill_parts.outside(found)
    with right, st.container(key="sk_side", gap="small"):
        skill_side.checks(found)
        skill_side.export(found)
        skill_heldout.draw(found)
        skill_side.other_result()
    skill_state.drawn(found)


def _newer(name: str) -> None:
    traces, labels = session.workspace().newer(name)
    words = " and ".join([count(traces, "newer trace")] * bool(traces) + [count(labels, "newer label")] * bool(labels))
    if words:
        cards.card("say", f"{words} {'is' if traces + labels == 1 else 'are'} not in this refinement.")


def _state(found: Shown) -> None:
    """What is on screen, in one card, when it is anything but the accepted changes as they are now."""
    supported = (item for item in found.here.review.items if item.row.result == "supported" and not item.blocked)
    waiting = sum(item.status == "open" for item in supported)
    if found.upto is not None:
        cards.card("say", "This is the skill as it was then. Nothing can be decided here; go back to now for that.")
    elif found.preview != "none":
        _previewed(found, waiting)
    elif not any(item.in_skill for item in found.here.review.items):
        _empty(found, waiting)


def _previewed(found: Shown, waiting: int) -> None:
    if found.preview == "automatic":
        words = "The automatic merge of the command line, decided by nobody: it holds what the evidence supports."
    else:
        waits = f"{count(waiting, 'change')} {'waits' if waiting == 1 else 'wait'}"
        words = f"All supported changes, as they would read. Of these, {waits} for a decision."
    cards.card("say", words, "A preview, not a decision")
    with st.container(key="sk_preview", horizontal=True, gap="small"):
        if waiting:
            accept = f"Accept {count(waiting, 'supported change')}"
            name = found.here.name
            st.button(accept, key="sk_accept_all", type="primary", on_click=skill_state.accept_supported, args=(name,))
        st.button("Show what is accepted", key="sk_leave", on_click=skill_state.look, args=("none",))


def _empty(found: Shown, waiting: int) -> None:
    decided = "No change is accepted" if found.log else "Nobody has decided yet"
    next_ = f"{count(waiting, 'supported change')} can be looked at together." if waiting else "Decide on Review."
    cards.card("say", f"The skill holds accepted changes only. {next_}", f"{decided}: this is the base")
    with st.container(key="sk_first", horizontal=True, gap="small", vertical_alignment="center"):
        if waiting:
            st.button("Preview all supported", key="sk_preview_all", on_click=skill_state.look, args=("supported",))
            words = "Accept all supported"
            st.button(words, key="sk_look_all", type="primary", on_click=skill_state.look, args=("supported",))
        session.link("review", "Review one by one", icon=":material/arrow_forward:")


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
