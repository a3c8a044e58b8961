"""A second look at a sample of accepted changes: shown anew, without the verdict and without the first answer."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

import streamlit as st

from pages._ui import cards, evidence, review_panes, session
from pages._ui.opened import Opened
from pages._ui.text import count, esc, label
from refiner.errors import DecisionRefused, RefinerError
from refiner.reporting.ledger import second_words

if TYPE_CHECKING:
    from refiner.views import Item
    from refiner.workspace.ledgers import Answer

VIEW: Final = "second"
SHOWN: Final = "rv_second_shown"
ANSWERS: Final = (
    ("accept", "It belongs into the skill", "primary"),
    ("reject", "It does not", "secondary"),
    ("unsure", "I cannot tell", "secondary"),
)


def draw(here: Opened) -> bool:
    """The change that is looked at again, when the address asks for one; else the offer. True: the page ends here."""
    found = session.workspace().ledger(here.name)
    item = here.review.item(found.due[0]) if found.due else None
    if item is None:
        if words := second_words(found):
            st.html(f'<p class="rv-meta">{esc(words)}</p>')
        return False
    if session.param("view") != VIEW:
        _offer(len(found.due))
        return False
    _look(here, item, len(found.due))
    return True


def _offer(waiting: int) -> None:
    words = (
        f"Everything is decided. {count(waiting, 'accepted change')} {'comes' if waiting == 1 else 'come'} back for a "
        "second look, without the verdict and without what was said the first time: it measures how steady they are."
    )
    cards.card("say", words)
    st.button("Look again", key="rv_second", icon=":material/visibility:", on_click=session.put, kwargs={"view": VIEW})


def _look(here: Opened, item: Item, waiting: int) -> None:
    """The text and the runs, and three answers; what the gate and the first reviewer said is kept out."""
    words = f"{count(waiting, 'change')} to look at. The decision stays as it is; your answer is recorded beside it."
    cards.card("say", words, "Second look")
    runs = {one.trace.id: one for one in here.report.snapshot.training}
    left, right = st.columns([1, 1], gap="large")
    with left:
        path = "".join(f"<span>{esc(part)}</span>" for part in item.place.split(" › "))
        st.html(f'<div class="rv-intent"><p class="rv-path">{path}</p><h2>{esc(item.intent)}</h2></div>')
        review_panes.difference(here.name, item)
        with st.container(key="rv_second_answers", horizontal=True, gap="small"):
            for answer, said, kind in ANSWERS:
                args = (here.name, item, answer)
                st.button(said, key=f"rv_second_{answer}", type=kind, on_click=_answer, args=args)
            st.button("Later", key="rv_second_later", type="tertiary", on_click=session.put, kwargs={"view": None})
    with right, st.container(key="rv_second_runs"):
        st.html("<h3>Runs it comes from</h3>")
        evidence.cited_runs(item, runs)
    kept = st.session_state.get(SHOWN)
    if not kept or kept[0] != item.change_id:
        st.session_state[SHOWN] = (item.change_id, time.time())


def _answer(name: str, item: Item, answer: Answer) -> None:
    kept = st.session_state.get(SHOWN)
    at = kept[1] if kept and kept[0] == item.change_id else time.time()
    try:
        session.workspace().look_again(name, item.change_id, answer, shown_at=at)
    except DecisionRefused as refused:
        st.toast(label(str(refused), 240), icon=":material/front_hand:")
    except RefinerError as error:
        cards.notice("error", str(error))
    else:
        again = "" if answer == "accept" else " The decision stays; change it on Review if you no longer stand by it."
        st.toast(f"Recorded.{again}")
