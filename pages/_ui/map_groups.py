"""The groups of a refinement as the map shows them: named, numbered, with what was proposed for them. Draws nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from refiner.types import Cluster, Clustering, Trace

if TYPE_CHECKING:
    from refiner.reporting.report import Report
    from refiner.views import Item, Review

PALETTE: Final = ("#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377")
"""Paul Tol's "bright" scheme without its grey: distinguishable with every common colour-vision deficiency."""
SYMBOLS: Final = ("circle", "square", "diamond", "triangle-up", "cross", "triangle-down", "star")
"""One more than there are colours, so that 42 groups differ in colour or in shape."""
GREY: Final = "#8a8f99"
MODES: Final = {"cluster": "group", "decision": "decision", "verdict": "verdict", "task": "task", "model": "model"}
SHOWN_VALUES: Final = 6
OTHERS: Final = "all others"
NONE: Final = "nothing proposed"
NO_GROUP: Final = "in no group"
FIXED: Final[Mapping[str, Sequence[tuple[str, str, str]]]] = {
    "decision": (
        ("accepted", "#228833", "circle"),
        ("rejected", "#ee6677", "cross"),
        ("skipped", "#ccbb44", "triangle-up"),
        ("carried", "#66ccee", "square"),
        ("open", "#4477aa", "diamond"),
        (NONE, GREY, "circle"),
    ),
    "verdict": (
        ("supported", "#228833", "circle"),
        ("undecided", "#ccbb44", "diamond"),
        ("unsupported", "#ee6677", "cross"),
        ("not gated", "#66ccee", "square"),
        (NONE, GREY, "circle"),
    ),
}


@dataclass(frozen=True, slots=True)
class Group:
    """A cluster with its name, its look on the map, and the changes that were proposed for it in queue order."""

    key: str
    name: str
    theme: str
    colour: str
    symbol: str
    cluster: Cluster
    items: tuple[Item, ...]

    @property
    def verdict(self) -> str:
        return self.items[0].row.result if self.items else NONE

    @property
    def decision(self) -> str:
        return self.items[0].status if self.items else NONE

    @property
    def nearest(self) -> tuple[str, ...]:
        """The medoid, then the members that belong to the group most surely."""
        paired = zip(self.cluster.members, self.cluster.probabilities, strict=True)
        rest = sorted((one for one in paired if one[0] != self.cluster.medoid), key=lambda one: -one[1])
        return (self.cluster.medoid, *(trace_id for trace_id, _ in rest))[:3]


@dataclass(frozen=True, slots=True)
class Category:
    """A value that points are coloured by, and how it looks."""

    name: str
    colour: str
    symbol: str


def groups(report: Report, review: Review) -> dict[str, tuple[Group, ...]]:
    """The groups of each side, the largest first: F1, F2, ... of failures, S1, S2, ... of successes."""
    proposed: dict[str, list[tuple[Item, str]]] = {}
    for item in review.items:
        for proposal in item.row.proposals:
            for key in proposal.groups:
                proposed.setdefault(key, []).append((item, proposal.theme))
    return {one.side: _of_side(one, proposed) for one in report.clusterings}


def _of_side(clustering: Clustering, proposed: Mapping[str, Sequence[tuple[Item, str]]]) -> tuple[Group, ...]:
    ordered = sorted(((one.key, one) for one in clustering.clusters), key=lambda pair: -len(pair[1].members))
    return tuple(
        Group(
            key=key,
            name=f"{clustering.side[0].upper()}{place + 1}",
            theme=_theme(one, proposed.get(key, ())),
            colour=PALETTE[place % len(PALETTE)],
            symbol=SYMBOLS[place % len(SYMBOLS)],
            cluster=one,
            items=tuple(item for item, _ in proposed.get(key, ())),
        )
        for place, (key, one) in enumerate(ordered)
    )


def _theme(cluster: Cluster, proposed: Sequence[tuple[Item, str]]) -> str:
    return cluster.label or next((theme for _, theme in proposed if theme), "")


def group_of(by_side: Mapping[str, Sequence[Group]], key: str) -> Group | None:
    """The group with this key."""
    return next((group for side in by_side.values() for group in side if group.key == key), None)


def owner(by_side: Mapping[str, Sequence[Group]], trace_id: str) -> Group | None:
    """The group that a run belongs to; None for one in no group."""
    return next((group for side in by_side.values() for group in side if trace_id in group.cluster.members), None)


def modes(traces: Mapping[str, Trace]) -> list[str]:
    """What points can be coloured by; by model only when there are several."""
    several = len({trace.model for trace in traces.values()}) > 1
    return [mode for mode in MODES if mode != "model" or several]


def values(mode: str, by_side: Mapping[str, Sequence[Group]], traces: Mapping[str, Trace]) -> dict[str, str]:
    """The value of each clustered run, or of every run for task and model, by trace id."""
    if mode in ("task", "model"):
        return {key: _value(mode, trace) for key, trace in traces.items()}
    found: dict[str, str] = {}
    for group in (group for side in by_side.values() for group in side):
        value = {"cluster": group.key, "verdict": group.verdict}.get(mode, group.decision)
        found |= dict.fromkeys(group.cluster.members, value)
    return found


def _value(mode: str, trace: Trace) -> str:
    return (trace.task_id if mode == "task" else trace.model) or "not recorded"


def categories(mode: str, by_side: Mapping[str, Sequence[Group]], valued: Mapping[str, str]) -> tuple[Category, ...]:
    """The values in order with their looks. Of tasks and models the most frequent ones, then all others as one."""
    if mode == "cluster":
        return tuple(Category(one.key, one.colour, one.symbol) for side in by_side.values() for one in side)
    if mode in FIXED:
        present = set(valued.values())
        return tuple(Category(*look) for look in FIXED[mode] if look[0] in present)
    counted = sorted(Counter(valued.values()).items(), key=lambda one: (-one[1], one[0]))
    looks = tuple(
        Category(name, PALETTE[place], SYMBOLS[place]) for place, (name, _) in enumerate(counted[:SHOWN_VALUES])
    )
    return looks if len(counted) <= SHOWN_VALUES else (*looks, Category(OTHERS, GREY, "circle"))
