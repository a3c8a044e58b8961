"""Counts and answers combined into one verdict. Counting rules; an analyst answers only what it leaves open.

Pure: no traces are read, nothing is asked, nothing is measured here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Literal

from refiner.ports import Ruling
from refiner.types import Answer, Contrast, Criterion, Proposal, Result, Verdict

Name = Literal["occurs", "causes", "general", "covered", "harmful"]
ENOUGH_TASKS = 3
"""Distinct tasks that make a behaviour general, and that citations must come from for a judged cause."""

_WANTED = ("occurs", "causes", "general")
_RECURS = "recurs in the evaluator's feedback"


def combine(
    proposal: Proposal,
    ruling: Ruling,
    answers: Mapping[str, Criterion],
    *,
    gate_q: float,
    analyst: str = "offline",
    votes: int = 1,
    task_of: Mapping[str, str] | None = None,
    few: bool = False,
) -> Verdict:
    """The verdict on one proposal.

    `answers` = the analyst's criteria by name; what is missing counts as not asked. `task_of` maps trace ids to tasks:
    without it citations cannot be counted by task, so a judged cause stays unknown. A contrast is stated in the
    direction that the proposal claims (for the success side: the negation goes with failure). `few`: what a user said
    in too few attempts to count by; then fewer tasks than it takes leave open whether something is general.
    """
    criteria = (
        _occurs(ruling, _checked(answers, "occurs")),
        _causes(ruling.contrast, _checked(answers, "causes"), gate_q, task_of or {}),
        _general(ruling.tasks, few),
        _checked(answers, "covered"),
        _checked(answers, "harmful"),
    )
    result = _result(criteria)
    words = _words(proposal, ruling, criteria, result, "said by the user" if few else _RECURS)
    return Verdict(proposal.key, result, criteria, words, analyst, votes, ruling.tasks, ruling.traces, ruling.contrast)


def published(proposal: Proposal, ruling: Ruling, answers: Mapping[str, Criterion], *, analyst: str) -> Verdict:
    """The published form: one answer to one question, `{supported, reason}`, given as the criterion `causes`.

    Nothing is counted against it; without an answer the verdict is undecided.
    """
    names: tuple[Name, ...] = ("occurs", "causes", "general", "covered", "harmful")
    blank = {name: Criterion(name, "unknown", "not asked", "not asked") for name in names}
    answer = answers.get("causes", blank["causes"])
    criteria = tuple({**blank, "causes": answer}.values())
    results: dict[Answer, Result] = {"yes": "supported", "no": "unsupported", "unknown": "undecided"}
    return Verdict(
        proposal.key,
        results[answer.answer],
        criteria,
        answer.reason,
        analyst,
        1,
        ruling.tasks,
        ruling.traces,
        ruling.contrast,
    )


def _checked(answers: Mapping[str, Criterion], name: Name) -> Criterion:
    """An answer as far as it can be trusted: one whose citations all fail to verify says nothing."""
    criterion = answers.get(name)
    if criterion is None:
        return Criterion(name, "unknown", "not asked", "not asked")
    if criterion.answer != "unknown" and criterion.citations and not any(one.verified for one in criterion.citations):
        return replace(criterion, answer="unknown", reason=f"none of its quotes could be verified: {criterion.reason}")
    return criterion


def _occurs(ruling: Ruling, answer: Criterion) -> Criterion:
    if ruling.traces == 0:
        return Criterion("occurs", "no", "no training trace of this side shows it", "counted")
    return answer


def _general(tasks: int, few: bool) -> Criterion:
    is_open = tasks == ENOUGH_TASKS - 1 or (few and tasks > 0)
    answer: Answer = "yes" if tasks >= ENOUGH_TASKS else "unknown" if is_open else "no"
    return Criterion("general", answer, f"{tasks} distinct {'task' if tasks == 1 else 'tasks'}", "counted")


def _causes(contrast: Contrast | None, answer: Criterion, gate_q: float, task_of: Mapping[str, str]) -> Criterion:
    measured = _measured(contrast, gate_q)
    if contrast is not None and measured != "unknown":
        return Criterion("causes", measured, contrast.words, "measured")
    if answer.answer == "unknown" or answer.source in ("counted", "not asked"):
        return replace(answer, answer="unknown")
    cited = {task_of[one.trace_id] for one in answer.citations if one.verified and one.trace_id in task_of}
    if len(cited) < ENOUGH_TASKS:
        reason = f"judged from {len(cited)} of the {ENOUGH_TASKS} tasks it takes: {answer.reason}"
        return replace(answer, answer="unknown", reason=reason, source="judged")
    return replace(answer, reason=f"judged, not measured: {answer.reason}", source="judged")


def _measured(contrast: Contrast | None, gate_q: float) -> Answer:
    """What counting says; a yes of the table is taken again at `gate_q` (a composite takes it from its atoms)."""
    if contrast is None:
        return "unknown"
    if contrast.causes == "yes" and not contrast.exploratory and (contrast.q is None or contrast.q > gate_q):
        return "unknown"
    return contrast.causes


def _result(criteria: tuple[Criterion, ...]) -> Result:
    answers = {criterion.name: criterion.answer for criterion in criteria}
    wanted = [answer for name, answer in answers.items() if name in _WANTED]
    unwanted = [answer for name, answer in answers.items() if name not in _WANTED]
    if "no" in wanted or "yes" in unwanted:
        return "unsupported"
    return "supported" if set(wanted) == {"yes"} else "undecided"


def _words(
    proposal: Proposal, ruling: Ruling, criteria: tuple[Criterion, ...], result: Result, said: str = _RECURS
) -> str:
    evidence = _evidence(proposal, ruling, said)
    causes, general = criteria[1], criteria[2]
    if result == "unsupported":
        against = [one for one in criteria if one.answer == ("no" if one.name in _WANTED else "yes")]
        told = [one for one in against if one.source != "measured"]  # what was measured is the evidence itself
        return "; ".join([*(f"{one.name}: {one.reason}" for one in told), evidence])
    if general.answer != "yes":
        return f"{evidence}; {general.reason}, it takes {ENOUGH_TASKS}"
    return f"{evidence}; {causes.reason}" if causes.source == "judged" else evidence


def _evidence(proposal: Proposal, ruling: Ruling, said: str) -> str:
    if ruling.contrast is not None:
        return ruling.contrast.words
    counts = f"{_count(ruling.traces, 'trace')}, {_count(ruling.tasks, 'task')}"
    if proposal.feedback_class is not None or said != _RECURS:
        return f"{said}: {counts}"
    return f"not measured; cited: {counts}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
