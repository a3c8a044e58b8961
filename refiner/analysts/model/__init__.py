"""The model analyst: the method's four questions put to a language model, over any transport.

What it says is never taken on trust: quotes are checked, predicates evaluated, counts win, text of runs is fenced.
"""

from __future__ import annotations

from dataclasses import dataclass

from refiner import behaviours
from refiner.analysts.model.calling import Caller, Tally
from refiner.analysts.model.redaction import Redactor
from refiner.analysts.model.settings import PROMPTS, VERSION, Settings
from refiner.ids import content_key
from refiner.ports import JudgeRequest, MergeRequest, ProposalRequest, SummaryRequest
from refiner.transports.base import Transport
from refiner.types import Change, Criterion, Proposal, Shortfall, Side, Summary

__all__ = ["VERSION", "ModelAnalyst", "Redactor", "Settings", "Tally"]


@dataclass(frozen=True, slots=True)
class ModelAnalyst:
    """Implements `refiner.ports.Analyst`. May be called from many threads.

    Every method raises what the transport raises, and BadReply where a reply cannot be used; the judge answers
    `unknown` instead.
    """

    caller: Caller
    settings: Settings
    name: str = "model"
    deterministic: bool = False

    @classmethod
    def over(cls, transport: Transport, settings: Settings) -> ModelAnalyst:
        return cls(Caller(transport, Redactor(settings.redact)), settings)

    @property
    def identity(self) -> str:
        stages = [self.settings.identity_for(stage) for stage in PROMPTS]
        return f"model-{VERSION}/{self.settings.model}/{content_key(stages)}/vocabulary-{behaviours.VERSION}"

    def identity_for(self, stage: str, side: Side | None = None) -> str:
        """What the replies of one stage depend on: a changed prompt or model repeats only where it matters."""
        return self.settings.identity_for(stage, side)

    def summarise(self, request: SummaryRequest) -> Summary:
        from refiner.analysts.model.summaries import summarise

        return summarise(self.caller, self.settings, request)

    def propose(self, request: ProposalRequest) -> Proposal | Shortfall:
        from refiner.analysts.model.proposing import propose

        return propose(self.caller, self.settings, request)

    def judge(self, request: JudgeRequest) -> tuple[Criterion, ...]:
        from refiner.analysts.model.judging import judge

        return judge(self.caller, self.settings, request)

    def merge(self, request: MergeRequest) -> tuple[Change, ...]:
        from refiner.analysts.model.merging import anchored
        from refiner.analysts.model.rewrite import rewritten

        way = rewritten if self.settings.merge == "rewrite" else anchored
        return way(self.caller, self.settings, request)
