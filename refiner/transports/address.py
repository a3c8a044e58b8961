"""The address of an endpoint, and the key for it, checked before anything is sent. Reads no environment."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import parse_qsl, urlsplit, urlunsplit

from refiner.errors import ConfigError


@dataclass(frozen=True, slots=True)
class Names:
    """What messages call the setting, its variable, the key's variable, and what needs them."""

    setting: str
    variable: str
    key: str
    who: str


MODEL = Names("base_url", "LLM_BASE_URL", "LLM_API_KEY", "a model analyst needs")
EMBEDDING = Names("embedding_base_url", "EMBEDDING_BASE_URL", "EMBEDDING_API_KEY", "embedding elsewhere needs")
_PATHS = ("/chat/completions", "/embeddings")


@dataclass(frozen=True, slots=True)
class Address:
    """`shown` is the address for messages: without the query, which may be a secret; `url` is the one to call."""

    url: str
    shown: str
    host: str
    query: tuple[tuple[str, str], ...] = ()

    def __repr__(self) -> str:
        return f"Address({self.shown!r})"

    @classmethod
    def of(cls, base_url: str | None, names: Names = MODEL) -> Address:
        """Raises ConfigError when there is no address, or one that cannot be called or holds a password."""
        text, setting, variable = (base_url or "").strip(), names.setting, names.variable
        if not text:
            needs = f"{names.who} the address of an endpoint"
            raise ConfigError(f"{setting}: {needs}; set {variable}, e.g. http://localhost/v1")
        try:
            parts = urlsplit(text)
            usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        except ValueError:
            usable = False
        if not usable:
            raise ConfigError(f"{setting}: {variable} is not an address; write http://HOST:PORT/v1 or https://HOST/v1")
        if "@" in parts.netloc:
            raise ConfigError(f"{setting}: the address holds a password; put the key into {names.key}")
        path = parts.path.rstrip("/")
        for end in _PATHS:
            path = path.removesuffix(end)
        plain = urlunsplit((parts.scheme, parts.netloc, path, "", ""))
        return cls(plain, plain, parts.netloc, tuple(parse_qsl(parts.query)))


def checked_key(api_key: str | None, names: Names = MODEL) -> str:
    """The key as it can be sent, "" for none. Raises ConfigError, which does not show it, for one that cannot be."""
    key = (api_key or "").strip()
    if not all("!" <= character <= "~" for character in key):
        raise ConfigError(f"{names.key} holds a blank or a character that no key has; set it again")
    return key
