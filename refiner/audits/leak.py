"""Added text against what only one task, or only the evaluator, knows. Hits quarantine a change; nothing is removed."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

from refiner.audits.added import added_lines, skill_text
from refiner.audits.literals import LONG_NUMBER, digits_of, is_all_capitals, note_values, tokens, trace_kind, words
from refiner.audits.respelled import Respelled, Spellings
from refiner.audits.spellings import days, numbers, unmasked
from refiner.ports import Labelled
from refiner.types import Change, Finding, SkillVersion

RUN_OF_WORDS = 8
COMMON_SHARE = 4
"""A value is common knowledge from a quarter of the distinct tasks on, and never when only one task has it."""


@dataclass(frozen=True, slots=True)
class Leak:
    """A piece of text that comes from one task. `source` is the external id of the first trace that holds it."""

    match: str
    kind: str
    source: str
    from_notes: bool


@dataclass(frozen=True, slots=True)
class _Value:
    folded: tuple[str, ...]
    kind: str
    source: str


class LeakIndex:
    """Built once for a set of training traces and a base skill; then each change is checked against it."""

    def __init__(self, labelled: Sequence[Labelled], base: SkillVersion) -> None:
        self._items = sorted(labelled, key=lambda item: item.trace.external_id)
        self._base = base
        self._tasks = len({_task(item) for item in self._items})
        base_text = skill_text(base)
        self._base_tokens = _run(_folded(base_text))
        self._base_words = _run(words(base_text))
        self._common: dict[tuple[str, ...], tuple[bool, str]] = {}

    def check(self, change: Change) -> list[Finding]:
        """One `quarantine` a leaked value of the change, naming the match and the trace it comes from."""
        lines = [line for _, line in added_lines(change, self._base)]
        return [_finding(change, leak, lines) for leak in self.leaks("\n".join(lines))]

    def holding(self, text: str) -> str:
        """External id of the first training trace in which the text stands, white space and case folded; else ""."""
        wanted = _spaced(text)
        return next((item.trace.external_id for item in self._items if _stands_in(wanted, item)), "")

    def leaks(self, text: str) -> list[Leak]:
        """Everything in a text that comes from evaluator notes or from single tasks, each value once."""
        found: dict[str, Leak] = {}
        plain = unmasked(text)
        for leak in (*self._noted(plain), *self._told(plain), *self._traced(plain), *self._respelled(text)):
            if not any(leak.match.casefold() in known for known in found):
                found[leak.match.casefold()] = leak
        return list(found.values())

    def _respelled(self, text: str) -> Iterator[Leak]:
        """Dates and numbers of notes, and secrets of notes and traces, however they are written."""
        for hit in self._spellings.found(text):
            if not self._in_base(hit) and not self._is_allowed(tuple(_folded(hit.known))):
                yield Leak(hit.written, hit.kind, hit.source, hit.from_notes)

    @cached_property
    def _spellings(self) -> Spellings:
        return Spellings(self._items)

    def _in_base(self, hit: Respelled) -> bool:
        """Whether the base holds the value, in whatever spelling."""
        text = skill_text(self._base)
        if hit.kind == "secret":
            return hit.written in text
        reads: Callable[[str], Iterator[tuple[str, frozenset[object]]]] = days if hit.kind == "date" else numbers
        meant = frozenset().union(*(values for _, values in reads(hit.written)))
        return any(values & meant for _, values in reads(text))

    @cached_property
    def _values(self) -> dict[str, list[_Value]]:
        """Values of the notes by their first folded token."""
        index: dict[str, dict[tuple[str, ...], _Value]] = {}
        for item in self._items:
            for note in item.notes:
                for value, kind in note_values(note.text):
                    folded = tuple(_folded(value))
                    if folded:
                        known = index.setdefault(folded[0], {})
                        known.setdefault(folded, _Value(folded, kind, item.trace.external_id))
        return {first: list(values.values()) for first, values in index.items()}

    @cached_property
    def _note_words(self) -> list[tuple[Labelled, str]]:
        return [(item, _run(words(note.text))) for item in self._items for note in item.notes]

    @cached_property
    def _all_note_words(self) -> str:
        return "\n".join(run for _, run in self._note_words)

    @cached_property
    def _names(self) -> frozenset[str]:
        """Folded names of tools and of their arguments."""
        names: set[str] = set()
        for item in self._items:
            for span in item.trace.spans:
                if span.kind == "tool_call":
                    names.update(_folded(span.name))
                    names.update(key.casefold() for key in _keys(_loaded(span.input)))
        return frozenset(names)

    def _noted(self, text: str) -> Iterator[Leak]:
        """Values of evaluator notes that the text holds."""
        written = tokens(text)
        folded = [token.casefold() for token in written]
        for at, first in enumerate(folded):
            for value in self._values.get(first, ()):
                size = len(value.folded)
                if tuple(folded[at : at + size]) == value.folded and not self._is_allowed(value.folded):
                    yield Leak(" ".join(written[at : at + size]), value.kind, value.source, from_notes=True)

    def _told(self, text: str) -> Iterator[Leak]:
        """Runs of 8 or more words that the text shares with an evaluator note, as long as they go."""
        said = words(text)
        at = 0
        while at + RUN_OF_WORDS <= len(said):
            size = RUN_OF_WORDS
            if not self._is_told(said[at : at + size]):
                at += 1
                continue
            while at + size < len(said) and _run(said[at : at + size + 1]) in self._all_note_words:
                size += 1
            run = _run(said[at : at + size])
            source = next((item.trace.external_id for item, note in self._note_words if run in note), "")
            yield Leak(run.strip(), "wording", source, from_notes=True)
            at += size

    def _is_told(self, window: list[str]) -> bool:
        run = _run(window)
        if run not in self._all_note_words or run in self._base_words:
            return False
        return not self._is_common({_task(item) for item, note in self._note_words if run in note})

    def _traced(self, text: str) -> Iterator[Leak]:
        """Ids, e-mails, paths and secrets of the text that stand in a training trace."""
        for token in dict.fromkeys(one for written in tokens(text) for one in (written, *digits_of(written))):
            kind = trace_kind(token)
            folded = (token.casefold(),)
            if kind is None or self._is_allowed(folded) or (is_all_capitals(token) and self._is_word(token)):
                continue
            source = self._seen(folded)[1]
            if source:
                yield Leak(token, kind, source, from_notes=False)

    def _is_word(self, token: str) -> bool:
        """Whether a token of capitals is an emphasised word: a trace or the base writes it in small letters as well."""
        small, pattern = token.lower(), _pattern((token.lower(),))
        parts = (part for item in self._items for part in _parts(item))
        return any(small in part and pattern.search(part) for part in chain(parts, [skill_text(self._base)]))

    def _is_allowed(self, folded: tuple[str, ...]) -> bool:
        if _run(folded) in self._base_tokens or (len(folded) == 1 and folded[0] in self._names):
            return True
        return self._seen(folded)[0]

    def _seen(self, folded: tuple[str, ...]) -> tuple[bool, str]:
        """(whether the value is common over the tasks, external id of the first trace that holds it or "")."""
        if folded not in self._common:
            self._common[folded] = self._look_up(folded)
        return self._common[folded]

    def _look_up(self, folded: tuple[str, ...]) -> tuple[bool, str]:
        pattern, longest = _pattern(folded), max(folded, key=len)
        tasks: set[str] = set()
        first = ""
        for item in self._items:
            if _task(item) in tasks:
                continue
            in_trace = _holds(_parts(item), longest, pattern)
            if in_trace and not first:
                first = item.trace.external_id
            if in_trace or _holds((note.text for note in item.notes), longest, pattern):
                tasks.add(_task(item))
            if self._is_common(tasks):
                return True, first
        return False, first

    def _is_common(self, tasks: set[str]) -> bool:
        return len(tasks) > 1 and len(tasks) * COMMON_SHARE >= self._tasks


def _task(item: Labelled) -> str:
    """The distinct task of a trace; one without a task id is a task of its own."""
    return f"task {item.trace.task_id}" if item.trace.task_id else f"trace {item.trace.external_id}"


def _parts(item: Labelled) -> Iterator[str]:
    """The texts of a trace in which a value may stand, its feedback included."""
    yield item.trace.task
    for span in item.trace.spans:
        yield from (text for text in (span.input, span.output, span.error) if text)
    yield from (text for _, text in sorted(item.trace.meta.items()))
    if item.outcome.feedback:
        yield item.outcome.feedback


def _holds(parts: Iterable[str], longest: str, pattern: re.Pattern[str]) -> bool:
    """Whether a part holds the pattern; looking for its longest word first keeps this fast."""
    lowered = (part.lower() for part in parts)
    return any(longest in part and pattern.search(part) for part in lowered)


def _folded(text: str) -> list[str]:
    return [token.casefold() for token in tokens(text)]


def _run(parts: Sequence[str]) -> str:
    """Words as one text in which whole words can be searched."""
    return f" {' '.join(parts)} "


def _pattern(folded: Sequence[str]) -> re.Pattern[str]:
    """Finds the tokens in running text or JSON, where a line break may stand as `\\n`."""
    edge = r"\d" if len(folded) == 1 and folded[0].isdigit() and len(folded[0]) >= LONG_NUMBER else r"\w"
    words_ = r"\W{1,4}".join(map(re.escape, folded))
    return re.compile(rf"(?:(?<!{edge})|(?<=\\[nrt])){words_}(?!{edge})")


def _loaded(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _keys(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield str(key)
            yield from _keys(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _keys(inner)


def _finding(change: Change, leak: Leak, lines: Sequence[str]) -> Finding:
    origin = "what only the evaluator knows about" if leak.from_notes else "trace"
    said = f"{leak.match!r} ({leak.kind}) comes from {origin} {leak.source}"
    advice = "state the rule without it, or release it with a reason"
    line = next((line.strip() for line in lines if _shares(unmasked(line), leak.match)), "")
    return Finding(change.key, "leak", "quarantine", leak.match, leak.source, f"{said}: {advice}", line, advice)


def _shares(line: str, match: str) -> bool:
    """Whether a line holds a match, or, of one that runs over several lines, its first word."""
    return _spaced(match) in _spaced(line) or words(match)[:1] == words(line)[-1:] or _folded(match) == _folded(line)


def _spaced(text: str) -> str:
    return " ".join(text.casefold().split())


def _stands_in(wanted: str, item: Labelled) -> bool:
    return any(wanted in _spaced(part.replace("\\n", " ")) for part in _parts(item))
