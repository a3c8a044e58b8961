"""Failure attribution on Who&When: how often the offline analyst names the step that a person found decisive.

The runs are halved by their ids, which are random: rules were chosen on the first half alone, the second is reported.
The analyst sees no feedback here, since the person's remark names the agent at fault. Base lines: a step at random
(expected share), one of the agents' messages at random, and always the same step, the best one of the half it is
measured on. Brackets: the exact 95 % interval.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from statistics import mean
from typing import Any

from refiner import ingest
from refiner.analysts.offline.summary import summarise
from refiner.gate.heldout import clopper_pearson
from refiner.ports import Labelled, SummaryRequest
from refiner.types import Outcome, Span, Trace

FOLDER = "who-and-when"


def run(folder: Path | None = None) -> list[dict[str, Any]]:
    """The rows of the bench; one that says so where the real traces are not there."""
    corpora = os.environ.get("REFINER_CORPORA")
    folder = folder or (Path(corpora) / FOLDER if corpora else None)
    if folder is None or not folder.is_dir():
        return [_row("not measured: set REFINER_CORPORA to a folder with who-and-when", None, "", None)]
    traces = sorted(ingest.load([folder], corpus="bench").traces, key=lambda trace: trace.external_id)
    half = len(traces) // 2
    return [*_measured("tuning", traces[:half]), *_measured("reported", traces[half:])]


def _measured(name: str, traces: Sequence[Trace]) -> list[dict[str, Any]]:
    hits = sum(named(trace) == marked(trace) for trace in traces)
    low, high = clopper_pearson(hits, len(traces))
    unit, share = f"of {len(traces)} runs", hits / len(traces)
    constant, count = Counter(map(marked, traces)).most_common(1)[0]
    messages = [[span for span in _steps(trace) if span.kind == "message"] for trace in traces]
    return [
        _row(f"{name}_decisive_step", share, f"{unit} [{low:.2f}, {high:.2f}]", None),
        _row(f"{name}_against_always_step_{constant}", share, unit, count / len(traces)),
        _row(f"{name}_against_a_message_at_random", share, unit, mean(1 / len(found) for found in messages)),
        _row(f"{name}_against_a_step_at_random", share, unit, mean(1 / len(_steps(trace)) for trace in traces)),
    ]


def named(trace: Trace) -> str | None:
    """The step that the analyst finds decisive, without having read what anybody said of the run."""
    item = Labelled(trace, Outcome(trace.id, "fail"))
    return summarise(SummaryRequest(item, ())).decisive_span_id


def marked(trace: Trace) -> str:
    """The step that a person marked."""
    return trace.meta["mistake_step"]


def _steps(trace: Trace) -> list[Span]:
    return [span for span in trace.spans if span.role != "system"]


def _row(name: str, value: float | None, unit: str, against: float | None) -> dict[str, Any]:
    ratio = round(value / against, 2) if value is not None and against else None
    return {
        "name": name,
        "value": None if value is None else round(value, 3),
        "unit": unit,
        "against": None if against is None else round(against, 3),
        "ratio": ratio,
    }
