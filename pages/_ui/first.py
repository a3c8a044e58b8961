"""The first screen, when there is nothing yet, and the sample that is one click away."""

from __future__ import annotations

import streamlit as st

from pages._ui import cards, session, uploads


def draw() -> None:
    """Two ways to begin: the sample, or files of one's own."""
    left, right = st.columns(2, gap="large")
    with left, st.container(key="first_sample", border=True):
        st.subheader("See it work", anchor=False)
        cards.line(
            "240 recorded runs of a scripted agent that edits spreadsheets, and the weak skill it started from. "
            "The sample is refined on this machine, without key or network, and is then ready to review."
        )
        sample_button("Try it with the sample", primary=True)
        cards.line("It stays apart from corpora of your own and goes away with one click.")
    with right, st.container(key="first_own", border=True):
        st.subheader("Use your own runs", anchor=False)
        name = st.text_input(
            "Name of the corpus", value="my runs", key="first_name", max_chars=60, persist_state="session"
        )
        uploads.traces(name or "", new=True)
        with st.expander("What a file must look like", key="first_schema"):
            uploads.schema()


def sample_button(label: str, *, primary: bool = False) -> None:
    """Loads the sample, starts its refinement and leads to its progress."""
    clicked = st.button(
        label, key="try_sample", type="primary" if primary else "secondary", icon=":material/play_arrow:"
    )
    if not clicked:
        return
    with st.spinner("Loading the sample"):
        started = cards.attempt(_start)
    if started:
        name, refinement = started.value
        session.go("refine", corpus=name, refinement=refinement, view="follow")
    st.rerun()


def _start() -> tuple[str, str]:
    workspace = session.workspace()
    name = workspace.load_sample()
    return name, workspace.start(name, {})
