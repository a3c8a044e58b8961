"""The keys and buttons that decide. Every decision names the change and what was shown; the workspace may refuse it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

import streamlit as st

from pages._ui import cards, evidence, session
from pages._ui.text import label
from refiner.errors import DecisionRefused, RefinerError

if TYPE_CHECKING:
    from refiner.views import Item, Review

Action = Literal["accept", "reject", "amend", "skip"]
REASONS: Final = {
    "not_supported": "Not supported",
    "too_specific": "Too specific",
    "already_covered": "Already covered",
    "harmful": "Harmful",
    "badly_worded": "Badly worded",
    "other": "Other",
}
GROUNDS: Final = ("I know it is true", "The runs show it", "No harm, may help")
WAITING: Final = {
    "reject": "Why is it rejected?",
    "override": "Why is it accepted all the same?",
    "edit": "Edit the text",
}
SHOWN, MODE, TEXT, WHY = "rv_shown", "rv_mode", "rv_text", "rv_why"
MOVES, MOVED, PRESSED = "rv_moves", "rv_moved", "rv_pressed"
LATE: Final = 2.0
"""Seconds in which a browser may still send the address of the change that was just left."""


@dataclass(frozen=True, slots=True)
class Mode:
    """What the bar waits for. `text`: the edited text that an override is to accept; None = the change as it is."""

    kind: Literal["reject", "override", "edit"]
    change_id: str
    text: str | None = None


@dataclass(frozen=True, slots=True)
class Seat:
    """The change on screen, its refinement, and the filtered queue that next and previous walk through."""

    refinement_id: str
    item: Item
    order: tuple[str, ...]


def mode(item: Item) -> Mode | None:
    """What the bar waits for on this change."""
    kept = st.session_state.get(MODE)
    return kept if isinstance(kept, Mode) and kept.change_id == item.change_id else None


def drawn(item: Item) -> None:
    """Remembers when this change was first on screen as it is now; called at the end of the run that drew it."""
    kept = st.session_state.get(SHOWN)
    if not kept or kept[:2] != (item.change_id, item.hash):
        st.session_state[SHOWN] = (item.change_id, item.hash, time.time())


def _shown_at(item: Item) -> float:
    """When it was drawn; now, which is too fast, for a press that came before its drawing ended."""
    kept = st.session_state.get(SHOWN)
    return kept[2] if kept and kept[:2] == (item.change_id, item.hash) else time.time()


def decide(seat: Seat, action: Action, *, reason_code: str = "", reason: str = "", amended: str | None = None) -> None:
    """Decides on the change that was on screen and moves on; says why when it is refused."""
    item = seat.item
    st.session_state[PRESSED] = seat
    try:
        review = session.workspace().decide(
            seat.refinement_id, item.change_id, action, shown_at=_shown_at(item), seen=item.hash,
            reason_code=reason_code, reason=reason, amended=amended,
        )  # fmt: skip
    except DecisionRefused as refused:
        st.session_state.pop(PRESSED, None)
        words = str(refused)
        st.toast(label(f"{words[:1].upper()}{words[1:]}.".replace("..", "."), 240), icon=":material/front_hand:")
        if refused.kind == "needs_reason":
            st.session_state[MODE] = Mode("override", item.change_id, amended)
        return
    except RefinerError as error:
        cards.notice("error", str(error))
        return
    back()
    if st.session_state.get(MOVES, True):
        go_to(next_open(review, seat.order, item.change_id))


def next_open(review: Review, order: Sequence[str], current: str) -> str:
    """The first open change after the current one in the filtered queue, from its start again at the end."""
    known = {item.change_id: item.status for item in review.items}
    at = order.index(current) if current in order else -1
    following = [*order[at + 1 :], *order[: max(at, 0)]]
    return next((key for key in following if known.get(key) == "open"), current)


def undo(refinement_id: str) -> None:
    """Takes the reviewer's latest decision back and shows that change again."""
    try:
        taken = session.workspace().undo(refinement_id)
    except RefinerError as error:
        cards.notice("error", str(error))
        return
    if taken is None:
        st.toast("There is nothing of yours to undo.")
        return
    st.toast("Undone: several decisions that were taken at once." if taken.batch else "Undone.", icon=":material/undo:")
    go_to(taken.change_id)


def wait_for(kind: Literal["reject", "override", "edit"], item: Item) -> None:
    """Opens the second step of a decision: the reason, or the text."""
    st.session_state[MODE] = Mode(kind, item.change_id)
    if kind == "edit":
        st.session_state[TEXT] = item.text


def back() -> None:
    """Leaves the second step without deciding."""
    st.session_state.pop(MODE, None)


def _accept(seat: Seat) -> None:
    if seat.item.to_write:
        wait_for("edit", seat.item)
    elif seat.item.row.result == "unsupported" or seat.item.blocked:
        wait_for("override", seat.item)
    else:
        decide(seat, "accept")


def _override(seat: Seat, waiting: Mode, ground: str = "") -> None:
    reason = ground or str(st.session_state.get(WHY, "")).strip()
    code = "released" if seat.item.releasable else ""
    action: Action = "accept" if waiting.text is None else "amend"
    decide(seat, action, reason_code=code, reason=reason, amended=waiting.text)


def _amend(seat: Seat) -> None:
    text = str(st.session_state.get(TEXT, ""))
    if text.strip():
        decide(seat, "amend", amended=text)
    else:
        st.toast("An empty text would remove the rule: reject the change instead.")


def _reject(seat: Seat, code: str) -> None:
    decide(seat, "reject", reason_code=code, reason=str(st.session_state.get(WHY, "")).strip())


def editor(item: Item) -> None:
    """The text of the change to be edited; accepted by the bar or by Ctrl/Cmd+Enter."""
    waiting = mode(item)
    if waiting and waiting.kind == "edit":
        st.text_area("Text that goes into the skill", key=TEXT, height=140, persist_state="session")


def bar(seat: Seat) -> None:
    """The bar at the bottom: the decisions, or the second step of one; then moving about."""
    waiting = mode(seat.item)
    with st.bottom, st.container(key="rv_bar", horizontal=True, vertical_alignment="center", gap="small"):
        if waiting is None:
            _decisions(seat)
            _moving(seat)
        else:
            st.html(f'<b class="rv-asks">{WAITING[waiting.kind]}</b>')
            {"reject": _ask_reason, "override": _ask_ground, "edit": _ask_text}[waiting.kind](seat, waiting)
            st.button("Back", key="rv_back", shortcut="Esc", type="tertiary", on_click=back)


def on(item: Item, name: str) -> str:
    """The key of a button that decides on this change. A press on what the browser still shows of the change before
    then never reaches the one that the server has drawn meanwhile.
    """
    return f"{name}_{item.change_id}"


def _decisions(seat: Seat) -> None:
    item = seat.item
    shut = bool(item.blocked and not item.releasable and not item.to_write)
    accept = on(item, "rv_accept")
    st.button("Accept", key=accept, shortcut="A", type="primary", disabled=shut, on_click=_accept, args=(seat,))
    st.button("Reject", key="rv_reject", shortcut="X", on_click=wait_for, args=("reject", item))
    fixed = not (item.text or item.to_write)
    st.button("Edit", key="rv_edit", shortcut="E", disabled=fixed, on_click=wait_for, args=("edit", item))
    st.button("Skip", key=on(item, "rv_skip"), shortcut="S", on_click=decide, args=(seat, "skip"))
    st.button("Undo", key="rv_undo", shortcut="U", type="tertiary", on_click=undo, args=(seat.refinement_id,))


def _moving(seat: Seat) -> None:
    at = seat.order.index(seat.item.change_id) if seat.item.change_id in seat.order else -1
    for name, key, to in (("Previous", "K", at - 1), ("Next", "J", at + 1)):
        inside = 0 <= to < len(seat.order)
        target = seat.order[to] if inside else seat.item.change_id
        st.button(name, key=f"rv_{name.lower()}", shortcut=key, disabled=not inside, on_click=go_to, args=(target,))
    place = evidence.first_place(seat.item)
    if st.button("Open run", key="rv_open", shortcut="O", type="tertiary", disabled=place is None) and place:
        session.go("trace", id=place[0], at=place[1], change=seat.item.change_id)
    if st.button("Help", key="rv_help", shortcut="H", type="tertiary"):
        session.go("help", change=seat.item.change_id)
    st.toggle(
        "Move on", value=True, key=MOVES, persist_state="session", help="Show the next open change after a decision"
    )


def go_to(change_id: str) -> None:
    """Shows another change; what the bar waited for is given up."""
    st.session_state.pop(MODE, None)
    st.session_state[MOVED] = (session.param("change"), change_id, time.time())
    session.put(change=change_id)


def wanted(review: Review) -> str | None:
    """The change that the address names.

    Keys pressed in quick succession cut the one before short: a decision may be taken without the move that follows,
    and the browser may still send the address that was just left. Both are made good here.
    """
    here = session.param("change")
    left, to, at = st.session_state.get(MOVED) or (None, None, 0.0)
    if here and here == left and time.time() - at < LATE:
        session.put(change=to)
        here = str(to)
    pressed = st.session_state.get(PRESSED)
    if isinstance(pressed, Seat) and pressed.item.change_id == here and st.session_state.get(MOVES, True):
        now = review.item(here)
        if now and now.status != "open" and now.hash != pressed.item.hash:
            here = next_open(review, pressed.order, here)
            go_to(here)
    st.session_state.pop(PRESSED, None)
    return here


def _ask_reason(seat: Seat, waiting: Mode) -> None:
    for number, (code, words) in enumerate(REASONS.items(), start=1):
        key = on(seat.item, f"rv_why_{number}")
        st.button(words, key=key, shortcut=str(number), on_click=_reject, args=(seat, code))
    st.text_input("In words", key=WHY, placeholder="or in words", label_visibility="collapsed", width=160)


def _ask_ground(seat: Seat, waiting: Mode) -> None:
    for number, ground in enumerate(GROUNDS, start=1):
        key, args = on(seat.item, f"rv_ground_{number}"), (seat, waiting, ground)
        st.button(ground, key=key, shortcut=str(number), on_click=_override, args=args)
    st.text_input("Reason", key=WHY, placeholder="or in words", label_visibility="collapsed", width=160)
    key, args = on(seat.item, "rv_override"), (seat, waiting)
    st.button("Accept", key=key, shortcut="Mod+Enter", type="primary", on_click=_override, args=args)


def _ask_text(seat: Seat, waiting: Mode) -> None:
    key = on(seat.item, "rv_amend")
    st.button("Accept this text", key=key, shortcut="Mod+Enter", type="primary", on_click=_amend, args=(seat,))
