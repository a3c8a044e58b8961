"""The gate's questions answered by counting. Causes are never judged here: only a measured contrast can say yes."""

from __future__ import annotations

from refiner import behaviours, feedback, merge
from refiner.analysts.offline.summary import quote_feedback, quote_span
from refiner.mining import RECURS_TASKS, subject_of
from refiner.ports import JudgeRequest, Labelled
from refiner.rendering import fold
from refiner.sides import side_of, tasks_of
from refiner.types import Answer, Citation, Criterion, SkillVersion

ENOUGH_PASSES = 4  # passing traces of the same tasks from which a rule's harm can be counted


def judge(request: JudgeRequest) -> tuple[Criterion, ...]:
    """Criteria occurs, causes, covered and harmful; `general` is counted elsewhere."""
    return _occurs(request), _causes(request), _covered(request), harmful(request)


def _occurs(request: JudgeRequest) -> Criterion:
    witnesses = [quote for item in request.traces for quote in _witness(request, item) if quote.verified]
    traces = len({quote.trace_id for quote in witnesses})
    answer: Answer = "yes" if traces >= RECURS_TASKS else "unknown" if traces else "no"
    return Criterion("occurs", answer, f"{traces} traces with a verified witness", "counted", tuple(witnesses[:5]))


def _witness(request: JudgeRequest, item: Labelled) -> tuple[Citation, ...]:
    proposal = request.proposal
    if side_of(item) != proposal.side:
        return ()
    if proposal.behaviour is None:
        return quote_feedback(item, _classes(item, proposal.feedback_class))[:1]
    predicate = behaviours.parse(proposal.behaviour)
    ordinal = predicate.witness(item.trace) if predicate.holds(item.trace) else None
    return () if ordinal is None else (quote_span(item.trace, ordinal),)


def _classes(item: Labelled, subject: str | None) -> tuple[str, ...]:
    names = feedback.classes(item.outcome.feedback or "")
    return tuple(name for name in names if subject_of(name) == subject)


def _causes(request: JudgeRequest) -> Criterion:
    reason = "the offline analyst counts; it does not judge causes"
    return Criterion("causes", "unknown", reason, "not asked")


def _covered(request: JudgeRequest) -> Criterion:
    proposal = request.proposal
    rule = proposal.edits[0].new.strip().removeprefix("- ") if proposal.edits else proposal.suggested_edit
    line = _repeated(request.skill, rule) or merge.covered(request.skill, rule, _terms(request))
    if line is None:
        return Criterion("covered", "no", "no line of the skill states the rule", "counted")
    return Criterion("covered", "yes", f"the skill already says: {line.strip()}", "counted")


def _repeated(skill: SkillVersion, rule: str) -> str | None:
    """The line of the skill's main file that is the rule, word for word."""
    lines = skill.files[skill.main].decode("utf-8", "replace").splitlines()
    return next((line for line in lines if fold(line).lstrip("-*+ ") == fold(rule)), None)


def _terms(request: JudgeRequest) -> frozenset[str]:
    behaviour = request.proposal.behaviour
    if behaviour is not None:
        return behaviours.phrase(behaviour).terms
    return _subject_terms(request.proposal.feedback_class or "")


def _subject_terms(subject: str) -> frozenset[str]:
    """A line covers a rule about feedback only when it names the action, and what to check of it."""
    kind, _, rest = subject.partition(" ")
    if kind == "when":
        return behaviours.terms(rest) | {"check", "condition"}
    if kind == "wrong":
        action, _, argument = rest.partition(".")
        return behaviours.terms(action) | behaviours.terms(argument) | {"request"}
    return frozenset()


def harmful(request: JudgeRequest) -> Criterion:
    """In tasks where a failing trace shows the behaviour: do most of at least 4 passing traces show it as well?"""
    if request.proposal.behaviour is None:
        return Criterion("harmful", "unknown", "no behaviour to look for in passing traces", "not asked")
    predicate = behaviours.parse(request.proposal.behaviour)
    reverse = request.proposal.side == "success"
    shown = [item for item in request.traces if predicate.holds(item.trace) is not None]
    breaks = [item for item in shown if predicate.holds(item.trace) != reverse]
    tasks = tasks_of([item for item in breaks if item.outcome.status == "fail"])
    passing = [item for item in shown if item.outcome.status == "pass" and item.trace.task_id in tasks]
    broken = sum(item in breaks for item in passing)
    return _harm(broken, len(passing))


def _harm(broken: int, passing: int) -> Criterion:
    reason = f"{broken} of {passing} passing runs of the same tasks break the rule"
    if passing < ENOUGH_PASSES:
        return Criterion("harmful", "unknown", f"{reason}; it takes {ENOUGH_PASSES} to tell", "counted")
    return Criterion("harmful", "yes" if 2 * broken > passing else "no", reason, "counted")
