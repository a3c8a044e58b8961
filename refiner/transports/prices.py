"""What a million tokens cost, from a data file with its date. A model that is not in it has no price, not 0."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from refiner.errors import ConfigError

_FILE = Path(__file__).with_name("prices.toml")
_BUILD = re.compile(r"[-@:]?(\d{4}-?\d{2}-?\d{2}|latest|\d{4})$")


@dataclass(frozen=True, slots=True)
class Price:
    """Money for a million tokens of prompt and of reply."""

    input: float
    output: float

    def of(self, prompt_tokens: int, completion_tokens: int) -> float:
        return (prompt_tokens * self.input + completion_tokens * self.output) / 1_000_000


@dataclass(frozen=True, slots=True)
class Prices:
    """The price table. `date` is when its prices were looked up."""

    date: str
    currency: str
    models: Mapping[str, Price]

    def of(self, model: str) -> Price | None:
        """The price of a model, also of a dated build (`gpt-4o-2024-08-06`) or of a reseller's (`openai/gpt-4o`)."""
        name = model.lower().rpartition("/")[2]
        return self.models.get(name) or self.models.get(_BUILD.sub("", name))


def load(path: Path = _FILE) -> Prices:
    """The table in a file. Raises ConfigError naming what is wrong with it."""
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8"))
        models = {
            name.lower(): Price(float(one["input"]), float(one["output"])) for name, one in found["models"].items()
        }
        return Prices(str(found["date"]), str(found["currency"]), models)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as problem:
        raise ConfigError(f"{path.name}: not a price table ({type(problem).__name__}: {problem})") from None
