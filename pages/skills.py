"""Installed: the skills where agents look, their versions, what differs, the way back, and installing an export."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

import streamlit as st

from pages._ui import cards, diff, header, importing, installed, installing, merging, session
from pages._ui.text import count, label
from refiner.errors import RefinerError
from refiner.installs.listing import listing
from refiner.installs.store import store_of

if TYPE_CHECKING:
    from refiner.installs.listing import Listed, Listing

SHEET: Final = Path(__file__).parent / "_ui" / "installed.css"
NOTE: Final = "Every version is kept beside its skill. Edits by hand are never overwritten."
OTHER: Final = "in_folder"


def page() -> None:
    header.show(None, "Installed skills", note=NOTE)
    st.html(SHEET)
    st.html(diff.style())
    found = _listings()
    left, right = st.columns([1, 2.5], gap="large")
    with left, st.container(key="in_places"):
        _places(found)
    with right:
        _opened(found)


def _listings() -> list[Listing]:
    """The places where agents look, then the folder of the address, if any."""
    found = [listing()]
    folder = session.param("folder")
    if folder and all(place.folder != Path(folder).expanduser() for place in found[0].places):
        try:
            found.append(listing(folder))
        except RefinerError as error:
            cards.card("error", str(error))
    return found


def _places(found: list[Listing]) -> None:
    for one in found:
        for place in one.places:
            inside = [skill for skill in one.skills if skill.found.place.folder == place.folder]
            installed.place(place)
            for skill in inside:
                _row(skill)
            if not inside:
                cards.line("No skill here." if place.folder.is_dir() else "There is no such folder yet.")
    value = session.param("folder") or ""
    st.text_input(
        "Another folder of skills", value, key=OTHER, placeholder="/path/to/skills", on_change=_look_elsewhere
    )


def _look_elsewhere() -> None:
    session.put(folder=str(st.session_state[OTHER]).strip() or None, skill=None)


def _row(skill: Listed) -> None:
    folder = str(skill.found.folder)
    here = session.param("skill") == folder
    version = f"version {skill.status.head.number}, " if skill.status.head else ""
    with st.container(key=f"in_{'here' if here else 'skill'}_{installed.key_of(folder)}", gap=None):
        st.button(
            label(skill.found.shown), key=f"in_open_{installed.key_of(folder)}", type="tertiary", on_click=_open,
            args=(folder,),
        )  # fmt: skip
        cards.line(f"{version}{skill.state}")


def _open(folder: str) -> None:
    session.put(skill=folder, install=None, act=None, first=None, last=None)


def _opened(found: list[Listing]) -> None:
    """The installation that the address asks for, else the skill that it names, else what can be done here."""
    every, folder = [skill for one in found for skill in one.skills], session.param("skill")
    skill = next((one for one in every if str(one.found.folder) == folder), None)
    if session.param("install"):
        installing.draw(str(session.param("install")), [place for one in found for place in one.places])
    elif skill and session.param("act") == "merge":
        merging.draw(skill, every)
    elif skill and session.param("act") == "import":
        importing.draw(skill)
    elif skill:
        installed.draw(skill, store_of(skill.found.folder))
    else:
        if folder:
            cards.card("warn", f"{folder} holds no skill any more, or lies in none of the folders at the left.")
        _nothing_open(len(every))


def _nothing_open(skills: int) -> None:
    if skills:
        cards.empty(f"{count(skills, 'skill')} installed", "Choose one at the left to see its versions.")
    else:
        cards.empty("No skill is installed where agents look", "Review a refinement, then install its skill from here.")
    name = session.current_refinement()
    if name is None:
        session.link("corpus", "Start with traces", icon=":material/arrow_forward:")
    else:
        session.link("skills", "Install the current export", icon=":material/install_desktop:", install=name)
        session.link("skill", "See what it holds", icon=":material/arrow_forward:")


try:
    page()
except RefinerError as error:
    cards.card("error", str(error))
