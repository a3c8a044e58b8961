"""What may not leave the machine, replaced by numbered tokens. Finds and replaces; sends, stores and logs nothing.

Equal values get equal tokens in every text of a corpus, whoever reads it first: the number is a hash of the value.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache, lru_cache
from threading import Lock
from typing import Literal

from refiner.ids import text_key

Level = Literal["standard", "strict"]
TOKEN = re.compile(r"\[(secret|e-mail|user|phone|address|number) \d{6}\]")
_WINDOW = 2_000  # signs that a pattern sees at once, so that no hostile text can make one slow
_BEFORE = 120
_RUN = re.compile(r"[\w+/=.-]{15,}")
_NUMBERS = 900_000

# Formats that a library of detectors knows, by class name in `detect_secrets.plugins.*`. Their patterns are used, not
# the scanner around them, which works on files and lines and asks services whether a secret is valid.
_DETECTORS = (
    ("artifactory", "ArtifactoryDetector"),
    ("aws", "AWSKeyDetector"),
    ("azure_storage_key", "AzureStorageKeyDetector"),
    ("cloudant", "CloudantDetector"),
    ("discord", "DiscordBotTokenDetector"),
    ("github_token", "GitHubTokenDetector"),
    ("ibm_cloud_iam", "IbmCloudIamDetector"),
    ("ibm_cos_hmac", "IbmCosHmacDetector"),
    ("jwt", "JwtTokenDetector"),
    ("mailchimp", "MailchimpDetector"),
    ("npm", "NpmDetector"),
    ("sendgrid", "SendGridDetector"),
    ("slack", "SlackDetector"),
    ("softlayer", "SoftlayerDetector"),
    ("square_oauth", "SquareOAuthDetector"),
    ("stripe", "StripeDetector"),
    ("twilio", "TwilioKeyDetector"),
)
_PEM = re.compile(
    r"-----BEGIN [A-Z ]{0,30}PRIVATE KEY(?: BLOCK)?-----"
    r"(?:.{1,8000}?-----END [A-Z ]{0,30}PRIVATE KEY(?: BLOCK)?-----|(?:\\n|\s|[A-Za-z0-9+/=]){0,8000})",
    re.DOTALL,
)
_NAMES = ("key", "pw", "pass", "token", "secret")
_NAMED = (
    r"(?:pass(?:word|wd|phrase|code)|pwd|secret(?:[_-]?key)?|api[_-]?key|access[_-]?key|private[_-]?key"
    r"|client[_-]?secret|(?:auth|access|refresh|session|id)[_-]?token)"
)
# What the text must hold (lower case), and a pattern whose one group is the value; what stands around it stays.
_SECRETS = (
    (
        _NAMES,
        re.compile(
            rf"{_NAMED}\\?[\"']?\s{{0,3}}(?:[:=]|=>)\s{{0,3}}\\?[\"']?([^\s\"'\\,;}})\]]{{4,200}})", re.IGNORECASE
        ),
    ),
    (
        ("authorization",),
        re.compile(
            r"\bauthorization\\?[\"']?\s{0,3}[:=]\s{0,3}\\?[\"']?(?:\w{1,20} )?([^\s\"'\\,;}]{8,400})", re.IGNORECASE
        ),
    ),
    (("bearer",), re.compile(r"\bbearer ([A-Za-z0-9._~+/=-]{16,400})", re.IGNORECASE)),
    (("@",), re.compile(r"://([^\s/:@\"']{1,64}:[^\s/@\"']{1,128})@")),
    (
        ("sk-", "glpat-", "hf_", "xai-", "gsk_", "github_pat_", "pypi-", "aiza"),
        re.compile(
            r"(?<![\w-])((?:sk-(?:ant-|proj-|or-)?|glpat-|hf_|xai-|gsk_|github_pat_|pypi-|AIza)[A-Za-z0-9_-]{20,200})"
        ),
    ),
)
_EMAIL = re.compile(r"(?<![\w.+-])([\w.+-]{1,64}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){1,6})")
_HOME = re.compile(r"(?<![\w.])(?:/home/|/Users/|[A-Za-z]:[\\/]{1,4}Users[\\/]{1,4})([\w.-]{1,64})")
_STRICT: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("address", re.compile(r"(?<![\d.])((?:\d{1,3}\.){3}\d{1,3})(?![\d.])")),
    ("phone", re.compile(r"(?<![\w+])(\+\d[\d ()/-]{6,20}\d|\(?\d{3}\)?[ -]\d{3}[ -]\d{4})(?!\w)")),
    ("number", re.compile(r"(?<![\w.])([A-Z]{2}\d{2}[A-Z0-9]{11,30}|(?:\d[ -]?){8,18}\d)(?![\w.])")),
)
_NO_SECRET = re.compile(
    r"(?i)null|none|true|false|undefined|string|\*+|x+|\.+|<.*|\$.*|\{.*|\[.*|%.*|[a-z_]+(?:\.[a-z_]+)*[(\[].*"
)
"""A placeholder, or code that fetches the value."""
_UNLIKE_A_WORD = 8
_NO_USER = frozenset({"shared", "public", "default", "user", "username"})

Found = tuple[str, dict[str, str]]
"""A text with tokens in it, and the value behind each token."""


@dataclass(frozen=True, slots=True)
class Redactor:
    """`redactor(text)` is the text as it may be sent. It remembers which tokens it gave out, never the values."""

    level: Level = "standard"
    _given: set[str] = field(default_factory=set, compare=False)
    _lock: Lock = field(default_factory=Lock, repr=False, compare=False)

    def __call__(self, text: str) -> str:
        return self.found(text)[0]

    def found(self, text: str) -> Found:
        """The text as it may be sent, and what each of its tokens stands for."""
        redacted, values = _redact(text, self.level)
        if values:
            with self._lock:
                self._given.update(values)
        return redacted, values

    def tokens(self) -> list[str]:
        """Every token given out so far, sorted."""
        with self._lock:
            return sorted(self._given)

    def __reduce__(self) -> tuple[type[Redactor], tuple[Level]]:
        return Redactor, (self.level,)


def counts(tokens: list[str]) -> dict[str, int]:
    """How many distinct values of each kind the tokens stand for."""
    kinds = [match[1] for token in tokens if (match := TOKEN.fullmatch(token))]
    return {kind: kinds.count(kind) for kind in sorted(set(kinds))}


def restore(text: str, values: dict[str, str]) -> str:
    """The text with the tokens of `values` replaced by what they stand for; any other becomes `<e-mail>` or such."""
    return TOKEN.sub(lambda token: values.get(token[0], f"<{token[1]}>"), text)


@lru_cache(maxsize=4096)
def _redact(text: str, level: Level) -> Found:
    work = _Work(text)
    for value in _whole(_PEM, text):
        work.everywhere("secret", value)
    for value in _known_formats(text):
        work.everywhere("secret", value)
    for hints, pattern in _SECRETS:
        work.in_place("secret", pattern, hints)
    work.in_place("e-mail", _EMAIL, ("@",))
    work.in_place("user", _HOME, ("/home/", "users"))
    for kind, pattern in _STRICT if level == "strict" else ():
        work.in_place(kind, pattern)
    return work.text, work.values


@dataclass(slots=True)
class _Work:
    """A text on its way: what was replaced so far. Tokens are never replaced again."""

    text: str
    values: dict[str, str] = field(default_factory=dict)

    def everywhere(self, kind: str, value: str) -> None:
        if value in self.text and not TOKEN.search(value):
            self.text = self.text.replace(value, self._token(kind, value))

    def in_place(self, kind: str, pattern: re.Pattern[str], hints: tuple[str, ...] = ()) -> None:
        """Replaces the pattern's group where it matches; a value that cannot be a common word, wherever it stands."""
        if hints and not any(hint in self.text.lower() for hint in hints):
            return
        values = list(dict.fromkeys(match[1] for match in pattern.finditer(self.text)))
        self.text = pattern.sub(lambda match: self._placed(kind, match), self.text)
        for value in (one for one in values if len(one) >= _UNLIKE_A_WORD and re.search(r"\d", one)):
            self.everywhere(kind, value)

    def _placed(self, kind: str, match: re.Match[str]) -> str:
        value = match[1]
        if TOKEN.search(value) or _NO_SECRET.fullmatch(value) or (kind == "user" and value.lower() in _NO_USER):
            return match[0]
        start, end = match.start(1) - match.start(), match.end(1) - match.start()
        return match[0][:start] + self._token(kind, value) + match[0][end:]

    def _token(self, kind: str, value: str) -> str:
        name = f"[{kind} {int(text_key('redacted', kind, value), 16) % _NUMBERS + 100_000}]"
        self.values[name] = value
        return name


def _whole(pattern: re.Pattern[str], text: str) -> Iterator[str]:
    return (match[0] for match in pattern.finditer(text))


def _known_formats(text: str) -> Iterator[str]:
    """What the library's patterns match around the long runs of signs that each of them asks for."""
    for window in _windows(text):
        lower = window.lower()
        named = any(word in lower for word in _NAMES)
        for pattern, needs_name in _patterns():
            if named or not needs_name:
                yield from _whole(pattern, window)


def _windows(text: str) -> Iterator[str]:
    """Every run of 15 signs or more with what stands before it, in pieces of at most some 2,000 signs."""
    for run in _RUN.finditer(text):
        for start in range(run.start(), run.end(), _WINDOW - _BEFORE):
            yield text[max(0, start - _BEFORE) : min(run.end() + 2, start + _WINDOW)]


@cache
def _patterns() -> tuple[tuple[re.Pattern[str], bool], ...]:
    """Each pattern of the library, and whether it only matches beside a word such as key, password or token."""
    from importlib import import_module

    plugins = [getattr(import_module(f"detect_secrets.plugins.{module}"), name)() for module, name in _DETECTORS]
    found = [pattern for plugin in plugins for pattern in plugin.denylist]
    return tuple((pattern, "pwd" in pattern.pattern and "pass" in pattern.pattern) for pattern in found)
