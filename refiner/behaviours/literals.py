"""Literals replaced by typed placeholders, so that a text about one run becomes a template that many runs share.

Placeholders: <num> <str> <date> <formula> <range> <id> <path> <email> <url> <none>. No predicate, no trace here.
"""

from __future__ import annotations

import re

from refiner.behaviours.values import string_types

SIGNATURE_LIMIT = 80
PLACEHOLDER = {
    "number": "<num>",
    "date": "<date>",
    "formula": "<formula>",
    "range": "<range>",
    "id": "<id>",
    "email": "<email>",
    "url": "<url>",
    "path": "<path>",
    "empty": "<none>",
}

_ACRONYMS = (
    "HTTP HTTPS JSON SQL API URL XML CSV HTML ID OK FAIL FAILED ERROR NULL EOF CPU GPU RAM PDF YAML TOML UTC ASCII UTF "
    "POST GET PUT DELETE PATCH HEAD TLS SSL SSH DNS IO OS UI CLI AND OR NOT NO"
)
_KEPT = frozenset([*_ACRONYMS.split(), "True", "False", "I"])
_NONE = frozenset({"None", "null", "nil", "NaN", "undefined", "NULL"})
_QUOTED = re.compile(r"\"((?:\\.|[^\"\\])*)\"|(?<!\w)'([^'\n]*)'(?!\w)|`([^`\n]*)`|“([^”]*)”|‘([^’]*)’")
_FORMULA = re.compile(r"(?<![^\s(:,])=[A-Za-z_]+\([^)]*\)\S*|(?<![^\s(:,])=[A-Za-z$(]\S*")
_NAME = re.compile(r"[a-z][A-Za-z]*(?:_[A-Za-z]+)*")
_EDGE = re.compile(r"^([(\[{<\"',;:!?.*]*)(.*?)([)\]}>\"',;:!?.*]*)$", re.S)
_ASSIGNED = re.compile(r"^([A-Za-z_]\w*)=(.+)$", re.S)
_ANY_PLACEHOLDER = re.compile(r"<(?:num|str|date|formula|range|id|path|email|url|none)>")
_REPEATED = re.compile(r"(<\w+>)(?:[ ,/]+\1)+")


def literal(text: str) -> str:
    """The placeholder of one literal, with or without its quotes: `<str>` when no type fits."""
    quoted = _QUOTED.fullmatch(text.strip())
    inner = next((group for group in quoted.groups() if group is not None), "") if quoted else text.strip()
    if inner in _NONE:
        return "<none>"
    types = string_types(inner)
    return PLACEHOLDER[types[0]] if types else "<str>"


def typed(text: str) -> str:
    """One line with every literal replaced: quoted text, numbers, ids, paths, names in the middle of a sentence."""
    text = _QUOTED.sub(_quoted, " ".join(text.split()))
    text = _FORMULA.sub("<formula>", text)
    is_start = True
    tokens = []
    for token in text.split():
        tokens.append(_token(token, is_start=is_start))
        is_start = token[-1:] in ".:!?"
    return _REPEATED.sub(r"\1", " ".join(tokens))


def signature(text: str) -> str:
    """The typed first line of an error, at most 80 characters, without the signs of the predicate grammar."""
    line = next((line for line in text.splitlines() if line.strip()), "")
    line = " ".join(re.sub(r"[();]", " ", typed(line[:1_000])).split())
    if len(line) > SIGNATURE_LIMIT:
        line = line[:SIGNATURE_LIMIT].rsplit(" ", 1)[0]
    return line


def _quoted(match: re.Match[str]) -> str:
    if match.group(3) is not None and _NAME.fullmatch(match.group(3)):
        return match.group(3)
    return literal(match.group(0))


def _token(token: str, *, is_start: bool) -> str:
    if _ANY_PLACEHOLDER.search(token):
        return _around_placeholders(token)
    edges = _EDGE.match(token)
    assert edges is not None
    before, core, after = edges.groups()
    if not core:
        return token
    return f"{before}{_core(core, is_start=is_start)}{after}"


def _core(core: str, *, is_start: bool) -> str:
    assigned = _ASSIGNED.match(core)
    if assigned:
        return f"{assigned.group(1)}={literal(assigned.group(2))}"
    if core in _NONE:
        return "<none>"
    types = string_types(core)
    if types:
        return PLACEHOLDER[types[0]]
    if any(sign.isdigit() for sign in core):
        return "<id>"
    return _word(core, is_start=is_start)


def _word(core: str, *, is_start: bool) -> str:
    """A name in the middle of a sentence is a literal; exception names and common acronyms are not."""
    if core.endswith(("Error", "Exception", "Warning")) or core in _KEPT:
        return core
    if core.isupper() and len(core) > 1:
        return "<id>"
    return "<str>" if core[0].isupper() and not is_start else core


def _around_placeholders(token: str) -> str:
    """Digits glued to a placeholder go; the rest (`name=<str>,`) stays."""
    return re.sub(r"[^\s<>=(]*\d[^\s<>=(]*", "<num>", token)
