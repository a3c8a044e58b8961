"""Stage: proposals become changes over the base. What is accepted is decided later, and never here."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, cast

from refiner.ids import content_key
from refiner.ports import MergeRequest, Records, Tools
from refiner.types import Proposal, Step


@dataclass(frozen=True, slots=True)
class Merge:
    """Yields the `Change`s, every proposal in one of them; what cannot be placed is marked, never dropped."""

    analyst: str
    name: str = "merge"
    version: int = 1

    def steps(self, records: Records) -> Iterable[Step]:
        proposals = tuple(one for one in records.produced("fold") if isinstance(one, Proposal) and not one.failed)
        request = MergeRequest(proposals, tuple(records.produced("gate")), records.skill())
        verdicts = [one.key for one in request.verdicts]
        key = content_key(
            self.name, self.version, self.analyst, [one.key for one in proposals], verdicts, request.skill.key
        )
        yield Step(self.name, f"{len(proposals)} proposals", key, request)

    def run(self, step: Step, tools: Tools) -> tuple[Any, ...]:
        return tools.analyst.merge(cast(MergeRequest, step.payload))
