"""Installing the export of a refinement: where, what lies there, and each place that both sides changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import streamlit as st

from pages._ui import cards, diff, installed, session
from pages._ui.text import count, esc
from refiner.installs.installing import install, outlook
from refiner.installs.package import unzipped
from refiner.installs.places import found_in
from refiner.installs.records import WORDS
from refiner.installs.store import store_of
from refiner.reporting.html import decoded

if TYPE_CHECKING:
    from refiner.installs.installing import Outlook
    from refiner.installs.package import Package
    from refiner.installs.places import Place
    from refiner.installs.store import Store
    from refiner.installs.threeway import Choice, Hunk

WHERE: Final = "in_where"
REASON: Final = "in_reason"
ANSWERS: Final[dict[Choice, str]] = {"mine": "Mine", "theirs": "Theirs", "both": "Both"}


def draw(refinement_id: str, places: Sequence[Place]) -> None:
    """The whole installation."""
    made = session.workspace().exports(refinement_id)
    st.html(f"<h2>Install {esc(made.name)}</h2>")
    if made.blocked:
        cards.sentences(["The skill cannot be exported yet.", *made.blocked], "error")
        session.link("skill", "Go to Skill", icon=":material/arrow_back:", refinement=refinement_id)
        return
    for words in made.warnings:
        cards.line(words)
    package = unzipped(made.zip, made.name)
    folder = _where(package.name, places)
    store = store_of(folder)
    seen = outlook(store, package)
    _said(store, seen)
    choices = _hunks(seen.woven.hunks)
    reason = _reason(seen)
    ready = len(choices) == len(seen.woven.hunks) and (not seen.barred or bool(reason))
    with st.container(key="in_buttons", horizontal=True, gap="small", vertical_alignment="center"):
        st.button(
            "Install", key="in_install", type="primary", disabled=not ready, icon=":material/install_desktop:",
            on_click=_install, args=(folder, package, choices, reason),
        )  # fmt: skip
        st.button("Not now", key="in_leave", type="tertiary", on_click=session.put, kwargs={"install": None})
        if not ready:
            open_ = len(seen.woven.hunks) - len(choices)
            cards.line(f"{count(open_, 'place')} to decide on." if open_ else "A reason is needed.")
    if len(choices) == len(seen.woven.hunks):
        st.subheader("What will change in the folder", anchor=False)
        installed.files(seen.tree.files, seen.woven.files(choices), "in_preview")


def _where(name: str, places: Sequence[Place]) -> Path:
    """The folder of the skill in the chosen place: where it lies already, else a new one of its name."""
    there = {one.place.folder: one.folder for one in found_in(places) if name in (one.folder.name, one.name)}
    first = next((at for at, one in enumerate(places) if one.folder in there), 0)
    chosen = st.radio(
        "Where", range(len(places)), index=first, key=f"{WHERE}_{len(places)}",
        format_func=lambda at: places[at].words[:1].upper() + places[at].words[1:],
        captions=[f"`{esc(one.folder)}`" if "`" not in str(one.folder) else "" for one in places],
    )  # fmt: skip
    return there.get(places[chosen].folder, places[chosen].folder / name)


def _said(store: Store, seen: Outlook) -> None:
    """What lies there, and what becomes of it."""
    if seen.head is None and not seen.tree.files:
        words = f"New: {store.folder} will be made."
    elif seen.adopts:
        words = f"{store.folder} holds this skill without a history. What lies there becomes version 1 first."
    elif seen.head and not seen.hand:
        words = f"{store.folder} holds version {seen.head.number} ({WORDS[seen.head.source]}), unchanged since."
    else:
        words = (
            f"{store.folder} was edited by hand since its last version: {', '.join(seen.hand)}. These edits become a "
            "version of their own, and the refined skill is merged on top of them."
        )
    cards.card("say", words)


def _hunks(hunks: Sequence[Hunk]) -> dict[int, Choice]:
    """Every place that both sides changed, with its three answers; the answers given so far."""
    if hunks:
        st.subheader(f"{count(len(hunks), 'place')} changed on both sides", anchor=False)
        cards.line("Mine is what lies in the folder, theirs what the refinement made of it.")
    found = {hunk.number: _hunk(hunk) for hunk in hunks}
    return {number: choice for number, choice in found.items() if choice is not None}


def _hunk(hunk: Hunk) -> Choice | None:
    key = installed.key_of(repr((hunk.path, hunk.line, hunk.base, hunk.mine, hunk.theirs)))
    with st.container(key=f"in_hunk_{hunk.number}", border=True, gap="small"):
        st.html(f'<p class="in-file">{esc(hunk.path)}, line {hunk.line}</p>')
        sides = (("Mine", hunk.mine), ("Theirs", hunk.theirs))
        for column, (words, data) in zip(st.columns(2), sides, strict=True):
            text = "(the file is not there)" if data is None else decoded(data) or "(nothing)"
            with column:
                st.html(f'<p class="in-side">{words}</p><pre class="in-text">{esc(text)}</pre>')
        chosen = st.segmented_control(
            "Take", list(ANSWERS), key=f"in_take_{key}", format_func=ANSWERS.__getitem__, label_visibility="collapsed"
        )
        if chosen == "both":
            both = hunk.taken("both") or b""
            st.html(diff.rows_html(diff.diff_rows(decoded(hunk.mine or b""), decoded(both)), "inline", numbers=False))
    return chosen


def _reason(seen: Outlook) -> str:
    """Why it is installed although the held-out tasks speak against it; empty when they do not, or nothing is said."""
    if not seen.barred:
        return ""
    cards.card("warn", f"{seen.barred[:1].upper()}{seen.barred[1:]}.", "The held-out tasks speak against this skill")
    return str(st.text_input("Install it all the same, because", key=REASON, max_chars=300) or "").strip()


def _install(folder: Path, package: Package, choices: Mapping[int, Choice], reason: str) -> None:
    done = cards.attempt(
        install, store_of(folder), package, choices=dict(choices), override=reason, note="from the review app"
    )
    if done is None:
        return
    kept = "".join(f"What lay there was kept as version {one.number}. " for one in done.value.kept)
    number = done.value.version.number
    words = (
        f"{kept}Installed as version {number}." if done.value.new else f"{kept}It was there already: version {number}."
    )
    cards.notice("done", words)
    session.put(install=None, skill=str(folder), first=None, last=None)
