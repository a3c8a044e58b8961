"""What a machine needs to run the product, and whether it has it. Pure looks: nothing is printed, installed or changed.

Every check says what it found and, where something is missing, the one command or edit that mends it.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from refiner import config, resources
from refiner.compile_cache import default_folder
from refiner.errors import ConfigError, EmbedderError

PYTHON = (3, 11)
SAMPLE_FILES = ("SKILL.md", "traces.jsonl", "binary_rewards.json", "feedback.json")
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
_PINNED = re.compile(r"^([A-Za-z0-9._-]+)==([^\s;\\]+)\s*(?:;\s*([^\\]+?))?\s*\\?$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Check:
    """One look: `needed` = the product does not work without it, `fix` = what mends it (empty when `ok`)."""

    name: str
    ok: bool
    needed: bool
    detail: str
    fix: str = ""


def checks(
    environ: Mapping[str, str], toml: Path | None = None, flags: Mapping[str, object] | None = None
) -> list[Check]:
    """Every check, in the order in which a person would mend them. `toml` = the settings file, which may not exist.

    With a model analyst or an embedding endpoint one short test is sent there; no trace and no key is shown or kept.
    """
    return [
        python_version(),
        packages(),
        compile_cache(),
        sample_data(),
        *readers(environ, toml, flags or {}),
        *connections(environ, toml, flags or {}),
        database_folder(Path.cwd()),
        browser(environ),
    ]


def _check(name: str, ok: bool, detail: str, fix: str, *, needed: bool = True) -> Check:
    return Check(name, ok, needed, detail, "" if ok else fix)


def python_version(version: tuple[int, ...] = sys.version_info[:3]) -> Check:
    """Whether the interpreter is new enough."""
    found, wanted = ".".join(map(str, version)), ".".join(map(str, PYTHON))
    fix = f"install Python {wanted} or newer, then: make setup PYTHON=python{wanted}"
    return _check("python", version >= PYTHON, f"{found} at {sys.executable}", fix)


def packages(lock: Path = resources.LOCK) -> Check:
    """Whether every package of the lock file that this machine needs is installed in the locked version."""
    if not lock.exists():
        return Check("packages", False, True, f"{lock.name} is missing", "get a complete checkout")
    pinned = list(_pinned(lock.read_text(encoding="utf-8")))
    wrong = [words for name, wanted in pinned if (words := _difference(name, wanted))]
    detail = f"{len(pinned) - len(wrong)} of {len(pinned)} as locked"
    shown = "; ".join(wrong[:5]) + (f"; {len(wrong) - 5} more" if len(wrong) > 5 else "")
    return _check("packages", not wrong, f"{detail}: {shown}" if wrong else detail, "make setup")


def _pinned(lock: str) -> Iterator[tuple[str, str]]:
    """(name, version) of the lines whose marker holds on this machine."""
    from packaging.markers import Marker

    for name, version, marker in _PINNED.findall(lock):
        if not marker or Marker(marker).evaluate():
            yield name, version


def _difference(name: str, wanted: str) -> str:
    found = _version(name)
    if found is None:
        return f"{name} {wanted} is missing"
    return "" if found == wanted else f"{name} is {found}, locked is {wanted}"


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def sample_data(folder: Path = resources.SAMPLE_DATA) -> Check:
    """Whether the sample corpus is complete."""
    missing = [name for name in SAMPLE_FILES if not (folder / name).is_file()]
    detail = f"{folder.name} lacks {', '.join(missing)}" if missing else f"{folder.name} is complete"
    return _check("sample data", not missing, detail, "get a complete checkout")


def compile_cache() -> Check:
    """Whether the compiled functions of the clustering are kept, so that a fresh process need not compile them."""
    filled = any(default_folder().rglob("*.nbi"))
    detail = "filled" if filled else "empty: the first clustering takes about 20 s longer"
    return _check("compile cache", filled, detail, "python -m refiner.compile_cache", needed=False)


def readers(
    environ: Mapping[str, str], toml: Path | None = None, flags: Mapping[str, object] | None = None
) -> list[Check]:
    """Which analyst and which embedder a refinement would use, and why; or what is wrong with the settings."""
    try:
        chosen, warnings = config.load(flags or {}, environ, toml)
        why = config.sources(flags or {}, environ, toml)
    except ConfigError as error:
        return [Check("settings", False, True, str(error), "correct that setting")]
    origin = "settings of " + toml.name if toml is not None and toml.exists() else "no settings file"
    settings = Check("settings", True, True, "; ".join((origin, *warnings)))
    return [settings, _analyst(chosen, why, environ), _embedder(chosen, why, environ)]


def _analyst(chosen: config.RefineConfig, why: Mapping[str, str], environ: Mapping[str, str]) -> Check:
    if chosen.analyst == "offline":
        return Check("analyst", True, True, f"offline ({why['analyst']}): no key, no network")
    if chosen.transport != "http":
        folder = chosen.handoff_dir if chosen.transport == "handoff" else chosen.replay_dir
        return Check("analyst", True, True, f"model by {chosen.transport} ({why['transport']}) in {folder}: no network")
    key = "with" if config.secrets(environ).llm_api_key else "without"
    places = f"model: {why['model']}, address: {why['base_url']}"
    detail = f"{chosen.model} at {chosen.model_host}, {key} a key ({places}); text of traces is sent there"
    return Check("analyst", True, True, detail)


PART_NAMES = {
    "url": "address",
    "key": "key",
    "model": "model",
    "json": "JSON mode",
    "busy": "endpoint",
    "prompt": "prompt",
    "window": "window",
}
PART_FIXES = {
    "url": "check LLM_BASE_URL or --base-url (it usually ends in /v1), and that the server runs",
    "key": "set LLM_API_KEY to a key that this endpoint takes",
    "model": "check LLM_MODEL or --model, and the gate model, against the endpoint's list of models",
    "json": "choose a model that follows instructions, or one whose endpoint knows JSON mode",
    "busy": "try again later, or raise the quota",
    "prompt": "choose another model, or a smaller --window",
    "window": "set --window to what it reads at once, or serve the model with a longer context",
}


def connections(
    environ: Mapping[str, str], toml: Path | None = None, flags: Mapping[str, object] | None = None
) -> list[Check]:
    """Whether the endpoints that the settings name do what a refinement asks of them; nothing where none is named."""
    try:
        chosen, _ = config.load(flags or {}, environ, toml)
    except ConfigError:
        return []
    found = []
    if chosen.analyst == "model":
        models = config.asked_models(chosen)
        found += (
            [_asked(chosen, environ, model) for model in models] if chosen.transport == "http" else [_folder(chosen)]
        )
    found += [] if chosen.max_cost is None or not config.charged_models(chosen) else [_priced(chosen)]
    return [*found, *([] if chosen.embedding_host is None else [_embedded(chosen, environ)])]


def _asked(chosen: config.RefineConfig, environ: Mapping[str, str], model: str) -> Check:
    """One short prompt to the model."""
    from refiner.transports.http import HttpTransport

    name = f"model {model}"
    try:
        transport = HttpTransport(chosen.base_url, config.secrets(environ).llm_api_key, sleep=_at_once)
        found = transport.check(model, chosen.window)
        transport.close()
    except ConfigError as error:
        return Check(name, False, True, str(error), "correct that setting")
    if found.part is None:
        forms = {"schema": "JSON schema", "json": "JSON mode", "plain": "plain text"}
        return Check(name, True, True, f"answers; form of replies: {forms.get(found.level or '', 'plain text')}")
    words = found.words.removeprefix(f"{found.part}: ")
    return Check(name, False, True, f"{PART_NAMES[found.part]}: {words}", PART_FIXES[found.part])


def _priced(chosen: config.RefineConfig) -> Check:
    """Whether the cost of the models can be limited."""
    from refiner.transports.cost import Ledger

    try:
        Ledger(chosen.max_cost, chosen.max_tokens_total, config.charged_models(chosen))
    except ConfigError as error:
        return Check("cost limit", False, True, str(error), "use --max-tokens-total")
    return Check("cost limit", True, True, f"{chosen.max_cost} at most; the prices are known")


def _folder(chosen: config.RefineConfig) -> Check:
    """Whether the folder of a hand-off can be written, or that of a replay holds a recording."""
    if chosen.transport == "handoff" and chosen.handoff_dir is not None:
        ready = _can_write(chosen.handoff_dir)
        detail = f"{chosen.handoff_dir} {'can be written' if ready else 'cannot be written'}"
        return _check("hand-off", ready, detail, "name another folder with --handoff-dir")
    folder = chosen.replay_dir or Path()
    ready = any(folder.glob("*/*.json"))
    detail = f"{folder} holds {'a recording' if ready else 'no recorded replies'}"
    return _check("replay", ready, detail, "name the folder of a recording with --replay-dir")


def _can_write(folder: Path) -> bool:
    there = next(parent for parent in (folder, *folder.resolve().parents) if parent.is_dir())
    return os.access(there, os.W_OK)


def _embedded(chosen: config.RefineConfig, environ: Mapping[str, str]) -> Check:
    """One word to the embedding endpoint."""
    from refiner.embedders.endpoint import EndpointEmbedder

    key = config.secrets(environ).embedding_api_key
    try:
        embedder = EndpointEmbedder(chosen.embedding_base_url, chosen.embedding_model, key, sleep=_at_once)
        width = embedder.embed(["test"]).shape[1]
    except (ConfigError, EmbedderError) as error:
        what, _, fix = str(error).rpartition(": ")
        return Check("embedding endpoint", False, True, what or str(error), fix)
    return Check("embedding endpoint", True, True, f"answers with vectors of {width} numbers")


def _at_once(seconds: float) -> None:
    """A test does not wait for better times."""


def _embedder(chosen: config.RefineConfig, why: Mapping[str, str], environ: Mapping[str, str]) -> Check:
    host = chosen.embedding_host
    if host is None:
        detail = f"packaged model ({why['embedding_model']}): no network"
        return _check("embedder", _version("wordllama") is not None, detail, "make setup")
    key = "with" if config.secrets(environ).embedding_api_key else "without"
    places = f"model: {why['embedding_model']}, address: {why['embedding_base_url']}"
    detail = f"{chosen.embedding_model} at {host}, {key} a key ({places}); summaries of traces are sent there"
    return Check("embedder", True, True, detail)


def database_folder(folder: Path) -> Check:
    """Whether a database can be written in `folder`."""
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        fix = "work in a folder of your own, or name a database elsewhere: --db FILE"
        return Check("database", False, True, f"the working directory cannot be written: {error.strerror}", fix)
    return Check("database", True, True, "the working directory can be written")


def browser(environ: Mapping[str, str]) -> Check:
    """Whether a browser for tests in a browser is there; nothing else needs it."""
    found = [path for name in BROWSERS if (path := shutil.which(name, path=environ.get("PATH", "")))]
    detail = found[0] if found else "no Chromium; only tests in a browser need it"
    return _check("browser", bool(found), detail, "apt-get install chromium", needed=False)
