"""Refine: what a refinement would take, its start, its progress, and the earlier ones of this corpus."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import streamlit as st

from pages._ui import cards, corpora, header, history, progress, session, settings
from pages._ui.text import count, duration
from refiner.errors import RefinerError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from refiner.views import CorpusCard, Estimate, JobView, RefinementCard

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
    header.show("refine", "Refine", analyst="offline", note=NOTE, ready=ready)
    corpora.bar(known, card)
    running = workspace.running()
    if job := wanted(made, running):
        show(job)
    if running is None and not card.opened:
        start(card, again=bool(made))
    elif running and all(one.id != running for one in made):
        cards.card("say", "Another corpus is being refined. One refinement runs at a time; start this one after it.")
        session.link("refine", "See the running one", corpus=None, refinement=running)
    history.draw(made)


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
    if job.error:
        cards.card("error", job.error, "The refinement stopped")
    was, st.session_state["job_status"] = st.session_state.get("job_status"), (refinement, job.status)
    if job.status == "running" or was != (refinement, "running"):
        return
    if job.reviewable and session.param("view") == "follow":
        session.go("review", refinement=refinement)
    st.rerun()


def start(card: CorpusCard, *, again: bool) -> None:
    """What it would take, and the button that says so."""
    st.subheader("Refine again" if again else "Start a refinement", anchor=False)
    holder = st.container()
    chosen = settings.draw()
    try:
        estimate = session.workspace().estimate(card.name, chosen)
    except RefinerError as error:
        cards.card("error", str(error))
        return
    with holder:
        _estimate(card, estimate, chosen, again)


def _estimate(card: CorpusCard, estimate: Estimate, chosen: dict[str, Any], again: bool) -> None:
    if estimate.blocked:
        cards.card("warn", estimate.blocked, "This cannot start yet")
        session.link("corpus", "Go to Corpus", icon=":material/arrow_back:")
        return
    cards.sentences(estimate.warnings)
    numbers = {
        "failing traces": f"{estimate.failing:,}",
        "passing traces": f"{estimate.passing:,}",
        "tasks held out": f"{estimate.held_out_tasks:,}",
        "on this machine": f"about {duration(estimate.seconds)}",
    }
    cards.metrics(numbers)
    words = f"Refine {count(estimate.failing + estimate.passing, 'trace')}, about {duration(estimate.seconds)}"
    kind = "secondary" if again else "primary"
    st.button(words, key="start", type=kind, icon=":material/play_arrow:", on_click=_start, args=(card.name, chosen))


def _start(name: str, chosen: dict[str, Any]) -> None:
    if started := cards.attempt(session.workspace().start, name, chosen):
        session.put(corpus=name, refinement=started.value)


draw()
