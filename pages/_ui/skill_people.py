"""Beside the skill: how often people went against the gate, and how far second looks agree with the first decision."""

from __future__ import annotations

import streamlit as st

from pages._ui import cards, session
from pages._ui.skill_state import Shown
from pages._ui.text import esc
from refiner.reporting.ledger import people_words, rows, second_words


def draw(found: Shown) -> None:
    """One panel; nothing before the first decision."""
    ledger = session.workspace().ledger(found.here.name)
    if not ledger.people:
        return
    st.html("<h3>Gate and reviewers</h3>")
    for words in (*people_words(ledger), second_words(ledger)):
        if words:
            cards.line(words)
    body = "".join(f"<tr><td>{esc(name)}</td><td>{esc(told)}</td></tr>" for name, told in rows(ledger))
    head = "<tr><th>Gate says it …</th><th>overridden</th></tr>"
    st.html(
        '<details class="sk-sealed"><summary>By criterion</summary>'
        f'<table class="sk-held plain"><thead>{head}</thead><tbody>{body}</tbody></table></details>'
    )
    if ledger.due:
        session.link("review", f"Second look: {len(ledger.due)}", icon=":material/visibility:", view="second")
