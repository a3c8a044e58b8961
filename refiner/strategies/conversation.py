"""Too few attempts to compare, as one conversation holds: what its user corrected, by the same gate, merge and audits.

Facts are proposed as well, should the counts bear any out.
"""

from __future__ import annotations

from refiner.config import RefineConfig
from refiner.ports import Stage, Tools
from refiner.stages.audit import Audit
from refiner.stages.contrast import MeasureContrast
from refiner.stages.corrections import Corrections
from refiner.stages.fold import Fold
from refiner.stages.merge import Merge
from refiner.stages.recur import Recur
from refiner.stages.summarise import Summarise
from refiner.strategies.cluster import by_side, gate, sides_of


def stages(config: RefineConfig, tools: Tools) -> list[Stage]:
    """Corrections one by one, whatever their number; no clusters."""
    sides = sides_of(config)
    return [
        MeasureContrast(config.gate_q),
        Summarise(by_side(tools, "summarise"), raw=config.summarizer == "none", sides=sides, min_side=1),
        Corrections(tools.analyst.identity_for("propose", "failure")),
        Recur(by_side(tools, "recur"), sides, min_side=1),
        Fold(sides, min_side=1, min_tasks=1, max_undecided=None, budget=config.edit_budget, recurs=1),
        gate(config, tools, few=True),
        Merge(tools.analyst.identity_for("merge")),
        Audit(),
    ]
