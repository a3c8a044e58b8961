"""What the screens show and hand over of a language model, as plain values. No key is part of a text form here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Stop = Literal["", "waiting", "limit"]
"""Why a run ended before its end without having failed: replies are waited for, or the limit is reached."""


@dataclass(frozen=True, slots=True)
class Keys:
    """Keys of endpoints that a person has typed, for one call. They are never stored, and never show."""

    model: str = field(default="", repr=False)
    embedding: str = field(default="", repr=False)


NO_KEYS = Keys()


@dataclass(frozen=True, slots=True)
class ModelDefaults:
    """What the settings file and the environment say of a model. `key`, `embedding_key`: the environment holds one."""

    base_url: str = ""
    model: str = ""
    gate_model: str = ""
    embedding_base_url: str = ""
    embedding_model: str = ""
    key: bool = False
    embedding_key: bool = False


@dataclass(frozen=True, slots=True)
class Tested:
    """One short test of an endpoint. `words`: what was answered, without any key.

    `part`: what is wrong there (url, key, model, json, busy, prompt, window, embedding); empty when nothing is.
    """

    what: str
    part: str
    words: str


@dataclass(frozen=True, slots=True)
class Asks:
    """How a refinement asks its model. `host` receives text of traces; empty: nothing leaves the machine.

    `stopped`: why it stopped, when it can go on. `waiting`: replies it waits for. `folder`: of requests and replies.
    """

    transport: str
    model: str
    gate_model: str
    host: str
    embedding_host: str
    max_cost: float | None
    max_tokens: int | None
    stopped: Stop = ""
    waiting: int = 0
    folder: str = ""


def untold_words(usage: Mapping[str, Any]) -> str:
    """What is said of calls whose reply did not tell its tokens; empty when all did."""
    untold = usage.get("without_usage", 0)
    if not untold:
        return ""
    return f"{untold:,} {'call' if untold == 1 else 'calls'} came without usage: their tokens are estimated."
