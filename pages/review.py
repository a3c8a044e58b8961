"""Review: the queue, one proposal, its evidence, and the keys that decide. Draws; one read and one command."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import streamlit as st

from pages._ui import cards, decision_bar, evidence, no_changes, review_panes, second_look, session
from pages._ui.opened import Opened, opened, say_newer
from pages._ui.text import count
from refiner.errors import RefinerError

if TYPE_CHECKING:
    from refiner.views import Item


def current(shown: Sequence[Item], here: Opened) -> Item:
    """The change that the address names, else the first open one, else the first."""
    wanted = decision_bar.wanted(here.review)
    if wanted and (item := here.review.item(wanted)):
        return item
    if wanted:
        cards.card("warn", "The change of this link is not in this refinement; this is the nearest open one.")
    chosen = shown or here.review.items
    item = next((one for one in chosen if one.status == "open"), chosen[0])
    session.put(change=item.change_id)
    return item


def draw(here: Opened) -> None:
    runs = here.report.runs
    left, middle, right = st.columns([2.3, 4.3, 3.9], gap="medium")
    with left, st.container(key="rv_queue", gap="small"):
        review_panes.progress(here.review)
        watch(here.name, here.review.last_event)
        shown = review_panes.filtered(here.review)
        item = current(shown, here)
        review_panes.queue(shown, item, decision_bar.go_to)
        no_changes.mined(here.report)
    seat = decision_bar.Seat(here.name, item, tuple(one.change_id for one in shown))
    decision_bar.bar(seat)
    with middle, st.container(key="rv_proposal"):
        decision_bar.editor(item)
        review_panes.proposal(here.review, item, decision_bar.go_to)
        review_panes.verdict(item, evidence.numbers(item))
    with right, st.container(key="rv_evidence"):
        evidence.pane(here.name, here.report, item, runs)
    decision_bar.drawn(item)


@st.fragment(run_every=3)
def watch(refinement_id: str, drawn: int) -> None:
    """Says that somebody else decided; the page follows at the reviewer's next step, never by itself."""
    new = session.workspace().last_event(refinement_id) - drawn
    if new > 0:
        words = f"{count(new, 'new decision')} elsewhere"
        if st.button(f"{words}: show", key="rv_news", type="tertiary", icon=":material/sync:"):
            st.rerun()


def page() -> None:
    review_panes.apply_style()
    here = opened("Review")
    if here is None:
        return
    say_newer(here.name)
    if not here.review.items:
        no_changes.draw(here.report)
        return
    if second_look.draw(here):
        return
    cards.sentences([words] if (words := review_panes.strength(here.review)) else [], "say")
    draw(here)


try:
    page()
except RefinerError as error:
    cards.card("error", str(error))
