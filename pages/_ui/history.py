"""The refinements of a corpus, newest first: what came out of each, and what is newer than it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from pages._ui import cards, progress, session
from pages._ui.text import newer, when

if TYPE_CHECKING:
    from collections.abc import Sequence

    from refiner.job_views import RefinementCard

RESULTS = ("supported", "undecided", "unsupported")


def draw(made: Sequence[RefinementCard]) -> None:
    """Every refinement of the corpus, newest first, with what is newer than it."""
    if not made:
        return
    st.subheader("Refinements of this corpus", anchor=False)
    for one in made:
        with st.container(key=f"made_{one.id[:12]}"):
            first, second, third, fourth = st.columns([3, 7, 1, 1], vertical_alignment="center")
            with first:
                cards.line(f"{when(one.started_at)} · {progress.STATES.get(one.status, one.status)}", strong=True)
            with second:
                parts = (_counts(one), newer(one.newer_traces, one.newer_labels))
                cards.line("; ".join(part for part in parts if part))
            with third:
                session.link("refine", "Details", refinement=one.id)
            if one.counts:
                with fourth:
                    session.link("review", "Review", refinement=one.id)


def _counts(one: RefinementCard) -> str:
    return ", ".join(f"{one.counts[name]:,} {name}" for name in RESULTS if one.counts.get(name))
