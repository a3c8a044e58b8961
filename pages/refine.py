"""Refine: what a refinement would take, its start, its progress, and the earlier ones of this corpus."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from pages._ui import cards, corpora, handoff, header, history, progress, session, spend, starting, steadiness

if TYPE_CHECKING:
    from collections.abc import Sequence

    from refiner.job_views import JobView, RefinementCard

NOTE = "Compares failing with passing runs of the same tasks and proposes changes to the skill, each with its evidence."


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
    header.show("refine", "Refine", analyst=analyst_of(made), note=NOTE, ready=ready)
    corpora.bar(known, card)
    running = workspace.running()
    if job := wanted(made, running):
        show(job)
    if running is None and not card.opened:
        starting.draw(card, again=bool(made))
    elif running and all(one.id != running for one in made):
        cards.card("say", "Another corpus is being refined. One refinement runs at a time; start this one after it.")
        session.link("refine", "See the running one", corpus=None, refinement=running)
    history.draw(made)


def analyst_of(made: Sequence[RefinementCard]) -> str:
    """Who made what is shown: the analyst of the address's refinement, else of the newest."""
    asked = session.param("refinement")
    return next((one.analyst for one in made if one.id == asked), made[0].analyst if made else "offline")


def wanted(made: Sequence[RefinementCard], running: str | None) -> JobView | None:
    """The refinement to show: the address's, else the one that runs, else the newest."""
    ids = [one.id for one in made]
    asked = session.param("refinement")
    if asked and asked not in ids:
        cards.card("warn", "The refinement of this link is not here any more; the newest one of this corpus is shown.")
    chosen = next((one for one in (asked, running) if one in ids), ids[0] if ids else None)
    return session.workspace().job(chosen) if chosen else None


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
