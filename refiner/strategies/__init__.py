"""How proposals come about: an ordered list of stages. All strategies meet the same gate and review."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from refiner.config import RefineConfig
from refiner.ports import Labelled, Stage, Tools
from refiner.sides import of_side
from refiner.strategies import cluster, conversation
from refiner.tasks import CONVERSATION

Strategy = Callable[[RefineConfig, Tools], list[Stage]]
"""How proposals come about: the stages of a refinement, in order."""


def fitting(config: RefineConfig, training: Sequence[Labelled]) -> Strategy:
    """The whole method, or correction by correction for what is one conversation, or has too few failing attempts."""
    talks = [item.trace.meta.get(CONVERSATION) for item in training]
    few = len(set(talks)) == 1 or len(of_side(training, "failure")) < config.rules.min_side
    return conversation.stages if all(talks) and few else cluster.stages
