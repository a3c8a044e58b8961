"""Stages run other than as they are: anew, or without asking anybody after a cancel. Starts and stops nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from refiner.analysts.offline.merging import merge_proposals
from refiner.errors import ConfigError
from refiner.ids import text_key
from refiner.ports import Analyst, JudgeRequest, MergeRequest, ProposalRequest, Records, Stage, SummaryRequest, Tools
from refiner.types import Change, Criterion, Proposal, Shortfall, Side, Step, Summary

CHEAP = ("fold", "gate", "merge", "audit")
"""The stages that a cancelled refinement still goes through, so that what is finished can be reviewed."""
ASKING = ("gate", "merge")
"""Those of them that ask a model when it is at hand."""
_BESIDES = {"gate": ("judged_contrast",)}
"""What a stage asks beside the requests of its own name."""


@dataclass(frozen=True, slots=True)
class Again:
    """A stage whose finished steps do not count, but those that `keep` names: the salt makes its step keys new ones."""

    stage: Stage
    salt: str
    keep: Callable[[Sequence[str]], set[str]] | None = None

    @property
    def name(self) -> str:
        return self.stage.name

    @property
    def version(self) -> int:
        return self.stage.version

    def steps(self, records: Records) -> Iterable[Step]:
        steps = list(self.stage.steps(records))
        kept = self.keep([step.key for step in steps]) if self.keep else set()
        for step in steps:
            yield step if step.key in kept else replace(step, key=text_key("again", self.salt, step.key))

    def run(self, step: Step, tools: Tools) -> tuple[Any, ...]:
        return self.stage.run(step, tools)


def anew(stages: Sequence[Stage], rounds: Sequence[tuple[str, str]]) -> tuple[list[Stage], dict[str, str]]:
    """The stages with those that were run again, and by the stage of a request the round it is asked in.

    `rounds`: (first stage, salt) of each time, in order.
    """
    made, asked = list(stages), dict[str, str]()
    for stage, salt in rounds:
        first = [one.name for one in made].index(stage)
        made[first:] = [Again(one, salt) for one in made[first:]]
        asked.update({name: salt for one in made[first:] for name in (one.name, *_BESIDES.get(one.name, ()))})
    return made, asked


def without_asking(stages: Sequence[Stage], finished: Callable[[Sequence[str]], set[str]]) -> list[Stage]:
    """The cheap stages for `Quiet`: what was judged stays; the rest gets keys of its own, so that it is asked later."""
    cheap = [stage for stage in stages if stage.name in CHEAP]
    return [Again(stage, "cancelled", finished) if stage.name in ASKING else stage for stage in cheap]


@dataclass(frozen=True, slots=True)
class Quiet:
    """Stands in for an analyst after a cancel: judges nothing, and every proposal becomes a change of its own."""

    analyst: Analyst
    deterministic: bool = True

    @property
    def name(self) -> str:
        return self.analyst.name

    @property
    def identity(self) -> str:
        return self.analyst.identity

    def identity_for(self, stage: str, side: Side | None = None) -> str:
        return self.analyst.identity_for(stage, side)

    def summarise(self, request: SummaryRequest) -> Summary:
        raise ConfigError("the refinement was cancelled; resume it to read more traces")

    def propose(self, request: ProposalRequest) -> Proposal | Shortfall:
        raise ConfigError("the refinement was cancelled; resume it for more proposals")

    def judge(self, request: JudgeRequest) -> tuple[Criterion, ...]:
        return ()

    def merge(self, request: MergeRequest) -> tuple[Change, ...]:
        return merge_proposals(request)
