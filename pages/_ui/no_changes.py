"""What Review shows when nothing was proposed: what was looked at, the nearest misses, the ways out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import streamlit as st

from pages._ui import cards, session
from pages._ui.text import count
from refiner.types import Shortfall

if TYPE_CHECKING:
    from refiner.reporting.report import Report

NEAREST: Final = 3
KINDS: Final = {
    "vetoed_before": "rejected before",
    "near_miss": "near miss",
    "weaker_recurrence": "weaker recurrence",
    "too_few_tasks": "too few tasks",
    "explained_by": "explained by another",
    "skipped_side": "side not looked at",
    "nothing_recurs": "nothing recurs",
}
"""The kinds of what fell short, the nearest to a change first."""
WAYS: Final = (
    ("Add notes to failures", "A sentence for each failed run is worth more than any setting.", "corpus", "hand"),
    ("Add traces", "Several runs of the same task with both outcomes let causes be counted.", "corpus", "traces"),
    ("Use a model", "A model as analyst can read reasons that counting cannot see.", "refine", None),
)


def draw(report: Report) -> None:
    """The whole state."""
    groups = sum(len(one.clusters) for one in report.clusterings)
    cards.empty("No change is proposed", "The evidence does not carry one yet. This is what was looked at:")
    cards.metrics(
        {
            "runs read": len(report.snapshot.training),
            "groups of runs": groups,
            "behaviours compared": report.table.m,
            "that go with failure": len(report.table.facts),
        }
    )
    misses = nearest(report)
    if misses:
        st.html("<h2>Nearest misses</h2>")
        _table(misses[:NEAREST])
    st.html("<h2>What helps</h2>")
    for column, (title, words, page, view) in zip(st.columns(len(WAYS)), WAYS, strict=True):
        with column, st.container(border=True, key=f"way_{page}_{view}"):
            st.html(f"<h3>{title}</h3><p>{words}</p>")
            session.link(page, title, icon=":material/arrow_forward:", view=view)


def mined(report: Report) -> None:
    """What was mined and got no change, under the queue; folded."""
    misses = nearest(report)
    if misses:
        with st.expander(f"{count(len(misses), 'finding')} mined without a change", key="rv_mined"):
            _table(misses[:60])


def nearest(report: Report) -> list[Shortfall]:
    """What fell short, the nearest to a change first."""
    order = list(KINDS)
    return sorted(report.shortfalls, key=lambda one: (order.index(one.kind), -one.tasks, -one.traces, one.subject))


def _table(misses: list[Shortfall]) -> None:
    rows = [(KINDS[one.kind], one.side, one.subject, one.traces or "", one.tasks or "", one.words) for one in misses]
    cards.table(("What", "Side", "About", "Runs", "Tasks", "Why no change"), rows, numbers=(3, 4))
