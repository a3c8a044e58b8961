"""Stage: how every behaviour of the vocabulary goes with the outcome. Measured once, before any clustering."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, cast

from refiner import behaviours
from refiner.ids import content_key
from refiner.ports import Labelled, Records, Tools
from refiner.types import Step


@dataclass(frozen=True, slots=True)
class MeasureContrast:
    """Yields one `ContrastTable`. Reads spans, tasks and pass or fail; never feedback or notes."""

    gate_q: float = 0.05
    name: str = "contrast"
    version: int = 1

    def steps(self, records: Records) -> Iterable[Step]:
        items = tuple(Labelled(item.trace, item.outcome) for item in records.labelled())
        seen = [(item.trace.id, item.trace.revision, item.outcome.status) for item in items]
        key = content_key(self.name, self.version, behaviours.VERSION, self.gate_q, seen)
        yield Step(self.name, f"{len(items)} traces", key, items)

    def run(self, step: Step, tools: Tools) -> tuple[Any, ...]:
        from refiner.gate.contrast import measure

        return (measure(cast("tuple[Labelled, ...]", step.payload), gate_q=self.gate_q),)
