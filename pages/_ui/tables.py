"""A table on its way in: which column is what, seen on three runs as the choice would give them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import streamlit as st

from pages._ui import cards, session
from pages._ui.text import count

if TYPE_CHECKING:
    from refiner.types import Trace
    from refiner.views import TableView

GENERATION = "table_generation"
NEEDED = "--columns"
"""How the reason of a rejected table speaks of what is missing."""
CHOOSE = (
    "Choose the column with the answers or words, and one that says who speaks, names the tool or is the request. "
    "Where a run has several rows, also the one that names the run. Or only the one that holds the whole run as JSON."
)


def draw(name: str) -> None:
    """The mapping step, after an upload with a table in it; open by itself where that could not be read."""
    last = session.workspace().last_upload(name)
    if last is None:
        return
    needed = any(NEEDED in bad.reason for bad in last.rejected)
    if not needed and all(file.format != "table" for file in last.files):
        return
    with st.expander("Say which column of a table is what (CSV, Parquet)", key="table_step", expanded=needed):
        cards.line("One row a run, or one row a step of a run. Tables with usual column names need no naming.")
        key = f"table_file_{st.session_state.get(GENERATION, 0)}"
        given = st.file_uploader("Table", type=["csv", "tsv", "parquet"], key=key, label_visibility="collapsed")
        if given is not None:
            _mapping(name, given)


def _mapping(name: str, given: Any) -> None:
    from refiner.columns import WORDS, are_enough
    from refiner.views import Upload

    guess = session.workspace().look_at_table(Upload(given.name, given))
    if not guess.columns:
        cards.card("error", guess.problem or "")
        return
    options = ["", *guess.columns]
    chosen: dict[str, str] = {}
    for place, (field, words) in enumerate(WORDS.items()):
        if place % 4 == 0:
            places = st.columns(4, vertical_alignment="bottom")
        with places[place % 4]:
            start = options.index(guess.mapping[field]) if field in guess.mapping else 0
            key = f"table_{field}_{given.file_id}"
            found = st.selectbox(
                words[0].upper() + words[1:], options, start, key=key, format_func=lambda one: one or "none"
            )
        if found:
            chosen[field] = found
    if not are_enough(chosen):
        cards.card("say", CHOOSE)
        return
    view = session.workspace().look_at_table(Upload(given.name, given), chosen)
    if view.problem:
        cards.card("warn", view.problem.partition("; say so")[0])
        return
    _samples(view)
    st.button("Add these traces", key="table_add", type="primary", on_click=_add, args=(name, given, chosen))


def _samples(view: TableView) -> None:
    cards.line(f"The first {count(len(view.samples), 'run')} as this reads:")
    rows = [(one.external_id, one.task[:160], _steps(one), len(one.spans)) for one in view.samples]
    cards.table(("Run", "Request", "Last step", "Steps"), rows, numbers=(3,))


def _steps(trace: Trace) -> str:
    last = trace.spans[-1]
    return f"{last.name}: {' '.join((last.output or last.input).split())}"[:160]


def _add(name: str, given: Any, columns: dict[str, str]) -> None:
    from refiner.views import Upload

    given.seek(0)
    if cards.attempt(session.workspace().ingest, name, [Upload(given.name, given)], columns=columns):
        st.session_state[GENERATION] = st.session_state.get(GENERATION, 0) + 1
        cards.notice("done", "The table was read; the report below says what it gave.")
