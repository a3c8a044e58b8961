"""The gate against people, and the second looks, in an HTML report."""

from __future__ import annotations

from typing import TYPE_CHECKING

from refiner.reporting.ledger import people_words, rows, second_words
from refiner.reporting.markup import table, text

if TYPE_CHECKING:
    from refiner.review.ledger import Ledger


def section(found: Ledger | None) -> str:
    """How often people went against the gate, by criterion and reviewer; nothing before the first decision."""
    if found is None or not found.people:
        return ""
    said = "".join(f"<p>{text(one)}</p>" for one in (*people_words(found), second_words(found)) if one)
    body = table(("The gate says whether it …", "Overridden"), [[text(cell) for cell in row] for row in rows(found)])
    waits = len(found.due)
    wait = "change waits" if waits == 1 else "changes wait"
    left = f"<p>{waits} accepted {wait} for a second look.</p>" if waits else ""
    return f'<section id="people"><h2>The gate and the reviewers</h2>{said}{body}{left}</section>'
