"""What may be decided, and what is written down of it. The clock and the audits are handed in."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import get_args

from refiner import merge
from refiner.errors import DecisionRefused
from refiner.review.board import Block, Board, block
from refiner.review.description import is_description
from refiner.review.log import Standing, effect
from refiner.review.queue import item_hash
from refiner.review.skill import accepted, lacks_a_requirement, overlapping
from refiner.types import Action, Change, Decision, Finding

DWELL = 0.7
"""Seconds a change must have been on screen: faster keys hit what nobody has seen."""
REASONS = {
    "not_supported": "not supported",
    "too_specific": "too specific",
    "already_covered": "already covered",
    "harmful": "harmful",
    "badly_worded": "badly worded",
    "other": "other",
}
RELEASED = "released"
"""The reason code with which a person lets a quarantined change go."""
Audit = Callable[[Change], Sequence[Finding]]


def ruled(board: Board, now: Standing, draft: Decision, shown_for: float, audit: Audit) -> Decision:
    """The decision as it may be written down, override marked. Raises DecisionRefused saying why it does not count."""
    if draft.action not in get_args(Action) or draft.action in ("undo", "carried"):
        raise DecisionRefused(f'"{draft.action}" is no decision; use accept, reject, amend or skip', "blocked")
    if shown_for < DWELL:
        raise DecisionRefused("that was too fast to have been read; look at the change, then decide", "too_fast")
    if draft.seen != item_hash(board, now, draft.change_id):
        raise DecisionRefused("this change is no longer what you saw; look at it once more, then decide", "stale")
    if draft.action in ("accept", "amend"):
        return _entering(board, now, draft, audit)
    if draft.reason_code not in ("", *REASONS):
        raise DecisionRefused(f"a reason is one of {', '.join(REASONS)}", "needs_reason")
    _leaving(board, now, draft.change_id)
    return draft


def _entering(board: Board, now: Standing, draft: Decision, audit: Audit) -> Decision:
    row = board.rows[draft.change_id]
    change = replace(row.change, edits=draft.amended) if draft.action == "amend" else row.change
    blocked = board.blocked.get(draft.change_id)
    if draft.action == "amend":
        blocked = _amendment(board, change, audit)
    if blocked and not (blocked.releasable and draft.reason_code == RELEASED and draft.reason.strip()):
        raise DecisionRefused(blocked.words, "blocked")
    if row.result == "unsupported" and not draft.reason.strip():
        raise DecisionRefused("the gate did not support this change; say why it belongs into the skill", "needs_reason")
    others = {key: one for key, one in accepted(board, now).items() if key != draft.change_id}
    if against := overlapping(change, others):
        raise DecisionRefused(
            f"this change edits the same text as one that is accepted ({board.intents[against]}); undo that one first",
            "conflict",
        )
    if lacks_a_requirement(board, change, others):
        raise DecisionRefused(
            "this change needs another one that is not accepted yet; accept that one first", "conflict"
        )
    return replace(draft, override=bool(blocked) or row.result == "unsupported")


def _amendment(board: Board, change: Change, audit: Audit) -> Block | None:
    """What keeps an amended change out: no place, or what the audits find in the new text."""
    settled = merge.settle(board.report.base, [replace(change, unplaced=None)])[0]
    if settled.unplaced:
        return Block(f"the edited text has no place in the skill: {settled.unplaced}", False)
    return block(board.report, settled, audit(settled))


def _leaving(board: Board, now: Standing, change_id: str) -> None:
    """Refuses to take a change out that another accepted one builds on."""
    inside = accepted(board, now)
    if change_id not in inside:
        return
    rest = {key: change for key, change in inside.items() if key != change_id}
    if any(lacks_a_requirement(board, change, rest) for change in rest.values()):
        raise DecisionRefused("another accepted change builds on this one; take that one back first", "conflict")


def carried(board: Board, now: Standing, earlier: Mapping[str, Decision]) -> list[Decision]:
    """Drafts that bring earlier decisions on equal changes to a refinement where nobody has decided on them yet."""
    found = []
    for change_id in board.rows:
        decision = earlier.get(change_id)
        if decision is None or change_id in now.touched or effect(decision) not in ("accept", "reject", "amend"):
            continue
        held = change_id in board.blocked and not is_description(board.rows[change_id].change)
        if effect(decision) != "reject" and held and not decision.override:
            continue
        found.append(
            replace(
                decision,
                action="carried",
                inherited=effect(decision),
                inherited_from=decision.refinement_id,
                refinement_id=board.report.refinement_id,
                base=board.report.base.key,
                seen="",
                shown_at="",
            )
        )
    return found
