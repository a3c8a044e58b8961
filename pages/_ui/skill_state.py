"""What the skill page shows and the commands it gives: which version of the skill, whose, and what its buttons do."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

import streamlit as st

from pages._ui import cards, session
from pages._ui.opened import Opened
from pages._ui.text import count, label
from refiner.errors import DecisionRefused, RefinerError
from refiner.reporting.html import owners, standings_of

if TYPE_CHECKING:
    from refiner.merge import Merged
    from refiner.types import Decision
    from refiner.views import Item

Preview = Literal["none", "supported", "automatic"]
SHOWN: Final = "sk_shown"
ASKING: Final = "sk_asking"


@dataclass(frozen=True, slots=True)
class Shown:
    """The version on screen. `upto`: a place in the decision log, when it is not the newest. `items` by the id that
    lines of the merged skill carry. `log`: every decision. Only the newest version can be decided on.
    """

    here: Opened
    merged: Merged
    items: Mapping[str, Item]
    log: tuple[Decision, ...]
    preview: Preview
    upto: int | None

    @property
    def open(self) -> bool:
        """Whether its changes can be decided on."""
        return self.upto is None

    @property
    def inside(self) -> set[str]:
        """The ids of the changes in this version, as the review knows them."""
        return {self.items[one].change_id for one in self.merged.change_ids if one in self.items}


def shown(here: Opened) -> Shown:
    """The version that the address asks for: now, a preview, or an earlier place in the decision log."""
    workspace = session.workspace()
    log = tuple(workspace.decisions(here.name))
    upto, preview = _upto(len(log)), _preview(here, log)
    if upto is not None:
        merged = workspace.merged(here.name, upto=upto)
    else:
        merged = workspace.merged(here.name, preview=preview)
    return Shown(here, merged, _items(here), log, preview if upto is None else "none", upto)


def _upto(last: int) -> int | None:
    wanted = session.param("upto") or ""
    return int(wanted) if wanted.isascii() and wanted.isdigit() and int(wanted) < last else None


def _preview(here: Opened, log: tuple[Decision, ...]) -> Preview:
    """What the address asks for; an opened result that nobody decided on starts with its automatic merge."""
    wanted = session.param("preview")
    if wanted == "supported" or wanted == "automatic":
        return "supported" if wanted == "supported" else "automatic"
    return "automatic" if wanted is None and not log and is_opened(here.name) else "none"


def is_opened(name: str) -> bool:
    """Whether the refinement comes from a result folder that was opened."""
    corpus = session.workspace().corpus_of(name)
    return any(card.name == corpus and card.opened for card in session.workspace().corpora())


def _items(here: Opened) -> dict[str, Item]:
    standings = owners(here.report, standings_of(here.report, here.review))
    known = {item.change_id: item for item in here.review.items}
    return {key: known[one.row.change.key] for key, one in standings.items() if one.row.change.key in known}


def drawn(found: Shown) -> None:
    """Remembers when each change was first on screen as it is now; called at the end of the run that drew them."""
    kept: dict[tuple[str, str], float] = st.session_state.get(SHOWN, {})
    now = time.time()
    st.session_state[SHOWN] = {
        (item.change_id, item.hash): kept.get((item.change_id, item.hash), now) for item in found.here.review.items
    }


def decide(
    name: str, item: Item, action: Literal["accept", "reject", "amend"], code: str = "", *, text: str | None = None
) -> None:
    """Decides on a change as it was on screen; a refusal is said in words and changes nothing."""
    at = st.session_state.get(SHOWN, {}).get((item.change_id, item.hash), time.time())
    st.session_state.pop(ASKING, None)
    try:
        session.workspace().decide(
            name, item.change_id, action, shown_at=at, seen=item.hash, reason_code=code, amended=text
        )
    except DecisionRefused as refused:
        st.toast(label(str(refused), 240), icon=":material/front_hand:")
    except RefinerError as error:
        cards.notice("error", str(error))


def ask(change_id: str | None) -> None:
    """Opens or closes the second step of a rejection on one change: the reason."""
    if change_id is None:
        st.session_state.pop(ASKING, None)
    else:
        st.session_state[ASKING] = change_id


def accept_supported(name: str) -> None:
    """Accepts every supported change at once."""
    if done := cards.attempt(session.workspace().accept_supported, name):
        accepted = count(sum(item.in_skill for item in done.value.items), "change")
        cards.notice("done", f"{accepted} in the skill now. One undo takes back what was accepted together.")
        session.put(preview=None, upto=None)


def undo(name: str) -> None:
    """Takes the reviewer's own latest decision back."""
    done = cards.attempt(session.workspace().undo, name)
    if done is None:
        return
    if done.value is None:
        st.toast("There is nothing of yours to undo.")
        return
    st.toast(
        "Undone: everything that was accepted together." if done.value.batch else "Undone.", icon=":material/undo:"
    )
    session.put(preview=None, upto=None)


def look(preview: Preview) -> None:
    """Shows a preview, which decides nothing; `none` goes back to what was accepted."""
    session.put(preview=preview, upto=None)
