"""Beside the verdicts of a refinement: how steady the gate is, what more votes would cost, and asking it again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import streamlit as st

from pages._ui import cards, handoff, keys, session
from pages._ui.text import count
from refiner.errors import NotReady

if TYPE_CHECKING:
    from refiner.evidence_views import GateJob, GateView
    from refiner.job_views import JobView

WAS: Final = "gate_was"
"""In the session: the refinement whose gate this tab last saw being asked."""
PLANTED: Final = "gate_planted"


def draw(job: JobView) -> None:
    """A few sentences once there are verdicts; redrawn every second while the gate is asked again."""
    view = _view(job)
    if view is not None:
        ticking = _at_work(view)
        st.fragment(_watch, run_every=1.0 if ticking else None)(job, ticking)


def _view(job: JobView) -> GateView | None:
    if job.status not in ("done", "cancelled"):
        return None
    try:
        return session.workspace().gate(job.refinement_id)
    except NotReady:
        return None


def _at_work(view: GateView) -> bool:
    return view.job is not None and view.job.at_work


def _watch(job: JobView, ticking: bool) -> None:
    """One reading; the page as a whole is drawn again when the asking starts or ends."""
    view = _view(job)
    if view is None:
        return
    at_work = _at_work(view)
    if at_work:
        st.session_state[WAS] = job.refinement_id
    elif st.session_state.pop(WAS, None) == job.refinement_id and view.job is None:
        cards.notice("done", "Asked again. The figures are below, in the report and in the provenance.")
        st.rerun()
    if at_work != ticking:
        st.rerun()
    for words in (*view.words, view.votes):
        cards.line(words)
    if view.job is not None:
        _stands(job, view.job)
    if not at_work:
        _offer(job, view)


def _stands(job: JobView, at: GateJob) -> None:
    """How the measurement goes, or why it did not come to its end."""
    if at.at_work:
        share = round(100 * at.done / at.total) if at.total else 0
        st.html(
            '<div class="sr-stages"><div class="sr-stage running"><span class="mark">●</span><span>Asking again</span>'
            f'<span class="bar"><i style="width:{share}%"></i></span>'
            f'<span class="n">{at.done:,} of {at.total:,}</span><span class="n"></span></div></div>'
        )
        if at.status == "cancelling":
            cards.line("Cancelling: the questions under way end first.")
        else:
            cancel = session.workspace().cancel_calibration
            st.button(
                "Stop asking", key="gate_cancel", icon=":material/stop:", on_click=cancel, args=(job.refinement_id,)
            )
    elif at.asks is not None:
        handoff.panel(at.asks, "Ask the gate again", handoff.of(job, lambda: _start(job)))
    else:
        cards.card("error" if at.status == "failed" else "say", at.words, "The gate was not asked to the end")


def _offer(job: JobView, view: GateView) -> None:
    """The button, and the choice to measure on planted faults as well; nothing where nobody can measure."""
    if not view.claims:
        return
    with st.container(key="gate_offer", horizontal=True, vertical_alignment="center", gap="small"):
        if not view.calls:
            st.button(
                "Try the gate on known faults", key="gate_again", type="tertiary", icon=":material/replay:",
                on_click=_start, args=(job, True), help=_about(view),
            )  # fmt: skip
            return
        planted = st.checkbox("also on known faults", key=PLANTED, help=_about(view), persist_state="session")
        more = f", at most {view.claims} more on known faults" if planted else ""
        words = f"Ask the gate again ({count(view.calls, 'call')}{more})"
        st.button(
            words, key="gate_again", type="tertiary", icon=":material/replay:", on_click=_start, args=(job, planted)
        )


def _about(view: GateView) -> str:
    return (
        f"The scripted sample has planted faults. The gate is asked about {view.claims} claims, half of them true: "
        "precision is the share of true ones among those it supports, recall the share of true ones that it supports."
    )


def _start(job: JobView, planted: bool | None = None) -> None:
    asked = bool(st.session_state.get(PLANTED)) if planted is None else planted
    if cards.attempt(session.workspace().calibrate, job.refinement_id, keys.of(job.asks), planted=asked):
        st.session_state[WAS] = job.refinement_id
