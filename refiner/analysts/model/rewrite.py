"""The published merge: the whole file written anew, then cut into hunks, each a change that names its proposals."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from refiner import merge, prompts
from refiner.analysts.model import skilltext
from refiner.analysts.model.budgets import REPLY_TOKENS, packed, room, tokens
from refiner.analysts.model.calling import SYSTEM, Caller, Question
from refiner.analysts.model.hunks import Hunk, hunks
from refiner.analysts.model.merging import STAGE, anchored, told_proposal
from refiner.analysts.model.redaction import restore
from refiner.analysts.model.settings import Settings
from refiner.analysts.offline.merging import merge_proposals
from refiner.ports import MergeRequest
from refiner.types import Change, Proposal

SHARED_WORDS = 0.4
"""Share of a hunk's added words that a proposal's edits must hold to own it, where the reply names nobody."""
UNATTRIBUTED = (2, 0)
"""The rank of a hunk that no proposal owns: after everything else."""
LEFT_OUT = "the rewritten skill does not carry it"
_LARGEST = 0.45  # share of the room that the file may take: the reply must hold it again


def rewritten(caller: Caller, settings: Settings, request: MergeRequest) -> tuple[Change, ...]:
    """The hunks of the rewritten file as changes; what the gate turned down or the rewrite left out stays listed.

    A file too long to be written anew is merged by anchors. Raises BadReply when no usable reply came.
    """
    results = {one.proposal_id: one.result for one in request.verdicts}
    kept = [one for one in request.proposals if results.get(one.key) != "unsupported"]
    most = room(settings.window, prompts.load(SYSTEM).text, prompts.load("rewrite").text)
    skill = skilltext.show(replace(request.skill, files=_main_only(request)), caller.redactor, most)
    if tokens(skill.text) > most * _LARGEST:
        return anchored(caller, settings, request)
    named = {f"P{number}": one for number, one in enumerate(kept, 1)}
    changes = _asked(caller, settings, request, skill, named, most) if named else ()
    owned = {key for change in changes for key in change.proposal_ids}
    rest = [_unowned(one, results.get(one.proposal_ids[0])) for one in _drafts(request, owned)]
    return (*changes, *rest)


def _main_only(request: MergeRequest) -> dict[str, bytes]:
    return {request.skill.main: request.skill.files[request.skill.main]}


def _asked(
    caller: Caller,
    settings: Settings,
    request: MergeRequest,
    skill: skilltext.Shown,
    named: Mapping[str, Proposal],
    most: int,
) -> tuple[Change, ...]:
    told = [told_proposal(name, one, request) for name, one in named.items()]
    values = {"skill": skill.text, "proposals": "\n\n".join(packed(told, most - 2 * tokens(skill.text), share=1.0))}
    longest = REPLY_TOKENS + tokens(skill.text)
    question = Question(STAGE, f"rewrite: {len(named)} proposals", "rewrite", values, settings.model, 0.0, longest)
    reply = caller.ask(question)
    found = hunks(request.skill, restore(reply["skill"], skill.values))
    drafts = [_owned(hunk, reply["changes"], named, request) for hunk in found]
    return tuple({change.key: change for change in merge.settle(request.skill, drafts)}.values())


def _owned(
    hunk: Hunk, claims: Sequence[Mapping[str, Any]], named: Mapping[str, Proposal], request: MergeRequest
) -> Change:
    """The hunk as a change of the proposals that the reply names for it, else of those that share its words."""
    claimed = [one for one in claims if _names(one, hunk)]
    owners = [named[name] for one in claimed for name in one["proposal_ids"] if name in named]
    owners = owners or [one for one in named.values() if _shares(one, hunk)]
    said = [" ".join(one["rationale"].split()) for one in claimed] or [one.rationale for one in owners]
    ranks = [_rank(one, request) for one in owners]
    return Change(
        edits=hunk.edits,
        proposal_ids=tuple(dict.fromkeys(one.key for one in owners)),
        rationale=" ".join(dict.fromkeys(said)) or "No proposal asked for this part of the rewrite.",
        rank=min(ranks, default=UNATTRIBUTED),
        unplaced=hunk.unplaced,
    )


def _rank(proposal: Proposal, request: MergeRequest) -> tuple[int, int]:
    verdict = next((one for one in request.verdicts if one.proposal_id == proposal.key), None)
    return 0 if proposal.side == "failure" else 1, -(verdict.tasks if verdict else 0)


def _names(claim: Mapping[str, Any], hunk: Hunk) -> bool:
    """Whether a claim quotes a line of the hunk, of what it adds or of what it takes away."""
    quoted = _folded(claim["text"])
    return bool(quoted) and any(quoted in line or line in quoted for line in map(_folded, hunk.lines) if line)


def _folded(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.lower()))


def _shares(proposal: Proposal, hunk: Hunk) -> bool:
    added = set(re.findall(r"\w{3,}", hunk.added.lower()))
    own = set(re.findall(r"\w{3,}", " ".join(edit.new for edit in proposal.edits).lower()))
    return bool(added) and len(added & own) >= SHARED_WORDS * len(added)


def _drafts(request: MergeRequest, owned: set[str]) -> list[Change]:
    """The changes of proposals that own no hunk, by their own edits."""
    rest = tuple(one for one in request.proposals if one.key not in owned)
    return list(merge_proposals(replace(request, proposals=rest)))


def _unowned(change: Change, result: str | None) -> Change:
    if result == "unsupported" or change.unplaced is not None:
        return change
    return replace(change, unplaced=LEFT_OUT)
