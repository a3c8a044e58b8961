"""How steady the gate is, in an HTML report."""

from __future__ import annotations

from refiner.reporting.calibration import votes_words, words
from refiner.reporting.markup import text
from refiner.reporting.report import Report


def section(report: Report) -> str:
    """Flip rates, precision and recall as far as they were measured, and what more votes would cost."""
    lines = [
        *words(report.calibration, offline=report.analyst == "offline"),
        votes_words(report.usage, int(report.config.get("votes") or 1)),
    ]
    body = "".join(f"<p>{text(one)}</p>" for one in lines if one)
    return f'<section id="gate"><h2>How steady the gate is</h2>{body}</section>'
