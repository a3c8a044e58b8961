"""Stage: one summary a trace, by polarity. The summariser never sees the skill inside the trace."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, cast

from refiner.ids import content_key
from refiner.ports import Labelled, Records, SummaryRequest, Tools
from refiner.rendering import render_trace, without_skill
from refiner.sides import SIDES, Identity, enabled, identity_of, side_of
from refiner.types import Side, SkillVersion, Step, Summary


@dataclass(frozen=True, slots=True)
class Summarise:
    """Yields one `Summary` a trace, in external-id order. A side with fewer than `min_side` traces is skipped.

    `raw`: the trace's own text stands in for a summary (an ablation).
    """

    analyst: Identity
    raw: bool = False
    sides: tuple[Side, ...] = SIDES
    min_side: int = 4
    name: str = "summarise"
    version: int = 1

    def steps(self, records: Records) -> Iterable[Step]:
        lines = skill_lines(records.skill())
        for item in enabled(records.labelled(), self.sides, self.min_side):
            yield Step(self.name, item.trace.external_id, self._key(item, lines), SummaryRequest(item, lines))

    def _key(self, item: Labelled, lines: tuple[str, ...]) -> str:
        """The skill matters only where the trace repeats it, notes only where something failed."""
        trace, outcome = item.trace, item.outcome
        told = without_skill(trace, lines)
        folded = None if told is trace else told.spans[0]
        notes = item.notes if side_of(item) == "failure" else ()
        parts = (trace.id, trace.revision, outcome.status, outcome.feedback, notes, folded)
        return content_key(self.name, self.version, identity_of(self.analyst, side_of(item)), self.raw, *parts)

    def run(self, step: Step, tools: Tools) -> tuple[Any, ...]:
        request = cast(SummaryRequest, step.payload)
        return (raw_text(request) if self.raw else tools.analyst.summarise(request),)


def raw_text(request: SummaryRequest) -> Summary:
    """The trace as it is, without the skill's own text, in the place of a summary."""
    trace = without_skill(request.item.trace, request.skill_lines)
    return Summary(trace.id, request.item.trace.revision, side_of(request.item), render_trace(trace), ())


def skill_lines(skill: SkillVersion) -> tuple[str, ...]:
    """The lines of the refined file, as a trace might repeat them."""
    return tuple(skill.files[skill.main].decode("utf-8", "replace").splitlines())
