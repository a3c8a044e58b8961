"""Words of rules and skills: light stems, function words, polarity, order. General English only, no domain terms."""

from __future__ import annotations

import re
from collections.abc import Iterable

_FUNCTION_WORDS = """
    a an and any are as at be been before after because but by can cannot could did do does each either else every
    few first finally finish finishing for from had has have having if in into is it its itself last make makes may
    might more most must need needs no nor not of off on once one only onto or other otherwise out over own per
    please same shall should so some such than that the their them then there these they this those to too under
    until up upon use used uses using very via was were what when where whether which while who will with within
    without would you your always never avoid ensure call calls called calling run runs don won
"""
FUNCTION_WORDS = frozenset(_FUNCTION_WORDS.split())
_SAME_ACTION = (
    ("update", "modify", "change", "edit", "amend", "alter"),
    ("create", "add"),
    ("delete", "remove"),
    ("get", "read", "fetch", "retrieve"),
    ("find", "search", "lookup", "query"),
    ("save", "store"),
    ("check", "verify", "validate", "confirm"),
)
_SUFFIXES = ("ifications", "ification", "ations", "ation", "ings", "ing", "edly", "ied", "ies", "ed", "es", "s")
_INSTEAD = {"ied": "y", "ies": "y", "ifications": "ify", "ification": "ify"}
_SHORTEST_STEM = 3
NEGATION = re.compile(r"\b(?:not|never|no|cannot|avoid|refrain|forbidden|prohibited)\b|n['\u2019]t\b", re.IGNORECASE)
_DIRECTIVE = re.compile(
    r"\b(?:must|should|shall|always|never|do not|only|needs? to|have to|has to|required?|ensure|make sure|can|may"
    r"|before|after|then|first|avoid|remember)\b|n['\u2019]t\b|^\W*(?:when|if|once|until)\b",
    re.IGNORECASE,
)
_CONDITION = re.compile(r"\W*(?:if|when|unless|where|while|once)\b", re.IGNORECASE)
_IMPERATIVE = re.compile(
    r"[\W_]*(?!(?:it|this|that|there|\w+(?:s|ed|ing))\b)\w+\s+(?:(?:the|an?|all|every|each|it|any|back|only|to|with)\b|`)",
    re.IGNORECASE,
)


def words(text: str) -> list[str]:
    """Lower-case words in order; names like `save_workbook` and `saveWorkbook` come apart."""
    apart = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", text).replace("_", " ")
    return [word.lower() for word in re.findall(r"[^\W_]+", apart)]


def stem(word: str) -> str:
    """A crude stem, equal for the usual inflections of a word (cancel, cancelled, cancellation)."""
    base = word
    for suffix in _SUFFIXES:
        if (
            word.endswith(suffix)
            and len(word) - len(suffix) >= _SHORTEST_STEM
            and not word.endswith(("ss", "us", "is"))
        ):
            base = word.removesuffix(suffix) + _INSTEAD.get(suffix, "")
            break
    if len(base) > _SHORTEST_STEM and base[-1] == base[-2] and base[-1] not in "aeiou":
        base = base[:-1]
    return base[:-1] if base.endswith("e") and len(base) > _SHORTEST_STEM else base


_ACTION = {stem(word): stem(group[0]) for group in _SAME_ACTION for word in group}


def stems(text: str) -> list[str]:
    """Stems of the content words of a text, in order."""
    return [stem(word) for word in words(text) if word not in FUNCTION_WORDS and (len(word) > 1 or word.isdigit())]


def topics(text: str) -> list[str]:
    """Like `stems`, with verbs that name the same kind of action (update, modify, change) made one."""
    return [_ACTION.get(found, found) for found in stems(text)]


def names(text: str) -> list[str]:
    """Tool names of a text in order, as lower-case topics of their own (in back quotes, unlike any word)."""
    return [f"`{found.lower()}`" for found in re.findall(r"[\w.:]*\w", text) if is_name(found)]


def is_name(term: str) -> bool:
    """Whether a term is the name of a tool rather than a word."""
    return bool(re.search(r"\w_\w|[a-z][A-Z]|\w[.:]\w", term))


def is_negative(text: str) -> bool:
    """Whether a sentence tells not to do something: a negation outside of its `if`, `when` and `unless` clauses."""
    return bool(NEGATION.search(_main_clause(text)))


def _main_clause(text: str) -> str:
    clauses = re.split(r"[,;:]\s+", text.strip())
    main = [clause for clause in clauses if not _CONDITION.match(clause)]
    return re.split(r"\b(?:if|when|unless|because|so that)\b", ", ".join(main or clauses), flags=re.IGNORECASE)[0]


def is_directive(text: str) -> bool:
    """Whether a sentence tells what to do: it has a modal, an order word, or opens with a bare verb form."""
    return bool(_DIRECTIVE.search(text) or _IMPERATIVE.match(text))


def sentences(text: str) -> list[str]:
    parts = re.split(r"(?<=[.!?])\s+(?=[A-Z`*\"'(])|(?<=;)\s+", " ".join(text.split()))
    return [part for part in parts if part.strip()]


def order_of(text: str, names: Iterable[str]) -> tuple[str, str] | None:
    """(first, second) when the text says with before, after or then in which order two names come; else None."""
    found = sorted((match.start(), name) for name in names for match in re.finditer(_word_pattern(name), text.lower()))
    distinct = list(dict.fromkeys(name for _, name in found))
    cue = re.search(r"\b(before|after|once|then|until|followed by)\b", text.lower())
    if len(distinct) != 2 or cue is None:
        return None
    following = next((name for at, name in found if at > cue.start()), None)
    if following is None:
        return None
    other = next(name for name in distinct if name != following)
    return (following, other) if cue[1] in ("after", "once") else (other, following)


def _word_pattern(name: str) -> str:
    return rf"(?<!\w){re.escape(name.lower())}(?!\w)"
