"""What the map says in words: the card of a group or a run, and the table with everything the picture shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

import streamlit as st

from pages._ui import map_panels, session
from pages._ui.map_figure import glyph
from pages._ui.map_groups import Group
from pages._ui.messages import outcome_chip
from pages._ui.review_panes import chips
from pages._ui.text import count, esc, label
from refiner.types import Cluster

if TYPE_CHECKING:
    from refiner.ports import Labelled

ROWS: Final = 20
HEADS: Final = ("", "Group", "Runs", "Tasks", "Stability", "Most typical run", "Border run", "Proposal")


def stability(cluster: Cluster) -> str:
    """How often the group was found again on parts of the runs, in words; a dash when it was not measured."""
    if cluster.stability is None:
        return "–"
    words = "firm" if cluster.stability >= 0.75 else "fair" if cluster.stability >= 0.5 else "loose"
    return f"{cluster.stability:.2f} {words}"


def group_card(group: Group, runs: Mapping[str, Labelled], *, run: str = "", where: str = "card") -> None:
    """Size, tasks, stability, nearest and border runs, what was proposed and its verdict; `run` = the clicked one.

    `where` tells the card beside the pictures from the one under a row of the table.
    """
    theme = f": {group.theme}" if group.theme else ""
    st.html(f'<h2 class="rv-card-head">{glyph(group.colour, group.symbol)} {esc(group.name)}{esc(theme)}</h2>')
    if run:
        run_line(run, runs)
    cluster = group.cluster
    facts = (count(len(cluster.members), "run"), count(cluster.tasks, "task"), f"stability {stability(cluster)}")
    st.html(f'<p class="rv-facts">{"<i>·</i>".join(f"<span>{esc(one)}</span>" for one in facts)}</p>')
    if cluster.note:
        st.html(f'<p class="sr-muted">{esc(cluster.note)}</p>')
    _proposals(group, where)
    _runs("Most typical runs", group.nearest, runs, where)
    _runs("Border runs", cluster.border, runs, where)


def _proposals(group: Group, where: str) -> None:
    if not group.items:
        words = "Nothing was proposed for this group; what came close stands on Review, under the queue"
        st.html(f'<p class="sr-muted">{words} ({count(group.cluster.tasks, "task")}).</p>')
    for item in group.items:
        st.html(
            f'<div class="rv-proposal-line">{chips(item)}<p>{esc(item.intent, 240)}</p>'
            f'<p class="sr-muted">{esc(item.place)}</p></div>'
        )
        if st.button("Review this", key=f"map_review_{where}_{item.change_id}", type="primary"):
            session.go("review", change=item.change_id)


def _runs(title: str, trace_ids: Sequence[str], runs: Mapping[str, Labelled], where: str) -> None:
    known = [trace_id for trace_id in trace_ids if trace_id in runs]
    if not known:
        return
    st.html(f'<p class="rv-small-head">{esc(title)}</p>')
    with st.container(key=f"map_runs_{where}_{title.split()[0].lower()}", gap=None):
        for trace_id in known:
            session.link(
                "trace",
                label(runs[trace_id].trace.external_id, 44),
                icon=":material/notes:",
                id=trace_id,
                pick=session.param("pick"),
            )


def run_line(trace_id: str, runs: Mapping[str, Labelled]) -> None:
    """The clicked run: its id, how it ended, what was asked, and the way to its messages."""
    if (item := runs.get(trace_id)) is None:
        return
    st.html(
        f'<div class="rv-run-line"><b>{esc(item.trace.external_id, 60)}</b> {outcome_chip(item.outcome)}'
        f'<p class="sr-muted">{esc(item.trace.task, 200)}</p></div>'
    )
    session.link("trace", "Open this run", icon=":material/notes:", id=trace_id, pick=session.param("pick"))


def table(groups: Sequence[Group], runs: Mapping[str, Labelled], key: str, picked: str | None) -> None:
    """The twin of the picture: a row a group with the same content, and buttons for its card and its review.

    The card of the picked group opens under its row as well, where the button is.
    """
    pages = -(-len(groups) // ROWS)
    page = st.pagination(pages, key=f"map_rows_{key}") if pages > 1 else 1
    with st.container(key=f"map_table_{key}", gap=None):
        st.html(f'<div class="rv-row rv-heads">{"".join(f"<span>{esc(one)}</span>" for one in HEADS)}</div>')
        for group in groups[(page - 1) * ROWS : page * ROWS]:
            words, show, review = st.columns([15, 1, 1.2], vertical_alignment="center")
            words.html(f'<div class="rv-row">{_cells(group, runs)}</div>')
            show.button(
                "Show", key=f"map_show_{group.key}", type="tertiary", on_click=map_panels.show, args=(group.key,)
            )
            if group.items and review.button("Review", key=f"map_go_{group.key}", type="tertiary"):
                session.go("review", change=group.items[0].change_id)
            if group.key == picked:
                with st.container(border=True, key="map_row_card"):
                    group_card(group, runs, where="row")


def _cells(group: Group, runs: Mapping[str, Labelled]) -> str:
    def name_of(trace_id: str | None) -> str:
        return esc(runs[trace_id].trace.external_id, 24) if trace_id in runs else "–"

    cluster = group.cluster
    what = "".join(f"<p>{chips(item)} {esc(item.intent, 120)}</p>" for item in group.items)
    cells = (
        glyph(group.colour, group.symbol),
        f"<b>{esc(group.name)}</b> {esc(group.theme, 60)}",
        f"{len(cluster.members)}",
        f"{cluster.tasks}",
        esc(stability(cluster)),
        name_of(cluster.medoid),
        name_of(cluster.border[0] if cluster.border else None),
        what or '<span class="sr-muted">nothing proposed</span>',
    )
    return "".join(f"<span>{cell}</span>" for cell in cells)
