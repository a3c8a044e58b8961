"""One proposal = one change. Overlaps stay: at most one of a conflict group is accepted, which is decided elsewhere."""

from __future__ import annotations

from dataclasses import replace

from refiner import merge
from refiner.ports import MergeRequest
from refiner.types import Change, Proposal, Verdict


def merge_proposals(request: MergeRequest) -> tuple[Change, ...]:
    """A change for every proposal; equal edits become one change that names all its proposals."""
    verdicts = {verdict.proposal_id: verdict for verdict in request.verdicts}
    drafts = [_change(proposal, verdicts.get(proposal.key)) for proposal in request.proposals]
    changes: dict[str, Change] = {}
    for change in merge.settle(request.skill, drafts):
        known = changes.get(change.key)
        changes[change.key] = _joined(known, change) if known else change
    return tuple(changes.values())


def _change(proposal: Proposal, verdict: Verdict | None) -> Change:
    """Failure before success, then by distinct tasks."""
    rank = (0 if proposal.side == "failure" else 1, -(verdict.tasks if verdict else 0))
    return Change(proposal.edits, (proposal.key,), proposal.rationale, rank)


def _joined(one: Change, other: Change) -> Change:
    rationale = f"{one.rationale} {other.rationale}"
    return replace(
        one, proposal_ids=(*one.proposal_ids, *other.proposal_ids), rationale=rationale, rank=min(one.rank, other.rank)
    )
