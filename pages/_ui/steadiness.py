"""Beside the verdicts of a refinement: how steady the gate is, what more votes would cost, and asking it again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from pages._ui import cards, keys, session
from pages._ui.text import count
from refiner.errors import NotReady

if TYPE_CHECKING:
    from refiner.job_views import JobView


def draw(job: JobView) -> None:
    """A few sentences once there are verdicts; the button only where somebody can be asked."""
    if job.status not in ("done", "cancelled"):
        return
    try:
        view = session.workspace().gate(job.refinement_id)
    except NotReady:
        return
    for words in (*view.words, view.votes):
        if words:
            cards.line(words)
    if view.calls:
        words = f"Ask the gate again ({count(view.calls, 'call')})"
        st.button(words, key="gate_again", type="tertiary", icon=":material/replay:", on_click=_again, args=(job,))


def _again(job: JobView) -> None:
    """Asks and waits; whatever stops it is said in words."""
    with st.spinner("The gate is asked the same questions again"):
        if cards.attempt(session.workspace().calibrate, job.refinement_id, keys.of(job.asks)):
            cards.notice("done", "Asked again. The figures are below, in the report and in the provenance.")
