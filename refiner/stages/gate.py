"""Stage: the evidence gate. Counts rule where they can; the analyst answers only what they leave open."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from refiner import behaviours
from refiner.conditions import breakers_elsewhere
from refiner.gate import contrast as measured
from refiner.gate import verdict
from refiner.gate.sample import equal_sample
from refiner.ids import content_key
from refiner.mining import classes_of, subject_of
from refiner.ports import JudgeRequest, Labelled, Records, Ruling, Tools
from refiner.sides import SIDES, side_of, tasks_of
from refiner.types import Contrast, ContrastTable, Criterion, Proposal, Side, Step, Verdict


@dataclass(frozen=True, slots=True)
class Gate:
    """Yields one `Verdict` a proposal of the gated sides, in the order of the proposals.

    `published`: the analyst answers one question, and its answer is the verdict. `judged_contrast`: what the answers of
    a judged contrast depend on; proposals whose contrast cannot be measured get a sample for it. Empty: none is judged.
    """

    analyst: str
    sides: tuple[Side, ...] = SIDES
    gate_q: float = 0.05
    votes: int = 1
    published: bool = False
    judged_contrast: str = ""
    few: bool = False
    name: str = "gate"
    version: int = 1

    def steps(self, records: Records) -> Iterable[Step]:
        items = records.labelled()
        table: ContrastTable = records.produced("contrast")[0]
        for proposal in (one for one in records.produced("fold") if isinstance(one, Proposal)):
            if proposal.side in self.sides:
                sample = equal_sample(items) if self.judged_contrast and proposal.behaviour is None else ()
                request = JudgeRequest(proposal, *_case(proposal, items, table), records.skill(), sample)
                seen = [(item.trace.id, item.trace.revision, item.outcome.key) for item in (*request.traces, *sample)]
                parts = (
                    proposal.key,
                    request.ruling,
                    seen,
                    request.skill.key,
                    *([self.judged_contrast] if sample else ()),
                    *(["few"] if self.few else ()),
                )
                key = content_key(self.name, self.version, self.analyst, self.gate_q, *parts)
                yield Step(self.name, proposal.theme, key, request)

    def run(self, step: Step, tools: Tools) -> tuple[Any, ...]:
        request = cast(JudgeRequest, step.payload)
        return (self.ruled(request, tools.analyst.judge(request), tools.analyst.name),)

    def ruled(self, request: JudgeRequest, given: Sequence[Criterion], analyst: str) -> Verdict:
        """The verdict that follows from an analyst's answers and the counts."""
        answers: dict[str, Criterion] = {answer.name: answer for answer in given}
        if self.published:
            return verdict.published(request.proposal, request.ruling, answers, analyst=analyst)
        tasks = {item.trace.id: item.trace.task_id for item in request.traces}
        return verdict.combine(
            request.proposal,
            request.ruling,
            answers,
            gate_q=self.gate_q,
            analyst=analyst,
            votes=self.votes,
            task_of=tasks,
            few=self.few,
        )


def _case(proposal: Proposal, items: Sequence[Labelled], table: ContrastTable) -> tuple[Ruling, tuple[Labelled, ...]]:
    """The ruling by counting, and the traces it can be checked on."""
    if proposal.behaviour is None and proposal.feedback_class is None:
        return _cited(proposal, items)
    if proposal.behaviour is None:
        shown = [item for item in items if proposal.feedback_class in [subject_of(name) for name in classes_of(item)]]
        own = [item for item in shown if side_of(item) == proposal.side]
        return Ruling(None, len(tasks_of(own)), len(own)), tuple(shown)
    predicate = behaviours.parse(proposal.behaviour)
    shown = [item for item in items if predicate.holds(item.trace)]
    own = [item for item in shown if side_of(item) == proposal.side]
    failing = tasks_of([item for item in shown if item.outcome.status == "fail"])
    traces = [item for item in items if item.trace.task_id in failing or item in shown]
    contrast = _conditional(proposal, measured.of(proposal.behaviour, items, table, side=proposal.side), items)
    return Ruling(contrast, len(tasks_of(own)), len(own)), tuple(traces)


def _cited(proposal: Proposal, items: Sequence[Labelled]) -> tuple[Ruling, tuple[Labelled, ...]]:
    """Without anything to look for, what its verified quotes name counts, and is seen beside runs of the same tasks."""
    named = {one.trace_id for one in proposal.citations if one.verified}
    own = [item for item in items if item.trace.id in named and side_of(item) == proposal.side]
    tasks = tasks_of(own)
    return Ruling(None, len(tasks), len(own)), tuple(item for item in items if item.trace.task_id in tasks)


def _conditional(proposal: Proposal, contrast: Contrast, items: Sequence[Labelled]) -> Contrast:
    """A cause that does no harm elsewhere must name its condition; without one counting cannot say yes."""
    if contrast.causes != "yes" or proposal.condition or not breakers_elsewhere(items, contrast.predicate):
        return contrast
    words = f"{contrast.words}; harmless in other tasks, and no word of the requests tells them apart"
    return replace(contrast, causes="unknown", words=words)
