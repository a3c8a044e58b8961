"""Skill Refiner in the browser: registers the pages and opens the workspace they share. `refiner app` starts it."""

from __future__ import annotations

import streamlit as st

from pages._ui import cards, session, style
from refiner.errors import RefinerError

TITLES = {
    "corpus": "Corpus",
    "refine": "Refine",
    "map": "Map",
    "review": "Review",
    "skill": "Skill",
    "skills": "Installed",
}
HIDDEN = {"trace": "Trace", "help": "Help"}


def pages() -> list[st.Page]:
    """Every page; the first one is what opens without an address."""
    titles = {**TITLES, **HIDDEN}
    return [
        st.Page(
            session.PAGES[name],
            title=title,
            url_path=name,
            default=name == "corpus",
            visibility="hidden" if name in HIDDEN else "visible",
        )
        for name, title in titles.items()
    ]


def shown_first() -> None:
    """Leads a new session on a server started for one result to that result."""
    result = session.opened_result()
    if result and not st.query_params and "welcomed" not in st.session_state:
        st.session_state["welcomed"] = True
        session.go("skill", refinement=result)


st.set_page_config(page_title="Skill Refiner", layout="wide")
page = st.navigation(pages(), position="top")
style.one_press()
try:
    session.workspace()
    session.warm_up()
    session.remember()
    shown_first()
    page.run()
except RefinerError as error:
    style.apply()
    cards.card("error", str(error), "This cannot be shown")
except Exception as error:
    style.apply()
    cards.unexpected(error)
