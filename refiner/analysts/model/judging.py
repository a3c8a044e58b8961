"""The gate's questions put to a model, and what of its answers can be believed. Counting happens elsewhere."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from refiner import behaviours, prompts
from refiner.analysts.model import contrasting, skilltext
from refiner.analysts.model.budgets import head_and_tail, packed, room, shown, tokens
from refiner.analysts.model.calling import SYSTEM, Caller, Question, together
from refiner.analysts.model.citations import check
from refiner.analysts.model.settings import Settings
from refiner.analysts.offline.judging import harmful
from refiner.errors import BadReply
from refiner.gate.verdict import ENOUGH_TASKS, Name
from refiner.ports import JudgeRequest, Labelled
from refiner.rendering import locate
from refiner.sides import side_of
from refiner.types import Answer, Citation, Criterion, Proposal

STAGE = "gate"
SKILL = "skill"
"""What a quote from the skill names as its trace."""
ASKED: tuple[Name, ...] = ("occurs", "causes", "covered", "harmful")
_EVIDENCE_SPAN = 800  # signs of an input or output in the evidence
_MOST_RUNS = 16
_A_RUN = 1_200  # tokens of one run in the evidence
_SKILL = 0.4


def judge(caller: Caller, settings: Settings, request: JudgeRequest) -> tuple[Criterion, ...]:
    """The criteria that are asked of a model; what it cannot be asked or cannot answer is unknown."""
    if not settings.published_gate and (settled := _settled(request)) is not None:
        return _all_unknown(f"not asked: {settled}")
    try:
        if settings.published_gate:
            return (_published(caller, settings, request),)
        return _four(caller, settings, request)
    except BadReply as error:
        return _all_unknown(f"no usable answer: {error}")


def _settled(request: JudgeRequest) -> str | None:
    """Why no answer could change the verdict."""
    ruling = request.ruling
    if not ruling.traces:
        return "no training trace shows it"
    if ruling.tasks < ENOUGH_TASKS - 1:
        return "a single task shows it"
    return "its causes are refuted by counting" if ruling.contrast and ruling.contrast.causes == "no" else None


def _all_unknown(reason: str) -> tuple[Criterion, ...]:
    return tuple(Criterion(name, "unknown", reason, "not asked") for name in ASKED)


def _four(caller: Caller, settings: Settings, request: JudgeRequest) -> tuple[Criterion, ...]:
    runs = _runs(request)
    asked: list[Callable[[], Any]] = [
        lambda vote=vote: _vote(caller, settings, request, runs, vote)  # type: ignore[misc]
        for vote in range(settings.votes)
    ]
    answers = together([*asked, *contrasting.questions(caller, settings, request)])
    votes, seen = answers[: settings.votes], answers[settings.votes :]
    found = [_majority([vote[place] for vote in votes]) for place in range(len(ASKED))]
    if request.sample:
        contrast = contrasting.judged(seen, request.sample, request.proposal.side)
        found = [contrasting.weighed(one, contrast, settings.gate_q) if one.name == "causes" else one for one in found]
    counted = harmful(request)
    return tuple(counted if one.name == "harmful" and counted.answer == "yes" else one for one in found)


def _vote(
    caller: Caller, settings: Settings, request: JudgeRequest, runs: Sequence[Labelled], vote: int
) -> tuple[Criterion, ...]:
    """One judgement. A further vote sees the runs in another order, so that none leans on what came first."""
    turned = [*runs[vote:], *runs[:vote]] if vote < len(runs) else list(runs)
    values, skill = _values(caller, settings, request, turned, "judge")
    label = request.proposal.theme + (f" (vote {vote + 1} of {settings.votes})" if settings.votes > 1 else "")
    question = Question(
        STAGE, label, "judge", values, settings.gate_model, _heat(settings), vote=vote + settings.again * settings.votes
    )
    reply = caller.ask(question)
    return tuple(_criterion(caller, settings, name, reply[name], turned, skill) for name in ASKED)


def _heat(settings: Settings) -> float:
    return 0.0 if settings.votes == 1 else 0.7


def _criterion(
    caller: Caller, settings: Settings, name: Name, said: dict[str, Any], runs: Sequence[Labelled], skill: str
) -> Criterion:
    answer: Answer = said["answer"]
    reason = " ".join(said["reason"].split())
    of_skill = [one for one in said["citations"] if one["trace_id"].strip().lower() == SKILL]
    of_runs = [one for one in said["citations"] if one not in of_skill]
    checked = check(of_runs, _names(caller, runs), caller.redactor, strict=settings.check_quotes)
    caller.tally.add(quotes_verified=len(checked.kept), quotes_dropped=checked.dropped)
    if answer != "unknown" and of_runs and not any(one.verified for one in checked.kept):
        return Criterion(name, "unknown", f"none of its quotes could be verified: {reason}", "judged")
    if answer == "yes" and name == "covered":
        lines = [one["quote"] for one in of_skill if locate(one["quote"], skill)]
        if not lines:
            return Criterion(name, "unknown", f"yes, but it names no line of the skill: {reason}", "judged")
        return Criterion(name, "yes", f"the skill already says: {' '.join(lines[0].split())}", "judged")
    if answer == "yes" and not checked.kept:
        return Criterion(name, "unknown", f"yes, but without a quote that shows it: {reason}", "judged")
    return Criterion(name, answer, reason, "judged", checked.kept)


def _majority(votes: Sequence[Criterion]) -> Criterion:
    """The answer that more than half of the votes give, with all quotes of those votes; else unknown."""
    answer, count = Counter(vote.answer for vote in votes).most_common(1)[0]
    if 2 * count <= len(votes):
        reasons = "; ".join(f"{vote.answer}: {vote.reason}" for vote in votes)
        return Criterion(votes[0].name, "unknown", f"the votes differ ({reasons})", "judged")
    agreeing = [vote for vote in votes if vote.answer == answer]
    quotes: dict[Citation, None] = {quote: None for vote in agreeing for quote in vote.citations}
    tail = f" ({count} of {len(votes)} votes)" if len(votes) > 1 else ""
    return Criterion(votes[0].name, answer, agreeing[0].reason + tail, "judged", tuple(quotes))


def _published(caller: Caller, settings: Settings, request: JudgeRequest) -> Criterion:
    """The one question of the publication: is the proposal supported by what these runs show?"""
    values, _ = _values(caller, settings, request, _runs(request), "verify")
    del values["counts"]
    question = Question(STAGE, request.proposal.theme, "verify", values, settings.gate_model, vote=settings.again)
    reply = caller.ask(question)
    return Criterion("causes", "yes" if reply["supported"] else "no", " ".join(reply["reason"].split()), "judged")


def _values(
    caller: Caller, settings: Settings, request: JudgeRequest, runs: Sequence[Labelled], prompt: str
) -> tuple[dict[str, str], str]:
    """The prompt's inputs, and the skill as it is shown."""
    most = room(settings.window, prompts.load(SYSTEM).text, prompts.load(prompt).text)
    skill = skilltext.show(request.skill, caller.redactor, int(most * _SKILL)).text
    values = {
        "claim": _claim(request.proposal),
        "proposal": _described(request.proposal),
        "counts": _counts(request),
        "skill": skill,
    }
    most -= sum(map(tokens, values.values()))
    told = [head_and_tail(_told(caller, request.proposal, item), _A_RUN) for item in runs]
    return {**values, "evidence": "\n\n".join(packed(told, max(most, 500)))}, skill


def _claim(proposal: Proposal) -> str:
    outcome = "failure" if proposal.side == "failure" else "success"
    if proposal.behaviour is None:
        return f"{proposal.theme} (goes with {outcome})"
    return f"{behaviours.phrase(proposal.behaviour).occurs} (goes with {outcome})"


def _described(proposal: Proposal) -> str:
    lines = [f"theme: {proposal.theme}", f"edit: {proposal.suggested_edit}", f"reasons: {proposal.rationale}"]
    lines += [f"behaviour: {proposal.behaviour}"] if proposal.behaviour else []
    for edit in proposal.edits:
        lines.append(f"{edit.op} in {edit.path}, section {' > '.join(edit.section) or '(opening)'}")
        lines += [f"  old: {edit.old}"] if edit.old else []
        lines += [f"  new: {edit.new}"] if edit.new else []
    return "\n".join(lines)


def _counts(request: JudgeRequest) -> str:
    ruling = request.ruling
    shown = f"{ruling.traces} runs of {ruling.tasks} tasks of this outcome show it"
    return f"{shown}; {ruling.contrast.words}" if ruling.contrast else f"{shown}; not measured against other runs"


def _runs(request: JudgeRequest) -> list[Labelled]:
    """Cited runs first, then others of the proposal's side, then of the other; of each kind one a task first."""
    cited = {one.trace_id for one in request.proposal.citations}
    seen: Counter[tuple[int, str]] = Counter()
    ranked = []
    for item in request.traces:
        kind = 0 if item.trace.id in cited else 1 if side_of(item) == request.proposal.side else 2
        ranked.append((seen[kind, item.trace.task_id], kind, item))
        seen[kind, item.trace.task_id] += 1
    return [item for _, _, item in sorted(ranked, key=lambda one: one[:2])][:_MOST_RUNS]


def _names(caller: Caller, runs: Sequence[Labelled]) -> dict[str, Labelled]:
    named = {item.trace.external_id: item for item in runs}
    return named | {caller.redactor(name): item for name, item in named.items()}


def _told(caller: Caller, proposal: Proposal, item: Labelled) -> str:
    """A run by the spans that matter: cited ones and the witness with their neighbours, and how it ended.

    Where none is known to matter, all of them.
    """
    spans = item.trace.spans
    wanted = {one.ordinal for one in proposal.citations if one.trace_id == item.trace.id and one.ordinal >= 0}
    witness = behaviours.parse(proposal.behaviour).witness(item.trace) if proposal.behaviour else None
    wanted |= set() if witness is None else {witness}
    near = {ordinal + step for ordinal in wanted for step in (-1, 1)} | {len(spans) - 1}
    told = [span for span in spans if span.role != "system" and (not wanted or span.ordinal in near)]
    ordinals = sorted(wanted | {span.ordinal for span in told})
    outcome = "failed" if side_of(item) == "failure" else "passed"
    lines = [
        f"## {item.trace.external_id} (task {item.trace.task_id}, {outcome})",
        f"request: {caller.redactor(item.trace.task)[:400]}",
    ]
    lines += [shown(spans[ordinal], caller.redactor, _EVIDENCE_SPAN) for ordinal in ordinals]
    said = caller.redactor(item.outcome.feedback or "")[:1_000]
    lines += [f"[feedback]\n{said}"] if said else []
    return "\n".join(lines)
