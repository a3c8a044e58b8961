"""The refinement that a page is about, or the reason why there is none yet. One read; decides nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import streamlit as st

from pages._ui import cards, header, session
from pages._ui.progress import headline
from pages._ui.text import label, newer
from refiner.errors import NotReady, RefinerError

if TYPE_CHECKING:
    from refiner.reporting.report import Report
    from refiner.views import Review


class Opened(NamedTuple):
    """A finished refinement with its queue."""

    name: str
    report: Report
    review: Review


def opened(title: str, step: header.Step = "review") -> Opened | None:
    """Draws the header and gives the refinement of this page; draws what to do instead when there is none."""
    try:
        name = session.current_refinement()
        if name is None:
            raise NotReady("")
        report = session.workspace().report(name)
        found = Opened(name, report, session.workspace().review(name))
    except NotReady:
        header.show(step, title, ready=False)
        _waiting(name) if name else _nothing()
        return None
    except RefinerError as error:
        header.show(step, title, ready=False)
        cards.card("error", str(error), "This refinement cannot be shown")
        _instead()
        return None
    session.put(refinement=name)
    header.show(step, title, analyst=report.analyst)
    return found


def say_newer(name: str) -> None:
    """That traces or labels came after this refinement, when some did."""
    if words := newer(*session.workspace().newer(name)):
        cards.card("say", f"{words}. Refine again to use them: decisions on equal changes carry over.")


def _nothing() -> None:
    cards.empty(
        "No refinement yet", "Start one on Refine: proposals and their evidence are shown here when it is done."
    )
    session.link("refine", "Go to Refine", icon=":material/arrow_forward:")


def _instead() -> None:
    """Where to go from a link to a refinement that is gone: the newest one there is, or the list of all."""
    here = session.nearest_refinement()
    if here:
        words = f"Show the newest refinement of “{label(here[0])}”"
        session.link("review", words, icon=":material/arrow_forward:", corpus=here[0], refinement=here[1])
    session.link("refine", "Choose another refinement", icon=":material/arrow_forward:", refinement=None)


def _waiting(name: str) -> None:
    job = session.workspace().job(name)
    if job.status != "running":
        cards.card("warn", job.error or "Nothing of it can be shown yet. Resume it on Refine.", f"It was {job.status}")
    else:
        _progress(name)
    session.link("refine", "See its progress on Refine", icon=":material/arrow_forward:")


@st.fragment(run_every=1)
def _progress(name: str) -> None:
    job = session.workspace().job(name)
    if job.status != "running" or job.reviewable:
        st.rerun()
    done = sum(stage.state == "done" for stage in job.stages)
    words = f"{headline(job)} Decisions open when the changes are placed; on Refine, proposals can be read before."
    cards.empty("The refinement is at work", words)
    st.progress(done / (len(job.stages) or 1))
