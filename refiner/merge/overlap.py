"""Which changes cannot be accepted together, and what the automatic merge takes. Works on anchors, touches no bytes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

from refiner.errors import StaleEdit
from refiner.types import Change, Edit

_CUTS = ("replace", "delete")


class LeftOut(NamedTuple):
    """A change that the merge leaves out, and why."""

    change: Change
    reason: str


class Selection(NamedTuple):
    """What the automatic merge takes, in order of rank, and what it leaves out with the reason for each."""

    accepted: tuple[Change, ...]
    left_out: tuple[LeftOut, ...]


def edits_overlap(one: Edit, other: Edit) -> bool:
    """Whether two placed edits touch the same text. Equal edits do not: they are applied once.

    A cut conflicts with a cut of the same bytes and with an insert whose anchor it touches; inserts never conflict.
    """
    if one.path != other.path:
        return False
    if "create_file" in (one.op, other.op):
        return one.key != other.key
    if one.op not in _CUTS and other.op not in _CUTS:
        return False
    (start, end), (other_start, other_end) = _anchor(one), _anchor(other)
    # Keys come last: every pair is compared, and a key costs a hash.
    return start < other_end and other_start < end and one.key != other.key


def _anchor(edit: Edit) -> tuple[int, int]:
    if edit.anchor is None:
        raise StaleEdit(f"an edit of {edit.path} has no anchor: settle the changes against the base first")
    return edit.anchor


def changes_overlap(one: Change, other: Change) -> bool:
    return any(edits_overlap(mine, theirs) for mine in one.edits for theirs in other.edits)


def in_order(changes: Sequence[Change]) -> list[Change]:
    return sorted(changes, key=lambda change: (change.rank, change.key))


def conflicts(changes: Sequence[Change]) -> list[tuple[Change, ...]]:
    """Groups of settled changes linked by overlaps, each in order of rank; changes without an overlap are in none."""
    placed = in_order([change for change in changes if change.unplaced is None])
    group = {change.key: {change.key} for change in placed}
    for one, other in combinations(placed, 2):
        if changes_overlap(one, other):
            joined = group[one.key] | group[other.key]
            for key in joined:
                group[key] = joined
    groups: list[tuple[Change, ...]] = []
    for change in placed:
        members = tuple(other for other in placed if other.key in group[change.key])
        if len(members) > 1 and members not in groups:
            groups.append(members)
    return groups


def automatic(
    changes: Sequence[Change],
    verdicts: Mapping[str, str],
    include_undecided: bool = False,
    barred: Mapping[str, str] | None = None,
) -> Selection:
    """What is taken without a person: supported changes, with `include_undecided` undecided ones too.

    Of changes that overlap the first counts, supported before undecided, then by rank. `verdicts` holds results and
    `barred` why a change stays out (such as a quarantine), by change key; a change without a result is undecided.
    """
    unique = list({change.key: change for change in in_order(changes)}.values())
    reasons = {change.key: _unfit(change, verdicts, include_undecided, barred or {}) for change in unique}
    fit = [change for change in unique if not reasons[change.key]]
    fit.sort(key=lambda change: (verdicts.get(change.key) != "supported", change.rank, change.key))
    while True:
        accepted, losers = _first_come(fit)
        unmet = {change.key: missing for change in accepted if (missing := unmet_requirements(change, accepted))}
        if not unmet:
            break
        reasons |= {
            key: f"needs edit {', '.join(missing)}, which is not in the merge" for key, missing in unmet.items()
        }
        fit = [change for change in fit if change.key not in unmet]
    reasons |= losers
    left = tuple(LeftOut(change, reasons[change.key]) for change in unique if reasons[change.key])
    return Selection(tuple(in_order(accepted)), left)


def _unfit(change: Change, verdicts: Mapping[str, str], include_undecided: bool, barred: Mapping[str, str]) -> str:
    verdict = verdicts.get(change.key, "undecided")
    if change.unplaced is not None:
        return f"unplaced: {change.unplaced}"
    if change.key in barred:
        return barred[change.key]
    return "" if verdict == "supported" or (verdict == "undecided" and include_undecided) else verdict


def _first_come(fit: Sequence[Change]) -> tuple[list[Change], dict[str, str]]:
    accepted: list[Change] = []
    losers: dict[str, str] = {}
    for change in fit:
        winners = [other for other in accepted if changes_overlap(change, other)]
        if winners:
            named = "; ".join(f"{other.key} ({other.rationale})" if other.rationale else other.key for other in winners)
            losers[change.key] = f"edits the same text as {named}"
        else:
            accepted.append(change)
    return accepted, losers


def unmet_requirements(change: Change, accepted: Sequence[Change]) -> tuple[str, ...]:
    """Keys of edits that this change requires and that no accepted change brings."""
    required = {key for edit in change.edits for key in edit.requires}
    present = {edit.key for other in accepted for edit in other.edits} if required else set()
    return tuple(sorted(required - present))
