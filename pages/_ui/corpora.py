"""Which corpus a page is about: choosing, making and removing one, and a link to one that is gone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import streamlit as st

from pages._ui import cards, session
from pages._ui.text import clean, count

if TYPE_CHECKING:
    from refiner.views import CorpusCard

CHOICE = "corpus_choice"


def current(known: Sequence[CorpusCard]) -> CorpusCard | None:
    """The corpus of this page; None only when there is no corpus at all. A name that is gone leads to the first one."""
    wanted = session.current_corpus()
    card = next((one for one in known if one.name == wanted), None)
    if card is None and known:
        card = known[0]
        cards.notice("warn", f"There is no corpus “{wanted}” any more. This is “{card.name}” instead.")
        session.put(refinement=None, change=None)
    if card:
        session.put(corpus=card.name)
    return card


def bar(known: Sequence[CorpusCard], card: CorpusCard, *, manage: bool = False) -> None:
    """The choice of the corpus, and with `manage` also what makes and removes one."""
    names = [one.name for one in known]
    st.session_state[CHOICE] = card.name
    level = "bottom" if len(names) > 1 else "center"
    with st.container(key="corpus_bar", horizontal=True, vertical_alignment=level, gap="small"):
        if len(names) > 1:
            st.selectbox("Corpus", names, key=CHOICE, format_func=clean, on_change=_chosen, width=320)
        else:
            cards.line(f"Corpus “{card.name}”{', scripted runs' if card.scripted else ''}", strong=True)
        if manage:
            _creator(len(names))
            _remover(card)


def create(name: str) -> str | None:
    """Makes a corpus and shows it. Returns its name, or None with a notice when that cannot be."""
    name = " ".join(name.split())
    if not name:
        cards.notice("error", "A corpus needs a name: type one, then press “Make it”.")
        return None
    return name if cards.attempt(session.workspace().create_corpus, name) else None


def _chosen() -> None:
    session.put(corpus=st.session_state[CHOICE], refinement=None, change=None)


def _creator(known: int) -> None:
    # A new key closes it once a corpus is made; it would lie over the place where files are dropped.
    with (
        st.container(key="new_corpus", width="content"),
        st.popover("New corpus", key=f"new_corpus_{known}", icon=":material/add:"),
        st.form("new_corpus_form", border=False),
    ):
        st.text_input("Name", key="new_corpus_name", max_chars=60, placeholder="support agent, March")
        st.form_submit_button("Make it", key="new_corpus_make", type="primary", on_click=_create)


def _create() -> None:
    if name := create(st.session_state.get("new_corpus_name") or ""):
        session.put(corpus=name, refinement=None, change=None, view="traces")
        st.session_state["new_corpus_name"] = ""
        cards.notice("done", f"The corpus “{name}” is there. Add traces to it below.")


def _remover(card: CorpusCard) -> None:
    if card.scripted:
        st.button(
            "Remove the sample", key="remove_sample", icon=":material/delete:", on_click=_remove, args=(card.name,)
        )
        return
    with st.popover("Remove", key="remove_corpus", icon=":material/delete:"):
        lost = (
            f"{count(card.traces, 'trace')} and {count(card.refinements, 'refinement')} with every decision go with it."
        )
        st.text(f"{lost} This cannot be undone.")
        st.button("Remove this corpus", key="remove_corpus_yes", type="primary", on_click=_remove, args=(card.name,))


def _remove(name: str) -> None:
    if cards.attempt(session.workspace().remove_corpus, name):
        session.put(corpus=None, refinement=None, change=None, view=None)
        cards.notice("done", f"The corpus “{name}” is removed.")
