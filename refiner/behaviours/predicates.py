"""Predicates over one trace: parsing, canonical text, three-valued truth and the span that shows it.

A predicate reads spans only. No counting over traces here, no outcome, no words for people.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from refiner.behaviours.features import MAX_REPEATS, Features, features
from refiner.errors import RefinerError
from refiner.types import Trace

MAX_ATOMS = 3
ENDINGS = ("answer", "tool call", "error", "limit", "hand-over")

_TYPE = re.compile(
    r"number|date|formula|range|id|email|url|path|path \.[a-z][a-z0-9]{0,4}|"
    r"path test|true|false|empty|list (?:0|1|more)|"
    r"word [^\W\d_]{3,20}"
)
_FORM = re.compile(r"(\w+)\((.*)\)", re.S)
_NAME = r"[^,();]+?"
_PLAIN = re.compile(rf"({_NAME})(?:, ([^,();:]+): ([^,();:]+))?")
_SEQUENCE = re.compile(rf"({_NAME}), ({_NAME})")
_ABSENT = re.compile(rf"({_NAME}) after ({_NAME})")


class PredicateError(RefinerError, ValueError):
    """A text is not a predicate of the vocabulary."""


class Predicate:
    """A statement about one trace. `str` is its canonical text, equal predicates have equal texts."""

    __slots__ = ()

    def value(self, seen: Features) -> bool | None:
        """True, False, or None where the statement does not apply."""
        raise NotImplementedError

    def shown(self, seen: Features) -> int:
        """The ordinal of the span that shows the statement, given that it holds."""
        raise NotImplementedError

    def atoms(self) -> tuple[Plain | Order, ...]:
        """The atoms in order of appearance."""
        raise NotImplementedError

    def holds(self, trace: Trace) -> bool | None:
        """True, False, or None where the predicate does not apply to the trace."""
        return self.value(features(trace))

    def witness(self, trace: Trace) -> int | None:
        """The ordinal of the span where the predicate is true; None where it is not."""
        seen = features(trace)
        return self.shown(seen) if self.value(seen) else None


@dataclass(frozen=True, slots=True)
class Plain(Predicate):
    """called, result, repeated_call, error, ended: true where a trace shows it.

    `subject` = tool name, k, signature or how.
    """

    kind: Literal["called", "result", "repeated_call", "error", "ended"]
    subject: str
    field: str = ""
    type: str = ""

    def __str__(self) -> str:
        pattern = f", {self.field}: {self.type}" if self.type else ""
        return f"{self.kind}({self.subject}{pattern})"

    def value(self, seen: Features) -> bool | None:
        return str(self) in (seen.words if self.type.startswith("word ") else seen.true)

    def shown(self, seen: Features) -> int:
        return (seen.words if self.type.startswith("word ") else seen.true)[str(self)]

    def atoms(self) -> tuple[Plain | Order, ...]:
        return (self,)


@dataclass(frozen=True, slots=True)
class Order(Predicate):
    """sequence(a, b): some b after some a. absent(b after a): no b after the last a. None where a never occurs."""

    kind: Literal["sequence", "absent"]
    a: str
    b: str

    def __str__(self) -> str:
        return f"sequence({self.a}, {self.b})" if self.kind == "sequence" else f"absent({self.b} after {self.a})"

    def value(self, seen: Features) -> bool | None:
        if self.a not in seen.first:
            return None
        last_b = seen.last.get(self.b, -1)
        return last_b > seen.first[self.a] if self.kind == "sequence" else last_b <= seen.last[self.a]

    def shown(self, seen: Features) -> int:
        if self.kind == "absent":
            return seen.calls[seen.last[self.a]][1]
        later = seen.calls[seen.first[self.a] + 1 :]
        return next(ordinal for name, ordinal in later if name == self.b)

    def atoms(self) -> tuple[Plain | Order, ...]:
        return (self,)


@dataclass(frozen=True, slots=True)
class Not(Predicate):
    """The negation; does not apply where its part does not. It is shown by the last span (nothing to point at)."""

    part: Predicate

    def __str__(self) -> str:
        return f"not({self.part})"

    def value(self, seen: Features) -> bool | None:
        value = self.part.value(seen)
        return None if value is None else not value

    def shown(self, seen: Features) -> int:
        return seen.end

    def atoms(self) -> tuple[Plain | Order, ...]:
        return self.part.atoms()


@dataclass(frozen=True, slots=True)
class Joined(Predicate):
    """all(...; ...) or any(...; ...): one decisive part decides; else unknown parts make the whole not apply."""

    kind: Literal["all", "any"]
    parts: tuple[Predicate, ...]

    def __str__(self) -> str:
        return f"{self.kind}({'; '.join(map(str, self.parts))})"

    def value(self, seen: Features) -> bool | None:
        values = [part.value(seen) for part in self.parts]
        decisive = self.kind == "any"
        if decisive in values:
            return decisive
        return None if None in values else not decisive

    def shown(self, seen: Features) -> int:
        ordinals = [part.shown(seen) for part in self.parts if part.value(seen)]
        return max(ordinals) if self.kind == "all" else min(ordinals)

    def atoms(self) -> tuple[Plain | Order, ...]:
        return tuple(atom for part in self.parts for atom in part.atoms())


def parse(text: str) -> Predicate:
    """The predicate of a canonical text. Raises PredicateError (a ValueError) naming what is wrong."""
    predicate = _parse(text.strip())
    if len(predicate.atoms()) > MAX_ATOMS:
        raise PredicateError(f"{text!r} joins more than {MAX_ATOMS} atoms; use at most {MAX_ATOMS}")
    return predicate


def _parse(text: str) -> Predicate:
    form = _FORM.fullmatch(text)
    if not form:
        raise PredicateError(f"{text!r} is not a predicate; write for example called(tool) or absent(b after a)")
    kind, body = form.group(1), form.group(2).strip()
    if kind == "not":
        return Not(_parse(body))
    if kind in ("all", "any"):
        parts = tuple(_parse(part) for part in _split(body))
        if len(parts) < 2:
            raise PredicateError(f"{text!r} joins fewer than two predicates; separate them with ';'")
        return Joined("all" if kind == "all" else "any", parts)
    return _atom(kind, body, text)


def _atom(kind: str, body: str, text: str) -> Predicate:
    if kind in ("called", "result") and (plain := _PLAIN.fullmatch(body)):
        tool, field, type_ = plain.groups()
        if type_ is None and kind == "called":
            return Plain("called", tool)
        if type_ is not None and _TYPE.fullmatch(type_):
            return Plain("called" if kind == "called" else "result", tool, field, type_)
    elif kind == "sequence" and (pair := _SEQUENCE.fullmatch(body)):
        return Order("sequence", pair.group(1), pair.group(2))
    elif kind == "absent" and (pair := _ABSENT.fullmatch(body)) and pair.group(1) != pair.group(2):
        return Order("absent", pair.group(2), pair.group(1))
    elif kind == "repeated_call" and body.isascii() and body.isdigit() and 2 <= int(body) <= MAX_REPEATS:
        return Plain("repeated_call", str(int(body)))
    elif kind == "error" and body and not re.search(r"[();]", body):
        return Plain("error", " ".join(body.split()))
    elif kind == "ended" and body in ENDINGS:
        return Plain("ended", body)
    raise PredicateError(f"{text!r} is not an atom of the vocabulary; check its name, its field and its type")


def _split(body: str) -> list[str]:
    """The parts of a list separated by ';' outside of parentheses."""
    parts, depth, start = [], 0, 0
    for index, sign in enumerate(body):
        depth += (sign == "(") - (sign == ")")
        if sign == ";" and depth == 0:
            parts.append(body[start:index].strip())
            start = index + 1
    return [*parts, body[start:].strip()]


def negate(text: str) -> str:
    """The canonical text of the opposite statement; a double negation is lifted."""
    predicate = parse(text)
    return str(predicate.part if isinstance(predicate, Not) else Not(predicate))
