"""The second base line: all feedback in one list, no summaries, no clusters, no facts; the same gate, merge and audits."""

from __future__ import annotations

from refiner.config import RefineConfig
from refiner.ports import Stage, Tools
from refiner.stages.audit import Audit
from refiner.stages.contrast import MeasureContrast
from refiner.stages.fold import Fold
from refiner.stages.gate import Gate
from refiner.stages.merge import Merge
from refiner.stages.recur import Recur
from refiner.strategies.cluster import MIN_TASKS, gated_sides, sides_of


def stages(config: RefineConfig, tools: Tools) -> list[Stage]:
    """What recurs in the feedback, proposed class by class."""
    analyst, sides, least = tools.analyst.identity, sides_of(config), MIN_TASKS[config.analyst]
    return [
        MeasureContrast(config.gate_q),
        Recur(analyst, sides, facts=False),
        Fold(sides, config.rules.min_side, least, config.max_undecided),
        Gate(analyst, gated_sides(config), config.gate_q),
        Merge(analyst),
        Audit(),
    ]
