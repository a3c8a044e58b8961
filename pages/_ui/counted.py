"""The runs behind a contrast, each opened at the message where the behaviour shows; and what a fact explains."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

import streamlit as st

from pages._ui import cards, messages, session
from pages._ui.text import count, esc, label
from refiner.reporting.counted import GROUPS, explained_by, in_words

if TYPE_CHECKING:
    from refiner.reporting.counted import Counted
    from refiner.types import Contrast, ContrastTable
    from refiner.views import Item

ROWS: Final = 20


def runs(refinement_id: str, item: Item) -> None:
    """Every counted run of the change, in four groups; a run that shows the behaviour opens at its witness."""
    found = session.workspace().counted(refinement_id, item.change_id)
    if not found:
        cards.empty("Not counted", "This change has no behaviour that could be looked for in every run.")
        return
    group = st.segmented_control(
        "Runs", GROUPS, default=GROUPS[0], required=True, key=f"counted_{item.change_id}",
        format_func=lambda one: f"{len(found[one])} {one}", label_visibility="collapsed",
    )  # fmt: skip
    _rows(found, str(group or GROUPS[0]), item.change_id)


def _rows(found: Mapping[str, Sequence[Counted]], group: str, change_id: str) -> None:
    shown = found[group]
    if not shown:
        st.html('<p class="sr-muted">No run is in this group.</p>')
        return
    pages = -(-len(shown) // ROWS)
    page = st.pagination(pages, key=f"counted_page_{change_id}_{group}") if pages > 1 else 1
    for one in shown[(page - 1) * ROWS : page * ROWS]:
        trace = one.item.trace
        with st.container(key=f"counted_{trace.id}", gap=None):
            at = None if one.at is None else str(one.at)
            session.link("trace", label(trace.external_id, 60), id=trace.id, at=at, change=change_id)
            place = f"at message {one.at + 1}" if one.at is not None else "not in this run"
            chip = messages.outcome_chip(one.item.outcome)
            st.html(f'<p class="rv-meta">{chip} {place} · {esc(trace.task, 120)}</p>')


def explained(table: ContrastTable, contrast: Contrast) -> None:
    """What goes with failure only because of this fact, listed under it."""
    under = explained_by(table, contrast.predicate)
    if not under:
        return
    rows = "".join(
        f"<li>{esc(in_words(one.predicate))} <code>{esc(one.predicate)}</code><br><small>{esc(one.words)}</small></li>"
        for one in under
    )
    words = f"It explains {count(len(under), 'other behaviour')} that went with failure too"
    st.html(f'<details class="rv-explained"><summary>{words}</summary><ul>{rows}</ul></details>')
