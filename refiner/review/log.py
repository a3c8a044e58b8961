"""What a decision log comes to. Rules on what may be decided live elsewhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from refiner.types import Decision


@dataclass(frozen=True, slots=True)
class Standing:
    """`latest`: the decision that counts, by change. `live`: decisions not taken back, in order.

    `touched`: changes with any event, taken back or not. `events`: the length of the log.
    """

    latest: Mapping[str, Decision]
    live: tuple[Decision, ...]
    touched: frozenset[str]
    events: int


def standing(log: Sequence[Decision]) -> Standing:
    """Folds a log: a decision goes on top of those before it on its change, an undo takes the top one off."""
    stacks: dict[str, list[int]] = {}
    for place, decision in enumerate(log):
        stack = stacks.setdefault(decision.change_id, [])
        if decision.action != "undo":
            stack.append(place)
        elif stack:
            stack.pop()
    latest = {change_id: log[stack[-1]] for change_id, stack in stacks.items() if stack}
    live = sorted(place for stack in stacks.values() for place in stack)
    return Standing(latest, tuple(log[place] for place in live), frozenset(stacks), len(log))


def undoable(now: Standing, reviewer: str) -> tuple[Decision, ...]:
    """The reviewer's own latest decision while it still counts on its change; of a bulk act all that still count."""
    own = [decision for decision in now.live if decision.reviewer == reviewer]
    if not own:
        return ()
    last = own[-1]
    acts = [one for one in own if one.batch == last.batch] if last.batch else [last]
    return tuple(one for one in acts if now.latest.get(one.change_id) == one)


def effect(decision: Decision | None) -> str:
    """accept, amend, reject or skip, of a carried decision the one it inherits; empty for none."""
    if decision is None:
        return ""
    return decision.inherited if decision.action == "carried" else decision.action


def repeats(now: Standing, draft: Decision) -> bool:
    """Whether a decision says again what counts already."""
    known = now.latest.get(draft.change_id)
    if known is None or known.action != draft.action or known.amended != draft.amended:
        return False
    return not draft.reason_code or (known.reason_code, known.reason) == (draft.reason_code, draft.reason)
