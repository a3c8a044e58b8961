"""A contrast in an HTML report: its power, the runs that show the behaviour with the step where, what it explains."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from refiner import behaviours
from refiner.ports import Labelled
from refiner.reporting.counted import explained_by, in_words, power
from refiner.reporting.markup import coded, number, plural, table, text
from refiner.types import Contrast, ContrastTable

SHOWN = 40
"""Runs that are named in one list; the rest is counted."""


def counts(contrast: Contrast, items: Mapping[str, Labelled]) -> str:
    """The numbers of a contrast, its power, and the runs behind them."""
    numbers = [
        f"{contrast.failures_with} of {contrast.failures}",
        f"{contrast.passes_with} of {contrast.passes}",
        f"{contrast.tasks_with}",
        f"{contrast.informative_tasks}" if contrast.matched else "not matched by task",
        number(contrast.p),
        f"{number(contrast.q)} (m = {contrast.m})",
    ]
    heads = ("Failing runs", "Passing runs", "Tasks with it", "Tasks with both outcomes", "p", "q")
    body = f'<p class="place">{text(contrast.predicate)}</p>' + table(heads, [[text(one) for one in numbers]])
    return f"{body}<p>{text(power(contrast))}</p>{_runs(contrast, items)}"


def _runs(contrast: Contrast, items: Mapping[str, Labelled]) -> str:
    shows = [items[one] for one in contrast.holds if one in items]
    if not shows:
        return ""
    failing = [one for one in shows if one.outcome.status == "fail"]
    passing = [one for one in shows if one.outcome.status == "pass"]
    predicate = behaviours.parse(contrast.predicate)
    rows = [
        [words, _named(group, predicate)]
        for words, group in (("Failing runs that show it", failing), ("Passing runs that show it", passing))
        if group
    ]
    body = table(("", "Run and the step where it shows"), rows)
    return f"<details><summary>The {plural(len(shows), 'run')} that show it</summary>{body}</details>"


def _named(group: Sequence[Labelled], predicate: behaviours.Predicate) -> str:
    parts = []
    for item in group[:SHOWN]:
        at = predicate.witness(item.trace)
        parts.append(item.trace.external_id + (f" ({at + 1})" if at is not None else ""))
    left = len(group) - SHOWN
    return text(", ".join(parts) + (f" and {left} more" if left > 0 else ""))


def explained(contrasts: ContrastTable, fact: str) -> str:
    """What goes with failure only because of a fact, folded away."""
    under = explained_by(contrasts, fact)
    if not under:
        return ""
    said = [(coded(in_words(one.predicate)), text(one.predicate), text(one.words)) for one in under]
    rows = "".join(f"<li>{words} <code>{predicate}</code>: {counts_}</li>" for words, predicate, counts_ in said)
    return f"<details><summary>Explains {plural(len(under), 'other behaviour')}</summary><ul>{rows}</ul></details>"
