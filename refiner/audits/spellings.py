"""One value in its many spellings: dates, numbers, masked addresses, secrets told by their context. Pure text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import product

Day = tuple[int, int, int]
"""Year (0 = not said), month, day."""
_MONTHS = (
    "jan|ene|janv|gen",
    "feb|fev|fév",
    "mar|mär|maer|mrz",
    "apr|abr|avr",
    "may|mai|mag",
    "jun|juin|giu",
    "jul|juil|lug",
    "aug|ago|aoû|aou",
    "sep|set",
    "oct|okt|ott|out",
    "nov",
    "dec|dez|dic|déc",
)
_MONTH = rf"(?P<month>(?:{'|'.join(_MONTHS)})[a-zéûçä]{{0,7}})\.?"
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th|\.|º)?"
_YEAR = r"(?P<year>\d{4})"
_OF = r"\s+(?:of\s+|de\s+|di\s+)?"
_WORDED = (
    re.compile(rf"\b{_DAY}{_OF}{_MONTH}(?:,?{_OF}{_YEAR})?(?!\w)", re.IGNORECASE),
    re.compile(rf"\b{_MONTH}\s+{_DAY}(?:,?\s+{_YEAR})?(?!\w)", re.IGNORECASE),
)
_ISO = re.compile(r"(?<!\d)(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})(?!\d)")
_SHORT = re.compile(r"(?<!\d)(\d{1,2})[-/.](\d{1,2})[-/.](\d{4}|\d{2})(?!\d)")
_NUMBER = re.compile(r"(?<![\w.,'’])[-+]?\d(?:[\d.,'’\u00a0\u202f]*\d)?(?![\d])")
_GROUPED = re.compile(r"\d{1,3}(?:[.,'’\u00a0\u202f]\d{3})+")
_AT = re.compile(r"\s*[(\[{]\s*(?:at|@)\s*[)\]}]\s*", re.IGNORECASE)
_DOT = re.compile(r"\s*[(\[{]\s*(?:dot|punkt|punto|\.)\s*[)\]}]\s*", re.IGNORECASE)
_LABEL = (
    r"(?:pass(?:word|wort|phrase|code)?|pwd|kennwort|contraseña|mot de passe|secret|token|api[ _-]?key|access[ _-]?key)"
)
_TOLD = re.compile(
    rf"\b{_LABEL}\b[\"'`]?\s*(?:is|ist|es|est|=|:|was|war)\s*[\"'`«„]?([^\s\"'`»“<>]{{6,}})", re.IGNORECASE
)
_ROOTS = ("pass", "pwd", "kennwort", "contrase", "secret", "token", "key")
_USERINFO = re.compile(r"\w+://[^\s/:@]+:([^\s/@]{4,})@")


def days(text: str) -> Iterator[tuple[str, frozenset[Day]]]:
    """(as written, every day it may mean) of each date; `03/04/2024` may be two days."""
    for pattern in _WORDED:
        for match in pattern.finditer(text):
            month = _month(match["month"])
            if month and 1 <= int(match["day"]) <= 31:
                yield match.group().rstrip("."), frozenset({(int(match["year"] or 0), month, int(match["day"]))})
    for match in _ISO.finditer(text):
        yield match.group(), _possible(int(match[1]), (int(match[2]), int(match[3])))
    for match in _SHORT.finditer(text):
        year = int(match[3]) + (2000 if len(match[3]) == 2 else 0)
        first, second = int(match[1]), int(match[2])
        yield match.group(), _possible(year, (first, second), (second, first))


def _month(word: str) -> int:
    return next((at for at, names in enumerate(_MONTHS, 1) if re.match(rf"(?:{names})", word, re.IGNORECASE)), 0)


def _possible(year: int, *pairs: tuple[int, int]) -> frozenset[Day]:
    return frozenset((year, month, day) for month, day in pairs if 1 <= month <= 12 and 1 <= day <= 31)


def same_day(one: frozenset[Day], other: frozenset[Day]) -> bool:
    """Whether two dates may be one day; a missing year fits every year."""
    return any(a[1:] == b[1:] and (a[0] == b[0] or not a[0] or not b[0]) for a, b in product(one, other))


def numbers(text: str) -> Iterator[tuple[str, frozenset[str]]]:
    """(as written, every value it may mean, in plain notation) of each number; a unit may follow without a space."""
    for match in _NUMBER.finditer(text):
        written = match.group()
        yield written, frozenset(_values(written.lstrip("+")))


def _values(written: str) -> Iterator[str]:
    """1,286 is 1286 or 1.286; 24,90 is 24.9; 2'310.45 is 2310.45."""
    last = max(written.rfind("."), written.rfind(","))
    if last < 0 or _GROUPED.fullmatch(written.lstrip("-")):
        yield _plain(re.sub(r"[.,'’\u00a0\u202f]", "", written))
    if last >= 0 and written.count(written[last]) == 1:
        whole, part = (re.sub(r"\D", "", piece) for piece in (written[:last], written[last:]))
        yield _plain(f"{'-' * written.startswith('-')}{whole}.{part}")


def _plain(number: str) -> str:
    sign, digits = ("-", number[1:]) if number.startswith("-") else ("", number)
    whole, _, rest = digits.partition(".")
    rest = rest.rstrip("0")
    return f"{sign}{whole.lstrip('0') or '0'}{'.' if rest else ''}{rest}"


def unmasked(text: str) -> str:
    """The text with `name (at) host (dot) org` as an address."""
    return _DOT.sub(".", _AT.sub("@", text)) if "(" in text or "[" in text or "{" in text else text


def told_secrets(text: str) -> Iterator[str]:
    """Values that the text itself calls a password, token or key, and passwords inside of addresses; no plain words."""
    low = text.lower()
    patterns = [_TOLD] if any(root in low for root in _ROOTS) else []  # most texts speak of no secret at all
    patterns += [_USERINFO] if "://" in low and "@" in low else []
    for pattern in patterns:
        for match in pattern.finditer(text):
            value = match[1].rstrip(".,;:)!?")
            if len(value) >= 6 and re.search(r"[^A-Za-z]", value) and re.search(r"[A-Za-z]", value):
                yield value
