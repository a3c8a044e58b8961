"""How a refinement goes: its stages as they pass, what failed, and what can be done with it now."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from pages._ui import cards, keys, session
from pages._ui.text import count, duration, esc

if TYPE_CHECKING:
    from refiner.job_views import JobView, StageView

STAGES = {
    "contrast": "Contrast",
    "summarise": "Summaries",
    "embed": "Embeddings",
    "cluster": "Clusters",
    "propose": "Proposals",
    "recur": "Recurrences",
    "fold": "Folding",
    "gate": "Evidence gate",
    "judged_contrast": "Judged contrast",
    "merge": "Changes",
    "audit": "Audits",
}
"""The stages of a refinement in the words of the screens."""

MARKS = {"done": "✓", "running": "●", "waiting": "○"}
STATES = {
    "running": "Running",
    "done": "Done",
    "failed": "Failed",
    "interrupted": "Interrupted",
    "cancelled": "Cancelled",
}
LINKS = {"running": "for", "done": "in"}
SHOWN = 50
PROPOSING = "propose"
WORTH_SAYING = 3.0
"""Seconds left from which on a guess helps."""


def stages(job: JobView, *, heading: bool = True) -> None:
    """How it stands, and a line for each stage: how far and how long. One piece, so that no half of it is old."""
    head = f'<p class="sr-line sr-strong">{esc(headline(job))}</p>' if heading else ""
    st.html(f'{head}<div class="sr-stages" role="list">{"".join(map(_stage, job.stages))}</div>')


def headline(job: JobView) -> str:
    """One line: how it stands, for how long, and what it is at."""
    if job.asks and job.asks.stopped == "waiting":
        return f"Waiting for {count(job.asks.waiting, 'reply', 'replies')}."
    if job.cancelling:
        return f"Cancelling, {duration(job.seconds)} after the start."
    words = f"{STATES.get(job.status, job.status)} {LINKS.get(job.status, 'after')} {duration(job.seconds)}."
    at_work = next((one for one in job.stages if one.state == "running"), None)
    return f"{words} {_left(at_work)}" if at_work and job.status == "running" else words


def arrived(job: JobView) -> None:
    """What was proposed so far, and what the gate says of it: to be read while the rest is at work."""
    if job.status != "running" or not any(one.name == PROPOSING and one.state != "waiting" for one in job.stages):
        return
    holder = st.expander("Proposals and verdicts so far", key="job_arrived", on_change="rerun")
    if not holder.open:
        return
    with holder:
        found = session.workspace().arrived(job.refinement_id)
        rows = [(one.text, one.result or "not ruled on yet", one.words) for one in found[:SHOWN]]
        if rows:
            cards.table(("Proposal", "Gate", "Why"), rows)
        cards.line(f"{count(len(found), 'proposal')} so far. They are decided on when the changes are placed.")


def failures(job: JobView) -> None:
    """The steps that failed, each with the words of whoever refused."""
    if not job.failures:
        return
    st.subheader(f"{count(len(job.failures), 'step')} failed", anchor=False)
    rows = [(STAGES.get(row.stage, row.stage), row.label, row.error) for row in job.failures[:SHOWN]]
    cards.table(("Stage", "Step", "What was answered"), rows)
    if len(job.failures) > SHOWN:
        cards.line(f"{count(len(job.failures) - SHOWN, 'more failed step')} of the same kind are not listed here.")


def actions(job: JobView) -> None:
    """What can be done with it now, and nothing else."""
    limits = going_on(job) if job.status != "running" else {}
    with st.container(key="job_actions", horizontal=True, vertical_alignment="center", gap="small"):
        if job.cancelling:
            cards.line("The step at work ends first. What is finished is then merged and can be reviewed.")
            return
        if job.status == "running":
            st.button("Cancel", key="job_cancel", icon=":material/stop:", on_click=cancel, args=(job.refinement_id,))
            cards.line("What is finished is kept and can be reviewed.")
            return
        if job.reviewable and st.button("Review", key="job_review", type="primary", icon=":material/rate_review:"):
            session.go("review", refinement=job.refinement_id)
        if job.status != "done" or job.failures:
            words = "Resume" if job.status != "done" else f"Retry {count(len(job.failures), 'failed step')}"
            st.button(
                words, key="job_resume", icon=":material/refresh:", on_click=resume, args=(job, limits),
                type="secondary" if job.reviewable else "primary",
            )  # fmt: skip
        _again(job)


def cancel(refinement: str) -> None:
    """Stops a running refinement."""
    cards.attempt(session.workspace().cancel, refinement)


def going_on(job: JobView) -> dict[str, float | None]:
    """What a refinement with a model needs to go on: its key, which is kept nowhere, and a higher limit if it hit one.

    Returns the limits.
    """
    asks = job.asks
    if asks is None or (job.status == "done" and not job.failures):
        return {}
    limits: dict[str, float | None] = {}
    with st.container(key="job_model", horizontal=True, vertical_alignment="bottom", gap="small"):
        for kind, host in ((keys.MODEL, asks.host), (keys.EMBEDDING, asks.embedding_host)):
            if host:
                keys.field(kind, host, "job", environment=True)
        if asks.stopped == "limit":
            limits["max_cost"] = asks.max_cost and st.number_input(
                "Stop at, money", 0.01, None, 2 * asks.max_cost, 0.5, key="job_max_cost", width=180
            )
            limits["max_tokens_total"] = asks.max_tokens and st.number_input(
                "Stop at, tokens", 1_000, None, 2 * asks.max_tokens, 50_000, key="job_max_tokens", width=180
            )
    return limits


def resume(job: JobView, limits: dict[str, float | None]) -> None:
    """Goes on with a refinement; finished steps are not done again."""
    more = {"limits": limits} if limits else {}
    cards.attempt(session.workspace().resume, job.refinement_id, keys.of(job.asks), **more)
    session.put(refinement=job.refinement_id)


def _rerun(job: JobView) -> None:
    stage = str(st.session_state.get("job_stage") or "cluster")
    cards.attempt(session.workspace().rerun, job.refinement_id, stage, keys.of(job.asks))
    session.put(refinement=job.refinement_id)


def _again(job: JobView) -> None:
    names = [one.name for one in job.stages if one.state == "done"]
    if not names:
        return
    with st.popover("Run again from a stage", key="job_again", type="tertiary"):
        st.text("Earlier stages keep their results; decisions on equal changes stay.")
        st.selectbox(
            "From", names, index=_start(names), key="job_stage", format_func=lambda name: STAGES.get(name, name)
        )
        if job.asks and job.asks.host and job.status == "done" and not job.failures:
            keys.field(keys.MODEL, job.asks.host, "again", environment=True)
        st.button("Run again", key="job_rerun", type="primary", on_click=_rerun, args=(job,))


def _start(names: list[str]) -> int:
    return names.index("cluster") if "cluster" in names else 0


def _stage(stage: StageView) -> str:
    # A waiting stage may have done its steps in an earlier pass; what counts here is this one.
    part = stage.done / stage.total if stage.total and stage.state == "running" else 0.0
    share = 100 if stage.state == "done" else round(100 * part)
    steps = f"{stage.done:,} of {stage.total:,}" if stage.total and stage.state != "waiting" else ""
    failed = f", {stage.failed} failed" if stage.failed else ""
    clock = "" if stage.state == "waiting" else "< 1 s" if stage.seconds < 1 else duration(stage.seconds)
    return (
        f'<div class="sr-stage {esc(stage.state)}" role="listitem">'
        f'<span class="mark">{MARKS.get(stage.state, "")}</span>'
        f"<span>{esc(STAGES.get(stage.name, stage.name))}</span>"
        f'<span class="bar"><i style="width:{share}%"></i></span>'
        f'<span class="n">{steps}{failed}</span><span class="n">{esc(clock)}</span></div>'
    )


def _left(stage: StageView) -> str:
    name = STAGES.get(stage.name, stage.name).lower()
    if stage.seconds <= 0 or not 0 < stage.done < stage.total:
        return f"Now: {name}."
    rate = stage.done / stage.seconds
    left = (stage.total - stage.done) / rate
    if left < WORTH_SAYING:
        return f"Now: {name}."
    pace = f"{rate:,.0f} steps a second" if rate >= 1 else f"{1 / rate:,.0f} s a step"
    return f"Now: {name}, {pace}, {duration(left)} left in this stage."
