"""Calibrations in a database: the gate of a stored refinement asked again, and what came of it written down."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from refiner import codec, intake
from refiner.calibration import MOST, Bench, Given, Heard, calibrate, quiet, spot
from refiner.config import RefineConfig
from refiner.ports import Tools
from refiner.reporting.report import Report
from refiner.reporting.tree import write_tree
from refiner.resources import SAMPLE_DATA
from refiner.snapshot import take
from refiner.strategies import cluster
from refiner.types import Calibration, Spotted
from refiner.workspace.seal import existing, recalled
from refiner.workspace.tools import executor_for, tools_for
from storage import Store

CALIBRATED = "calibrated"


@dataclass(frozen=True, slots=True)
class Wish:
    """What to measure: `most` proposals asked `repeats` times again; `planted`: on the corpus of known truth too."""

    most: int = MOST
    repeats: int = 1
    planted: bool = False


def measured(
    report: Report, config: RefineConfig, tools: Tools, wish: Wish, at: str, heard: Heard = quiet
) -> Calibration:
    """The gate of a refinement, asked again. Raises WaitingForReplies, or what a transport or `heard` raises."""
    bench = Bench(cluster.gate(config, tools), lambda turn: _again(tools, turn), executor_for(config), heard)
    given = Given(report.snapshot.training, report.base, report.table, report.proposals)
    found = calibrate(bench, given, report.verdicts, most=wish.most, repeats=wish.repeats)
    if wish.planted:
        gated, alone = _spotted(bench)
        found = replace(found, planted=gated, alone=None if found.deterministic else alone)
    model = "" if found.deterministic else config.gate_model or config.model or ""
    return replace(found, model=model, at=at)


def _again(tools: Tools, turn: int) -> Tools:
    """The same tools whose gate questions count as new ones."""
    from refiner.analysts.model import ModelAnalyst

    if not isinstance(tools.analyst, ModelAnalyst):
        return tools
    settings = replace(tools.analyst.settings, again=turn)
    return replace(tools, analyst=replace(tools.analyst, settings=settings))


def _spotted(bench: Bench) -> tuple[Spotted, Spotted]:
    """The sample corpus, whose faults are known, before the gate."""
    config = RefineConfig(
        raw_jsonl=(SAMPLE_DATA / "traces.jsonl",),
        binary_rewards=SAMPLE_DATA / "binary_rewards.json",
        ground_truth_file=SAMPLE_DATA / "feedback.json",
        skill_file=SAMPLE_DATA / "SKILL.md",
    )
    from refiner import skills

    taken = intake.take_in(config, "planted")
    snapshot = take(taken.traces, intake.effective(taken.outcomes), intake.by_trace(taken.notes), 0.0)
    return spot(bench, snapshot.training, skills.load(config.skill_file, None), _truth())


def _truth() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((SAMPLE_DATA / "truth.json").read_text(encoding="utf-8"))
    return found


def claims() -> int:
    """How many claims the gate is asked about on the sample corpus, at most: every planted fault, as many others."""
    return 2 * len(_truth()["faults"])


def latest(store: Store, refinement_id: str) -> Calibration | None:
    """The last calibration of a refinement, or None."""
    events = store.events(refinement_id, CALIBRATED)
    return codec.from_plain(Calibration, events[-1].body) if events else None


def with_calibration(store: Store, report: Report) -> Report:
    """The report with the latest figures of its gate, if there are any."""
    found = latest(store, report.refinement_id)
    return report if found is None else replace(report, calibration=found)


def run(
    database: Path,
    out: Path | None,
    refinement_id: str | None,
    wish: Wish,
    config: RefineConfig,
    environ: Mapping[str, str],
    at: str,
) -> Report:
    """Calibrates the gate of a stored refinement under a configuration, writes it down, and the output folder anew."""
    with Store.open(database) as store:
        report = recalled(store, refinement_id)
        tools = tools_for(config, environ, folder=database.parent)
        found = measured(report, config, tools, wish, at)
        store.event(report.refinement_id, CALIBRATED, codec.to_plain(found))
        report = replace(report, calibration=found)
    if out is not None:
        write_tree(report, out)
    return report


def stored(database: Path, refinement_id: str | None) -> Report:
    """The report of a stored refinement, the latest when none is named. Raises StoreError when there is none."""
    with Store.open(existing(database)) as store:
        return recalled(store, refinement_id)
