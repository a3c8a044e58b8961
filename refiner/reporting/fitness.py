"""How well a merged skill fits what is advised: its size, the specification, and what the audits found. Pure."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from refiner import audits, merge
from refiner.audits.spec import limits
from refiner.reporting.report import Report
from refiner.types import Finding


@dataclass(frozen=True, slots=True)
class Size:
    """Lines or estimated tokens of the body: before, now, and what is advised."""

    unit: str
    base: int
    now: int
    advised: int


@dataclass(frozen=True, slots=True)
class Fitness:
    """`spec`: what the validator says of the merged skill. `audits`: findings on the changes that are in it."""

    sizes: tuple[Size, ...]
    spec: tuple[Finding, ...]
    audits: tuple[Finding, ...]


def fitness(report: Report, merged: merge.Merged, inside: Collection[str]) -> Fitness:
    """The fitness of `merged`; `inside` = the ids of the changes in it, as the report knows them."""
    advised = limits()["body"]
    before = audits.body_size(report.base.files[report.base.main])
    now = audits.body_size(merged.files[merged.main])
    sizes = tuple(
        Size(unit, old, new, int(advised[unit]))
        for unit, old, new in zip(("lines", "tokens"), before, now, strict=True)
    )
    found = tuple(one for one in report.findings if one.change_id in inside and one.kind != "spec")
    return Fitness(sizes, tuple(audits.check_spec(report.base, merged)), found)
