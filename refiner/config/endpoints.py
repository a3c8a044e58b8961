"""Where a model analyst gets its replies from, checked before anything is read or sent. Opens no connection."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from refiner.config.presets import PACKAGED_EMBEDDER
from refiner.errors import ConfigError

if TYPE_CHECKING:
    from refiner.config.model import RefineConfig

WINDOW = 32_000
"""Tokens that a model of unknown window is taken to read."""
LARGEST_WINDOW = 128_000
"""More is not filled unasked: it costs more than it tells."""
UNNAMED = "hand-off"
"""The model of a transport whose answerer says its name only in its replies."""
_FILE = Path(__file__).with_name("windows.toml")


def host_of(url: str, name: str, key: str) -> str:
    """The host (with port) of an endpoint; raises ConfigError when `url` is none or carries a password."""
    try:
        parts = urlsplit(url)
        known = parts.scheme in ("http", "https") and parts.hostname
    except ValueError:
        known = None
    if not known:
        raise ConfigError(f'{name}: "{url}" is not an address; write http://HOST:PORT/v1 or https://HOST/v1')
    if "@" in parts.netloc:
        raise ConfigError(f"{name}: the address holds a password; put the key into {key}")
    return parts.netloc


def without_query(url: str | None) -> str | None:
    """The address without its query, which may be a secret."""
    return url.partition("?")[0] if url else url


def known_window(model: str | None) -> int | None:
    """The window of a hosted model, as far as it is filled unasked; None when it is not known."""
    name = (model or "").lower().rpartition("/")[2]
    known = [size for start, size in _windows().items() if name.startswith(start)]
    return min(max(known), LARGEST_WINDOW) if known else None


def unknown_window_words(config: RefineConfig) -> str | None:
    """What to say when nobody knows how much the model reads at once and nobody set it."""
    if config.analyst != "model" or config.window != WINDOW or known_window(config.model) is not None:
        return None
    return f'how much "{config.model}" reads at once is not known; {WINDOW:,} tokens are used, change it with --window.'


def asked_models(config: RefineConfig) -> tuple[str, ...]:
    """The models that are asked, each once."""
    return tuple(model for model in dict.fromkeys((config.model, config.gate_model)) if model)


def charged_models(config: RefineConfig) -> tuple[str, ...]:
    """The models whose calls are paid for: those asked and not replayed, and that of an embedding endpoint."""
    asked = asked_models(config) if config.analyst == "model" and config.transport != "replay" else ()
    embedding = (config.embedding_model,) if config.embedding_host is not None else ()
    return tuple(dict.fromkeys((*asked, *embedding)))


@cache
def _windows() -> dict[str, int]:
    return {str(name): int(size) for name, size in tomllib.loads(_FILE.read_text(encoding="utf-8"))["windows"].items()}


def refuse_incomplete(config: RefineConfig) -> None:
    """Raises ConfigError naming the setting that the chosen analyst or preset cannot do without."""
    if config.preset == "paper":
        _refuse_paper(config)
    if config.contrast == "judge" and (config.analyst != "model" or config.preset == "paper"):
        raise ConfigError(
            "contrast: `judge` asks a model about single runs, so it needs `--analyst model`; the published gate of "
            "`--preset paper` has no place for it. Leave it at `measured`"
        )
    if config.analyst != "model":
        return
    if config.transport == "http" and config.base_url is None:
        raise ConfigError(
            "base_url: the model analyst needs the address of an endpoint, and there is no default; set LLM_BASE_URL "
            "or --base-url, or use `--transport handoff`"
        )
    if config.transport == "http" and config.model is None:
        raise ConfigError("model: the model analyst needs the name of a model; set LLM_MODEL or --model")
    if config.transport == "handoff" and config.handoff_dir is None:
        raise ConfigError(
            "handoff_dir: `--transport handoff` needs a folder for requests and replies; add --handoff-dir DIR"
        )
    if config.transport == "replay" and config.replay_dir is None:
        raise ConfigError("replay_dir: `--transport replay` needs a folder with a recording; add --replay-dir DIR")
    if config.transport == "replay" and config.record is not None:
        raise ConfigError("record: a replay has nothing new to record; drop --record, or choose another --transport")


def _refuse_paper(config: RefineConfig) -> None:
    packaged = config.embedding_model == PACKAGED_EMBEDDER
    if config.analyst != "model" or config.embedding_base_url is None or packaged:
        raise ConfigError(
            "preset: `paper` needs a model analyst (`--analyst model` with --base-url and --model) and an embedding "
            "endpoint (EMBEDDING_BASE_URL); set both, or use `--preset standard`"
        )
