"""Analyst, embedder, transport, executor and engine put together from a configuration. Reads and writes nothing yet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from refiner.config import RefineConfig, charged_models, secrets
from refiner.engine import COMMIT_STEPS, Emit, Engine
from refiner.errors import ConfigError
from refiner.executors.local import InlineExecutor, ThreadExecutor
from refiner.ports import Embedder, Executor, Ledger, Tools
from refiner.registry import analyst

if TYPE_CHECKING:
    from refiner.analysts.model.redaction import Redactor
    from refiner.embedders.endpoint import EndpointEmbedder
    from refiner.ports import Vectors
    from refiner.transports import Reply, Request, Transport
    from refiner.transports.cost import Ledger as Books

EMBED = "embed"
"""The stage that asks the embedder."""
CAPABILITIES = ".endpoints.json"
"""What endpoints can do, learnt once; lies beside the database."""


def tools_for(
    config: RefineConfig, environ: Mapping[str, str], *, plugged: bool = True, folder: Path | None = None
) -> Tools:
    """The analyst and the embedder that the configuration asks for.

    `plugged` false: for reading stored results; nothing can be asked, and no key, address or folder needs to be there.
    `folder`: where the database lies, when the configuration does not say.
    Raises ConfigError for what cannot work.
    """
    if not plugged:
        return Tools(analyst(config, Unplugged() if config.analyst == "model" else None), embedder_for(config, environ))
    ledger = ledger_for(config)
    transport = transport_for(config, environ, folder, ledger) if config.analyst == "model" else None
    return Tools(analyst(config, transport), embedder_for(config, environ, ledger))


@dataclass(frozen=True, slots=True)
class Unplugged:
    """A transport to nobody."""

    name: str = "none"

    def complete(self, request: Request) -> Reply:
        raise ConfigError(f"{request.label}: a stored result is being read; no model is asked")


def ledger_for(config: RefineConfig) -> Books | None:
    """The books of all that is paid for; None when nothing is. Raises ConfigError for a limit that cannot be kept."""
    models = charged_models(config)
    if not models:
        return None
    from refiner.transports.cost import Ledger

    return Ledger(config.max_cost, config.max_tokens_total, models)


def transport_for(
    config: RefineConfig, environ: Mapping[str, str], folder: Path | None = None, ledger: Books | None = None
) -> Transport:
    """The way to the model, with its recorder and its ledger. A replay costs nothing and is not metered.

    Over http the ledger stands around every attempt of a call, and nothing is asked twice; files are replies by nature.
    """
    from refiner.transports.cost import Metered
    from refiner.transports.once import Once
    from refiner.transports.record import Recorder

    if config.transport == "replay" or ledger is None:
        return _plain(config, environ)
    found = _plain(config, environ, folder, ledger)
    if config.record is not None:
        found = Recorder(found, config.record)
    return Once(found, ledger) if config.transport == "http" else Metered(found, ledger)


def _plain(
    config: RefineConfig, environ: Mapping[str, str], folder: Path | None = None, ledger: Books | None = None
) -> Transport:
    if config.transport == "replay" and config.replay_dir is not None:
        from refiner.transports.replay import ReplayTransport

        return ReplayTransport(config.replay_dir)
    if config.transport == "handoff" and config.handoff_dir is not None:
        from refiner.transports.handoff import HandoffTransport

        return HandoffTransport(config.handoff_dir)
    from refiner.transports.capability import Capabilities
    from refiner.transports.http import HttpTransport, unmetered

    known, key = Capabilities(_beside_database(config, folder)), secrets(environ).llm_api_key
    return HttpTransport(config.base_url, key, capabilities=known, meter=ledger.call if ledger else unmetered)


def _beside_database(config: RefineConfig, folder: Path | None) -> Path | None:
    folder = config.db.parent if config.db is not None else config.output_dir or folder
    return None if folder is None else folder / CAPABILITIES


def embedder_for(config: RefineConfig, environ: Mapping[str, str], ledger: Books | None = None) -> Embedder:
    """The packaged embedder, or an endpoint that only sees redacted text and whose calls stand in the ledger."""
    if config.embedding_host is None or config.embedding_base_url is None:
        from refiner.embedders.packaged import PackagedEmbedder

        return PackagedEmbedder()
    from refiner.analysts.model.redaction import Redactor
    from refiner.embedders.endpoint import EndpointEmbedder
    from refiner.transports.http import unmetered

    key = secrets(environ).embedding_api_key
    meter = unmetered if ledger is None else partial(ledger.call, kept=False)
    endpoint = EndpointEmbedder(config.embedding_base_url, config.embedding_model, key, meter=meter)
    return RedactedEmbedder(endpoint, Redactor(config.redact), ledger)


@dataclass(frozen=True, slots=True)
class RedactedEmbedder:
    """An endpoint that is told nothing that may not leave the machine. `ledger`: the books of its calls."""

    embedder: EndpointEmbedder
    redactor: Redactor
    ledger: Books | None = None

    @property
    def name(self) -> str:
        return self.embedder.name

    @property
    def identity(self) -> str:
        more = "" if self.redactor.level == "standard" else f" redacted {self.redactor.level}"
        return f"{self.embedder.identity}{more}"

    def embed(self, texts: Sequence[str]) -> Vectors:
        return self.embedder.embed([self.redactor(text) for text in texts])

    def halt(self) -> None:
        """Lets no further call start."""
        self.embedder.halt()


def executor_for(config: RefineConfig) -> Executor:
    """One step after the other, or as many at a time as the configuration says."""
    return InlineExecutor() if config.workers == 1 else ThreadExecutor(config.workers)


def engine_for(config: RefineConfig, ledger: Ledger, tools: Tools, emit: Emit) -> Engine:
    """The engine of a refinement; what a model was paid for is committed reply by reply."""
    batch = COMMIT_STEPS if tools.analyst.deterministic else 1
    singly = (EMBED,) if isinstance(tools.embedder, RedactedEmbedder) else ()
    return Engine(ledger, executor_for(config), tools, emit, batch=batch, singly=singly)


def warm_up() -> None:
    """Loads the libraries of the clustering, umap with its compile cache first."""
    from refiner import compile_cache

    compile_cache.enable()
    import_module("hdbscan")
