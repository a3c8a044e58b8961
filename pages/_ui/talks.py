"""Conversations: what cutting them into attempts means, and the button that does it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from pages._ui import cards, cutting, session
from pages._ui.text import count

if TYPE_CHECKING:
    from refiner.conversation_views import CutReport

PHRASES, MODEL = "Phrases", "A language model"
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
    if not cutting.standing(name):
        _ways(name)
    cards.line(
        "The attempts go into a corpus of their own; this one stays as it is. Again later adds only what is new."
    )


def _ways(name: str) -> None:
    """Phrases or a model, and the button of the chosen one."""
    way = st.segmented_control("Read by", [PHRASES, MODEL], default=PHRASES, required=True, key="talks_way",
                               persist_state="session")  # fmt: skip
    if way == MODEL:
        cutting.offer(name)
        return
    cards.line("Phrases of correction and thanks are looked for on this machine; nothing is understood.")
    if st.button("Cut into episodes", key="talks_cut", type="primary", icon=":material/content_cut:"):
        with st.spinner("Reading the conversations"):
            done = cards.attempt(session.workspace().cut_conversations, name)
        if done:
            for kind, words in said(done.value):
                cards.notice(kind, words)
            session.put(corpus=done.value.corpus, refinement=None, change=None, trace=None, view="suggested")
        st.rerun()


def said(report: CutReport) -> list[tuple[cards.Kind, str]]:
    """What was found, and what was left out."""
    left = [f"{count(number, 'request')} {SKIPPED.get(reason, reason)}" for reason, number in report.skipped.items()]
    return [("done", cutting.found(report)), *([("say", f"Left out: {', '.join(left)}.")] if left else [])]
