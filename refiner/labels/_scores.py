"""The named scores that traces carry, and outcomes from the one that a person chose. It is never guessed here."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from refiner.errors import LabelError
from refiner.jsontext import loads
from refiner.labels._values import Threshold
from refiner.types import Outcome, Status

SCORES = "scores"
"""The fact of a trace that holds its scores by name, as JSON."""
_WORDS = {
    **dict.fromkeys(("c", "correct", "pass", "passed", "true", "yes", "success"), 1.0),
    **dict.fromkeys(("p", "partial"), 0.5),
    **dict.fromkeys(("i", "incorrect", "n", "noanswer", "fail", "failed", "false", "no", "failure"), 0.0),
}
"""Letters of Inspect's own scorers, with the numbers it gives them, and plain words."""
_SHOWN = 5


@dataclass(frozen=True, slots=True)
class ScoreRange:
    """One score: how many traces carry it, in how many it is a number (or a word that stands for one), its range."""

    name: str
    traces: int
    numbers: int
    lowest: float
    highest: float


def scores_of(meta: Mapping[str, str]) -> dict[str, Any]:
    """The scores of a trace by name; empty when it carries none that can be read."""
    try:
        found = loads(meta.get(SCORES) or "{}")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def number_of(value: Any) -> float | None:
    """A score as a finite number: booleans and words are 0 or 1, "partial" is 0.5; None for everything else."""
    if isinstance(value, str):
        word = value.strip().lower()
        if word in _WORDS:
            return _WORDS[word]
        try:
            value = float(word)
        except ValueError:
            return None
    try:
        return float(value) if isinstance(value, int | float) and math.isfinite(value) else None
    except OverflowError:
        return None


def score_ranges(scores: Iterable[Mapping[str, Any]]) -> list[ScoreRange]:
    """Every score that the traces carry, the most frequent first."""
    values: dict[str, list[float | None]] = {}
    for one in scores:
        for name, value in one.items():
            values.setdefault(name, []).append(number_of(value))
    found = [_range(name, given) for name, given in values.items()]
    return sorted(found, key=lambda one: (-one.numbers, one.name))


def by_score(scores: Mapping[str, Mapping[str, Any]], name: str, threshold: Threshold) -> list[Outcome]:
    """An outcome by trace id for each trace that carries the score as a number, of any range.

    It passes from `pass_at` on, or up to it where lower is better. A score from 0 to 1 is kept with the outcome, turned
    so that higher is better. Raises LabelError when no trace carries the score, naming those there are.
    """
    numbers = {trace_id: number_of(one[name]) for trace_id, one in scores.items() if name in one}
    if all(number is None for number in numbers.values()):
        known = [one.name for one in score_ranges(scores.values()) if one.numbers]
        there = f"there are {_listed(known)}" if known else "they carry no scores at all"
        raise LabelError(f'no trace carries a score "{name}" that is a number; {there}')
    return [_outcome(trace_id, number, threshold) for trace_id, number in numbers.items() if number is not None]


def _outcome(trace_id: str, number: float, threshold: Threshold) -> Outcome:
    below = threshold.lower_is_better
    passes = number <= threshold.pass_at if below else number >= threshold.pass_at
    status: Status = "pass" if passes else "fail"
    return Outcome(trace_id, status, score=(1 - number if below else number) if 0 <= number <= 1 else None)


def _range(name: str, given: Sequence[float | None]) -> ScoreRange:
    numbers = [number for number in given if number is not None]
    return ScoreRange(name, len(given), len(numbers), min(numbers, default=0.0), max(numbers, default=0.0))


def _listed(names: Sequence[str]) -> str:
    more = len(names) - _SHOWN
    return ", ".join(names[:_SHOWN]) + (f" and {more} more" if more > 0 else "")
