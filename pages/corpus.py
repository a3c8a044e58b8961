"""Corpus: what was recorded, how it ended, and the skill it starts from."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from pages._ui import (
    answers,
    byhand,
    corpora,
    first,
    header,
    overview,
    scores,
    session,
    startskill,
    suggested,
    tables,
    talks,
    uploads,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from refiner.views import CorpusCard, CorpusView

VIEWS = {
    "overview": "Overview",
    "traces": "Add traces",
    "labels": "Add outcomes",
    "talks": "Conversations",
    "suggested": "Suggested",
    "hand": "Label by hand",
    "skill": "Start skill",
}
VIEW = "corpus_view"
NOTE = "Recorded runs of an agent, how each one ended, and the skill that is to become better."


def draw() -> None:
    """The first screen, or the corpus that the address names."""
    known = session.workspace().corpora()
    card = corpora.current(known)
    if card is None:
        header.show("corpus", "Skill Refiner", note="Recorded runs of an agent in, a better SKILL.md out.", ready=False)
        first.draw()
        return
    header.show("corpus", "Corpus", analyst="scripted" if card.scripted else "", note=NOTE, ready=card.traces > 0)
    corpora.bar(known, card, manage=True)
    show(session.workspace().corpus(card.name), known)


def show(view: CorpusView, known: Sequence[CorpusCard]) -> None:
    """One corpus in the view that is chosen."""
    match "overview" if view.opened else choice(view):
        case "traces":
            uploads.traces(view.name)
            tables.draw(view.name)
            uploads.report(view)
            with st.expander("What a file must look like", key="schema", expanded=not view.traces):
                uploads.schema()
        case "labels":
            uploads.labels(view.name)
            scores.draw(view.name)
            suggested.draw(view)
            uploads.report(view)
        case "talks" if view.traces:
            talks.draw(view.name)
        case "suggested":
            answers.draw(view.name)
        case "hand" if view.traces:
            byhand.draw(view)
        case "skill":
            startskill.draw(view.name, view.skill)
        case _:
            overview.draw(view)
            if not any(card.scripted for card in known):
                first.sample_button("Try it with the sample")


def hidden(view: CorpusView, wanted: str | None) -> set[str]:
    """The parts that say nothing here: nothing is added to the sample, cut where outcomes are known, or suggested."""
    unused = {"traces", "labels", "talks"} if view.scripted else set()
    if not view.statuses.get("unknown"):
        unused.add("talks")
    suggestions = wanted == "suggested" or session.workspace().suggestions(view.name)
    return unused | (({"talks"} - {wanted}) if suggestions else {"suggested"})


def choice(view: CorpusView) -> str:
    """The part of the page that is shown; it is part of the address."""
    wanted = session.param("view")
    names = [name for name in VIEWS if name not in hidden(view, wanted)]
    st.session_state[VIEW] = wanted if wanted in names else "overview" if view.traces else "traces"
    st.segmented_control(
        "View",
        names,
        required=True,
        format_func=VIEWS.__getitem__,
        key=VIEW,
        label_visibility="collapsed",
        on_change=lambda: session.put(view=st.session_state[VIEW]),
    )
    return str(st.session_state[VIEW])


draw()
