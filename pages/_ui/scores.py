"""Outcomes from a score that the traces carry: which one, from where on it passes, and what that would give."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from pages._ui import cards, session
from pages._ui.text import count
from refiner.labels import Threshold

if TYPE_CHECKING:
    from refiner.labels import ScoreRange


def draw(name: str) -> None:
    """The scores of a corpus to choose from; nothing when its traces carry none."""
    ranges = {one.name: one for one in session.workspace().score_ranges(name)}
    if not ranges:
        return
    st.subheader("Or a score that the traces carry", anchor=False)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        chosen = st.selectbox("Score", list(ranges), format_func=lambda one: _words(ranges[one]), key="score_name")
        lower = st.toggle("Lower is better", key="score_lower")
        threshold = Threshold(_limit(ranges[chosen], lower), lower)
    counts = session.workspace().preview_score(name, chosen, threshold)
    cards.line(
        f"{count(counts['pass'], 'trace')} would pass and {counts['fail']:,} would fail; "
        f"{counts['without']:,} do not carry this score as a number. A label by hand counts over it."
    )
    st.button("Use this score", key="score_use", type="primary", on_click=_use, args=(name, chosen, threshold))


def _limit(one: ScoreRange, lower: bool) -> float:
    """Where a trace passes; only the best value at first, whatever the score is."""
    return st.number_input(
        "Passes up to" if lower else "Passes from",
        value=one.lowest if lower else one.highest,
        key=f"score_limit_{one.name}_{lower}",
        format="%g",
        width=180,
    )


def _words(one: ScoreRange) -> str:
    return f"{one.name} ({count(one.numbers, 'trace')}, {one.lowest:g} to {one.highest:g})"


def _use(name: str, score: str, threshold: Threshold) -> None:
    if done := cards.attempt(session.workspace().use_score, name, score, threshold):
        direction = "up to" if threshold.lower_is_better else "from"
        words = f"{count(done.value, 'trace')} labelled: “{score}” passes {direction} {threshold.pass_at:g}."
        cards.notice("done", words)
