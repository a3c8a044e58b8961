"""What a skill's provenance takes along for the next refinement: its base, what was tried, whose its lines are.

Task names are hashed: they serve to tell whether evidence has grown, and say nothing of the corpus.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from refiner.carried import encoded, followed, latest, sums
from refiner.merge import Merged
from refiner.reporting.report import Decided, Report
from refiner.skills import is_skeleton
from refiner.tried import Support, subjects_of


def travelling(report: Report, merged: Merged, decided: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """`{"refinement", "skill", "base_files", "tried", "earlier"}`.

    `decided`: by change id what a person said of it (`status`, `by`, `at`, `reason_code`, `reason`).
    """
    earlier = report.before.get("earlier", [])
    base = {} if is_skeleton(report.base) else report.base.files
    return {
        "refinement": report.refinement_id,
        "skill": sums(merged.files),
        "base_files": {path: encoded(base[path]) for path in sorted(base)},
        "tried": latest([*report.before.get("tried", []), *_tried(report, decided)]),
        "earlier": [one for row in earlier for one in followed(row, report.base.files, merged.files)],
    }


def _tried(report: Report, decided: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    subjects = {name for row in report.decided for one in row.proposals for name in subjects_of(one)}
    support = Support.of(report.snapshot.training, report.table, subjects)
    return [{**_row(report, row, support), **decided.get(row.change.key, {"status": "open"})} for row in report.decided]


def _row(report: Report, row: Decided, support: Support) -> dict[str, Any]:
    tasks = sorted({task for one in row.proposals for task in support.tasks_of(one)})
    return {
        "refinement": report.refinement_id,
        "change": row.change.key,
        "rule": row.rule,
        "section": list(row.change.edits[0].section) if row.change.edits else [],
        "subjects": sorted({name for one in row.proposals for name in subjects_of(one)}),
        "result": row.result,
        "tasks": len(tasks),
        "task_keys": tasks,
    }
