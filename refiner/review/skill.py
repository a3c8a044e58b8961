"""The skill that follows from a set of accepted changes. The order of clicks cannot matter here."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from itertools import combinations

from refiner import merge
from refiner.errors import DecisionRefused
from refiner.merge.overlap import changes_overlap
from refiner.review import description
from refiner.review.board import Board
from refiner.review.log import Standing, effect
from refiner.types import Change, Edit


def accepted(board: Board, now: Standing) -> dict[str, Change]:
    """The changes in the skill by their id, amended ones with the edits that stand in for their own."""
    found: dict[str, Change] = {}
    for change_id, row in board.rows.items():
        decision = now.latest.get(change_id)
        if effect(decision) == "accept":
            found[change_id] = row.change
        elif decision and effect(decision) == "amend":
            found[change_id] = replace(row.change, edits=decision.amended)
    return found


def merged(board: Board, changes: Mapping[str, Change]) -> merge.Merged:
    """The base with these changes, whatever their order: a function of the set. Line ranges name the ids given here.

    A change that cannot stand beside the others, or lacks one it needs, is left out, the same one every time.
    """
    renamed = _renamed_edits(board, changes)
    fitted = {change_id: _refitted(change, renamed) for change_id, change in changes.items()}
    names: dict[str, str] = {}
    for change_id in sorted(fitted):
        names.setdefault(fitted[change_id].key, change_id)
    chosen = merge.automatic(list(fitted.values()), {change.key: "supported" for change in fitted.values()})
    made = merge.apply(board.report.base, chosen.accepted)
    return replace(
        made,
        lines=tuple(sorted({replace(one, change_id=names.get(one.change_id, one.change_id)) for one in made.lines})),
        removed=tuple(
            sorted({replace(one, change_id=names.get(one.change_id, one.change_id)) for one in made.removed})
        ),
        change_ids=tuple(sorted(names[key] for key in made.change_ids)),
    )


def either_way(board: Board, now: Standing, change_id: str) -> tuple[merge.Merged, merge.Merged]:
    """The merged skill without and with one change, the rest as decided.

    Accepted changes that cannot stand beside it are in the first and not in the second.
    """
    inside = accepted(board, now)
    without = {key: change for key, change in inside.items() if key != change_id}
    beside = {key: change for key, change in without.items() if key not in board.overlaps.get(change_id, ())}
    change = inside.get(change_id, board.rows[change_id].change)
    return merged(board, without), merged(board, {**beside, change_id: change})


def _renamed_edits(board: Board, changes: Mapping[str, Change]) -> dict[str, str]:
    """Keys of edits that an amendment replaced, with the key of what stands there now."""
    found: dict[str, str] = {}
    for change_id, change in changes.items():
        pairs = zip(board.rows[change_id].change.edits, change.edits, strict=False)
        found |= {old.key: new.key for old, new in pairs if old.key != new.key}
    return found


def _refitted(change: Change, renamed: Mapping[str, str]) -> Change:
    """The change with requirements that name amended edits by what stands there now."""
    if not renamed or not any(edit.requires for edit in change.edits):
        return change
    edits = (
        replace(edit, requires=tuple(renamed.get(key, key) for key in edit.requires)) if edit.requires else edit
        for edit in change.edits
    )
    return replace(change, edits=tuple(edits))


def amended(board: Board, change_id: str, text: str) -> tuple[Edit, ...]:
    """The edits of a change with another text where it adds one. Raises DecisionRefused when there is none."""
    change = board.rows[change_id].change
    if description.is_description(change):
        return description.amended(change, text)
    place = next((place for place, edit in enumerate(change.edits) if edit.new), None)
    if place is None:
        raise DecisionRefused(
            "this change only removes text, so there is nothing to edit; accept or reject it", "blocked"
        )
    if not text.strip():
        raise DecisionRefused(
            "the edited text is empty; write what the skill should say, or reject the change", "blocked"
        )
    old = change.edits[place]
    ending = old.new[len(old.new.rstrip("\r\n")) :]
    return (*change.edits[:place], replace(old, new=text.rstrip() + ending), *change.edits[place + 1 :])


def bulk(board: Board, now: Standing) -> list[str]:
    """The supported changes that nobody has decided on and that can all be accepted together, in queue order."""
    inside = dict(accepted(board, now))
    taken: list[str] = []
    for change_id, row in board.rows.items():
        is_open = effect(now.latest.get(change_id)) in ("", "skip")
        if row.result != "supported" or not is_open or board.blocked.get(change_id):
            continue
        if not overlapping(row.change, inside) and not lacks_a_requirement(board, row.change, inside):
            inside[change_id] = row.change
            taken.append(change_id)
    return taken


def overlapping(change: Change, others: Mapping[str, Change]) -> str | None:
    """The first of the others that edits the same text, or None."""
    return next((key for key, other in others.items() if changes_overlap(change, other)), None)


def clashes(changes: Mapping[str, Change]) -> bool:
    """Whether two of the changes edit the same text."""
    return any(changes_overlap(one, other) for one, other in combinations(changes.values(), 2))


def lacks_a_requirement(board: Board, change: Change, inside: Collection[str]) -> bool:
    """Whether the change requires an edit that neither it nor any change inside brings."""
    own = {edit.key for edit in change.edits}
    wanted = {key for edit in change.edits for key in edit.requires} - own
    return any(not board.bringers.get(key, frozenset()) & set(inside) for key in wanted)
