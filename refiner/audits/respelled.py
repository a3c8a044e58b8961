"""Values of evaluator notes and secrets of traces that a text holds in another spelling. Knows no skill, no tasks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from refiner.audits.literals import SHORTEST
from refiner.audits.spellings import Day, days, numbers, same_day, told_secrets
from refiner.ports import Labelled


@dataclass(frozen=True, slots=True)
class Respelled:
    """`written` in the text stands for `known`, a value of the trace `source` (of its notes, or its own)."""

    written: str
    known: str
    kind: str
    source: str
    from_notes: bool


class Spellings:
    """The values of a set of traces by what they mean."""

    def __init__(self, items: Sequence[Labelled]) -> None:
        self._items = items

    def found(self, text: str) -> Iterator[Respelled]:
        """Every date, number and secret of the text that a note, or for secrets a trace, holds as well."""
        yield from self._dates(text)
        yield from self._numbers(text)
        for value, source, from_notes in self._secrets:
            if value in text:
                yield Respelled(value, value, "secret", source, from_notes)

    def _dates(self, text: str) -> Iterator[Respelled]:
        for written, meant in days(text):
            hit = next((one for one in self._days if same_day(meant, one[1])), None)
            if hit is not None:
                yield Respelled(written, hit[0], "date", hit[2], True)

    def _numbers(self, text: str) -> Iterator[Respelled]:
        for written, meant in numbers(text):
            if len(written) >= SHORTEST:
                hit = next((self._values[one] for one in sorted(meant) if one in self._values), None)
                if hit is not None:
                    yield Respelled(written, hit[0], "number", hit[1], True)

    @cached_property
    def _days(self) -> list[tuple[str, frozenset[Day], str]]:
        return [
            (written, meant, item.trace.external_id)
            for item in self._items
            for note in item.notes
            for written, meant in days(note.text)
        ]

    @cached_property
    def _values(self) -> dict[str, tuple[str, str]]:
        """By value in plain notation the first (written, external id)."""
        found: dict[str, tuple[str, str]] = {}
        for item in self._items:
            for note in item.notes:
                for written, meant in numbers(note.text):
                    if len(written) >= SHORTEST:
                        for one in sorted(meant):
                            found.setdefault(one, (written, item.trace.external_id))
        return found

    @cached_property
    def _secrets(self) -> list[tuple[str, str, bool]]:
        """(value, external id, from a note) of everything that is called a secret where it stands."""
        found: dict[str, tuple[str, str, bool]] = {}
        for item in self._items:
            for text, from_notes in _texts(item):
                for value in told_secrets(text):
                    found.setdefault(value, (value, item.trace.external_id, from_notes))
        return list(found.values())


def _texts(item: Labelled) -> Iterator[tuple[str, bool]]:
    yield from ((note.text, True) for note in item.notes)
    yield item.trace.task, False
    for span in item.trace.spans:
        yield from ((text, False) for text in (span.input, span.output, span.error) if text)
