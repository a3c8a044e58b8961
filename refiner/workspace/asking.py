"""Asking a model from a page: defaults, agreement, keys, a test of the connection, the folder of a hand-off.

Keys pass through and are never written anywhere. No refinement is started here.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from refiner import config
from refiner.config import RefineConfig, Secrets, secrets
from refiner.errors import ConfigError, EmbedderError, FormatError
from refiner.model_views import NO_KEYS, Asks, Keys, ModelDefaults, Stop, Tested
from refiner.resources import SETTINGS
from refiner.workspace.room import Room

AGREED = "agreed_hosts"
HANDOFF = "handoff"
TEST_SECONDS = 60.0
"""For the reply to a test: a local server may have to load its model first."""


@dataclass(frozen=True, slots=True)
class Asking:
    """The endpoints of one database."""

    room: Room

    def defaults(self) -> ModelDefaults:
        """What the settings file and the environment name. Raises ConfigError for a file that cannot be read."""
        given = {"analyst": "model", "transport": "handoff", "handoff_dir": Path()}
        chosen = config.load(given, self.room.environ, Path(SETTINGS))[0]
        named = chosen.model != config.UNNAMED
        known = secrets(self.room.environ)
        packaged = chosen.embedding_base_url is None
        return ModelDefaults(
            base_url=chosen.base_url or "",
            model=(chosen.model or "") if named else "",
            gate_model=(chosen.gate_model or "") if named and chosen.gate_model != chosen.model else "",
            embedding_base_url=chosen.embedding_base_url or "",
            embedding_model="" if packaged else chosen.embedding_model,
            key=known.llm_api_key is not None,
            embedding_key=known.embedding_api_key is not None,
        )

    def agreed(self) -> set[str]:
        """The hosts to which text of traces may go."""
        return set(json.loads(self.room.store.setting(AGREED) or "[]"))

    def agree(self, hosts: tuple[str, ...]) -> None:
        """Remembers that text of traces may go to these hosts."""
        with self.room.lock:
            self.room.store.put_setting(AGREED, json.dumps(sorted(self.agreed() | set(hosts))))

    def unasked(self, chosen: RefineConfig) -> tuple[str, ...]:
        """The receiving hosts that nobody has agreed to."""
        agreed = self.agreed() if chosen.hosts and not chosen.yes else set()
        return tuple(host for host in chosen.hosts if host not in agreed and not chosen.yes)

    def refuse_unasked(self, chosen: RefineConfig) -> None:
        """Raises ConfigError when text of traces would go where nobody has agreed to."""
        if hosts := self.unasked(chosen):
            raise ConfigError(f"nothing was sent to {' or '.join(hosts)}: agree to that first")

    def environ(self, keys: Keys) -> Mapping[str, str]:
        """The environment with the typed keys in place of its own."""
        given = {"LLM_API_KEY": keys.model.strip(), "EMBEDDING_API_KEY": keys.embedding.strip()}
        return {**self.room.environ, **{name: key for name, key in given.items() if key}}

    def test(self, chosen: RefineConfig, keys: Keys = NO_KEYS) -> tuple[Tested, ...]:
        """One short test of every model and endpoint that would be asked; no text of a trace is sent."""
        known = secrets(self.environ(keys))
        return (*_models(chosen, known), *_embedding(chosen, known))

    def asks(self, chosen: RefineConfig, stopped: Stop = "", waiting: int = 0) -> Asks | None:
        """How a refinement of this configuration asks its model; None when it asks none."""
        if not chosen.hosts and chosen.analyst != "model":
            return None
        return Asks(
            transport=chosen.transport if chosen.analyst == "model" else "",
            model=chosen.model or "",
            gate_model=chosen.gate_model or "",
            host=chosen.model_host or "",
            embedding_host=chosen.embedding_host or "",
            max_cost=chosen.max_cost,
            max_tokens=chosen.max_tokens_total,
            stopped=stopped,
            waiting=_open_requests(chosen) or waiting if stopped == "waiting" else 0,
            folder=str(chosen.handoff_dir or "") if chosen.transport == "handoff" else "",
        )

    def folder(self, corpus: str) -> Path:
        """Where the hand-off of a corpus lies when the settings name no folder."""
        return self.room.folder / HANDOFF / corpus

    def requests(self, chosen: RefineConfig) -> bytes:
        """The open requests as a zip file. Raises ConfigError for a refinement that hands nothing off."""
        from refiner.transports.handoff_zip import pack

        return pack(_handed_off(chosen))

    def answer(self, chosen: RefineConfig, name: str, data: bytes) -> int:
        """Takes in replies, a .json file or a zip; how many. Raises FormatError for anything else."""
        from refiner.transports.handoff_zip import MOST_BYTES, take_in

        if len(data) > MOST_BYTES:
            raise FormatError(f"is larger than {MOST_BYTES // 1_000_000} MB", name)
        return take_in(_handed_off(chosen), name, data)


def _handed_off(chosen: RefineConfig) -> Path:
    if chosen.analyst != "model" or chosen.transport != "handoff" or chosen.handoff_dir is None:
        raise ConfigError("this refinement hands nothing off: it asks its model by itself, or none at all")
    return chosen.handoff_dir


def _open_requests(chosen: RefineConfig) -> int:
    """How many requests lie open: equal ones of several steps are one."""
    if chosen.transport != "handoff" or chosen.handoff_dir is None:
        return 0
    from refiner.transports.handoff import INDEX, REQUESTS

    return sum(path.name != INDEX for path in (chosen.handoff_dir / REQUESTS).glob("*.md"))


def _models(chosen: RefineConfig, known: Secrets) -> Iterator[Tested]:
    if chosen.model_host is None:
        return
    from refiner.transports.http import HttpTransport

    transport = HttpTransport(chosen.base_url, known.llm_api_key, timeout=TEST_SECONDS, sleep=_at_once)
    try:
        for model in config.asked_models(chosen):
            found = transport.check(model, chosen.window)
            yield Tested(model, found.part or "", found.words)
            if found.part in ("url", "key"):
                return
    finally:
        transport.close()


def _embedding(chosen: RefineConfig, known: Secrets) -> Iterator[Tested]:
    if chosen.embedding_host is None:
        return
    from refiner.embedders.endpoint import EndpointEmbedder

    key = known.embedding_api_key
    embedder = EndpointEmbedder(chosen.embedding_base_url, chosen.embedding_model, key, sleep=_at_once)
    try:
        width = embedder.embed(["test"]).shape[1]
    except EmbedderError as error:
        yield Tested(chosen.embedding_model, "embedding", str(error))
    else:
        yield Tested(chosen.embedding_model, "", f"{chosen.embedding_host} answers with vectors of {width} numbers")


def _at_once(seconds: float) -> None:
    """A test does not wait for better times."""
