"""The settings of a refinement that a person may change, folded away; what is not touched is not sent."""

from __future__ import annotations

from typing import Any

import streamlit as st

BOTH, FAILURES, SUCCESSES = "Failures and successes", "Failures only", "Successes only"
SIDES: dict[str, dict[str, bool]] = {BOTH: {}, FAILURES: {"use_positive": False}, SUCCESSES: {"use_negative": False}}
DEFAULTS = {"min_cluster_size": 2, "gate_q": 0.05, "max_undecided": 20, "seed": 42}


def draw() -> dict[str, Any]:
    """The changed settings, by name."""
    with st.expander("Advanced settings", key="advanced", icon=":material/tune:"):
        side = st.segmented_control("Learn from", list(SIDES), default=BOTH, required=True, key="set_sides")
        first, second, third, fourth = st.columns(4)
        given: dict[str, Any] = {
            "min_cluster_size": first.number_input(
                "Fewest traces of a cluster", 2, 50, DEFAULTS["min_cluster_size"], key="set_min_cluster_size"
            ),
            "gate_q": second.number_input(
                "False discovery rate", 0.01, 0.5, DEFAULTS["gate_q"], 0.01, key="set_gate_q",
                help="Up to which a measured difference counts as support.",
            ),
            "max_undecided": third.number_input(
                "Most undecided proposals", 0, 200, DEFAULTS["max_undecided"], key="set_max_undecided",
                help="Proposals without a measured cause.",
            ),
            "seed": fourth.number_input("Seed", 0, 10**6, DEFAULTS["seed"], key="set_seed"),
        }  # fmt: skip
        changed = {name: value for name, value in given.items() if value != DEFAULTS[name]}
        return {**changed, **SIDES[side or BOTH], **_held_out()}


def _held_out() -> dict[str, Any]:
    left, right = st.columns([1, 3])
    chosen = left.toggle("Choose the held-out share", key="set_holdout_on")
    if not chosen:
        right.text("One task in five is held out once there are 100 tasks with a name; else none.")
        return {}
    return {"holdout": right.slider("Share of tasks held out", 0.0, 0.5, 0.2, 0.05, key="set_holdout")}
