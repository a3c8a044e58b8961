"""One installed skill: how its folder stands, its versions, what differs between two of them, and the way back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import streamlit as st

from pages._ui import cards, diff, session
from pages._ui.text import count, esc, when
from refiner.carried import read_origin, rows_of
from refiner.ids import text_key
from refiner.installs.installing import keep, override_of, rollback
from refiner.installs.listing import compared
from refiner.installs.records import WORDS
from refiner.reporting.html import decoded

if TYPE_CHECKING:
    from refiner.installs.listing import Listed
    from refiner.installs.places import Place
    from refiner.installs.records import Files, Version
    from refiner.installs.store import Store

ROWS: Final = 12
ACTS: Final = (
    ("merge", "Merge another skill into it", ":material/merge:"),
    ("import", "Take in another tool's history", ":material/history:"),
)


def key_of(folder: str) -> str:
    """A widget key for a folder."""
    return text_key("folder", folder)


def place(one: Place) -> None:
    """The heading of a place where agents look."""
    st.html(
        f'<p class="in-place"><b>{esc(one.words[:1].upper() + one.words[1:])}</b><span>{esc(one.folder)}</span></p>'
    )


def draw(skill: Listed, store: Store) -> None:
    """The whole skill."""
    versions = store.versions()
    st.html(f"<h2>{esc(skill.found.shown)}</h2>")
    st.code(str(store.folder), language=None, wrap_lines=True)
    _state(skill, store)
    _acts()
    if versions:
        _log(store, versions, edited=bool(skill.status.edited))
        _difference(store, versions, edited=bool(skill.status.edited))


def _state(skill: Listed, store: Store) -> None:
    status = skill.status
    if status.head is None:
        cards.card("say", "No version was kept yet. Keep what lies there as version 1, so that there is a way back.")
        st.button("Keep as version 1", key="in_keep", on_click=_keep, args=(store,))
    elif status.edited:
        words = f"Edited by hand since version {status.head.number}: {', '.join(status.edited)}."
        cards.card("say", f"{words} The next install or way back keeps these edits as a version of their own.")
        st.button("Keep them as a version now", key="in_keep", on_click=_keep, args=(store,))
    _travels(store, status.head)


def _acts() -> None:
    """What else can be done with it."""
    with st.container(key="in_acts", horizontal=True, gap="small"):
        for act, words, icon in ACTS:
            st.button(words, key=f"in_act_{act}", type="tertiary", icon=icon, on_click=session.put, kwargs={"act": act})


def _keep(store: Store) -> None:
    done = cards.attempt(keep, store)
    if done and done.value:
        cards.notice("done", f"Kept as version {done.value.version.number}.")


def _travels(store: Store, head: Version | None) -> None:
    """What travels with the skill to its next refinement."""
    origin = read_origin(store.origin(head))
    if not origin:
        return
    rejected = sum(row.get("status") == "rejected" for row in rows_of(origin, "tried"))
    explained = len(rows_of(origin, "ranges")) + len(rows_of(origin, "earlier"))
    words = f"Its provenance explains {count(explained, 'stretch', 'stretches')} of lines"
    cards.line(f"{words} and remembers {count(rejected, 'rejected change')} for the next refinement.")
    if explained:
        with st.expander("Where its lines come from", key="in_lines"):
            cards.table(("Lines", "Refinement", "Why"), _lines(origin))
    if reason := override_of(head):
        cards.card("warn", f"Installed against the held-out tasks: {reason}")


def _lines(origin: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """A row for each stretch of lines that a refinement brought in, in the order of the file."""
    changes = origin.get("changes")
    said = {key: one.get("rationale", "") for key, one in changes.items()} if isinstance(changes, dict) else {}
    own = [{**row, "refinement": origin.get("refinement"), "rationale": said.get(row.get("change"), "")}
           for row in rows_of(origin, "ranges")]  # fmt: skip
    for row in sorted([*own, *rows_of(origin, "earlier")], key=lambda row: (str(row["path"]), int(row["start_line"]))):
        first, last = row["start_line"], row["end_line"]
        lines = f"{row['path']}:{first}" + (f" to {last}" if last != first else "")
        yield lines, str(row["refinement"])[:8], str(row["rationale"])


def _log(store: Store, versions: Sequence[Version], *, edited: bool) -> None:
    st.subheader(count(len(versions), "version"), anchor=False)
    pages = -(-len(versions) // ROWS)
    page = st.pagination(pages, key=f"in_page_{key_of(str(store.folder))}") if pages > 1 else 1
    newest = list(reversed(versions))[(page - 1) * ROWS : page * ROWS]
    for one in newest:
        with st.container(key=f"in_version_{one.number}", horizontal=True, vertical_alignment="center", gap="small"):
            note = f" · {esc(one.note, 120)}" if one.note else ""
            st.html(
                f'<p class="in-version"><b>{one.number}</b> {esc(WORDS[one.source])}'
                f"<span>{esc(when(one.at) or one.at)}{note}</span></p>"
            )
            if one.parents:
                st.button("What changed", key=f"in_show_{one.number}", type="tertiary", on_click=_show,
                          args=(_before(versions, one), one.number))  # fmt: skip
            if one is not versions[-1] or edited:
                st.button("Bring back", key=f"in_back_{one.number}", on_click=_back, args=(store, one.number))


def _before(versions: Sequence[Version], one: Version) -> int:
    return next((other.number for other in versions if other.id == one.parents[0]), one.number)


def _show(first: int, last: int) -> None:
    session.put(first=str(first), last=str(last))


def _back(store: Store, number: int) -> None:
    if done := cards.attempt(rollback, store, number):
        kept = "Your edits were kept as a version first. " if done.value.kept else ""
        words = f"{kept}Version {number} is back, as version {done.value.version.number}."
        cards.notice("done", words if done.value.new else f"{kept}The skill was like version {number} already.")
        session.put(first=None, last=None)


def _difference(store: Store, versions: Sequence[Version], *, edited: bool) -> None:
    """Two versions that were chosen; by default the edits by hand, else the newest step."""
    if len(versions) == 1 and not edited:
        return
    first, last = (_number(session.param(name), len(versions)) for name in ("first", "last"))
    found = compared(store, first, last)
    st.subheader(f"From {found.first} to {found.last}", anchor=False)
    files(found.before, found.after, "in_diff")


def _number(given: str | None, most: int) -> int | None:
    return int(given) if given and given.isascii() and given.isdigit() and 1 <= int(given) <= most else None


def files(before: Files, after: Files, key: str) -> None:
    """Every file that differs, one diff each."""
    paths = [path for path in sorted({*before, *after}) if before.get(path) != after.get(path)]
    if not paths:
        cards.line("No difference.")
    for path in paths:
        old, new = (decoded(side.get(path, b"")) for side in (before, after))
        gone = " (removed)" if path not in after else " (new)" if path not in before else ""
        with st.container(key=f"{key}_{key_of(path)}", border=True, gap="small"):
            st.html(f'<p class="in-file">{esc(path)}{gone}</p>')
            st.html(diff.rows_html(diff.diff_rows(old, new), "inline", "details"))
