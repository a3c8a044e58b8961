"""The start of a refinement: what it would take, the limit, the agreement to send text away, and the button."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import streamlit as st

from pages._ui import cards, model, session, settings
from pages._ui.text import count, duration, label
from refiner.errors import RefinerError

if TYPE_CHECKING:
    from refiner.model_views import Keys
    from refiner.views import CorpusCard, Estimate


def draw(card: CorpusCard, *, again: bool) -> None:
    """What it would take, and the button that says so."""
    st.subheader("Refine again" if again else "Start a refinement", anchor=False)
    reader = model.choose(card.name)
    holder = st.container()
    chosen = {**settings.draw(), **reader.settings}
    if reader.missing:
        with holder:
            cards.card("say", reader.missing)
        return
    try:
        estimate = session.workspace().estimate(card.name, chosen)
    except RefinerError as error:
        cards.card("error", str(error))
        return
    with holder:
        _estimate(card, estimate, reader, chosen, again)


def _estimate(card: CorpusCard, estimate: Estimate, reader: model.Chosen, chosen: dict[str, Any], again: bool) -> None:
    if estimate.blocked:
        cards.card("warn", estimate.blocked, "This cannot start yet")
        session.link("corpus", "Go to Corpus", icon=":material/arrow_back:")
        return
    cards.sentences(estimate.warnings)
    cards.metrics(_numbers(estimate, reader))
    limits = limited(estimate) if reader.model or estimate.calls else {}
    agreed = agreed_to(estimate)
    kind = "secondary" if again else "primary"
    st.button(
        _words(estimate, reader, limits), key="start", type=kind, icon=":material/play_arrow:", disabled=not agreed,
        on_click=_start, args=(card.name, {**chosen, **limits}, reader.keys, estimate.unasked),
    )  # fmt: skip


def _numbers(estimate: Estimate, reader: model.Chosen) -> dict[str, object]:
    numbers: dict[str, object] = {
        "failing traces": f"{estimate.failing:,}",
        "passing traces": f"{estimate.passing:,}",
        "tasks held out": f"{estimate.held_out_tasks:,}",
    }
    if not reader.model and not estimate.calls:
        return {**numbers, "on this machine": f"about {duration(estimate.seconds)}"}
    return {**numbers, **asked_numbers(estimate, reader)}


def asked_numbers(estimate: Estimate, reader: model.Chosen) -> dict[str, object]:
    """What asking a model takes: calls, tokens, money, time."""
    numbers: dict[str, object] = {"requests" if reader.by_hand else "calls": f"about {estimate.calls:,}"}
    numbers |= {"tokens": f"about {rounded(estimate.tokens):,}"}
    if reader.by_hand:
        return numbers
    known = estimate.money is not None
    cost = f"about {estimate.money:.2f} {estimate.currency}" if known else "unknown"
    words = f"prices of {estimate.prices_of}" if known else f"no price of this model is known ({estimate.prices_of})"
    return {**numbers, words: cost, "if the endpoint is quick": f"about {duration(estimate.seconds)}"}


def rounded(number: int) -> int:
    """Two figures of it: an estimate knows no more."""
    return int(float(f"{number:.2g}"))


def limited(estimate: Estimate) -> dict[str, Any]:
    """Where it stops between two calls: in money when the price is known, in tokens always."""
    with st.container(key="limits", horizontal=True, vertical_alignment="bottom", gap="small"):
        found: dict[str, Any] = {}
        if estimate.money is not None:
            found["max_cost"] = st.number_input(
                f"Stop at, {estimate.currency}", 0.01, None, None, 0.5, key="set_max_cost", placeholder="no limit",
                width=180, persist_state="session",
            )  # fmt: skip
        found["max_tokens_total"] = st.number_input(
            "Stop at, tokens", 1_000, None, None, 50_000, key="set_max_tokens", placeholder="no limit", width=180,
            persist_state="session",
        )  # fmt: skip
    found = {name: value for name, value in found.items() if value}
    expected = {"max_cost": estimate.money, "max_tokens_total": estimate.tokens}
    if any(value < (expected[name] or 0) for name, value in found.items()):
        cards.line("The limit is below the estimate. It stops between two calls, keeps everything, and can go on.")
    return found


def agreed_to(estimate: Estimate) -> bool:
    """Whether text of traces may go to every host that would get some; asked once a host."""
    if not estimate.unasked:
        return True
    hosts = " and ".join(estimate.unasked)
    words = f"Text of your traces, without secrets, e-mails and home paths, will be sent to {hosts}."
    cards.card("warn", f"{words} You are asked this once.", "Before anything leaves this machine")
    return st.checkbox(f"Send it to {label(hosts, 200)}", key=f"agree_{hosts}", persist_state="session")


def _words(estimate: Estimate, reader: model.Chosen, limits: dict[str, Any]) -> str:
    traces = count(estimate.failing + estimate.passing, "trace")
    if not reader.model and not estimate.calls:
        return f"Refine {traces}, about {duration(estimate.seconds)}"
    return ", ".join([f"Refine {traces}", *asked_words(estimate, reader, limits)])


def asked_words(estimate: Estimate, reader: model.Chosen, limits: dict[str, Any]) -> list[str]:
    """The same for a button, with the limits."""
    asked = count(estimate.calls, "request" if reader.by_hand else "call")
    parts = [f"about {asked}"]
    if estimate.money is not None and not reader.by_hand:
        parts.append(f"about {estimate.money:.2f} {estimate.currency}")
    if "max_cost" in limits:
        parts.append(f"at most {limits['max_cost']:.2f} {estimate.currency}")
    if "max_tokens_total" in limits:
        parts.append(f"at most {limits['max_tokens_total']:,} tokens")
    return parts


def _start(name: str, chosen: dict[str, Any], keys: Keys, unasked: tuple[str, ...]) -> None:
    if unasked and not cards.attempt(session.workspace().agree, unasked):
        return
    if started := cards.attempt(session.workspace().start, name, chosen, keys):
        session.put(corpus=name, refinement=started.value)
