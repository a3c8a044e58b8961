"""Stage: audits of what would be added, before anything is written: leaks, injections, specification, repetition."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, cast

from refiner import audits
from refiner.ids import content_key
from refiner.ports import Labelled, Records, Tools
from refiner.types import Change, SkillVersion, Step

Payload = tuple[tuple[Change, ...], Sequence[Labelled], SkillVersion]


@dataclass(frozen=True, slots=True)
class Audit:
    """Yields every `Finding`, in the order of the changes."""

    name: str = "audit"
    version: int = 2

    def steps(self, records: Records) -> Iterable[Step]:
        changes = tuple(one for one in records.produced("merge") if isinstance(one, Change))
        items = records.labelled()
        seen = [(item.trace.id, item.trace.revision, item.notes) for item in items]
        key = content_key(self.name, self.version, changes, seen, records.skill().key)
        yield Step(self.name, f"{len(changes)} changes", key, (changes, items, records.skill()))

    def run(self, step: Step, tools: Tools) -> tuple[Any, ...]:
        changes, items, skill = cast(Payload, step.payload)
        auditor = audits.Auditor(items, skill)
        return tuple(finding for change in changes for finding in auditor.check(change))
