"""Who reads the evidence: the offline analyst, or a language model with its endpoint, keys and a test of both.

Nothing of a model is drawn before the model is chosen.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import streamlit as st

from pages._ui import cards, keys, session
from refiner.errors import RefinerError

if TYPE_CHECKING:
    from refiner.model_views import Keys, ModelDefaults

OFFLINE, MODEL = "Offline", "Language model"
ENDPOINT, HANDOFF = "An endpoint", "A person or an agent"
STANDARD, PAPER = "Standard", "As published"
TESTED = "model_tested"
PARTS = {
    "url": "The address does not work",
    "key": "The key does not work",
    "model": "The model does not work",
    "json": "JSON mode does not work",
    "busy": "The endpoint is busy",
    "prompt": "The test prompt was refused",
    "window": "Prompts may be longer than the model reads: lower “Tokens a prompt may have”",
    "embedding": "The embedding endpoint does not work",
}
BY_HAND = (
    "No key and no network: every request is a file. Download the open ones as a zip, have them answered by a coding "
    "agent or a colleague, upload the replies; it goes on by itself and hands out the next ones, at most five times."
)


@dataclass(frozen=True, slots=True)
class Chosen:
    """The settings of the analyst and the keys for them. `missing`: what has to be filled in first, in one sentence."""

    settings: dict[str, Any]
    keys: Keys
    missing: str = ""

    @property
    def model(self) -> bool:
        return bool(self.settings)

    @property
    def by_hand(self) -> bool:
        return self.settings.get("transport") == "handoff"


def named() -> str:
    """The analyst that is chosen, as the badges call it."""
    return "model" if st.session_state.get("set_analyst") == MODEL else "offline"


def choose(corpus: str) -> Chosen:
    """The choice of the analyst of a refinement, and all that a model needs once it is chosen."""
    analyst = st.segmented_control(
        "Analyst", [OFFLINE, MODEL], default=OFFLINE, required=True, key="set_analyst", persist_state="session"
    )
    if analyst != MODEL:
        cards.line("The offline analyst counts what recurs and contrasts. It needs no key and sends nothing anywhere.")
        return Chosen({}, keys.given(""))
    return asked(corpus)


def asked(corpus: str, *, reading: bool = False) -> Chosen:
    """All that a model needs; `reading`: it only reads conversations, so nothing of a refinement is chosen."""
    try:
        defaults = session.workspace().model_defaults()
    except RefinerError as error:
        return Chosen({"analyst": "model"}, keys.given(""), str(error))
    with st.container(key="model", border=True):
        return _model(corpus, defaults, reading)


def _model(corpus: str, defaults: ModelDefaults, reading: bool) -> Chosen:
    left, right = st.columns(2)
    with left:
        way = st.segmented_control(
            "Answered by", [ENDPOINT, HANDOFF], default=ENDPOINT, required=True, key="set_way", persist_state="session"
        )
    with right:
        preset = STANDARD if reading else st.segmented_control(
            "Way of working", [STANDARD, PAPER], default=STANDARD, required=True, key="set_preset",
            persist_state="session", help="As published: the published method, for comparison. It rewrites the file.",
        )  # fmt: skip
    settings: dict[str, Any] = {"analyst": "model", "transport": "http"}
    if way == HANDOFF:
        settings["transport"] = "handoff"
        cards.line(BY_HAND)
    else:
        settings |= _endpoint(defaults, gate=not reading)
    if preset == PAPER:
        settings |= {"preset": "paper", **_embedding(defaults)}
    settings |= {} if reading else _more(preset)
    chosen = Chosen(settings, keys.given(*_hosts(settings)), _missing(settings))
    if way == ENDPOINT or preset == PAPER:
        _test(corpus, chosen)
    return chosen


def _hosts(settings: dict[str, Any]) -> tuple[str, str]:
    return keys.host_of(settings.get("base_url", "")), keys.host_of(settings.get("embedding_base_url", ""))


def _endpoint(defaults: ModelDefaults, *, gate: bool) -> dict[str, Any]:
    """Address, key, models. There is no default address: what stands there comes from this machine's settings."""
    left, right = st.columns(2)
    with left:
        url = _text("Address of an OpenAI-compatible endpoint", "base_url", defaults.base_url, "https://HOST/v1")
        model = _text("Model", "model", defaults.model, "its name, as the endpoint lists it")
    with right:
        keys.field(keys.MODEL, keys.host_of(url), "set", environment=defaults.key)
        other = _text("Another model for the evidence gate", "gate_model", defaults.gate_model, "") if gate else ""
    given = {"base_url": url, "model": model, "gate_model": other}
    return {name: value for name, value in given.items() if value}


def _embedding(defaults: ModelDefaults) -> dict[str, Any]:
    left, right = st.columns(2)
    with left:
        url = _text("Address of an embedding endpoint", "embedding_base_url", defaults.embedding_base_url, "")
        model = _text("Embedding model", "embedding_model", defaults.embedding_model, "qwen3-embedding:4b")
    with right:
        keys.field(keys.EMBEDDING, keys.host_of(url), "set", environment=defaults.embedding_key)
    given = {"embedding_base_url": url, "embedding_model": model}
    return {name: value for name, value in given.items() if value}


def _more(way: str) -> dict[str, Any]:
    """What rarely needs a change; only what was changed is sent."""
    with st.expander("More about the model", key="model_more"):
        first, second, third = st.columns(3)
        window = first.number_input(
            "Tokens a prompt may have", 8_000, 2_000_000, None, 1_000, key="set_window", persist_state="session",
            placeholder="what the model reads at once",
        )  # fmt: skip
        votes = second.number_input("Judgements per proposal", 1, 9, 1, 2, key="set_votes", persist_state="session")
        strict = third.toggle(
            "Take numbers out too", key="set_redact", persist_state="session",
            help="Secrets, e-mails and home paths are always taken out of what is sent.",
        )  # fmt: skip
        judge = st.toggle(
            "Judge what cannot be measured", key="set_contrast", persist_state="session",
            help="For proposals without a behaviour that can be counted: asks of up to 24 runs whether they show it, "
            "outcome and feedback hidden. Labelled as judged; the estimate takes every proposal for one of these.",
        ) if way == STANDARD else False  # fmt: skip
    found: dict[str, Any] = {"window": window} if window else {}
    found |= {"contrast": "judge"} if judge else {}
    found |= {"votes": votes} if votes > 1 else {}
    return {**found, **({"redact": "strict"} if strict else {})}


def _missing(settings: dict[str, Any]) -> str:
    if settings["transport"] == "http" and not (settings.get("base_url") and settings.get("model")):
        return "Give the address of an endpoint and the name of its model first."
    if settings.get("preset") == "paper" and not settings.get("embedding_base_url"):
        return "The published method needs an embedding endpoint: give its address first."
    return ""


def _text(words: str, name: str, default: str, hint: str) -> str:
    return st.text_input(words, default, key=f"set_{name}", placeholder=hint, persist_state="session").strip()


def _test(corpus: str, chosen: Chosen) -> None:
    """One short prompt to each model; what was found stays until a setting changes. No trace is sent."""
    asked = {name: chosen.settings[name] for name in sorted(chosen.settings)}
    if st.button("Test connection", key="model_test", icon=":material/lan:", disabled=bool(chosen.missing)):
        with st.spinner("Sending one short prompt, no trace text"):
            found = cards.attempt(session.workspace().test_connection, corpus, chosen.settings, chosen.keys)
        st.session_state[TESTED] = (asked, found.value if found else ())
        cards.notices()
    known, rows = st.session_state.get(TESTED, ({}, ()))
    for row in rows if known == asked else ():
        kind: cards.Kind = "error" if row.part else "done"
        cards.card(kind, row.words, PARTS.get(row.part, row.part) if row.part else "")
