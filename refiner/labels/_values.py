"""One outcome value: a boolean, a score, a word. No files and no traces here."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

from refiner.jsontext import kind_of
from refiner.types import Outcome, Status

WORDS: dict[str, Status] = {
    "pass": "pass",
    "fail": "fail",
    "unknown": "unknown",
    "infrastructure": "infrastructure",
    **dict.fromkeys(("true", "yes", "passed", "correct", "resolved"), "pass"),
    **dict.fromkeys(("false", "no", "failed", "incorrect", "unresolved"), "fail"),
}


@dataclass(frozen=True, slots=True)
class Threshold:
    """When a score passes. With `lower_is_better`, `pass_at` 1.0 (which everything meets) means the best score, 0."""

    pass_at: float = 1.0
    lower_is_better: bool = False

    def grade(self, score: float) -> tuple[Status, float]:
        """Status and score turned so that higher is better. Raises ValueError for a score outside [0, 1]."""
        if not 0 <= score <= 1:
            raise ValueError(f"{_number(score)} is not a number from 0 to 1")
        if not self.lower_is_better:
            return ("pass" if score >= self.pass_at else "fail"), float(score)
        limit = 0.0 if self.pass_at == 1.0 else self.pass_at
        return ("pass" if score <= limit else "fail"), 1.0 - score


DEFAULT = Threshold()
"""Only a full score passes."""


def status_of(value: Any, threshold: Threshold = DEFAULT) -> tuple[Status, float | None]:
    """Status and score of a boolean, number, null or word of any case. Raises ValueError saying what is wrong."""
    if value is None:
        return "unknown", None
    if isinstance(value, bool):
        return ("pass" if value else "fail"), None
    if isinstance(value, int | float):
        return threshold.grade(value)
    if not isinstance(value, str):
        raise ValueError(f"{kind_of(value)} is no outcome")
    return _word(value.strip(), threshold)


def _word(word: str, threshold: Threshold) -> tuple[Status, float | None]:
    if word.lower() in WORDS:
        return WORDS[word.lower()], None
    try:
        number = float(word)
    except ValueError:
        allowed = "pass, fail, unknown, infrastructure, true, false or a number from 0 to 1"
        raise ValueError(f'"{word[:40]}" is not {allowed}') from None
    return threshold.grade(number)


def rescored(outcome: Outcome, threshold: Threshold) -> Outcome:
    """The outcome with its raw score judged by another threshold; one without a score stays as it is."""
    if outcome.score is None or outcome.status not in ("pass", "fail"):
        return outcome
    status, score = threshold.grade(outcome.score)
    return replace(outcome, status=status, score=score)


def _number(score: float) -> str:
    return "NaN" if isinstance(score, float) and math.isnan(score) else str(score)[:20]
