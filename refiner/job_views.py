"""How refinements stand, as plain values for the screens: stages, failures, cards. No rule and no query lives here."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from refiner.model_views import Asks
from refiner.types import Side

JobState = Literal["running", "done", "failed", "interrupted", "cancelled"]


@dataclass(frozen=True, slots=True)
class StageView:
    """One stage: `done` of `total` steps, seconds on the clock so far, failed steps, and where it stands."""

    name: str
    done: int
    total: int
    seconds: float
    failed: int
    state: Literal["waiting", "running", "done"]


@dataclass(frozen=True, slots=True)
class FailureRow:
    """A step that failed: the stage, what it was about, and the words of whoever refused."""

    stage: str
    label: str
    error: str


@dataclass(frozen=True, slots=True)
class JobView:
    """How a refinement goes. `stage`: at work, or the last one. `error`: why it stopped. `reviewable`: `report` works.

    `cancelling`: it runs, and ends after the step at work. `seconds` counts from the latest start or resume to its end.
    `usage`: what was taken of a model so far; empty when none was asked. `asks`: how it is asked; None = it is not.
    """

    refinement_id: str
    status: JobState
    stage: str
    stages: tuple[StageView, ...]
    failures: tuple[FailureRow, ...]
    error: str | None
    started_at: str
    seconds: float
    reviewable: bool
    usage: dict[str, Any] = field(default_factory=dict)
    asks: Asks | None = None
    cancelling: bool = False


@dataclass(frozen=True, slots=True)
class Arrived:
    """A proposal of a refinement at work, to be read and not yet decided on. `result` and `words` are the gate's, once
    it has ruled; empty before.
    """

    text: str
    theme: str
    side: Side
    result: str = ""
    words: str = ""


@dataclass(frozen=True, slots=True)
class RefinementCard:
    """A refinement in a list. `counts`: changes by result; empty while there is nothing to review."""

    id: str
    started_at: str
    status: JobState
    analyst: str
    preset: str
    counts: dict[str, int]
    newer_traces: int
    newer_labels: int
