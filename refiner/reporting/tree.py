"""The output tree: the published layout and what this product adds. Built in memory, moved into place file by file."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from refiner import merge, skills
from refiner.codec import to_plain
from refiner.errors import OutputError
from refiner.reporting import calibration, fitness
from refiner.reporting.analysts import ANALYST_NOTES as ANALYST_NOTES
from refiner.reporting.heldout import as_plain
from refiner.reporting.html import html_report
from refiner.reporting.report import Decided, Report
from refiner.reporting.travelling import travelling
from refiner.sides import SIDES
from refiner.types import Proposal, Side, Verdict

DRAFT = ".writing"
RUN = "run.json"


def write_tree(report: Report, out: Path) -> None:
    """Writes every file of the result below `out`; `run.json` comes last and says that the rest is complete.

    Raises OutputError when the disk is full or the folder cannot be written; no file is ever half-written.
    """
    draft = out / DRAFT
    try:
        shutil.rmtree(draft, ignore_errors=True)
        files = tree(report)
        for name, content in files.items():
            path = draft / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        (out / RUN).unlink(missing_ok=True)  # an earlier result's; it would vouch for files of two results
        for name in files:
            (out / name).parent.mkdir(parents=True, exist_ok=True)
            os.replace(draft / name, out / name)
    except OSError as error:
        raise OutputError(
            f"{out} cannot be written ({error.strerror}); make room or choose another --out and run the same command "
            "again: finished work is kept"
        ) from error
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def tree(report: Report) -> dict[str, bytes]:
    """Every file of the result by relative path, in the order in which they are put in place."""
    files: dict[str, bytes] = {}
    for side in SIDES:
        files.update({f"{side}/{name}": _json(body) for name, body in _side(report, side).items()})
    files.update({f"combined/{name}": content for name, content in _combined(report).items()})
    files["usage.json"] = _json(_usage(report))
    files[RUN] = _json(_run(report))
    return files


def _json(value: Any) -> bytes:
    """Indented JSON. A lone surrogate, which UTF-8 cannot hold, becomes its JSON escape."""
    text = json.dumps(to_plain(value), ensure_ascii=False, indent=2, sort_keys=False)
    return (text + "\n").encode("utf-8", "backslashreplace")


def _side(report: Report, side: Side) -> dict[str, Any]:
    proposals = [one for one in report.proposals if one.side == side]
    verdicts = {one.proposal_id: one for one in report.verdicts}
    rejected = [one for one in proposals if _result(one, verdicts) == "unsupported"]
    kept = [one for one in proposals if one not in rejected]
    return {
        "cluster_proposals.json": [_proposal(one, verdicts) for one in kept],
        "rejected_cluster_proposals.json": [_proposal(one, verdicts) for one in rejected],
        "manifest.json": _manifest(report, side, len(kept), len(rejected)),
        "summaries.json": [one for one in report.summaries if one.polarity == side],
    }


def _result(proposal: Proposal, verdicts: Mapping[str, Verdict]) -> str:
    verdict = verdicts.get(proposal.key)
    return verdict.result if verdict else "not gated"


def _proposal(proposal: Proposal, verdicts: Mapping[str, Verdict]) -> dict[str, Any]:
    return {"id": proposal.key, **to_plain(proposal), "verdict": verdict_of(proposal, verdicts)}


def verdict_of(proposal: Proposal, verdicts: Mapping[str, Verdict]) -> dict[str, Any] | None:
    """The verdict without the trace lists of its contrast (they are in the contrast table)."""
    verdict = verdicts.get(proposal.key)
    if verdict is None:
        return None
    plain = {"id": verdict.key, **to_plain(verdict)}
    if plain["contrast"]:
        plain["contrast"] = {key: value for key, value in plain["contrast"].items() if key not in ("holds", "applies")}
    return plain


def _manifest(report: Report, side: Side, kept: int, rejected: int) -> dict[str, Any]:
    clusterings = [one for one in report.clusterings if one.side == side]
    return {
        "side": side,
        "summaries": sum(one.polarity == side for one in report.summaries),
        "proposals": kept,
        "rejected": rejected,
        "clusterings": clusterings,
    }


def _combined(report: Report) -> dict[str, bytes]:
    merged = report.merged.files
    files = {"proposed_skill.md": merged[report.base.main]}
    if len(merged) > 1:
        files.update({f"skill/{name}": content for name, content in merged.items()})
    changes = [_change(row) for row in report.decided]
    return {
        **files,
        "changes.json": _json(changes),
        "provenance.json": _json(_provenance(report)),
        "skill.diff": merge.diff(_base_files(report), report.merged).encode("utf-8", "surrogateescape"),
        "undecided.diff": _undecided(report).encode("utf-8", "surrogateescape"),
        "contrast.json": _json({"facts": report.table.facts, "m": report.table.m, "contrasts": report.table.contrasts}),
        "shortfalls.json": _json(report.shortfalls),
        "manifest.json": _json({**_head(report), "counts": report.counts()}),
        "report.html": html_report(report, None, report.merged).encode("utf-8", "replace"),
    }


def _base_files(report: Report) -> Mapping[str, bytes]:
    """What the result is compared with: nothing where it started from the skeleton, which nobody has as a file."""
    return {} if skills.is_skeleton(report.base) else report.base.files


def _change(row: Decided) -> dict[str, Any]:
    verdicts = {one.proposal_id: one for one in row.verdicts}
    return {
        "id": row.change.key,
        "result": row.result,
        "in_proposed_skill": row.taken,
        "left_out_because": row.why or None,
        "rule": row.rule,
        "rationale": row.change.rationale,
        "touches": row.earlier,
        "edits": [{"id": edit.key, **to_plain(edit)} for edit in row.change.edits],
        "proposal_ids": row.change.proposal_ids,
        "proposals": [_proposal(one, verdicts) for one in row.proposals],
        "findings": row.findings,
    }


def _provenance(report: Report) -> Any:
    proposals = {one.key: one for one in report.proposals}
    verdicts = {one.proposal_id: one for one in report.verdicts}
    names = report.names
    found = merge.provenance(report.merged, report.changes, proposals, verdicts, names)
    taken = {row.change.key: row.change for row in report.decided if row.taken}
    told = {
        "counter_examples": report.nearest,
        "audits": fitness.as_plain(report, report.merged, taken),
        "held_out": as_plain(report),
        "calibration": calibration.as_plain(report.calibration),
    }
    return {**found, **told, **travelling(report, report.merged, {})}


def _undecided(report: Report) -> str:
    """Undecided changes on top of the automatic merge; empty when they are in it already."""
    taken = [row.change for row in report.decided if row.taken]
    comments = {row.change.key: f"{row.rule} | {_reason(row)}" for row in report.waiting}
    return merge.undecided_diff(report.base, taken, [row.change for row in report.waiting], comments)


def _reason(row: Decided) -> str:
    return " ".join(one.words for one in row.verdicts)


def _head(report: Report) -> dict[str, Any]:
    return {
        "refinement": report.refinement_id,
        "analyst": report.analyst,
        "analyst_note": ANALYST_NOTES.get(report.analyst, ""),
        "skill": report.base.key,
        "snapshot": report.snapshot.key,
    }


def _usage(report: Report) -> dict[str, Any]:
    nothing = {"calls": 0, "prompt_tokens": 0, "completion_tokens": 0, "cost": 0.0}
    return {"analyst": report.analyst, **nothing, **report.usage}


def _cost(report: Report) -> dict[str, Any]:
    usage = {"calls": 0, "prompt_tokens": 0, "completion_tokens": 0, "cost": 0.0, **report.usage}
    total = {
        "calls": usage["calls"],
        "tokens": usage["prompt_tokens"] + usage["completion_tokens"],
        "money": usage["cost"],
    }
    return {**total, "stages": usage["stages"]} if report.usage else total


def _run(report: Report) -> dict[str, Any]:
    snapshot = report.snapshot
    return {
        **_head(report),
        "config": report.config,
        "versions": report.versions,
        "traces": snapshot.statuses,
        "tasks": snapshot.tasks,
        "task_id_origins": snapshot.task_origins,
        "tasks_with_several_traces": snapshot.tried_twice,
        "held_out": {"tasks": snapshot.held_out_tasks, "traces": snapshot.held_out_traces},
        "inputs": report.inputs,
        "counts": report.counts(),
        "failed_steps": report.failed,
        "seconds": {name: round(seconds, 3) for name, seconds in report.seconds.items()},
        "cost": _cost(report),
    }
