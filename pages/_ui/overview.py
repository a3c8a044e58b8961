"""What a corpus is made of: its counts, what to know about it, and where statements disagree."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from pages._ui import cards
from pages._ui.text import count

if TYPE_CHECKING:
    from refiner.views import CorpusView

ORIGINS = {"file": "named in its file", "text": "guessed from the request", "none": "each run for itself"}


def counts(view: CorpusView) -> None:
    """The numbers of the corpus, one a bucket."""
    statuses = view.statuses
    numbers = {
        "traces": view.traces,
        "tasks": view.tasks,
        "passed": statuses.get("pass", 0),
        "failed": statuses.get("fail", 0),
        "unlabelled": statuses.get("unknown", 0),
        "infrastructure": statuses.get("infrastructure", 0),
    }
    cards.metrics({words: f"{number:,}" for words, number in numbers.items()})


def draw(view: CorpusView) -> None:
    """What the corpus is made of, in rows, and where statements disagree."""
    if not view.traces:
        cards.empty("No traces yet", "Choose “Add traces” and drop files, zips or a folder.")
        return
    counts(view)
    cards.sentences(view.warnings)
    told = view.task_origins.items()
    origins = ", ".join(f"{ORIGINS.get(one, one)} ({count(number, 'run')})" for one, number in told)
    rows = [
        ("The task of a run", origins),
        ("Tried more than once", count(view.tried_twice, "task")),
        ("Failures without feedback", f"{view.failures_without_feedback:,}"),
        ("Formats", _listed(view.formats)),
        ("Models", _listed(view.models) or "not recorded"),
        ("Start skill", _skill(view)),
    ]
    cards.pairs(rows)
    if view.disagreements:
        with st.expander(f"Outcomes that disagree ({len(view.disagreements)})", key="disagreements"):
            cards.sentences(view.disagreements, "say")


def _listed(counted: dict[str, int]) -> str:
    return ", ".join(f"{name or 'not recorded'} ({number:,})" for name, number in counted.items())


def _skill(view: CorpusView) -> str:
    if view.skill is None or view.skill.skeleton:
        return "none: a refinement starts from a skeleton"
    return f"{view.skill.main}, {count(view.skill.lines, 'line')}"
