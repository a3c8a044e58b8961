"""Kinds of literal that belong to one task: ids, dates, numbers, paths, e-mails, secrets, quoted strings. Pure text."""

from __future__ import annotations

import re
from collections.abc import Iterator

SHORTEST = 4
LONG_NUMBER = 6
"""Digits from which a number counts as an id, and is found with letters right beside it."""
_TOKEN = re.compile(r"[^\s\"'`()\[\]{},;=<>|*\u201c\u201d\u2018\u2019\u201e\u00ab\u00bb\u2039\u203a]+")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_EDGES = ".:!?$#\u20ac\u00a3%"
_EMAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_PATH = re.compile(
    r"(?:~|\.{1,2})?/[\w.@+-]+/[\w./@+-]*"  # /a/b, ~/a/b, ../a/b
    r"|[a-z]:\\\S+"  # C:\a
    r"|(?:https?|file|s3|gs)://\S+"
    r"|(?:(?:~|\.{1,2})?/)?(?:[\w.@+-]+/)+[\w@+-][\w.@+-]*\.[a-z]\w{0,4}"  # a/b.txt
    r"|(?:~|\.{1,2})?/[\w@+-][\w.@+-]*\.[a-z]\w{0,4}",  # /b.txt
    re.IGNORECASE,
)
_FILE = re.compile(r"[\w@+-]{2,}\.[a-z]{2,5}", re.IGNORECASE)
_SECRET = re.compile(r"(?:sk|pk|rk|ghp|gho|ghs|glpat|xox[abprs]|akia|asia|eyj)[\w.-]{12,}", re.IGNORECASE)
_LONG = re.compile(r"(?=.*\d)(?=.*[a-z])[\w+/.-]{20,}", re.IGNORECASE)
_NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}\S*|\d{1,2}[/.]\d{1,2}[/.]\d{2,4}|\d{1,2}:\d{2}(?::\d{2})?")
_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sept?|oct|nov|dec)[a-z]{0,6}"
_MONTH_DATE = re.compile(rf"\b(?:{_MONTH}\.?\s+\d{{1,2}}|\d{{1,2}}\s+{_MONTH})(?:,?\s+\d{{4}})?\b", re.IGNORECASE)
_ID = re.compile(r"(?=.*\d)(?=.*[A-Za-z])[A-Za-z0-9][\w-]{4,}|\d{6,}")
_NUMBERED_WORD = re.compile(r"[A-Za-z]?[a-z]{2,}\d{1,3}|[A-Za-z]{3,}-\d|\d{1,4}[A-Za-z]{1,3}")
_CAPITALS = re.compile(r"[A-Z]{5,}")
_QUOTED = re.compile(
    r"\"([^\"\n]{4,200})\"(?!\s*:)|(?<!\w)'([^'\n]{4,200})'(?!\w|\s*:)|`([^`\n]{4,200})`|[\u201c\u201e]([^\u201c\u201d\n]{4,200})[\u201c\u201d]"
    r"|[\u00ab\u00bb]\s?([^\u00ab\u00bb\n]{4,200})\s?[\u00ab\u00bb]"
)


def tokens(text: str) -> list[str]:
    """The words of a text as written, without quotes, brackets, separators and punctuation at their ends."""
    found = (token.strip(_EDGES) for token in _TOKEN.findall(_THOUSANDS.sub("", text)))
    return [token for token in found if token]


def trace_kind(token: str) -> str | None:
    """What kind of literal a token of a trace is: e-mail, secret, path or id; None for an ordinary word.

    A token of capitals counts as an id; whether it is an emphasised word only its use elsewhere can tell.
    """
    if len(token) < SHORTEST:
        return None
    if _EMAIL.fullmatch(token):
        return "e-mail"
    if _PATH.fullmatch(token):
        return "path"
    if _SECRET.fullmatch(token) or _LONG.fullmatch(token):
        return "secret"
    is_id = _ID.fullmatch(token) and not _NUMBERED_WORD.fullmatch(token) and not _DATE.fullmatch(token)
    return "id" if is_id or _CAPITALS.fullmatch(token) else None


def digits_of(token: str) -> tuple[str, ...]:
    """The long run of digits that a token holds beside letters, if there is one (`MRN0081902`)."""
    found = re.fullmatch(rf"[A-Za-z]+[-_#]?(\d{{{LONG_NUMBER},}})", token)
    return (found[1],) if found else ()


def is_all_capitals(token: str) -> bool:
    return bool(_CAPITALS.fullmatch(token))


def note_values(text: str) -> Iterator[tuple[str, str]]:
    """(value, kind) of every literal in an evaluator's note that is at least 4 characters long."""
    for match in _QUOTED.finditer(text):
        value = next(group for group in match.groups() if group is not None).strip()
        if len(value) >= SHORTEST:
            yield value, "quoted string"
    for match in _MONTH_DATE.finditer(text):
        yield match.group(), "date"
    for token in tokens(text):
        kind = _note_kind(token)
        if kind and len(token) >= SHORTEST:
            yield token, kind


def _note_kind(token: str) -> str | None:
    if _NUMBER.fullmatch(token):
        return "number"
    if _DATE.fullmatch(token):
        return "date"
    return trace_kind(token) or ("path" if _FILE.fullmatch(token) else None)


def words(text: str) -> list[str]:
    """Lower-case words and numbers only, for comparing runs of words."""
    return re.findall(r"\w+", text.lower())
