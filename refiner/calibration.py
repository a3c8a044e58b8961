"""The gate measured on itself: does it say the same again, and does it tell planted faults from other habits?

Asks the gate's own questions through the gate's own stage; keeps nothing and decides nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from refiner import behaviours, skills
from refiner.analysts.offline.summary import quote_span
from refiner.engine import waiting_for
from refiner.gate.contrast import measure
from refiner.gate.facts import SAME_SET
from refiner.ids import text_key, unit_hash
from refiner.ports import Done, Executor, JudgeRequest, Labelled, Records, Tools
from refiner.stages.gate import Gate
from refiner.types import (
    Calibration,
    ContrastTable,
    Criterion,
    Edit,
    Flips,
    Proposal,
    SkillVersion,
    Spotted,
    Step,
    Verdict,
)

MOST = 20
"""Proposals that are asked about again at most."""
ASKED = ("occurs", "causes", "covered", "harmful")
_QUOTES = 8
Again = Callable[[int], Tools]
"""Tools whose analyst asks the gate's questions as if they had been asked so often before."""
Work = Callable[[Step, Tools], tuple[Any, ...]]
Heard = Callable[[int, int], None]
"""Told of (questions that will be asked, questions that were asked) more. What it raises ends the measurement."""


def quiet(more: int, done: int) -> None:
    """Nobody watches."""


@dataclass(frozen=True, slots=True)
class Bench:
    """A gate, who answers it, and how its steps are run."""

    gate: Gate
    again: Again
    executor: Executor
    heard: Heard = quiet

    def run(self, work: Work, steps: Sequence[Step], turn: int) -> list[Done]:
        """What became of each step, in the order in which they ended."""
        ended = []
        for one in self.executor.map(work, steps, self.again(turn)):
            ended.append(one)
            self.heard(0, 1)
        return ended


def calibrate(
    bench: Bench, records: Records, verdicts: Sequence[Verdict], *, most: int = MOST, repeats: int = 1
) -> Calibration:
    """Asks up to `most` of the judged proposals `repeats` times again and once with their runs shuffled.

    `verdicts` are those of the refinement. What counting settles is never asked, and cannot flip. Raises
    WaitingForReplies while replies are open, and what a transport raises.
    """
    first = {one.proposal_id: one for one in verdicts}
    steps = [step for step in bench.gate.steps(records) if _proposal(step).key in first]
    judged = [step for step in steps if _was_asked(first[_proposal(step).key])]
    analyst = bench.again(0).analyst
    if analyst.deterministic:
        nothing = Flips(0, 0, {})
        return Calibration(analyst.name, "", 1, "", True, 0, len(steps), 0, nothing, nothing)
    chosen = sorted(judged, key=lambda step: (unit_hash(f"calibrate {_said(step)}"), _said(step)))[:most]
    plan = [(0, [_turned(step) for step in chosen]), *((turn, chosen) for turn in range(1, repeats + 1))]
    came = _all(bench, plan)
    shuffled = _flips(first, came[0])
    identical = _flips(first, [pair for found in came[1:] for pair in found])
    failed = sum(len(asked) for _, asked in plan) - sum(len(found) for found in came)
    found = (len(chosen), len(steps) - len(judged), failed, identical, shuffled)
    return Calibration(analyst.name, "", bench.gate.votes, "", False, *found)


Pair = tuple[Proposal, Verdict]


def _all(bench: Bench, plan: Sequence[tuple[int, Sequence[Step]]]) -> list[list[Pair]]:
    """The verdicts of every round; all rounds are asked before anything is waited for."""
    waiting, rounds = [], []
    bench.heard(sum(len(steps) for _, steps in plan), 0)
    for turn, steps in plan:
        by_key = {step.key: step for step in steps}
        came = bench.run(bench.gate.run, list(by_key.values()), turn)
        waiting += [one for one in came if one.waiting_in]
        pairs = {one.step.key: (_proposal(one.step), one.records[0]) for one in came if one.records}
        rounds.append([pairs[key] for key in by_key if key in pairs])
    if waiting:
        raise waiting_for(waiting)
    return rounds


def _flips(first: Mapping[str, Verdict], again: Sequence[Pair]) -> Flips:
    counts: Counter[str] = Counter()
    flipped = 0
    for proposal, verdict in again:
        known = first[proposal.key]
        flipped += known.result != verdict.result
        counts.update(name for name in ASKED if known.criterion(name).answer != verdict.criterion(name).answer)
    return Flips(len(again), flipped, {name: counts[name] for name in ASKED})


def _proposal(step: Step) -> Proposal:
    return cast(JudgeRequest, step.payload).proposal


def _said(step: Step) -> str:
    """What names a proposal whatever its corpus is called."""
    one = _proposal(step)
    return " ".join((one.side, one.theme, one.behaviour or "", one.suggested_edit))


def _was_asked(verdict: Verdict) -> bool:
    return any(one.source == "judged" for one in verdict.criteria) or verdict.criterion("covered").source != "not asked"


def _turned(step: Step) -> Step:
    """The same question with its runs shuffled, the same way every time: which are shown, in what order."""
    request = cast(JudgeRequest, step.payload)
    order = sorted(
        request.traces, key=lambda item: (unit_hash(f"turn {item.trace.external_id}"), item.trace.external_id)
    )
    return replace(step, key=text_key("turned", step.key), payload=replace(request, traces=tuple(order)))


@dataclass(frozen=True, slots=True)
class Claim:
    """One proposal about a behaviour, and whether that behaviour was planted."""

    proposal: Proposal
    is_true: bool


def spot(
    bench: Bench, items: Sequence[Labelled], skill: SkillVersion, truth: Mapping[str, Any]
) -> tuple[Spotted, Spotted]:
    """How the gate, and the model's answers alone, tell planted faults from as many other recurring behaviours.

    `truth`: `{"faults": [{"predicate"}], "stated": {"predicate"}}`. Raises WaitingForReplies while replies are open.
    """
    table = measure(items, gate_q=bench.gate.gate_q)
    claims = claims_of(items, skill, table, truth)
    given = Given(tuple(items), skill, table, tuple(one.proposal for one in claims))
    steps = list(bench.gate.steps(given))
    bench.heard(len(steps), 0)
    came = bench.run(_answers, steps, 0)
    if waiting := [one for one in came if one.waiting_in]:
        raise waiting_for(waiting)
    is_true = {one.proposal.key: one.is_true for one in claims}
    analyst = bench.again(0).analyst.name
    gated, alone = [], []
    for one in came:
        request = cast(JudgeRequest, one.step.payload)
        if one.error is None:
            truly = is_true[request.proposal.key]
            gated.append((truly, bench.gate.ruled(request, one.records, analyst).result == "supported"))
            alone.append((truly, _says_yes(one.records)))
    return _spotted(gated), _spotted(alone)


def _answers(step: Step, tools: Tools) -> tuple[Criterion, ...]:
    return tools.analyst.judge(cast(JudgeRequest, step.payload))


def _says_yes(answers: Sequence[Criterion]) -> bool:
    told = {one.name: one.answer for one in answers}
    wanted = told.get("causes") == "yes" and told.get("occurs", "yes") == "yes"
    return wanted and "yes" not in (told.get("covered"), told.get("harmful"))


def _spotted(told: Sequence[tuple[bool, bool]]) -> Spotted:
    true, other = [said for truly, said in told if truly], [said for truly, said in told if not truly]
    return Spotted(len(true), sum(true), len(other), sum(other))


def claims_of(
    items: Sequence[Labelled], skill: SkillVersion, table: ContrastTable, truth: Mapping[str, Any]
) -> list[Claim]:
    """A claim for each planted fault, and as many about recurring behaviours that nobody planted."""
    planted = [one["predicate"] for one in truth["faults"]]
    known = [_holding(one, items) for one in (*planted, truth["stated"]["predicate"])]
    others = [
        one.predicate
        for one in table.contrasts
        if one.causes != "yes" and one.explained_by is None and one.tasks_with >= 3
        and not any(_alike(frozenset(one.holds), holds) for holds in known)
    ]  # fmt: skip
    decoys = sorted(others, key=lambda one: (unit_hash(f"decoy {one}"), one))[: len(planted)]
    said = [(one, True) for one in planted] + [(one, False) for one in decoys]
    return [Claim(_claimed(predicate, items, skill), truly) for predicate, truly in said]


def _holding(predicate: str, items: Sequence[Labelled]) -> frozenset[str]:
    parsed = behaviours.parse(predicate)
    return frozenset(item.trace.id for item in items if parsed.holds(item.trace))


def _alike(one: frozenset[str], other: frozenset[str]) -> bool:
    return len(one & other) >= SAME_SET * len(one | other)


def _claimed(predicate: str, items: Sequence[Labelled], skill: SkillVersion) -> Proposal:
    """A proposal as a cluster would make it: the rule in words, and quotes of failing runs that show the behaviour."""
    parsed, words = behaviours.parse(predicate), behaviours.phrase(predicate)
    shown = [item for item in items if item.outcome.status == "fail" and parsed.holds(item.trace)]
    places = [(item.trace, parsed.witness(item.trace)) for item in shown[:_QUOTES]]
    quotes = tuple(quote_span(trace, at) for trace, at in places if at is not None)
    section = next((one.path for one in skills.sections(skill.files[skill.main]) if one.level > 0), ())
    edit = Edit(skill.main, "append_to_section", section, new=f"- {words.rule}")
    about = f"Failing runs {words.occurs}."
    return Proposal(
        "failure", "recurrence", (), words.occurs, words.rule, about, behaviour=predicate, section=section,
        edits=(edit,), citations=quotes,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Given:
    """What the gate reads of a refinement, as plain values."""

    items: tuple[Labelled, ...]
    base: SkillVersion
    table: ContrastTable
    proposals: tuple[Proposal, ...]

    def labelled(self) -> Sequence[Labelled]:
        return self.items

    def skill(self) -> SkillVersion:
        return self.base

    def produced(self, stage: str) -> Sequence[Any]:
        return (self.table,) if stage == "contrast" else self.proposals
