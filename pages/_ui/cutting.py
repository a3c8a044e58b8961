"""Conversations read by a model: what that would take, the start, how it goes, and what came of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import streamlit as st

from pages._ui import cards, handoff, keys, model, session, spend, starting
from pages._ui.text import count

if TYPE_CHECKING:
    from refiner.conversation_views import CutJob, CutReport
    from refiner.model_views import Asks, Keys
    from refiner.views import Estimate

WAS: Final = "cut_was"
"""In the session: the corpus whose conversations this tab last saw being read."""
HOW: Final = (
    "The model is shown each conversation: the user's words, the names of calls, the agent's last words. It decides "
    "nothing without words of the user that are really there, and its outcomes are suggestions as well."
)
TITLES: Final = {
    "limit": "The limit is reached",
    "failed": "The conversations were not read to the end",
    "interrupted": "The conversations were not read to the end",
}


def standing(name: str) -> bool:
    """How the latest reading by a model stands, redrawn every second while it is at work; whether it is."""
    job = session.workspace().cut_job(name)
    if job is None:
        return False
    st.fragment(_watch, run_every=1.0 if job.at_work else None)(name, job.at_work)
    return job.at_work


def _watch(name: str, ticking: bool) -> None:
    """One reading of the job; the page as a whole is drawn again when it ends."""
    job = session.workspace().cut_job(name)
    if job is None:
        return
    if job.at_work:
        st.session_state[WAS] = name
    elif st.session_state.pop(WAS, None) == name and job.report:
        cards.notice("done", found(job.report))
        session.go("corpus", corpus=job.report.corpus, refinement=None, view="suggested")
    if job.at_work != ticking:
        st.rerun()
    with st.container(key="cut_job", border=True):
        _stands(name, job)
        _spent(job)


def _stands(name: str, job: CutJob) -> None:
    if job.at_work:
        st.progress(job.done / max(job.total, 1), f"Read: {job.done:,} of {count(job.total, 'conversation')}")
        if job.status == "cancelling":
            cards.line("Stopping: the conversations under way end first.")
        else:
            stop = session.workspace().cancel_cut
            st.button("Stop", key="cut_cancel", icon=":material/stop:", on_click=stop, args=(name,))
    elif job.status == "waiting" and job.asks:
        handoff.panel(job.asks, "Read", _post(name, job.asks))
    elif job.status == "cancelled":
        cards.line("Reading was stopped. What was read is kept: start it again to go on.", strong=True)
    elif job.report is None:
        cards.card("error" if job.status == "failed" else "warn", job.words, TITLES.get(job.status, ""))
    else:
        cards.line(f"A model read them: {found(job.report)}", strong=True)
    cards.sentences([f"Left out, no usable reply: {words}" for words in job.failed])


def found(report: CutReport) -> str:
    """What a cut found, in one sentence."""
    total = report.failing + report.passing
    return (
        f"{count(total, 'attempt')} in {count(report.conversations, 'conversation')}: {report.failing} seem to have "
        f"failed and {report.passing} passed; {report.added} are new."
    )


def _spent(job: CutJob) -> None:
    if job.usage:
        cards.line(spend.headline(job.usage, job.asks, ended=False))
        spend.taken_out(job.usage)


def _post(name: str, asks: Asks) -> handoff.Post:
    desk = session.workspace()
    return handoff.Post(
        lambda: desk.cut_requests(name),
        lambda upload: desk.answer_cut(name, upload),
        lambda: desk.resume_cut(name, keys.of(asks)),
    )


def offer(name: str) -> None:
    """All that a model needs, what reading would take, and the button that says so."""
    cards.line(HOW)
    reader = model.asked(name, reading=True)
    if reader.missing:
        cards.card("say", reader.missing)
        return
    estimate = session.workspace().estimate_cut(name, reader.settings)
    if estimate.blocked:
        cards.card("warn", estimate.blocked, "This cannot start yet")
        return
    cards.metrics({"conversations": f"{estimate.steps:,}", **starting.asked_numbers(estimate, reader)})
    limits = starting.limited(estimate)
    agreed = starting.agreed_to(estimate)
    st.button(
        _words(estimate, reader, limits), key="cut_start", type="primary", icon=":material/play_arrow:",
        disabled=not agreed, on_click=_start, args=(name, {**reader.settings, **limits}, reader.keys, estimate.unasked),
    )  # fmt: skip


def _words(estimate: Estimate, reader: model.Chosen, limits: dict[str, Any]) -> str:
    parts = [f"Read {count(estimate.steps, 'conversation')}", *starting.asked_words(estimate, reader, limits)]
    return ", ".join(parts)


def _start(name: str, chosen: dict[str, Any], given: Keys, unasked: tuple[str, ...]) -> None:
    if unasked and not cards.attempt(session.workspace().agree, unasked):
        return
    if cards.attempt(session.workspace().start_cut, name, chosen, given):
        st.session_state[WAS] = name
