"""The settings as command-line flags: data from which a parser is built. No parsing and no printing here."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import Any

from refiner.config.model import specs
from refiner.config.settings import Kind, Spec

_METAVARS: dict[Kind, str] = {
    "path": "PATH",
    "paths": "PATH",
    "whole": "N",
    "number": "X",
    "text": "TEXT",
    "names": "NAME",
}


@dataclass(frozen=True, slots=True)
class Flag:
    """One flag: `names` as typed (`--skill-file`, `--skill`), `dest` = its key in the values that `load` takes."""

    dest: str
    names: tuple[str, ...]
    kind: Kind
    choices: tuple[str, ...]
    help: str

    @property
    def many(self) -> bool:
        """Whether several values may be given."""
        return self.kind in ("paths", "names")

    def arguments(self) -> dict[str, Any]:
        """Keyword arguments for `parser.add_argument(*flag.names, ...)`. What is not given stays None.

        Values stay texts: `refiner.config.load` reads and checks them, so that a mistake reads the same everywhere.
        """
        common = {"dest": self.dest, "default": None, "help": self.help.replace("%", "%%")}
        if self.kind == "switch":
            return {**common, "action": argparse.BooleanOptionalAction}
        metavar = _METAVARS.get(self.kind, "|".join(self.choices))
        many = {"action": "extend", "nargs": "+"} if self.many else {}
        return {**common, "metavar": metavar, **many}


def flags() -> list[Flag]:
    """One flag a setting, named like it with dashes, its aliases beside it; then `--include undecided`."""
    return [*(_flag(spec) for spec in specs().values()), INCLUDE]


INCLUDE = Flag("include", ("--include",), "choice", ("undecided",), "the same as --include-undecided")


def _flag(spec: Spec) -> Flag:
    names = tuple("--" + name.replace("_", "-") for name in (*spec.aliases, spec.name))
    choices = f": {', '.join(spec.choices)}" if spec.kind == "names" else ""
    return Flag(spec.name, names, spec.kind, spec.choices, f"{spec.help}{choices}{_default_words(spec)}")


def _default_words(spec: Spec) -> str:
    if spec.preset:
        return " (default: the preset's)"
    if spec.derived:
        return f" (default: {spec.derived})"
    if spec.kind == "switch":
        return f" (default: {'yes' if spec.default else 'no'})"
    return "" if spec.default in (None, ()) else f" (default: {spec.default})"
