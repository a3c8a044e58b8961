"""The second base line: all feedback in one list, no summaries, clusters or facts; the same gate, merge and audits."""

from __future__ import annotations

from refiner.config import RefineConfig
from refiner.ports import Stage, Tools
from refiner.stages.audit import Audit
from refiner.stages.contrast import MeasureContrast
from refiner.stages.fold import Fold
from refiner.stages.merge import Merge
from refiner.stages.recur import Recur
from refiner.strategies.cluster import MIN_TASKS, by_side, gate, sides_of, undecided_limit


def stages(config: RefineConfig, tools: Tools) -> list[Stage]:
    """What recurs in the feedback, proposed class by class."""
    sides, least = sides_of(config), MIN_TASKS[config.analyst]
    return [
        MeasureContrast(config.gate_q),
        Recur(by_side(tools, "recur"), sides, facts=False, min_side=config.rules.min_side),
        Fold(sides, config.rules.min_side, least, undecided_limit(config)),
        gate(config, tools),
        Merge(tools.analyst.identity_for("merge")),
        Audit(),
    ]
