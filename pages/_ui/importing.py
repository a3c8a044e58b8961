"""The history that another tool kept of a skill, taken into its log: what is in it, and the button that does it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import streamlit as st

from pages._ui import cards, session
from pages._ui.text import count, esc
from refiner.errors import SkillError
from refiner.installs.foreign import FILE, history_of, import_history, read_history
from refiner.installs.store import store_of
from refiner.skills.loading import FOREIGN_HISTORY

if TYPE_CHECKING:
    from refiner.installs.foreign import History
    from refiner.installs.listing import Listed
    from refiner.installs.store import Store

GIVEN: Final = "in_history"
NAME: Final = f"{FOREIGN_HISTORY}/{FILE}"
SHOWN: Final = 12


def draw(skill: Listed) -> None:
    """The whole import into one skill."""
    store = store_of(skill.found.folder)
    st.html(f"<h2>Take in another tool's history of {esc(skill.found.shown)}</h2>")
    cards.line(f"A file {NAME}: one version a line. Its times and notes are kept; what lies in the folder stays.")
    history = _history(store)
    if history:
        _inside(history)
    with st.container(key="in_buttons", horizontal=True, gap="small"):
        st.button(
            "Take it in", key="in_import", type="primary", icon=":material/history:", disabled=history is None,
            on_click=_import, args=(store, history),
        )  # fmt: skip
        st.button("Not now", key="in_leave", type="tertiary", on_click=session.put, kwargs={"act": None})


def _history(store: Store) -> History | None:
    """The file that was given, else the one beside the skill; None when there is none, or it cannot be used."""
    given = st.file_uploader("Another file", type=["jsonl"], key=GIVEN)
    beside = store.folder / FOREIGN_HISTORY / FILE
    try:
        if given is not None:
            return history_of(given.getvalue(), given.name)
        if beside.is_file():
            cards.line(f"Found beside the skill: {beside}", strong=True)
            return read_history(beside)
    except SkillError as error:
        cards.card("error", str(error))
        return None
    cards.line(f"There is no {NAME} in {store.folder}; give a file.")
    return None


def _inside(history: History) -> None:
    lines = history.lines
    st.subheader(f"{count(len(lines), 'version')} in it", anchor=False)
    shown = [tuple(str(line.get(name) or "") for name in ("version", "timestamp", "source", "note")) for line in lines]
    cards.table(("Version", "Time", "From", "Note"), reversed(shown[-SHOWN:]))
    if len(lines) > SHOWN:
        cards.line(f"And {len(lines) - SHOWN} older ones.")
    if history.gaps:
        cards.line(f"Numbers that are missing in it: {', '.join(map(str, history.gaps))}.")
    cards.sentences([f"Not used: {words}" for words in history.skipped])


def _import(store: Store, history: History) -> None:
    done = cards.attempt(import_history, store, history)
    if done is None:
        return
    if done.value.installed is None:
        cards.notice("done", "Every version of it is in the log already. Nothing was written.")
    else:
        newest = done.value.installed.version.number
        cards.notice("done", f"{count(done.value.versions, 'version')} taken in; the newest is version {newest}.")
    session.put(act=None, first=None, last=None)
