"""The queue as a person sees it: items with their state, and what a person should know of each. Decides nothing."""

from __future__ import annotations

from datetime import datetime
from statistics import median
from typing import get_args

from refiner.ids import content_key, text_key
from refiner.review.board import Board, Subject, alike
from refiner.review.description import is_description, text_of
from refiner.review.log import Standing, effect
from refiner.review.mending import is_mending
from refiner.types import Change, Edit
from refiner.views import Item, ItemStatus, Review

_STATUS: dict[str, ItemStatus] = {
    "accept": "accepted",
    "amend": "accepted",
    "reject": "rejected",
    "skip": "skipped",
    "carried": "carried",
}


def item_hash(board: Board, now: Standing, change_id: str) -> str:
    """Names what a person sees of a change: its content, and the decision that counts."""
    if change_id not in board.rows:
        return ""
    decision = now.latest.get(change_id)
    return text_key(board.hashes[change_id], content_key(decision) if decision else "")


def review(board: Board, now: Standing) -> Review:
    """The queue as it stands."""
    similar = _similar(board, now)
    items = tuple(_item(board, now, change_id, similar.get(change_id)) for change_id in board.rows)
    counts = {status: sum(item.status == status for item in items) for status in get_args(ItemStatus)}
    counts["in_skill"] = sum(item.in_skill for item in items)
    return Review(board.report.refinement_id, items, counts, now.events, _median(now))


def _item(board: Board, now: Standing, change_id: str, similar: str | None) -> Item:
    decision = now.latest.get(change_id)
    row, block = board.rows[change_id], board.blocked.get(change_id)
    return Item(
        change_id=change_id,
        row=row,
        status=_STATUS[decision.action] if decision else "open",
        in_skill=effect(decision) in ("accept", "amend"),
        decision=decision,
        conflicts=board.overlaps.get(change_id, ()),
        similar=similar if decision is None else None,
        seen=change_id in now.touched,
        tasks=max((verdict.tasks for verdict in row.verdicts), default=0),
        place=board.places[change_id],
        intent=board.intents[change_id],
        text=_text(row.change, (decision.amended if decision else ()) or row.change.edits),
        hash=item_hash(board, now, change_id),
        blocked=block.words if block and not (decision and decision.amended) else None,
        releasable=bool(block and block.releasable),
        to_write=is_description(row.change),
        mends=is_mending(row.change),
    )


def _text(change: Change, edits: tuple[Edit, ...]) -> str:
    """What a change writes, as it stands: what an editor of it starts with."""
    if is_description(change):
        return text_of(edits)
    return next((edit.new for edit in edits if edit.new), "")


def _similar(board: Board, now: Standing) -> dict[str, str]:
    """A sentence for each change whose behaviour and section another, rejected change shares, or that reads like it."""
    said = rejected_subjects(board, now)
    found: dict[str, str] = {}
    for change_id in board.rows if said else ():
        mine = board.subjects[change_id]
        hits = [told for subject, told in said.items() if subject in mine or any(alike(subject, one) for one in mine)]
        others = [intent for other, intent in hits if other != change_id]
        if others:
            found[change_id] = f"A similar one was rejected: {others[0]}"
    return found


def _median(now: Standing) -> float | None:
    """Seconds from shown to decided, of single decisions."""
    single = [one for one in now.live if one.shown_at and one.decided_at and not one.batch and one.action != "carried"]
    spent = [(_at(one.decided_at) - _at(one.shown_at)).total_seconds() for one in single]
    return median(spent) if spent else None


def _at(text: str) -> datetime:
    return datetime.fromisoformat(text)


def rejected_subjects(board: Board, now: Standing) -> dict[Subject, tuple[str, str]]:
    """(change id, intent) of rejected changes by behaviour and section, for the refinements after this one."""
    said = dict(board.rejected_before)
    for change_id, decision in now.latest.items():
        if effect(decision) == "reject" and change_id in board.rows:
            said |= {subject: (change_id, board.intents[change_id]) for subject in board.subjects[change_id]}
    return said
