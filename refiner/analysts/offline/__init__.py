"""The offline analyst: no key, no network, no model. It mines recurrences and contrasts and counts; it is no mock.

It finds recurring behaviour that goes with failure. It does not understand domain reasons, and says so.
"""

from __future__ import annotations

from dataclasses import dataclass

from refiner import behaviours
from refiner.ports import JudgeRequest, MergeRequest, ProposalRequest, SummaryRequest
from refiner.types import Change, Criterion, Proposal, Shortfall, Side, Summary

VERSION = 2


@dataclass(frozen=True, slots=True)
class OfflineAnalyst:
    """Implements `refiner.ports.Analyst`; equal requests give equal replies."""

    name: str = "offline"
    identity: str = f"offline-{VERSION}/vocabulary-{behaviours.VERSION}"
    deterministic: bool = True

    def identity_for(self, stage: str, side: Side | None = None) -> str:
        return self.identity

    def summarise(self, request: SummaryRequest) -> Summary:
        from refiner.analysts.offline.summary import summarise

        return summarise(request)

    def propose(self, request: ProposalRequest) -> Proposal | Shortfall:
        if request.focus is not None and request.focus.kind == "correction":
            from refiner.analysts.offline.correcting import corrected

            return corrected(request)
        from refiner.analysts.offline.proposing import propose

        return propose(request)

    def judge(self, request: JudgeRequest) -> tuple[Criterion, ...]:
        from refiner.analysts.offline.judging import judge

        return judge(request)

    def merge(self, request: MergeRequest) -> tuple[Change, ...]:
        from refiner.analysts.offline.merging import merge_proposals

        return merge_proposals(request)
