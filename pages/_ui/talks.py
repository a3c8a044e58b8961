"""Conversations: what cutting them into attempts means, and the button that does it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from pages._ui import cards, session
from pages._ui.text import count

if TYPE_CHECKING:
    from refiner.conversation_views import CutReport

SKIPPED = {"no reaction": "nobody reacted to", "no step": "the agent did nothing for"}


def draw(name: str) -> None:
    """What a cut does, and the button."""
    cards.line(
        "No outcomes, only conversations with an agent? How its user took each attempt says how it ended.", strong=True
    )
    cards.pairs(
        [
            ("An attempt", "a request, what the agent did, and how the user took it"),
            ("A mistake and its correction", "a failing attempt, then a passing one, at the same task"),
            ("The user's words", "become the feedback of the attempt"),
            ("What nobody reacted to", "is left out and counted"),
            ("The outcomes", "are suggestions: you accept or dismiss each before anything is learned"),
        ]
    )
    if st.button("Cut into episodes", key="talks_cut", type="primary", icon=":material/content_cut:"):
        with st.spinner("Reading the conversations"):
            done = cards.attempt(session.workspace().cut_conversations, name)
        if done:
            for kind, words in _said(done.value):
                cards.notice(kind, words)
            session.put(corpus=done.value.corpus, refinement=None, change=None, trace=None, view="suggested")
        st.rerun()
    cards.line(
        "The attempts go into a corpus of their own; this one stays as it is. Again later adds only what is new."
    )


def _said(report: CutReport) -> list[tuple[cards.Kind, str]]:
    """What was found, and what was left out."""
    total = report.failing + report.passing
    found = (
        f"{count(total, 'attempt')} in {count(report.conversations, 'conversation')}: {report.failing} seem to have "
        f"failed and {report.passing} passed; {report.added} are new."
    )
    left = [f"{count(number, 'request')} {SKIPPED.get(reason, reason)}" for reason, number in report.skipped.items()]
    return [("done", found), *([("say", f"Left out: {', '.join(left)}.")] if left else [])]
