"""Predicates in words: what a run did, and the rule that a skill would state. No literal of a task can enter.

Words come from canonical text alone, which holds types, tool and field names, common words and typed signatures.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from refiner.behaviours.predicates import Joined, Not, Order, Plain, Predicate, parse
from refiner.behaviours.values import STOP_WORDS

_KIND = {
    "number": "a number",
    "date": "a date",
    "formula": "a formula",
    "range": "a cell range",
    "id": "an identifier",
    "email": "an e-mail address",
    "url": "a URL",
    "path": "a path",
    "path test": "a test file",
    "true": "true",
    "false": "false",
    "empty": "an empty value",
    "list 0": "an empty list",
    "list 1": "a list of one item",
    "list more": "a list of several items",
}
_ENDED = {
    "answer": (
        "ended with an answer",
        "Do not stop at an answer while work is left.",
        "End with an answer to the user.",
    ),
    "tool call": (
        "ended on a tool call, without an answer",
        "After the last tool call, report the result to the user before finishing.",
        "Finish with the tool call that completes the task.",
    ),
    "error": (
        "ended on a failed call",
        "Do not finish on a failed call; correct it, or say what failed.",
        "Stop when a call fails, and leave it at that.",
    ),
    "limit": (
        "ran into its limit before finishing",
        "Keep steps few, and finish before the limit of the run is reached.",
        "Use the whole budget of the run.",
    ),
    "hand-over": (
        "ended by handing over",
        "Do not hand the task over while it can still be completed.",
        "Hand the task over when it cannot be completed within the rules.",
    ),
}
_CAMEL = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


@dataclass(frozen=True, slots=True)
class Phrase:
    """`occurs` says what a run did, `rule` what a skill should state; `terms` are lower-case words to find its place.

    `negated` = the statement is about something that did not happen.
    """

    occurs: str
    rule: str
    terms: frozenset[str]
    negated: bool


def phrase(text: str, *, side: Literal["failure", "success"] = "failure") -> Phrase:
    """A predicate in words. Side `failure`: the rule avoids it; `success`: the rule asks for it."""
    predicate = parse(text)
    rule = _avoid(predicate) if side == "failure" else _do(predicate)
    found = frozenset(term for atom in predicate.atoms() for term in _terms(atom))
    return Phrase(_occurs(predicate), rule, found, _is_negated(predicate))


def _is_negated(predicate: Predicate) -> bool:
    if isinstance(predicate, Not):
        return not _is_negated(predicate.part)
    return isinstance(predicate, Order) and predicate.kind == "absent"


def _what(atom: Plain) -> str:
    if atom.type.startswith("word "):
        return f'the word "{atom.type[5:]}"'
    return f"a {atom.type[5:]} file" if atom.type.startswith("path .") else _KIND[atom.type]


def _preposition(atom: Plain) -> str:
    return "in" if atom.type.startswith("word ") else "as"


def _shows(atom: Plain) -> str:
    """`the result of `t` mentions "past"`, `... is empty`, `... has a number in `total``."""
    place = "" if atom.field == "text" else f" in `{atom.field}`"
    if atom.type.startswith("word "):
        return f'the result of `{atom.subject}` mentions "{atom.type[5:]}"{place}'
    if atom.type in ("empty", "list 0") and not place:
        return f"the result of `{atom.subject}` is empty"
    return f"the result of `{atom.subject}` has {_what(atom)}{place}"


def _occurs(predicate: Predicate) -> str:
    if isinstance(predicate, Not):
        return _occurs(predicate.part.part) if isinstance(predicate.part, Not) else _did_not(predicate.part)
    if isinstance(predicate, Joined):
        return (", and " if predicate.kind == "all" else ", or ").join(map(_occurs, predicate.parts))
    return _order_occurs(predicate) if isinstance(predicate, Order) else _plain_occurs(predicate)


def _order_occurs(predicate: Order) -> str:
    if predicate.kind == "sequence":
        return f"called `{predicate.b}` after `{predicate.a}`"
    return f"called `{predicate.a}` and did not call `{predicate.b}` after it"


def _plain_occurs(predicate: Predicate) -> str:
    assert isinstance(predicate, Plain)
    if predicate.kind == "called":
        pattern = f" with {_what(predicate)} {_preposition(predicate)} `{predicate.field}`" if predicate.type else ""
        return f"called `{predicate.subject}`{pattern}"
    if predicate.kind == "result":
        return f"met a point where {_shows(predicate)}"
    if predicate.kind == "repeated_call":
        return f"made the same call with equal arguments {predicate.subject} times or more"
    return f'met the error "{predicate.subject}"' if predicate.kind == "error" else _ENDED[predicate.subject][0]


def _did_not(predicate: Predicate) -> str:
    if isinstance(predicate, Order):
        verb = "did not call" if predicate.kind == "sequence" else "called"
        return f"{verb} `{predicate.b}` after {'' if predicate.kind == 'sequence' else 'the last '}`{predicate.a}`"
    if isinstance(predicate, Plain) and predicate.kind == "called":
        pattern = f" with {_what(predicate)} {_preposition(predicate)} `{predicate.field}`" if predicate.type else ""
        return f"did not call `{predicate.subject}`{pattern}"
    if isinstance(predicate, Plain) and predicate.kind == "result":
        return f"never saw that {_shows(predicate)}"
    return f"it is not so that the run {_occurs(predicate)}"


def _avoid(predicate: Predicate) -> str:
    """The rule against a behaviour."""
    if isinstance(predicate, Not):
        return _do(predicate.part)
    if isinstance(predicate, Joined):
        return _avoid_joined(predicate)
    if isinstance(predicate, Order):
        if predicate.kind == "sequence":
            return f"Do not call `{predicate.b}` after `{predicate.a}`."
        return f"After `{predicate.a}`, call `{predicate.b}` before finishing."
    assert isinstance(predicate, Plain)
    return _avoid_plain(predicate)


def _avoid_plain(atom: Plain) -> str:
    if atom.kind == "called":
        if not atom.type:
            return f"Do not call `{atom.subject}`."
        return f"Do not give `{atom.subject}` {_what(atom)} {_preposition(atom)} `{atom.field}`."
    if atom.kind == "result":
        return f"When {_shows(atom)}, correct it before going on."
    if atom.kind == "repeated_call":
        return "Do not repeat a call with the same arguments; read its result and change something first."
    if atom.kind == "error":
        return f'When a call fails with "{atom.subject}", correct the call before going on.'
    return _ENDED[atom.subject][1]


def _avoid_joined(predicate: Joined) -> str:
    """Against all(...): avoid the last part once the others are there. Against any(...): avoid each."""
    if predicate.kind == "any":
        return " ".join(map(_avoid, predicate.parts))
    *conditions, last = predicate.parts
    rule = _avoid(last)
    return f"In a run that {' and '.join(map(_occurs, conditions))}: {rule[0].lower()}{rule[1:]}"


def _do(predicate: Predicate) -> str:
    """The rule that asks for a behaviour."""
    if isinstance(predicate, Not):
        return _avoid(predicate.part)
    if isinstance(predicate, Joined):
        rules = [_do(part) for part in predicate.parts]
        return " ".join(rules) if predicate.kind == "all" else f"At least one of these: {' '.join(rules)}"
    if isinstance(predicate, Order):
        if predicate.kind == "sequence":
            return f"Call `{predicate.b}` after `{predicate.a}`."
        return f"Do not call `{predicate.b}` after the last `{predicate.a}`."
    assert isinstance(predicate, Plain)
    return _do_plain(predicate)


def _do_plain(atom: Plain) -> str:
    if atom.kind == "called":
        if not atom.type:
            return f"Call `{atom.subject}` before finishing."
        return f"When you call `{atom.subject}`, give it {_what(atom)} {_preposition(atom)} `{atom.field}`."
    if atom.kind == "result":
        return f"Before finishing, make sure that {_shows(atom)}."
    if atom.kind == "repeated_call":
        return "Repeat a call with the same arguments where its first result has to be confirmed."
    if atom.kind == "error":
        return f'When a call fails with "{atom.subject}", take it into account and go on.'
    return _ENDED[atom.subject][2]


def _terms(atom: Plain | Order) -> set[str]:
    if isinstance(atom, Order):
        return _name_terms(atom.a) | _name_terms(atom.b)
    if atom.kind not in ("called", "result"):
        return _text_terms(atom.subject) if atom.kind == "error" else _fixed_terms(atom)
    what = atom.type[5:] if atom.type.startswith("word ") else atom.type.split(" ")[0]
    return _name_terms(atom.subject) | ({what} if what else set())


def _fixed_terms(atom: Plain) -> set[str]:
    return {"repeat", "same", "arguments"} if atom.kind == "repeated_call" else _text_terms(_ENDED[atom.subject][0])


def terms(name: str) -> frozenset[str]:
    """The lower-case words of a tool name, and the name itself: what to look for in a skill."""
    return frozenset(_name_terms(name))


def _name_terms(name: str) -> set[str]:
    parts = {part.lower() for part in _CAMEL.findall(name)}
    return {name.lower()} | {part for part in parts if len(part) > 1 and part not in STOP_WORDS}


def _text_terms(text: str) -> set[str]:
    return {word for word in re.findall(r"(?<![<\w])[a-z]{3,20}(?![>\w])", text.lower()) if word not in STOP_WORDS}
