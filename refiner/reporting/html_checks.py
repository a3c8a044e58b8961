"""The part of an HTML report on the result as a whole: its size, the specification, what its changes say together."""

from __future__ import annotations

from refiner.reporting.fitness import Fitness
from refiner.reporting.html_changes import finding_html
from refiner.reporting.markup import table, text


def section(measured: Fitness) -> str:
    """Sizes against what is advised, then every finding on the merged skill as a whole."""
    rows = [[text(one.unit), f"{one.base:,}", f"{one.now:,}", f"{one.advised:,}"] for one in measured.sizes]
    sizes = table(("Body of the skill", "Base", "Result", "Advised at most"), rows, (1, 2, 3))
    found = "".join(map(finding_html, (*measured.spec, *measured.together)))
    well = "<p>It meets the specification, and no two of its changes repeat or contradict each other.</p>"
    return f'<section id="checks"><h2>Checks of the result</h2>{sizes}{found or well}</section>'
