"""Looking for signs of how runs ended. What is found is answered in a part of the page of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from pages._ui import cards, session
from pages._ui.text import count

if TYPE_CHECKING:
    from refiner.views import CorpusView


def draw(view: CorpusView) -> None:
    """The button that looks, and the way to what waits; nothing where all runs have an outcome."""
    waiting = len(session.workspace().suggestions(view.name))
    if not (waiting or view.statuses.get("unknown")):
        return
    st.subheader("Or what signs in the runs suggest", anchor=False)
    cards.line("Corrections, thanks and interruptions of the user, tests at the end, a last error. Signs can be wrong.")
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.button("Look for signs", key="suggest", on_click=_look, args=(view.name,))
        if waiting:
            words = f"Answer the {count(waiting, 'suggestion')}"
            st.button(words, key="suggest_answer", type="tertiary", on_click=_answer, icon=":material/arrow_forward:")


def _look(name: str) -> None:
    done = cards.attempt(session.workspace().suggest_labels, name)
    if done and session.workspace().suggestions(name):
        _answer()
    elif done:
        cards.notice("say", "No run without an outcome shows a sign of how it ended.")


def _answer() -> None:
    session.put(view="suggested", trace=None)
