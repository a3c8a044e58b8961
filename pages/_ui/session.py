"""Where a page is and what it may ask: the shared workspace, the address bar, and moving between pages.

Truth lives in the workspace and in the address. The session only remembers which corpus and which refinement were
looked at last, so that the page names on top lead to the same place.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from threading import Timer
from typing import TYPE_CHECKING, NoReturn

import streamlit as st
from streamlit.runtime.pages_manager import PagesManager

from refiner.errors import RefinerError, StoreError

if TYPE_CHECKING:
    from refiner.workspace.desk import Workspace

PAGES = {
    "corpus": "pages/corpus.py",
    "refine": "pages/refine.py",
    "map": "pages/map.py",
    "review": "pages/review.py",
    "skill": "pages/skill.py",
    "skills": "pages/skills.py",
    "trace": "pages/trace.py",
    "help": "pages/help.py",
}
"""The script of every page by its name; the name is also its address."""

WARM_UP_AFTER = 2.0
"""Seconds from the first screen on: importing earlier would slow that screen down."""

KEPT = ("corpus", "refinement")
DATABASE = ".refiner/refiner.duckdb"


def database() -> Path:
    """The database of this server: REFINER_DB, else one beside the project."""
    return Path(os.environ.get("REFINER_DB") or DATABASE).absolute()


def workspace() -> Workspace:
    """The one workspace of this server. Raises StoreError (StoreBusy among them) when its file cannot be opened."""
    try:
        return opened(str(database()))
    except StoreError:
        through_the_entry()
        raise


def through_the_entry() -> None:
    """Starts over with `app.py` when this page was run without it.

    Until `app.py` has run once, a server takes every file of `pages/` for a page of its own: a tab reloaded after a
    restart would get its page without navigation and without the error cards.
    """
    if PagesManager.uses_pages_directory:
        PagesManager.uses_pages_directory = False
        st.rerun()


@st.cache_resource(show_spinner=False)
def opened(path: str) -> Workspace:
    """Opens the database once for all sessions of the server."""
    from refiner.workspace.desk import Workspace

    Path(path).parent.mkdir(parents=True, exist_ok=True)
    return Workspace.open(Path(path))


@st.cache_resource(show_spinner=False)
def warm_up() -> Timer:
    """Loads the libraries of the first clustering in the background, once a server and after the first screen."""
    timer = Timer(WARM_UP_AFTER, workspace().warm_up)
    timer.daemon = True
    timer.start()
    return timer


def opened_result() -> str | None:
    """The refinement of the result folder that the server was started for (REFINER_OPEN); None when for none."""
    folder = os.environ.get("REFINER_OPEN")
    return _opened_result(folder) if folder else None


@st.cache_resource(show_spinner="Reading the result")
def _opened_result(folder: str) -> str:
    return workspace().open_result(Path(folder))


def param(name: str) -> str | None:
    """A value of the address bar; None when it is not there or empty."""
    return st.query_params.get(name) or None


def put(**params: str | None) -> None:
    """Writes values into the address bar of this page; None removes one."""
    for name, value in params.items():
        if value is None:
            st.query_params.pop(name, None)
            st.session_state.pop(_kept(name), None)
        elif st.query_params.get(name) != value:
            st.query_params[name] = value


def address(**params: str | None) -> dict[str, str]:
    """Query parameters of a link: the corpus and refinement of this page, then what is given; None leaves one out.

    A link to another corpus names no refinement unless it is given one.
    """
    here = {name: param(name) for name in KEPT}
    if params.get("corpus") not in (None, here["corpus"]):
        here["refinement"] = None
    return {name: value for name, value in {**here, **params}.items() if value}


def go(page: str, **params: str | None) -> NoReturn:
    """Leaves for a page by name ("review"), with `address(**params)`."""
    st.switch_page(PAGES[page], query_params=address(**params))


def link(page: str, label: str, *, icon: str | None = None, disabled: bool = False, **params: str | None) -> None:
    """A link to a page by name inside this session; `label` must not hold text from runs or skills."""
    st.page_link(PAGES[page], label=label, icon=icon, disabled=disabled, query_params=address(**params))


def remember() -> None:
    """Keeps the corpus and refinement of the address for the next page, or takes them from the page before.

    A page name on top carries no parameters; this puts them back.
    """
    if (corpus := param("corpus")) and corpus != st.session_state.get(_kept("corpus")):
        st.session_state.pop(_kept("refinement"), None)
    for name in KEPT:
        if value := param(name):
            st.session_state[_kept(name)] = value
        elif value := st.session_state.get(_kept(name)):
            st.query_params[name] = value


def current_corpus() -> str | None:
    """The corpus of this page: the address's, else that of its refinement, else the only or the first one there is."""
    if name := param("corpus"):
        return name
    if refinement := param("refinement"):
        with suppress(RefinerError):
            return workspace().corpus_of(refinement)
    cards = workspace().corpora()
    return cards[0].name if cards else None


def current_refinement() -> str | None:
    """The refinement of this page: the address's, else the newest of the current corpus that can be looked at."""
    if wanted := param("refinement"):
        return wanted
    name = current_corpus()
    if name is None or all(card.name != name for card in workspace().corpora()):
        return None
    cards = workspace().refinements(name)
    finished = [card.id for card in cards if card.status in ("done", "cancelled")]
    return (finished or [card.id for card in cards] or [None])[0]


def nearest_refinement() -> tuple[str, str] | None:
    """(corpus, refinement) to show instead of one that is gone: the newest finished one of this or any corpus."""
    names = [card.name for card in workspace().corpora()]
    here = param("corpus")
    for name in sorted(names, key=lambda one: one != here):
        done = [card.id for card in workspace().refinements(name) if card.status in ("done", "cancelled")]
        if done:
            return name, done[0]
    return None


def _kept(name: str) -> str:
    return f"last_{name}"
