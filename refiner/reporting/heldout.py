"""Held-out tasks in words and as data, for the app, the report and the command line alike. Opens nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from refiner.codec import to_plain
from refiner.config import PRESETS
from refiner.mining import fault_of
from refiner.reporting.report import Report
from refiner.sides import of_side, tasks_of
from refiner.snapshot import Snapshot, held_out
from refiner.tasks import CONVERSATION, split_units
from refiner.types import HeldOut, HeldOutCount

USUAL_SHARE = PRESETS["standard"].holdout
SEALED = "No stage, no proposal and no page has read them."
ONCE = (
    "Opening them is recorded, and every decision after it is marked: an estimate that was looked at before deciding "
    "is no longer one on unseen tasks."
)


@dataclass(frozen=True, slots=True)
class Cost:
    """What holding a share out would take away from learning; `both`: tasks with passing and failing runs.

    `unit`: what is held out as a whole, a task or a conversation; `held` of so many of them.
    """

    unit: str
    held: int
    of_held: int
    failing: int
    of_failing: int
    both: int
    of_both: int


def faults_of(report: Report) -> dict[str, tuple[str, ...]]:
    """By change the predicates it is about, in the direction of failure; empty where it has none."""
    found = {}
    for row in report.decided:
        faults = (fault_of(one) for one in row.proposals)
        found[row.change.key] = tuple(dict.fromkeys(one for one in faults if one))
    return found


def cost_of(snapshot: Snapshot, share: float = USUAL_SHARE) -> Cost:
    """The price of holding out this share of what was learned from: tasks, or conversations where runs are attempts."""
    traces = [item.trace for item in snapshot.training]
    failing, passing = of_side(snapshot.training, "failure"), of_side(snapshot.training, "success")
    both, units = tasks_of(failing) & tasks_of(passing), split_units(traces)
    out = {unit for unit in units.values() if held_out(unit, share)}
    gone = {trace.task_id for trace in traces if units[trace.id] in out}
    lost = sum(units[item.trace.id] in out for item in failing)
    unit = "conversation" if any(CONVERSATION in trace.meta for trace in traces) else "task"
    return Cost(unit, len(out), len({*units.values()}), lost, len(failing), len(gone & both), len(both))


def why_none(report: Report) -> list[str]:
    """Why nothing is held out, and what a share would cost."""
    asked, preset = report.config.get("holdout"), PRESETS[str(report.config.get("preset", "standard"))]
    known = sum(count for origin, count in _known_tasks(report.snapshot).items() if origin != "none")
    if asked is not None:
        why = "Nothing is held out: a share of 0 was asked for."
    elif not preset.holdout:
        why = f"Nothing is held out: the preset {preset.name} holds nothing out."
    else:
        why = (
            f"Nothing is held out: a share is kept back from {preset.holdout_from} known tasks on, "
            f"and here {known} {'is' if known == 1 else 'are'} known."
        )
    return [why, _price(cost_of(report.snapshot))]


def _known_tasks(snapshot: Snapshot) -> dict[str, int]:
    origins: dict[str, set[str]] = {}
    for item in snapshot.training:
        origins.setdefault(item.trace.task_id_origin, set()).add(item.trace.task_id)
    return {origin: len(tasks) for origin, tasks in origins.items()}


def _price(cost: Cost) -> str:
    return (
        f"Holding out {USUAL_SHARE:.0%} (--holdout {USUAL_SHARE:g}) would take {cost.held} of {cost.of_held} "
        f"{cost.unit}s away from learning, with {cost.failing} of {cost.of_failing} failing runs and {cost.both} of "
        f"the {cost.of_both} tasks with both outcomes, in which causes are counted."
    )


ACCEPTED, AUTOMATIC = "The accepted changes", "The changes of the automatic merge"


def opened_words(found: HeldOut, whose: str = ACCEPTED) -> list[str]:
    """What the held-out tasks say of the accepted changes, or of those of `whose`, and who opened them."""
    at = f" on {found.opened_at[:16].replace('T', ' ')} UTC" if found.opened_at else ""
    lines = [f"Opened by {found.opened_by or 'somebody'}{at}: {found.tasks} tasks, {found.traces} runs."]
    accepted = found.accepted
    lines.append(f"{whose} together: {together_words(accepted)}")
    if accepted.coverage is None and accepted.covered is not None:
        lines.append(f"Only {accepted.failing} held-out tasks fail; it takes 10 for an interval.")
    return lines


def together_words(accepted: HeldOutCount) -> str:
    """The accepted changes in one sentence."""
    if accepted.covered is None:
        return "not measured, since none of them has a behaviour to look for."
    return f"a behaviour they are about {accepted.words}."


def is_suspicious(count: HeldOutCount) -> bool:
    """Whether a behaviour shows in passing held-out tasks and in no failing one: exposure without coverage."""
    return count.covered == 0 and bool(count.exposed)


def as_plain(report: Report) -> dict[str, Any]:
    """`{"state", "tasks", "traces", ...}`; opened: who, when, and the counts by change and for the accepted set."""
    snapshot, found = report.snapshot, report.held_out
    size = {"tasks": snapshot.held_out_tasks, "traces": snapshot.held_out_traces}
    if not snapshot.held_out_tasks:
        return {"state": "none", **size, "why": why_none(report)}
    if found is None:
        return {"state": "sealed", **size}
    return {
        "state": "opened",
        **size,
        "opened_by": found.opened_by,
        "opened_at": found.opened_at,
        "changes": {one.change_id: _numbers(one) for one in found.changes},
        "accepted": _numbers(found.accepted),
        "exposure_without_coverage": is_suspicious(found.accepted),
    }


def _numbers(count: HeldOutCount) -> dict[str, Any]:
    plain: dict[str, Any] = to_plain(count)
    return {name: value for name, value in plain.items() if name != "change_id"}


def rows_of(found: HeldOut, names: Sequence[tuple[str, str]]) -> list[tuple[str, str, str]]:
    """(name, coverage, exposure) by change, for those that are named as (change id, name), in that order."""
    rows = []
    for change_id, name in names:
        count = found.of(change_id)
        if count is not None:
            rows.append((name, *shares(count)))
    return rows


def shares(count: HeldOutCount) -> tuple[str, str]:
    """Coverage and exposure as `12 of 20 (36% to 81%)`."""
    if count.covered is None or count.exposed is None:
        return "not measured", "not measured"
    return (
        _share(count.covered, count.failing, count.coverage),
        _share(count.exposed, count.passing, count.exposure),
    )


def _share(hits: int, total: int, interval: tuple[float, float] | None) -> str:
    return f"{hits} of {total}" + (f" ({interval[0]:.0%} to {interval[1]:.0%})" if interval else "")
