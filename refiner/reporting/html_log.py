"""The decision log of an HTML report: every event in order, taken back or not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from refiner.reporting.html_changes import Standing, reason
from refiner.reporting.markup import clock, coded, plural, table, text

if TYPE_CHECKING:
    from refiner.types import Decision


def section(decisions: Sequence[Decision], numbers: Mapping[str, Standing]) -> str:
    """Every decision in order: when, who, what, why."""
    if not decisions:
        return ""
    rows = [[str(at), *_event(one, numbers)] for at, one in enumerate(decisions, start=1)]
    body = table(("", "When", "Who", "Action", "Change", "Reason"), rows, (0,))
    return f"<section><h2>Decision log <small>{plural(len(decisions), 'event')}, in order</small></h2>{body}</section>"


def _event(decision: Decision, numbers: Mapping[str, Standing]) -> list[str]:
    standing = numbers.get(decision.change_id)
    change = f'<a href="#{standing.anchor}">{standing.number}</a> {coded(standing.row.rule)}' if standing else "unknown"
    action = decision.action + (" (all supported)" if decision.batch else "") + (" (override)" * decision.override)
    action += " (held-out tasks open)" * decision.after_unseal
    return [
        text(clock(decision.decided_at)),
        text(decision.reviewer),
        text(action),
        change,
        text(reason(decision)),
    ]
