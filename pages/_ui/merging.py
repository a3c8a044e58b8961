"""One installed skill put into another: what both say, what speaks against each other, and what would be added."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import streamlit as st

from pages._ui import cards, installed, session
from pages._ui.text import count, esc
from refiner.installs.folding import SIMILARITY
from refiner.installs.joining import foresee, join
from refiner.installs.looking import look
from refiner.installs.store import store_of

if TYPE_CHECKING:
    from refiner.installs.folding import Folded, Pair
    from refiner.installs.listing import Listed
    from refiner.installs.store import Store

FROM: Final = "in_from"
ALIKE: Final = "in_alike"
REMOVE: Final = "in_remove"
FEWEST: Final = 0.5
"""Lines that agree less than this are never offered as one: they share hardly more than common words."""


def draw(skill: Listed, others: Sequence[Listed]) -> None:
    """The whole merge into one skill."""
    destination = store_of(skill.found.folder)
    st.html(f"<h2>Merge another skill into {esc(skill.found.shown)}</h2>")
    found = [one for one in others if store_of(one.found.folder).folder != destination.folder]
    if not found:
        cards.empty("There is no other skill", "Name another folder of skills at the left, or install one first.")
        _leave()
        return
    folders = [one.found.folder for one in found]
    key = f"{FROM}_{installed.key_of(repr(folders))}"
    at = st.selectbox("Take the lines of", range(len(found)), key=key, format_func=lambda at: str(folders[at]))
    alike = st.slider("Lines that agree at least this much are one", FEWEST, 1.0, SIMILARITY, 0.01, key=ALIKE)
    source = store_of(folders[at])
    seen = foresee(source, destination, alike)
    _seen(seen)
    _decide(source, destination, alike)
    st.subheader(f"What will change in {destination.folder.name}", anchor=False)
    installed.files(look(destination).tree.files, seen.tree.files, "in_merged")


def _seen(seen: Folded) -> None:
    """What the merge does, contradictions first: those a person has to decide by hand afterwards."""
    if seen.contradictions:
        st.subheader(count(len(seen.contradictions), "contradiction"), anchor=False)
        cards.line("Both lines will be in the skill; decide between them by hand afterwards.")
        for number, pair in enumerate(seen.contradictions):
            _against(number, pair)
    cards.line(
        f"{count(len(seen.added), 'line or block', 'lines and blocks')} will be added, "
        f"{count(len(seen.folded), 'is', 'are')} said by both and kept once.",
        strong=True,
    )
    if seen.folded:
        with st.expander("Said by both, kept once", key="in_folded"):
            rows = ((f"{one.score:.2f}", one.source, one.destination) for one in seen.folded)
            cards.table(("Alike", "Taken for", "Stays as"), rows, numbers=(0,))
    for old, new in sorted(seen.renamed.items()):
        cards.line(f"{old} is there with other content: the one that comes in is called {new}.")
    if seen.left:
        cards.line(f"Not taken from its front matter: {', '.join(seen.left)}.")


def _against(number: int, pair: Pair) -> None:
    with st.container(key=f"in_hunk_against_{number}", border=True, gap="small"):
        sides = (("It says now", pair.destination), ("Comes in", pair.source))
        for column, (words, text) in zip(st.columns(2), sides, strict=True):
            with column:
                st.html(f'<p class="in-side">{words}</p><pre class="in-text">{esc(text)}</pre>')


def _decide(source: Store, destination: Store, alike: float) -> None:
    remove = st.checkbox("Remove the other skill's folder afterwards; its versions stay in this one's log", key=REMOVE)
    with st.container(key="in_buttons", horizontal=True, gap="small", vertical_alignment="center"):
        st.button(
            "Merge", key="in_merge", type="primary", icon=":material/merge:", on_click=_merge,
            args=(source, destination, alike, remove),
        )  # fmt: skip
        _leave()


def _leave() -> None:
    st.button("Not now", key="in_leave", type="tertiary", on_click=session.put, kwargs={"act": None})


def _merge(source: Store, destination: Store, alike: float, remove: bool) -> None:
    done = cards.attempt(join, source, destination, similarity=alike, delete_source=remove)
    if done is None:
        return
    made, seen = done.value.installed, done.value.folded
    number = made.version.number
    words = f"Merged as version {number}." if made.new else f"It says all of it already: version {number}."
    left = f"{source.folder} was removed." if done.value.deleted else f"{source.folder} stays as it is."
    cards.notice("done", f"{words} {left}")
    if seen.contradictions:
        cards.notice("warn", f"{count(len(seen.contradictions), 'contradiction')} in it to decide by hand.")
    session.put(act=None, first=None, last=None)
