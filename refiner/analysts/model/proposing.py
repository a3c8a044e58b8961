"""One proposal from one group: what the model is shown of it, and what of its answer is kept. No verdicts here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from refiner import prompts
from refiner.analysts.model import skilltext
from refiner.analysts.model.budgets import packed, room, tokens
from refiner.analysts.model.calling import SYSTEM, Caller, Question
from refiner.analysts.model.citations import Checked, check
from refiner.analysts.model.predicates import Chosen, choose, offered
from refiner.analysts.model.settings import Settings
from refiner.mining import fault_of
from refiner.ports import Labelled, ProposalRequest
from refiner.types import Proposal, Summary

NONE = "none"
FREE = "free: choose what the group shares"
_SKILL, _WORDS, _CONTRAST = 0.4, 0.25, 0.25  # shares of the room; what is left goes to the members


def propose(caller: Caller, settings: Settings, request: ProposalRequest) -> Proposal:
    """The proposal for one group. Raises BadReply when no usable reply came."""
    side = request.group.side
    name = f"propose_{side}"
    most = room(settings.window, prompts.load(SYSTEM).text, prompts.load(name).text)
    skill = skilltext.show(request.skill, caller.redactor, int(most * _SKILL))
    vocabulary = "\n".join(packed(offered(request), int(most * _WORDS), share=1.0)) or NONE
    contrast = _contrast(settings, request, int(most * _CONTRAST))
    most -= sum(map(tokens, (skill.text, vocabulary, contrast)))
    values = {
        "skill": skill.text,
        "member_count": str(len(request.members)),
        "task_count": str(request.group.tasks),
        "focus": focus_words(request),
        "members": "\n\n".join(packed(_members(settings, request), max(most, 500))),
        "contrast": contrast or NONE,
        "vocabulary": vocabulary,
    }
    stage = "propose" if request.focus is None else "recur"
    reply = caller.ask(Question(stage, f"{side}: {request.group.label}", name, values, settings.model))
    known = {item.trace.external_id: item for item in request.members}
    known |= {caller.redactor(shown): item for shown, item in known.items()}
    checked = check(reply["citations"], known, caller.redactor, strict=settings.check_quotes)
    caller.tally.add(quotes_verified=len(checked.kept), quotes_dropped=checked.dropped)
    return _proposal(caller, request, reply, skill, checked)


def focus_words(request: ProposalRequest) -> str:
    """What a recurrence proposal must be about, with what was counted."""
    focus = request.focus
    if focus is None:
        return FREE
    if focus.kind == "correction":
        return f"this correction by a user: {focus.name}"
    if focus.kind == "feedback":
        passing = f"; the same is said of {focus.passing} passing runs" if focus.passing else ""
        return f"this complaint of the evaluator: {'; '.join(focus.classes) or focus.name}{passing}"
    measured = next((one.words for one in request.contrasts if one.predicate == focus.name), "")
    only = request.conditions.get(focus.name)
    limits = f"\nIt does harm only here, and the edit must name the condition: {only}" if only else ""
    return f"this behaviour, which goes with failure: {focus.name}\n{measured}{limits}"


def _members(settings: Settings, request: ProposalRequest) -> list[str]:
    summaries = {one.trace_id: one for one in request.summaries}
    members = list(request.members)
    if settings.members == "medoid then spread":
        members = spread(members, request.group.medoid, request.group.border)
    return [_told(item, summaries[item.trace.id]) for item in members if item.trace.id in summaries]


def spread(members: Sequence[Labelled], medoid: str, border: Sequence[str]) -> list[Labelled]:
    """The medoid, then one trace of each task not shown yet (those at the border first), then the rest."""
    rank = {trace_id: place for place, trace_id in enumerate((medoid, *border))}
    order = sorted(members, key=lambda item: (rank.get(item.trace.id, len(rank)), item.trace.external_id))
    first: dict[str, Labelled] = {}
    for item in order:
        first.setdefault(item.trace.task_id, item)
    leading = list(first.values())
    return [*leading, *(item for item in order if first[item.trace.task_id] is not item)]


def _told(item: Labelled, summary: Summary) -> str:
    lines = [f"## {item.trace.external_id} (task {item.trace.task_id})", summary.summary]
    lines += [f"- {one}" for one in summary.observations]
    lines += [f'[{one.span_id}] "{one.quote}"' for one in summary.evidence]
    return "\n".join(lines)


def _contrast(settings: Settings, request: ProposalRequest, most: int) -> str:
    """The nearest summaries of the other outcome."""
    if not settings.show_contrast:
        return ""
    items = {item.trace.id: item for item in request.opposite}
    told = [f"## task {items[one.trace_id].trace.task_id}\n{one.summary}" for one in request.contrast]
    return "\n\n".join(packed(told, most)) if told else ""


def _proposal(
    caller: Caller, request: ProposalRequest, reply: dict[str, Any], skill: skilltext.Shown, checked: Checked
) -> Proposal:
    chosen = _behaviour(request, reply, checked)
    caller.tally.add(predicates_dropped=int(bool(chosen.note)))
    edits = skilltext.edits(reply["edits"], skill)
    if request.group.side == "success":
        edits = tuple(edit for edit in edits if edit.op != "delete")  # what passed is no reason to remove anything
    focus = request.focus
    proposal = Proposal(
        side=request.group.side,
        kind=request.group.kind,
        groups=(request.group.key,),
        theme=_line(reply["theme"], 120),
        suggested_edit=_line(reply["suggested_edit"], 600),
        rationale=" ".join(part for part in (_line(reply["rationale"], 1_500), chosen.note) if part),
        reinforce=tuple(_line(one, 400) for one in reply.get("reinforce", ())),
        soften=tuple(_line(one, 400) for one in reply.get("soften", ())),
        behaviour=chosen.predicate,
        feedback_class=focus.name if focus is not None and focus.kind != "fact" and focus.classes else None,
        section=edits[0].section if edits else (),
        edits=edits,
        citations=checked.kept,
    )
    return replace(proposal, condition=_condition(proposal, request))


def _behaviour(request: ProposalRequest, reply: dict[str, Any], checked: Checked) -> Chosen:
    """A fact's own predicate; none for a complaint, which is counted by its class; else what the model picked."""
    focus = request.focus
    if focus is not None and focus.kind != "fact":
        return Chosen(None)
    if focus is not None:
        return Chosen.of_fact(focus.name, request.group.side)
    cited = {one.trace_id for one in checked.kept if one.verified}
    shown = [item for item in request.members if item.trace.id in cited]
    return choose(reply["behaviour"], shown or request.members, named="cited" if shown else "grouped")


def _condition(proposal: Proposal, request: ProposalRequest) -> str | None:
    """The condition of a fact that does harm only sometimes, where the edit names it."""
    condition = request.conditions.get(fault_of(proposal) or "")
    word = condition.rpartition('"')[0].rpartition('"')[2] if condition else ""
    said = " ".join(edit.new for edit in proposal.edits).lower()
    return condition if word and word.lower() in said else None


def _line(text: str, most: int) -> str:
    folded = " ".join(text.split())
    return folded if len(folded) <= most else f"{folded[: most - 1]}…"
