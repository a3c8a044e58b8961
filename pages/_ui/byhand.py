"""Labelling by hand: one trace after the other, a key each, saved at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import streamlit as st

from pages._ui import cards, session
from pages._ui.text import count, esc

if TYPE_CHECKING:
    from refiner.types import Status
    from refiner.views import CorpusView, LabelRow

PAGE = 60
FILTERS = {
    "unknown": "Unlabelled",
    "fail": "Failed",
    "pass": "Passed",
    "infrastructure": "Infrastructure",
    "all": "All",
}
WORDS = {"pass": "passed", "fail": "failed", "unknown": "unlabelled", "infrastructure": "infrastructure"}
NOTE = "hand_note"
FOCUS = """<script>
(function focus(left) {
  const field = document.querySelector(".st-key-hand_note input");
  if (field) field.focus();
  else if (left) setTimeout(() => focus(left - 1), 50);
})(20);
</script>"""
"""Puts the cursor into the note, so that N can be followed by words. Fixed text: nothing is ever filled in."""
NOTING = "hand_noting"


def draw(view: CorpusView) -> None:
    """The list to label and the trace that is next."""
    cards.line(summary(view))
    st.segmented_control(
        "Show",
        list(FILTERS),
        default="unknown" if view.statuses.get("unknown") else "fail",
        required=True,
        format_func=FILTERS.__getitem__,
        key="hand_filter",
        label_visibility="collapsed",
        on_change=_refilter,
    )
    wanted = None if _filter() == "all" else _filter()
    offset = int(st.session_state.get("hand_offset", 0))
    rows = session.workspace().label_rows(view.name, status=wanted, offset=offset, limit=PAGE)
    if not rows:
        _nothing(offset)
        return
    here = _place(rows)
    left, right = st.columns([2, 5], gap="large")
    with left:
        _list(rows, here, offset)
    with right:
        _keys(view.name, rows, here)
        _note(view.name, rows, here)
        _trace(rows[here])
        _dispute(view.name, rows[here])


def _filter() -> str:
    return str(st.session_state.get("hand_filter") or "unknown")


def _refilter() -> None:
    st.session_state["hand_offset"] = 0
    session.put(trace=None)


def _nothing(offset: int) -> None:
    if offset:
        cards.empty("That was the last one", "Go back to the first, or choose another list above.")
        st.button("Back to the first", key="hand_first", on_click=_refilter)
    elif _filter() == "unknown":
        cards.empty(
            "Every trace has an outcome", "Choose another list above to look at them again, or go on to Refine."
        )
    else:
        cards.empty("No trace here", "Choose another list above.")


def _place(rows: Sequence[LabelRow]) -> int:
    wanted = session.param("trace")
    return next((place for place, row in enumerate(rows) if row.trace_id == wanted), 0)


def _list(rows: Sequence[LabelRow], here: int, offset: int) -> None:
    first = max(0, min(here - 3, len(rows) - 10))
    items = "".join(
        f'<li class="{"here" if place == here else ""}"><b>{esc(row.external_id, 40)}</b>'
        f'<span class="sr-{row.status}">{esc(_words(row))}</span><p>{esc(row.goal, 90)}</p></li>'
        for place, row in list(enumerate(rows))[first : first + 10]
    )
    cards.line(f"{here + 1 + offset} of {offset + len(rows)}{'+' if len(rows) == PAGE else ''} in this list")
    st.html(f'<ol class="sr-queue">{items}</ol>')


def _words(row: LabelRow) -> str:
    words = "disputed" if row.disputed else WORDS.get(row.status, row.status)
    return f"{words} by hand" if row.origin == "human" and not row.disputed and row.status != "unknown" else words


def _trace(row: LabelRow) -> None:
    parts = [("Goal", row.goal), ("Last words of the user", row.last_user), ("Last answer", row.last_answer)]
    shown = [(head, text) for head, text in parts if text and (head != "Last words of the user" or text != row.goal)]
    if row.feedback:
        shown.append(("What went wrong", row.feedback))
    body = "".join(f'<dt>{head}</dt><dd class="sr-quote">{esc(text, 1200)}</dd>' for head, text in shown)
    head = f"<b>{esc(row.external_id, 80)}</b> <span class='sr-{esc(row.status)}'>{esc(_words(row))}</span>"
    st.html(f'<div class="sr-card sr-run"><div class="sr-run-head">{head}</div><dl>{body}</dl></div>')


def _keys(name: str, rows: Sequence[LabelRow], here: int) -> None:
    row = rows[here]
    with st.container(key="hand_keys", horizontal=True, vertical_alignment="center", gap="small"):
        for status, words, key in (("pass", "Pass", "P"), ("fail", "Fail", "F"), ("unknown", "Unknown", "U")):
            # A key of its own for every trace: a press on what the browser still shows never labels the next one.
            st.button(
                words,
                key=f"hand_{status}_{row.trace_id}",
                shortcut=key,
                on_click=_label,
                args=(name, row.trace_id, status, _next(rows, here)),
            )
        st.button("Note", key="hand_note_open", shortcut="N", on_click=_toggle_note, args=(row.trace_id,))
        st.button("Next", key="hand_next", shortcut="J", on_click=_move, args=(_next(rows, here), len(rows)))
        st.button(
            "Previous",
            key="hand_previous",
            shortcut="K",
            on_click=_move,
            args=(rows[max(here - 1, 0)].trace_id, len(rows)),
        )
        session.link("trace", "Open the run", icon=":material/open_in_new:", id=row.trace_id)


def _next(rows: Sequence[LabelRow], here: int) -> str | None:
    return rows[here + 1].trace_id if here + 1 < len(rows) else None


def _label(name: str, trace_id: str, status: Status, following: str | None, note: str | None = None) -> None:
    if cards.attempt(session.workspace().label, name, trace_id, status, note=note):
        st.session_state.pop(NOTING, None)
        # A list of one status loses what got another one, so its next page starts where this one did.
        _move(following, PAGE if _filter() == "all" else 0)


def _move(trace_id: str | None, step: int) -> None:
    session.put(trace=trace_id)
    if trace_id is None:
        st.session_state["hand_offset"] = int(st.session_state.get("hand_offset", 0)) + (step if step >= PAGE else 0)


def _toggle_note(trace_id: str) -> None:
    st.session_state[NOTING] = None if st.session_state.get(NOTING) == trace_id else trace_id


def _note(name: str, rows: Sequence[LabelRow], here: int) -> None:
    row = rows[here]
    if st.session_state.get(NOTING) != row.trace_id:
        return
    st.text_input(
        "What went wrong, in a sentence (Enter records it as a failure)",
        key=NOTE,
        max_chars=400,
        on_change=_noted,
        args=(name, row.trace_id, _next(rows, here)),
    )
    st.html(FOCUS, unsafe_allow_javascript=True)


def _noted(name: str, trace_id: str, following: str | None) -> None:
    if note := str(st.session_state.get(NOTE) or "").strip():
        _label(name, trace_id, "fail", following, note)


def _dispute(name: str, row: LabelRow) -> None:
    if row.status not in ("pass", "fail") or row.disputed or row.origin == "human":
        return
    # Keys of its own for each trace: what was typed about one is not still there, a press away, under the next.
    with (
        st.popover("Dispute this outcome", key=f"hand_dispute_{row.trace_id}", type="tertiary"),
        st.form(f"hand_dispute_form_{row.trace_id}", border=False),
    ):
        st.text("A disputed trace leaves both sides at the next refinement.")
        st.text_input("Why the outcome is wrong", key=f"hand_dispute_reason_{row.trace_id}", max_chars=400)
        key = f"hand_dispute_yes_{row.trace_id}"
        st.form_submit_button("Dispute it", key=key, on_click=_disputed, args=(name, row.trace_id))


def _disputed(name: str, trace_id: str) -> None:
    reason = str(st.session_state.get(f"hand_dispute_reason_{trace_id}") or "").strip()
    if not reason:
        cards.notice("error", "A dispute needs a reason: say in a few words why the outcome is wrong.")
    elif cards.attempt(session.workspace().dispute, name, trace_id, reason):
        cards.notice("done", "Disputed. The trace takes part on neither side from the next refinement on.")


def summary(view: CorpusView) -> str:
    """One line above the list: how much is left to do."""
    left = view.statuses.get("unknown", 0)
    noted = f"{count(view.failures_without_feedback, 'failure')} without a sentence on what went wrong"
    return f"{count(left, 'trace')} without an outcome, {noted}. Every key is saved at once."
