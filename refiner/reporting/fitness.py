"""How well a merged skill fits what is advised: its size, the specification, and what the audits found. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from refiner import audits, merge
from refiner.audits.spec import limits
from refiner.codec import to_plain
from refiner.reporting.report import Report
from refiner.types import Change, Decision, Finding


@dataclass(frozen=True, slots=True)
class Size:
    """Lines or estimated tokens of the body: before, now, and what is advised."""

    unit: str
    base: int
    now: int
    advised: int


@dataclass(frozen=True, slots=True)
class Fitness:
    """`spec`: what the validator says of the merged skill. `audits`: findings on the changes that are in it.

    `together`: what these changes say twice, or against each other.
    """

    sizes: tuple[Size, ...]
    spec: tuple[Finding, ...]
    audits: tuple[Finding, ...]
    together: tuple[Finding, ...]

    @property
    def findings(self) -> tuple[Finding, ...]:
        return (*self.spec, *self.audits, *self.together)


def as_decided(change: Change, decision: Decision | None) -> Change:
    """The change with the edits that a person put in place of its own."""
    return replace(change, edits=decision.amended) if decision and decision.amended else change


def fitness(report: Report, merged: merge.Merged, inside: Mapping[str, Change]) -> Fitness:
    """The fitness of `merged`; `inside` = the changes in it as they were decided, by the ids the report knows."""
    advised = limits()["body"]
    before = audits.body_size(report.base.files[report.base.main])
    now = audits.body_size(merged.files[merged.main])
    sizes = tuple(
        Size(unit, old, new, int(advised[unit]))
        for unit, old, new in zip(("lines", "tokens"), before, now, strict=True)
    )
    found = tuple(one for one in report.findings if one.change_id in inside and one.kind != "spec")
    together = audits.contradictions(list(inside.values()))
    return Fitness(sizes, tuple(audits.check_spec(report.base, merged)), found, tuple(together))


def as_plain(report: Report, merged: merge.Merged, inside: Mapping[str, Change]) -> dict[str, Any]:
    """`{"changes": findings on every change, "result": sizes and what is said of the merged skill as a whole}`."""
    measured = fitness(report, merged, inside)
    whole = {"sizes": measured.sizes, "spec": measured.spec, "together": measured.together}
    return {"changes": to_plain(report.findings), "result": {name: to_plain(part) for name, part in whole.items()}}
