"""Above the diff: what is on screen when it is not just the accepted changes as they are now, and what to do next."""

from __future__ import annotations

import streamlit as st

from pages._ui import cards, session, skill_state
from pages._ui.skill_state import Shown
from pages._ui.text import count


def state(found: Shown) -> None:
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
