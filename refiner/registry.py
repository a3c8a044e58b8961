"""What is plugged in, found by listing folders. Nothing is registered by hand; no plug-in lives here."""

from __future__ import annotations

import importlib
import pkgutil
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from refiner.archives import is_gzip
from refiner.config import RefineConfig
from refiner.errors import ConfigError
from refiner.ports import HEAD, Analyst, TraceFormat

if TYPE_CHECKING:
    from refiner.transports import Transport

SURE_ENOUGH = 0.5


def _listed(package: str, attribute: str) -> list[Any]:
    """The `attribute` of every public module of a package, by module name."""
    folder = importlib.import_module(package).__path__
    names = sorted(module.name for module in pkgutil.iter_modules(folder) if not module.name.startswith("_"))
    modules = [importlib.import_module(f"{package}.{name}") for name in names]
    return [getattr(module, attribute) for module in modules if hasattr(module, attribute)]


@cache
def _formats() -> tuple[TraceFormat, ...]:
    return tuple(_listed("refiner.formats", "FORMAT"))


def formats() -> list[TraceFormat]:
    """Every trace format there is: the `FORMAT` of each module of `refiner/formats/`."""
    return list(_formats())


def detect(head: bytes) -> TraceFormat | None:
    """The format that claims a file by its first 64 KB, or None when none is at least half sure."""
    likeness = {known.name: known.sniff(head) for known in formats()}
    best = max(formats(), key=lambda known: likeness[known.name])
    return best if likeness[best.name] >= SURE_ENOUGH else None


def leaders() -> list[tuple[str, TraceFormat, re.Pattern[str]]]:
    """Patterns of the names of files that may speak for others, the format that they must be of, and of the others."""
    return [(name, known, led) for known in formats() for name, led in getattr(known, "leads", {}).items()]


def analyst(config: RefineConfig, transport: Transport | None = None) -> Analyst:
    """The analyst that a configuration asks for. Raises ConfigError for a model analyst without a transport."""
    if config.analyst == "offline":
        from refiner.analysts.offline import OfflineAnalyst

        return OfflineAnalyst()
    if transport is None:
        raise ConfigError("analyst: a model analyst needs a transport to ask its model")
    from refiner.analysts.model import ModelAnalyst, Settings

    rules = config.rules
    settings = Settings(
        model=config.model or "",
        gate_model=config.gate_model or config.model or "",
        window=config.window,
        votes=config.votes,
        redact=config.redact,
        keep_spans_without_output=rules.keep_spans_without_output,
        long_trace=rules.long_trace,
        check_quotes=rules.check_quotes,
        members=rules.members,
        show_contrast=rules.show_contrast,
        published_gate=not rules.check_quotes,
        merge=rules.merge,
        gate_q=config.gate_q,
    )
    return ModelAnalyst.over(transport, settings)


def recognise(head: bytes) -> str | None:
    """What a file is, in words, when it is known but has no reader ("a Claude Code session"); else None."""
    named: str | None = importlib.import_module("refiner.formats._foreign").name(head)
    return named


def advice(recognised: str) -> str:
    """What to do with a file that was recognised, as the end of a sentence ("; save it as UTF-8"), or nothing."""
    return str(importlib.import_module("refiner.formats._foreign").advice(recognised))


def described(path: Path) -> str:
    """What the beginning of a file shows it to be, with what to do, as the end of "it ..."; empty when unknown."""
    try:
        with path.open("rb") as stream:
            head = stream.read(HEAD)
    except OSError:
        return ""
    if is_gzip(head):
        return "is packed (gzip): unpack it first"
    if known := detect(head):
        return f"reads like traces ({known.name}): give it as traces"
    return f"is {found}{advice(found)}" if (found := recognise(head)) else ""


def goes_with_runs(recognised: str | None) -> bool:
    """Whether what was recognised lies beside runs as a matter of course, so that leaving it out loses nothing."""
    return recognised in importlib.import_module("refiner.formats._foreign").WITH_RUNS
