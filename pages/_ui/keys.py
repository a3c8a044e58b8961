"""Keys of endpoints: typed into a password field, held in the memory of this session by host, and nowhere else.

A key is handed to the workspace with the one call that needs it. It is never drawn, logged or part of an address.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import streamlit as st

from pages._ui.text import label

if TYPE_CHECKING:
    from refiner.model_views import Asks, Keys

HELD = "keys_held"
MODEL, EMBEDDING = "model", "embedding"


def field(kind: str, host: str, place: str, *, environment: bool = False) -> None:
    """The password field for the key of a host. `place` tells two fields of one page apart; so does the host."""
    name = f"{place}_key_{kind}_{host}"
    if _held(kind, host):
        hint = "held for this session"
    else:
        hint = "the one of the environment" if environment else "none, as local servers need none"
    st.text_input(
        f"Key for {label(host)}" if host else "Key", type="password", key=name, placeholder=hint, autocomplete="off",
        disabled=not host, on_change=_typed, args=(name, kind, host),
        help="Stays in the memory of this session: it is not stored and not shown. A reloaded tab asks for it again.",
    )  # fmt: skip


def given(host: str, embedding_host: str = "") -> Keys:
    """The keys held for these hosts; a key never goes to another host than the one it was typed for."""
    from refiner.model_views import Keys

    return Keys(_held(MODEL, host), _held(EMBEDDING, embedding_host))


def of(asks: Asks | None) -> Keys:
    """The keys held for the hosts of a refinement."""
    return given(asks.host, asks.embedding_host) if asks else given("")


def host_of(address: str) -> str:
    """The host of an address, with its port; empty when it has none."""
    try:
        return urlsplit(address.strip()).netloc.rpartition("@")[2]
    except ValueError:
        return ""


def _held(kind: str, host: str) -> str:
    return str(st.session_state.get(HELD, {}).get((kind, host), "")) if host else ""


def _typed(name: str, kind: str, host: str) -> None:
    held = dict(st.session_state.get(HELD, {}))
    typed = str(st.session_state.get(name) or "").strip()
    held.pop((kind, host), None)
    st.session_state[HELD] = {**held, (kind, host): typed} if typed else held
