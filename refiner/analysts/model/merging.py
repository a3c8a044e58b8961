"""Proposals as changes: one each, anchors repaired and conflicts reconciled by a model. Accepts nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from refiner import merge, prompts
from refiner.analysts.model import skilltext
from refiner.analysts.model.budgets import packed, room, tokens
from refiner.analysts.model.calling import SYSTEM, Caller, Question, together
from refiner.analysts.model.settings import Settings
from refiner.analysts.offline.merging import merge_proposals
from refiner.errors import BadReply
from refiner.ports import MergeRequest
from refiner.types import Change, Proposal

STAGE = "merge"
_SKILL = 0.6


def anchored(caller: Caller, settings: Settings, request: MergeRequest) -> tuple[Change, ...]:
    """Every proposal in a change. What cannot be placed, not even with a better anchor, is marked and stays."""
    drafts = merge_proposals(request)
    wanted = [change for change in drafts if not _is_unsupported(change, request)]
    lost = [change for change in wanted if change.unplaced is not None and change.edits]
    groups = merge.conflicts(wanted)
    repairs: list[Callable[[], list[Change]]] = [
        lambda change=change: [repaired(caller, settings, request, change)]  # type: ignore[misc]
        for change in lost
    ]
    merges: list[Callable[[], list[Change]]] = [
        lambda group=group: reconciled(caller, settings, request, group, drafts)  # type: ignore[misc]
        for group in groups
    ]
    results = together([*repairs, *merges])
    instead: dict[str, list[Change]] = {}
    for olds, news in zip([*([one] for one in lost), *groups], results, strict=True):
        for old in olds:
            instead[old.key] = []
        instead[olds[0].key] = news
    found = [new for draft in drafts for new in instead.get(draft.key, [draft])]
    return tuple({change.key: change for change in found}.values())


def _is_unsupported(change: Change, request: MergeRequest) -> bool:
    """Whether the gate turned down every proposal of the change."""
    results = {one.proposal_id: one.result for one in request.verdicts}
    return all(results.get(one) == "unsupported" for one in change.proposal_ids)


def repaired(caller: Caller, settings: Settings, request: MergeRequest, change: Change) -> Change:
    """The change at a place that the model names for the same text; as it was when that is no place either."""
    skill = skilltext.show(request.skill, caller.redactor, int(_room(settings, "anchor") * _SKILL))
    values = {"skill": skill.text, "edits": _listed(change.edits), "problem": change.unplaced or ""}
    try:
        reply = caller.ask(Question(STAGE, f"place: {change.rationale[:60]}", "anchor", values, settings.model))
    except BadReply:
        return change
    places = reply["places"]
    if len(places) != len(change.edits):
        return change
    moved = [_moved(edit, place, skill) for edit, place in zip(change.edits, places, strict=True)]
    (found,) = merge.settle(request.skill, [replace(change, edits=tuple(moved), unplaced=None)])
    caller.tally.add(anchors_repaired=int(found.unplaced is None))
    return found if found.unplaced is None else change


def _moved(edit: Any, place: Mapping[str, Any], skill: skilltext.Shown) -> Any:
    (there,) = skilltext.edits([{"path": edit.path, "op": edit.op, "new": edit.new, **place}], skill)
    return replace(edit, section=there.section, old=there.old)


def reconciled(
    caller: Caller, settings: Settings, request: MergeRequest, group: Sequence[Change], all_changes: Sequence[Change]
) -> list[Change]:
    """The group as changes that can stand side by side; as it was where the model's answer does not achieve that."""
    named = _named(group, request)
    skill = skilltext.show(request.skill, caller.redactor, int(_room(settings, "merge") * _SKILL))
    told = [told_proposal(name, one, request) for name, one in named.items()]
    most = _room(settings, "merge") - tokens(skill.text)
    values = {"skill": skill.text, "proposals": "\n\n".join(packed(told, most, share=1.0))}
    try:
        label = f"reconcile {len(group)} changes: {group[0].rationale[:60]}"
        reply = caller.ask(Question(STAGE, label, "merge", values, settings.model))
    except BadReply:
        return list(group)
    made = merge.settle(request.skill, [_change(one, named, group, skill) for one in reply["changes"]])
    others = [one for one in all_changes if one not in group and one.unplaced is None]
    if not _is_sound(made, named, others):
        caller.tally.add(reconciliations_dropped=1)
        return list(group)
    caller.tally.add(conflicts_reconciled=1)
    merged = {key for change in made for key in change.proposal_ids}
    return [*made, *(one for one in group if not set(one.proposal_ids) <= merged)]


def _named(group: Sequence[Change], request: MergeRequest) -> dict[str, Proposal]:
    """The group's proposals by the short names that the model is given."""
    keys = {key for change in group for key in change.proposal_ids}
    return {f"P{number}": one for number, one in enumerate((p for p in request.proposals if p.key in keys), 1)}


def told_proposal(name: str, proposal: Proposal, request: MergeRequest) -> str:
    """One proposal for a merge prompt."""
    verdict = next((one for one in request.verdicts if one.proposal_id == proposal.key), None)
    head = f"## {name} ({proposal.side}, {verdict.result if verdict else 'not gated'}"
    head += f", {verdict.tasks} distinct tasks)" if verdict else ")"
    lines = [head, f"theme: {proposal.theme}", f"edit: {proposal.suggested_edit}", f"reasons: {proposal.rationale}"]
    return "\n".join([*lines, _listed(proposal.edits)])


def _listed(edits: Sequence[Any]) -> str:
    parts = []
    for number, edit in enumerate(edits, 1):
        section = " > ".join(edit.section) or "(before the first heading)"
        lines = [f"edit {number}: {edit.op} in {edit.path}, section {section}"]
        lines += [f"old:\n{edit.old}"] if edit.old else []
        parts.append("\n".join([*lines, f"new:\n{edit.new}"] if edit.new else lines))
    return "\n".join(parts)


def _change(
    one: Mapping[str, Any], named: Mapping[str, Proposal], group: Sequence[Change], skill: skilltext.Shown
) -> Change:
    keys = tuple(sorted({named[name].key for name in one["proposal_ids"] if name in named}))
    ranks = [change.rank for change in group if set(change.proposal_ids) & set(keys)]
    rationale = " ".join(one["rationale"].split())
    return Change(skilltext.edits(one["edits"], skill), keys, rationale, min(ranks, default=group[0].rank))


def _is_sound(made: Sequence[Change], named: Mapping[str, Proposal], others: Sequence[Change]) -> bool:
    """Whether every change is placed, comes from this group, and touches no text of any other change."""
    keys = {one.key for one in named.values()}
    if not made or any(change.unplaced or not change.proposal_ids for change in made):
        return False
    if not {key for change in made for key in change.proposal_ids} <= keys:
        return False
    fresh = {change.key for change in made}
    return not any(fresh & {one.key for one in group} for group in merge.conflicts([*made, *others]))


def _room(settings: Settings, prompt: str) -> int:
    return room(settings.window, prompts.load(SYSTEM).text, prompts.load(prompt).text)
