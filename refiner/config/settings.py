"""What a setting is: its kind, its limits, its words for people; and how a given value becomes that kind.

Nothing here knows which settings exist, or where values come from.
"""

from __future__ import annotations

import dataclasses
import difflib
import math
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from refiner.errors import ConfigError

Kind = Literal["text", "path", "paths", "choice", "whole", "number", "switch", "names"]

_SWITCHES = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}


@dataclass(frozen=True, slots=True)
class Limit:
    """A range of numbers: `words` completes "it must be ...", `holds` decides."""

    words: str
    holds: Callable[[float], bool]


@dataclass(frozen=True, slots=True)
class Spec:
    """One setting. `identity` = it can change a result. `aliases` are short names, as good as the name itself.

    `preset` = its default comes from the preset; `derived` says in words what else its default depends on.
    """

    name: str
    kind: Kind
    help: str
    default: Any = None
    aliases: tuple[str, ...] = ()
    choices: tuple[str, ...] = ()
    limit: Limit | None = None
    identity: bool = True
    preset: bool = False
    derived: str = ""


def setting(default: Any, kind: Kind, help: str, **more: Any) -> Any:
    """A dataclass field that carries its `Spec`; `more` are further fields of `Spec`. None = not given."""
    spec = Spec(name="", kind=kind, help=help, default=default, **more)
    return dataclasses.field(default=default, metadata={"spec": spec})


def specs_of(cls: Any) -> dict[str, Spec]:
    """The settings of a dataclass made of `setting`s, by field name and in order."""
    fields = dataclasses.fields(cls)
    return {field.name: dataclasses.replace(field.metadata["spec"], name=field.name) for field in fields}


def nearest(word: str, words: Iterable[str]) -> str:
    """`; did you mean "x"?` for the closest of `words`, or an empty text when none is close."""
    close = difflib.get_close_matches(word, sorted(words), n=1, cutoff=0.5)
    return f'; did you mean "{close[0]}"?' if close else ""


def coerce(spec: Spec, value: Any, *, where: str = "") -> Any:
    """`value` as the setting's kind; None stands for the default. A text is read as a number or a switch if need be.

    Raises ConfigError naming the place (`where`), the setting and the value.
    """
    if value is None:
        return spec.default
    if spec.kind in ("paths", "names"):
        items = value if isinstance(value, list | tuple) else (value,)
        return _arranged(spec, [_read(spec, item, where) for item in items])
    return _read(spec, value, where)


def _read(spec: Spec, value: Any, where: str) -> Any:
    try:
        result = _READERS[spec.kind](spec, value)
    except (TypeError, ValueError) as error:
        raise ConfigError(f"{where}{spec.name}: {_shown(value)} {error}") from None
    if spec.limit is not None and not spec.limit.holds(result):
        raise ConfigError(f"{where}{spec.name}: {_shown(value)} is out of range; it must be {spec.limit.words}")
    return result


def _arranged(spec: Spec, items: list[Any]) -> tuple[Any, ...]:
    """Paths as given; names in the order of the choices, each once: what was named first or twice cannot matter."""
    return tuple(items) if spec.kind == "paths" else tuple(name for name in spec.choices if name in items)


def _shown(value: Any) -> str:
    return f'"{value}"' if isinstance(value, str | os.PathLike) else repr(value)


def _text(_: Spec, value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("is not a text")
    if not value.strip():
        raise ValueError("is an empty text")
    return value


def _path(_: Spec, value: Any) -> Path:
    if not isinstance(value, str | os.PathLike):
        raise TypeError("is not a path")
    if not str(value):
        raise ValueError("is an empty path")
    return Path(value)


def _choice(spec: Spec, value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"is not one of {', '.join(spec.choices)}")
    if value not in spec.choices:
        raise ValueError(f"is not one of {', '.join(spec.choices)}{nearest(value, spec.choices)}")
    return value


def _whole(_: Spec, value: Any) -> int:
    try:
        if isinstance(value, bool) or not isinstance(value, int | str):
            raise TypeError
        return int(value)
    except (TypeError, ValueError):
        raise TypeError("is not a whole number") from None


def _number(_: Spec, value: Any) -> float:
    try:
        if isinstance(value, bool) or not math.isfinite(number := float(value)):
            raise TypeError
        return number
    except (TypeError, ValueError, OverflowError):
        raise TypeError("is not a number") from None


def _switch(_: Spec, value: Any) -> bool:
    given = _SWITCHES.get(value.lower()) if isinstance(value, str) else value
    if not isinstance(given, bool):
        raise TypeError("is neither true nor false")
    return given


_READERS: dict[Kind, Callable[[Spec, Any], Any]] = {
    "text": _text,
    "path": _path,
    "paths": _path,
    "choice": _choice,
    "whole": _whole,
    "number": _number,
    "switch": _switch,
    "names": _choice,
}
