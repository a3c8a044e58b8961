"""Stage: what recurs over the corpus but tops no cluster becomes a proposal of its own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, cast

from refiner.briefing import Briefing, brief
from refiner.ids import content_key
from refiner.mining import fault_of
from refiner.ports import Focus, Labelled, ProposalRequest, Records, Tools
from refiner.sides import SIDES, Identity, identity_of, of_side, tasks_of
from refiner.types import Cluster, Contrast, Proposal, Side, Step


@dataclass(frozen=True, slots=True)
class Recur:
    """Yields a proposal of kind recurrence for each fact and each recurring feedback subject that no cluster carries.

    A side with fewer than `min_side` traces is off. Facts are filed on the failure side, on the success side only when
    the failure side is off; `facts` false leaves them to nobody.
    """

    analyst: Identity
    sides: tuple[Side, ...] = SIDES
    facts: bool = True
    min_side: int = 4
    name: str = "recur"
    version: int = 1

    def steps(self, records: Records) -> Iterable[Step]:
        carried = [one for one in records.produced("propose") if isinstance(one, Proposal) and not one.failed]
        return self._steps(brief(records), carried)

    def ahead(self, records: Records) -> Iterable[Step]:
        """Every step that there can be, while it is not known yet what the clusters carry."""
        return self._steps(brief(records), ())

    def _steps(self, briefing: Briefing, carried: Sequence[Proposal]) -> Iterable[Step]:
        facts = self._facts(briefing, carried) if self.facts else ()
        for group, focus in [*facts, *self._feedback(briefing, carried)]:
            request = briefing.request(group, focus)
            key = content_key(self.name, self.version, identity_of(self.analyst, group.side), briefing.key(request))
            yield Step(self.name, focus.name, key, request)

    def run(self, step: Step, tools: Tools) -> tuple[Any, ...]:
        return (tools.analyst.propose(cast(ProposalRequest, step.payload)),)

    def _facts(self, briefing: Briefing, carried: Sequence[Proposal]) -> Iterable[tuple[Cluster, Focus]]:
        known = {fault_of(one) for one in carried}
        side: Side = "failure" if self._is_on(briefing, "failure") else "success"
        if not self._is_on(briefing, side):
            return
        for contrast in (one for one in briefing.table.contrasts if one.is_fact and one.predicate not in known):
            items = _showing(briefing, contrast, side)
            if items:
                yield _group(side, contrast.predicate, items), Focus("fact", contrast.predicate)

    def _feedback(self, briefing: Briefing, carried: Sequence[Proposal]) -> Iterable[tuple[Cluster, Focus]]:
        known = {one.feedback_class for one in carried}
        if not self._is_on(briefing, "failure"):
            return
        for subject in (one for one in briefing.subjects if one.name not in known):
            yield _group("failure", subject.name, subject.items), subject.focus

    def _is_on(self, briefing: Briefing, side: Side) -> bool:
        return side in self.sides and len(of_side(briefing.items, side)) >= self.min_side


def _showing(briefing: Briefing, contrast: Contrast, side: Side) -> list[Labelled]:
    """Failing traces with the behaviour, or passing ones without it."""
    holds, applies = set(contrast.holds), set(contrast.applies)
    wanted = holds if side == "failure" else applies - holds
    status = "fail" if side == "failure" else "pass"
    return [item for item in briefing.items if item.trace.id in wanted and item.outcome.status == status]


def _group(side: Side, label: str, items: Sequence[Labelled]) -> Cluster:
    ids = tuple(item.trace.id for item in items)
    ones = tuple(1.0 for _ in ids)
    return Cluster(side, "recurrence", label, ids, ones, ids[0], (), len(tasks_of(items)))
