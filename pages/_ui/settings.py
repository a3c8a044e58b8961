"""The settings of a refinement that a person may change, folded away; what is not touched is not sent.

They stay as they are when the page is left and come back for the whole session.
"""

from __future__ import annotations

from typing import Any, Final

import streamlit as st

BOTH, FAILURES, SUCCESSES = "Failures and successes", "Failures only", "Successes only"
SIDES: dict[str, dict[str, bool]] = {BOTH: {}, FAILURES: {"use_positive": False}, SUCCESSES: {"use_negative": False}}
NUMBERS: Final[dict[str, tuple[str, float, float, float, float, str | None]]] = {
    "min_cluster_size": ("Fewest traces of a cluster", 2, 50, 2, 1, None),
    "gate_q": ("False discovery rate", 0.01, 0.5, 0.05, 0.01, "Up to which a measured difference counts as support."),
    "max_undecided": ("Most undecided proposals", 0, 200, 20, 1, "Proposals without a measured cause."),
    "seed": ("Seed", 0, 10**6, 42, 1, None),
}
"""By setting: its words, the least and the most, the default, the step, and a line of help."""


def draw() -> dict[str, Any]:
    """The changed settings, by name."""
    with st.expander("Advanced settings", key="advanced", icon=":material/tune:"):
        side = st.segmented_control(
            "Learn from", list(SIDES), default=BOTH, required=True, key="set_sides", persist_state="session"
        )
        changed = {}
        for column, name in zip(st.columns(len(NUMBERS)), NUMBERS, strict=True):
            with column:
                value = _number(name)
            if value != NUMBERS[name][3]:
                changed[name] = value
        return {**changed, **SIDES[side or BOTH], **_held_out()}


def _number(name: str) -> float:
    words, least, most, default, step, help_ = NUMBERS[name]
    return st.number_input(words, least, most, default, step, key=f"set_{name}", help=help_, persist_state="session")


def _held_out() -> dict[str, Any]:
    left, right = st.columns([1, 3])
    with left:
        chosen = st.toggle("Choose the held-out share", key="set_holdout_on", persist_state="session")
    with right:
        if not chosen:
            st.text("One task in five is held out once there are 100 tasks with a name; else none.")
            return {}
        share = st.slider("Share of tasks held out", 0.0, 0.5, 0.2, 0.05, key="set_holdout", persist_state="session")
    return {"holdout": share}
