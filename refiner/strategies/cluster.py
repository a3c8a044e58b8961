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


def by_side(tools: Tools, stage: str) -> dict[Side, str]:
    """What the replies of a stage depend on, by side: each side has prompts of its own."""
    return {side: tools.analyst.identity_for(stage, side) for side in SIDES}


def undecided_limit(config: RefineConfig) -> int | None:
    """How many proposals without a measured cause are kept; None = all, where each was paid for and will be judged."""
    return config.max_undecided if config.analyst == "offline" else None


def gate(config: RefineConfig, tools: Tools, *, few: bool = False) -> Gate:
    """The gate as the preset asks its questions. `few`: there are too few traces to count by."""
    votes, published = config.votes if config.analyst == "model" else 1, not config.rules.check_quotes
    judged = tools.analyst.identity_for("judged_contrast") if config.contrast == "judge" else ""
    return Gate(tools.analyst.identity_for("gate"), gated_sides(config), config.gate_q, votes, published, judged, few)


def stages(config: RefineConfig, tools: Tools) -> list[Stage]:
    """The stages of one refinement, in order."""
    rules, sides, least = config.rules, sides_of(config), MIN_TASKS[config.analyst]
    recur, merge = by_side(tools, "recur"), tools.analyst.identity_for("merge")
    recurring: list[Stage] = [Recur(recur, sides, min_side=rules.min_side)] if rules.recurrence_pass else []
    raw = config.summarizer == "none"
    return [
        MeasureContrast(config.gate_q),
        Summarise(by_side(tools, "summarise"), raw=raw, sides=sides, min_side=rules.min_side),
        Embed(tools.embedder.identity),
        Cluster(
            method=config.cluster_method,
            min_cluster_size=config.min_cluster_size,
            seed=config.seed,
            min_side=rules.min_side,
            small_n=rules.small_n,
        ),
        Propose(by_side(tools, "propose"), least),
        *recurring,
        Fold(sides, rules.min_side, least, undecided_limit(config), rules.fold_proposals, config.edit_budget),
        gate(config, tools),
        Merge(merge),
        Audit(),
    ]
