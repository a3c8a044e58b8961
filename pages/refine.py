"""Refine: what a refinement would take, its start, its progress, and the earlier ones of this corpus."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from pages._ui import cards, corpora, handoff, header, history, model, progress, session, spend, starting, steadiness

if TYPE_CHECKING:
    from collections.abc import Sequence

    from refiner.job_views import JobView, RefinementCard

NOTE = "Compares failing with passing runs of the same tasks and proposes changes to the skill, each with its evidence."

GONE = "The refinement of this link is not here any more; the newest one of this corpus is shown."


def draw() -> None:
    """The refinement of the address with its progress, the start of a new one, and the list of all."""
    workspace = session.workspace()
    known = workspace.corpora()
    card = corpora.current(known)
    if card is None:
        header.show("refine", "Refine", note=NOTE, ready=False)
        cards.empty("Nothing to refine yet", "A refinement needs recorded runs: load the sample or upload your own.")
        session.link("corpus", "Go to Corpus", icon=":material/arrow_back:")
        return
    made = workspace.refinements(card.name)
    ready = any(one.status in ("done", "cancelled") for one in made)
    running = workspace.running()
    shown = wanted(made, running)
    header.show("refine", "Refine", analyst=shown.analyst if shown else model.named(), note=NOTE, ready=ready)
    corpora.bar(known, card)
    if shown:
        if session.param("refinement") not in (None, "", shown.id):
            cards.card("warn", GONE)
        show(workspace.job(shown.id))
    if running is None and not card.opened:
        starting.draw(card, again=bool(made))
    elif running and all(one.id != running for one in made):
        cards.card("say", "Another corpus is being refined. One refinement runs at a time; start this one after it.")
        session.link("refine", "See the running one", corpus=None, refinement=running)
    history.draw(made)


def wanted(made: Sequence[RefinementCard], running: str | None) -> RefinementCard | None:
    """The refinement to show: the address's, else the one that runs, else the newest."""
    named = {one.id: one for one in made}
    found = (named.get(one) for one in (session.param("refinement"), running) if one)
    return next((one for one in found if one), made[0] if made else None)


def show(job: JobView) -> None:
    """Progress, redrawn every second while it runs."""
    with st.container(key="job", border=True):
        st.fragment(watch, run_every=1.0 if job.status == "running" else None)(job.refinement_id)
        handoff.draw(job)
        steadiness.draw(job)
        progress.actions(job)
    progress.failures(job)


def watch(refinement: str) -> None:
    """One reading of the job; the page as a whole is drawn again when it ends."""
    job = session.workspace().job(refinement)
    if job.status == "done":
        cards.line(progress.headline(job), strong=True)
        with st.expander("Stages", key="job_stages"):
            progress.stages(job, heading=False)
    else:
        progress.stages(job)
        progress.arrived(job)
    spend.draw(job, progress.STAGES)
    if job.error and not (job.asks and job.asks.stopped):
        cards.card("error", job.error, "The refinement stopped")
    elif job.asks and job.asks.stopped == "limit":
        cards.card("warn", job.error or "", "The limit is reached")
    was, st.session_state["job_status"] = st.session_state.get("job_status"), (refinement, job.status)
    if job.status == "running" or was != (refinement, "running"):
        return
    if job.reviewable and session.param("view") == "follow":
        session.go("review", refinement=refinement)
    st.rerun()


draw()
