"""The report of a refinement put together from what its stages left, and what its base remembers of earlier ones.

Reads records; runs no stage and decides nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from refiner.carried import before as carried_before
from refiner.config import RefineConfig, plain
from refiner.engine import RefinementRecords
from refiner.ports import Stage
from refiner.reporting.report import Inputs, Report
from refiner.skills.loading import provenance_beside
from refiner.snapshot import Snapshot
from refiner.stages.fold import Fold
from refiner.tried import vetoes
from refiner.types import (
    Change,
    Clustering,
    Finding,
    Proposal,
    Refinement,
    Shortfall,
    SkillVersion,
    Summary,
    Verdict,
)

R = TypeVar("R")


def before_of(config: RefineConfig, base: SkillVersion) -> dict[str, Any]:
    """What the provenance beside the base says of earlier refinements. Raises SkillError when it cannot be read."""
    return carried_before(provenance_beside(config.skill_file), base.files)


def remembering(stages: Sequence[Stage], before: Mapping[str, Any]) -> list[Stage]:
    """The stages; what a person rejected before is not proposed again unless its evidence has grown."""
    known = vetoes(before.get("tried", ()))
    return [replace(stage, vetoes=known) if isinstance(stage, Fold) and known else stage for stage in stages]


def assemble(
    refinement_id: str,
    made: Refinement,
    config: RefineConfig,
    inputs: Inputs,
    snapshot: Snapshot,
    records: RefinementRecords,
    seconds: Mapping[str, float],
    failed: tuple[str, ...],
    usage: Mapping[str, Any] | None = None,
    before: Mapping[str, Any] | None = None,
) -> Report:
    """The report of a finished refinement from what its stages produced.

    `before`: what its base brought along of earlier refinements.
    """

    def made_by(stage: str, kind: type[R]) -> tuple[R, ...]:
        return tuple(one for one in records.produced(stage) if isinstance(one, kind))

    return Report(
        refinement_id=refinement_id,
        base=records.skill(),
        snapshot=snapshot,
        inputs=inputs,
        config=plain(config),
        versions=made.versions,
        seconds=dict(seconds),
        analyst=config.analyst,
        include_undecided=config.include_undecided,
        audits_block=config.rules.audits == "block",
        table=records.produced("contrast")[0],
        summaries=made_by("summarise", Summary),
        clusterings=made_by("cluster", Clustering),
        proposals=made_by("fold", Proposal),
        shortfalls=made_by("fold", Shortfall),
        verdicts=made_by("gate", Verdict),
        changes=made_by("merge", Change),
        findings=made_by("audit", Finding),
        failed=failed,
        usage=dict(usage or {}),
        before=dict(before or {}),
    )
