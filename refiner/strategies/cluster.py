"""The published method as a list of stages: contrast, summaries, clusters, proposals, gate, changes, audits."""

from __future__ import annotations

from refiner.config import RefineConfig
from refiner.ports import Stage, Tools
from refiner.sides import SIDES
from refiner.stages.audit import Audit
from refiner.stages.cluster import Cluster
from refiner.stages.contrast import MeasureContrast
from refiner.stages.embed import Embed
from refiner.stages.fold import Fold
from refiner.stages.gate import Gate
from refiner.stages.merge import Merge
from refiner.stages.propose import Propose
from refiner.stages.recur import Recur
from refiner.stages.summarise import Summarise
from refiner.types import Side

MIN_TASKS = {"offline": 3, "model": 2}  # distinct tasks below which a cluster gets no proposal


def sides_of(config: RefineConfig) -> tuple[Side, ...]:
    """The sides to learn from."""
    wanted = {"failure": config.use_negative, "success": config.use_positive}
    return tuple(side for side in SIDES if wanted[side])


def gated_sides(config: RefineConfig) -> tuple[Side, ...]:
    """The sides whose proposals meet the gate."""
    return {"off": (), "failure": ("failure",), "both": SIDES}[config.gate]


def stages(config: RefineConfig, tools: Tools) -> list[Stage]:
    """The stages of one refinement, in order."""
    rules, analyst, sides = config.rules, tools.analyst.identity, sides_of(config)
    least = MIN_TASKS[config.analyst]
    recurring: list[Stage] = [Recur(analyst, sides)] if rules.recurrence_pass else []
    return [
        MeasureContrast(config.gate_q),
        Summarise(analyst, raw=config.summarizer == "none", sides=sides, min_side=rules.min_side),
        Embed(tools.embedder.identity),
        Cluster(method=config.cluster_method, min_cluster_size=config.min_cluster_size, seed=config.seed),
        Propose(analyst, least),
        *recurring,
        Fold(sides, rules.min_side, least, config.max_undecided, rules.fold_proposals),
        Gate(analyst, gated_sides(config), config.gate_q),
        Merge(analyst),
        Audit(),
    ]
