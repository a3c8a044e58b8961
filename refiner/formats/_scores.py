"""Named scores of a trace as outcomes, for formats that hold whatever people and judges scored. Knows no format.

A score is an outcome when its name or label says so; what is better when lower (toxicity) never is by itself.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from refiner.formats._common import json_text
from refiner.types import Origin, Outcome, Status, Trace

_TELLS_OUTCOME = re.compile(
    r"correct|success|succeed|pass(?:ed|es)?\b|accura|resolv|solved|outcome|reward|goal|complet", re.IGNORECASE
)
_PASSES = {"pass", "passed", "correct", "success", "successful", "true", "yes", "resolved", "complete", "completed"}
_FAILS = {"fail", "failed", "incorrect", "failure", "unsuccessful", "false", "no", "unresolved", "incomplete"}
_VERDICTS = {"pass", "passed", "fail", "failed"}
"""Labels that tell an outcome whatever the score is called."""
_ORIGINS: tuple[Origin, ...] = ("judge", "environment", "human")
"""From the least to the most that counts."""


@dataclass(frozen=True, slots=True)
class Score:
    """One score: `value` a number or boolean, `label` a word, whichever there is."""

    name: str
    value: Any
    label: str
    comment: str
    origin: Origin
    at: str | None = None


def score_facts(scores: Sequence[Score]) -> str:
    """All scores by name as JSON, the latest of each; empty without any."""
    latest = {one.name: one.label or one.value for one in sorted(scores, key=_order)}
    return json_text(dict(sorted(latest.items()))) if latest else ""


def outcomes_of(trace: Trace, scores: Sequence[Score]) -> Iterator[Outcome]:
    """One outcome of each origin that states one, those that count most last; remarks of people always come along."""
    for origin in _ORIGINS:
        ours = sorted((one for one in scores if one.origin == origin), key=_order)
        telling = [one for one in ours if _TELLS_OUTCOME.search(one.name) or one.label.strip().casefold() in _VERDICTS]
        remarks = ours if origin == "human" else telling[-1:]
        feedback = "\n".join(dict.fromkeys(one.comment.strip() for one in remarks if one.comment.strip()))
        status, score = graded_score(telling[-1].value, telling[-1].label) if telling else ("unknown", None)
        if telling or feedback:
            at = (telling or remarks)[-1].at
            yield Outcome(trace.id, status, origin=origin, score=score, feedback=feedback or None, at=at)


def graded_score(value: Any, label: str) -> tuple[Status, float | None]:
    """Status and score: the label where it is a word for one, else booleans and numbers from 0 to 1 (1 passes)."""
    word = label.strip().casefold()
    number = float(value) if isinstance(value, int | float) and math.isfinite(value) and 0 <= value <= 1 else None
    if word in _PASSES | _FAILS:
        return ("pass" if word in _PASSES else "fail"), number
    return ("unknown", None) if number is None else ("pass" if number >= 1 else "fail", number)


def _order(one: Score) -> tuple[str, str, str]:
    return one.at or "", one.name, one.comment
