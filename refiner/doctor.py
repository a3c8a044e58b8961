"""What a machine needs to run the product, and whether it has it. Pure looks: nothing is printed, installed or changed.

Every check says what it found and, where something is missing, the one command or edit that mends it.
"""

from __future__ import annotations

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
from refiner.errors import ConfigError

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


def checks(environ: Mapping[str, str], toml: Path | None = None) -> list[Check]:
    """Every check, in the order in which a person would mend them. `toml` = the settings file, which may not exist."""
    return [
        python_version(),
        packages(),
        compile_cache(),
        sample_data(),
        *readers(environ, toml),
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


def readers(environ: Mapping[str, str], toml: Path | None = None) -> list[Check]:
    """Which analyst and which embedder a refinement would use, and why; or what is wrong with the settings."""
    try:
        chosen, warnings = config.load({}, environ, toml)
        why = config.sources({}, environ, toml)
    except ConfigError as error:
        return [Check("settings", False, True, str(error), "correct that setting")]
    origin = "settings of " + toml.name if toml is not None and toml.exists() else "no settings file"
    settings = Check("settings", True, True, "; ".join((origin, *warnings)))
    return [settings, _analyst(chosen, why), _embedder(chosen, why, environ)]


def _analyst(chosen: config.RefineConfig, why: Mapping[str, str]) -> Check:
    detail = f"{chosen.analyst} ({why['analyst']}): no key, no network"
    return Check("analyst", True, True, detail)


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
