"""The pictures of the map on the page, and what a click on one of them does: it writes the address, nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Final

import streamlit as st

from pages._ui import cards, map_figure, map_groups, session
from pages._ui.text import count

if TYPE_CHECKING:
    from refiner.ports import Labelled
    from refiner.reporting.report import Report

TITLES: Final = {"failure": "Failures", "success": "Successes"}
TURN: Final = "map_turn"
Groups = Mapping[str, tuple[map_groups.Group, ...]]
Runs = Mapping[str, "Labelled"]


def colour_by(runs: Runs) -> str:
    """What the points are coloured by; kept in the address."""
    choices = map_groups.modes({key: item.trace for key, item in runs.items()})
    picked = st.segmented_control(
        "Colour by",
        choices,
        default="cluster",
        required=True,
        format_func=map_groups.MODES.__getitem__,
        key="colour",
        bind="query-params",
        label_visibility="collapsed",
    )
    return picked or "cluster"


def panels(report: Report, by_side: Groups, runs: Runs) -> None:
    """The legend, then a picture a side. Each side has a projection of its own, so they share no axis."""
    with st.container(key="map_tools", horizontal=True, vertical_alignment="center", gap="small"):
        st.html('<span class="rv-asks">Colour by</span>', width="content")
        mode = colour_by(runs)
    valued = map_groups.values(mode, by_side, {key: item.trace for key, item in runs.items()})
    looks = map_groups.categories(mode, by_side, valued)
    st.html(f'<div class="rv-legend">{map_figure.legend(mode, looks)}</div>')
    webgl = sum(len(one.picture) for one in report.clusterings) > map_figure.SVG_LIMIT
    for place, clustering in zip(st.columns(len(report.clusterings) or 1), report.clusterings, strict=False):
        own = by_side[clustering.side]
        shown = map_figure.panel(clustering, own, looks, valued, webgl=webgl, ink=ink())
        with place:
            words = f"{count(shown.total, 'run')} in {count(len(own), 'group')}, {len(clustering.unclustered)} in none"
            st.html(f'<div class="rv-side"><h2>{TITLES[clustering.side]}</h2><span>{words}</span></div>')
            picture(clustering.side, shown)
            cards.sentences(clustering.warnings)


def ink() -> str:
    """A text colour that is read well on the theme in use."""
    return "#c9ccd3" if st.context.theme.type == "dark" else "#3a3d45"


def picture(side: str, shown: map_figure.Panel) -> None:
    """One side as a chart that can be clicked; a sentence when there is nothing to draw or only a sample is drawn."""
    if not shown.total:
        cards.empty("No picture", f"There are too few {TITLES[side].lower()} to compare; add traces on Corpus.")
        return
    if shown.shown < shown.total:
        cards.card("say", f"{shown.shown:,} of {shown.total:,} runs are drawn: the same sample each time.")
    import_module("pandas")  # plotly reads from it as soon as it is there, even while the warm-up still loads it
    key = f"map_{side}_{st.session_state.get(TURN, 0)}"
    st.plotly_chart(
        shown.figure,
        key=key,
        on_select=lambda: clicked(key),
        selection_mode="points",
        config={"displayModeBar": False, "scrollZoom": True},
        alt=f"{TITLES[side]} as points, near ones alike. The table under the map holds the same content.",
    )


def clicked(key: str) -> None:
    """Puts what was clicked into the address; a click into the void leaves the card as it is."""
    points = st.session_state[key]["selection"]["points"]
    if points:
        what = points[0]["customdata"]
        session.put(pick=f"run:{what}" if isinstance(what, str) else str(what[1]))


def show(key: str) -> None:
    """Shows a group that was chosen in the table: the pictures forget what was clicked on them before."""
    st.session_state[TURN] = int(st.session_state.get(TURN, 0)) + 1
    session.put(pick=key)
