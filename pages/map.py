"""Map: failures and successes, each in a picture of its own, and the same in a table. Draws; one read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import streamlit as st

from pages._ui import cards, map_cards, map_groups, map_panels, review_panes, session
from pages._ui.map_panels import TITLES
from pages._ui.opened import Opened, opened
from refiner.errors import RefinerError

if TYPE_CHECKING:
    from refiner.ports import Labelled


def draw(here: Opened) -> None:
    """The whole page for a finished refinement."""
    if not here.report.clusterings:
        words = (
            "Too few attempts to group: this refinement went through the corrections one by one. They are in Review."
        )
        cards.empty("No map", words)
        return
    runs = here.report.runs
    by_side = map_groups.groups(here.report, here.review)
    pictures, card = st.columns([7, 3], gap="medium")
    with pictures:
        map_panels.panels(here.report, by_side, runs)
    with card, st.container(border=True, key="map_card"):
        selected(by_side, runs)
    st.html("<h2>The same as a table</h2>")
    for side, groups in by_side.items():
        st.html(f'<h3 class="rv-side">{TITLES[side]}</h3>')
        if groups:
            map_cards.table(groups, runs, side, session.param("pick"))
        else:
            st.html('<p class="sr-muted">No group on this side.</p>')


def selected(by_side: map_panels.Groups, runs: Mapping[str, Labelled]) -> None:
    """The card of what the address names: a group, or a run with its group."""
    wanted = session.param("pick") or ""
    run = wanted.removeprefix("run:") if wanted.startswith("run:") else ""
    group = map_groups.owner(by_side, run) if run else map_groups.group_of(by_side, wanted)
    if group:
        map_cards.group_card(group, runs, run=run)
    elif run in runs:
        map_cards.run_line(run, runs)
        cards.card("say", "This run is in no group: it resembles no others closely enough.")
    else:
        gone = "What this link points at is not in this refinement. " if wanted else ""
        words = f"{gone}Click a point or the name of a group, or “Show” in the table, to read about it."
        st.html(f'<p class="sr-muted">{words}</p>')


def page() -> None:
    review_panes.apply_style()
    if here := opened("Map"):
        draw(here)


try:
    page()
except RefinerError as error:
    cards.card("error", str(error))
