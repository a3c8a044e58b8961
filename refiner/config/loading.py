"""Where settings come from: flags over refiner.toml over environment over preset. Reads that one file, nothing else.

Keys and passwords come from the environment only and are never part of a configuration.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from refiner.config.flags import INCLUDE
from refiner.config.model import RefineConfig, specs
from refiner.config.settings import Spec, coerce, nearest
from refiner.errors import ConfigError

ENVIRONMENT = {
    "embedding_base_url": ("EMBEDDING_BASE_URL",),
    "embedding_model": ("EMBEDDING_MODEL",),
    "base_url": ("LLM_BASE_URL", "OPENAI_BASE_URL"),
    "model": ("LLM_MODEL", "OPENAI_MODEL"),
}
"""The variables of a setting, the first that is set wins. Those of a model count only for a model analyst."""
_OF_MODEL = ("base_url", "model")
_VARIABLE = "environment variable"
_SECRET_ENDINGS = ("api_key", "password", "secret", "token")


@dataclass(frozen=True, slots=True)
class Secrets:
    """Keys of endpoints; they never show in a text form of this record."""

    embedding_api_key: str | None = field(default=None, repr=False)
    llm_api_key: str | None = field(default=None, repr=False)


def secrets(environ: Mapping[str, str]) -> Secrets:
    """The keys that the environment holds. An embedding endpoint is never sent another service's key."""
    return Secrets(
        embedding_api_key=environ.get("EMBEDDING_API_KEY") or None,
        llm_api_key=environ.get("LLM_API_KEY") or environ.get("OPENAI_API_KEY") or None,
    )


@dataclass(frozen=True, slots=True)
class _Given:
    """One value somebody gave, and where: `where` opens an error message, `source` says it to a person."""

    value: Any
    source: str


def load(
    flags: Mapping[str, Any], environ: Mapping[str, str], toml_path: Path | None = None
) -> tuple[RefineConfig, tuple[str, ...]]:
    """The configuration and the warnings that came with it.

    `flags` holds values by setting name or alias; None = not given. A `toml_path` that does not exist is no file;
    relative paths in it start at its folder. Raises ConfigError for an unknown name, a wrong type or a bad value.
    """
    given = _gather(flags, environ, toml_path)
    _refuse_contradiction(given)
    config = RefineConfig(**{name: one.value for name, one in given.items()})
    return config, warnings(config)


def warnings(config: RefineConfig) -> tuple[str, ...]:
    """What was given and has no effect."""
    found = []
    if config.llm_provider is not None:
        found.append(f'llm_provider: "{config.llm_provider}" is accepted and ignored; no provider is built in.')
    if config.analyst == "offline":
        names = (
            "model",
            "gate_model",
            "base_url",
            "record",
            "handoff_dir",
            "replay_dir",
            "max_cost",
            "max_tokens_total",
        )
        if config.model is not None:
            found.append(f'model: "{config.model}" is not used; the offline analyst needs no model.')
        unused = [name for name in names[2:] if getattr(config, name) is not None]
        if unused:
            found.append(f"{', '.join(unused)}: not used; add `--analyst model` to ask a model.")
    return tuple(found)


def sources(flags: Mapping[str, Any], environ: Mapping[str, str], toml_path: Path | None = None) -> dict[str, str]:
    """For every setting where its value comes from: a flag, the file, a variable, the preset, or the default."""
    given = _gather(flags, environ, toml_path)
    chosen = given["preset"].value if "preset" in given else specs()["preset"].default
    fallback = {name: f"preset {chosen}" if spec.preset else "default" for name, spec in specs().items()}
    return fallback | {name: one.source for name, one in given.items()}


def _gather(flags: Mapping[str, Any], environ: Mapping[str, str], toml_path: Path | None) -> dict[str, _Given]:
    layers = (_from_environment(environ), _from_toml(toml_path), _from_flags(flags))
    given = {name: one for layer in layers for name, one in layer.items()}
    if "analyst" in given and given["analyst"].value == "model":
        return given
    return {name: one for name, one in given.items() if not (name in _OF_MODEL and one.source.startswith(_VARIABLE))}


def _from_environment(environ: Mapping[str, str]) -> dict[str, _Given]:
    return {
        name: _Given(environ[variable].strip(), f"{_VARIABLE} {variable}")
        for name, variables in ENVIRONMENT.items()
        for variable in reversed(variables)
        if environ.get(variable, "").strip()
    }


def _from_flags(flags: Mapping[str, Any]) -> dict[str, _Given]:
    given = ((key, value) for key, value in flags.items() if value is not None)
    return {
        spec.name: _Given(coerce(spec, value, where=""), "flag --" + key.replace("_", "-"))
        for key, spec, value in _named(given, where="")
    }


def _from_toml(path: Path | None) -> dict[str, _Given]:
    if path is None or not path.exists():
        return {}
    where = f"{path.name}: "
    items = _read_toml(path).items()
    return {
        spec.name: _Given(_below(path.parent, coerce(spec, _typed(spec, value, where), where=where)), path.name)
        for _, spec, value in _named(items, where=where)
    }


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path.name}: not a valid TOML file: {error}") from None
    except OSError as error:
        raise ConfigError(f"{path.name}: cannot be read: {error.strerror}") from None


def _typed(spec: Spec, value: Any, where: str) -> Any:
    """`value`, unless it is a text where the file could have said a number or a switch."""
    if spec.kind in ("whole", "number", "switch") and isinstance(value, str):
        wanted = "true or false" if spec.kind == "switch" else "a number"
        raise ConfigError(f'{where}{spec.name}: "{value}" is a text; write {wanted} without quotation marks')
    return value


def _below(folder: Path, value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(_below(folder, item) for item in value)
    return folder / value if isinstance(value, Path) else value


def _named(items: Iterable[tuple[str, Any]], *, where: str) -> Iterator[tuple[str, Spec, Any]]:
    """Each item with its setting, named with dashes or underscores. Raises ConfigError, also for one given twice."""
    seen: dict[str, str] = {}
    for key, value in items:
        spec, meant = _setting_of(key.replace("-", "_"), value, where)
        if spec.name in seen:
            raise ConfigError(f'{where}"{seen[spec.name]}" and "{key}" are the same setting; keep one')
        seen[spec.name] = key
        yield key, spec, meant


def _setting_of(key: str, value: Any, where: str) -> tuple[Spec, Any]:
    known = {name: spec for spec in specs().values() for name in (spec.name, *spec.aliases)}
    if key in known:
        return known[key], value
    if key == INCLUDE.dest:
        if value != "undecided":
            raise ConfigError(f'{where}include: "{value}" is not known; only "undecided" can be included')
        return known["include_undecided"], True
    if key.lower().endswith(_SECRET_ENDINGS):
        raise ConfigError(f"{where}{key}: keys come from the environment only; remove it and set {key.upper()}")
    raise ConfigError(f'{where}unknown setting "{key}"{nearest(key, (*known, INCLUDE.dest))}')


def _refuse_contradiction(given: Mapping[str, _Given]) -> None:
    gate, verify = given.get("gate"), given.get("verify_negative_clusters")
    if gate and verify and verify.value is False and gate.value != "off":
        raise ConfigError(
            f"verify_negative_clusters is off ({verify.source}) and gate is {gate.value} ({gate.source}); "
            "drop one of them"
        )
