"""The gate measured on itself, in words and as data, for the app, the report and the command line. Asks nobody."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from refiner.codec import to_plain
from refiner.gate.heldout import clopper_pearson
from refiner.reporting.ledger import rate
from refiner.types import Calibration, Spotted

DETERMINISTIC = "deterministic. The offline gate counts and asks nobody, so equal input gives equal verdicts."
NEVER = "This gate was never calibrated: how often its verdicts flip on equal input is not known."


def words(found: Calibration | None, *, offline: bool) -> list[str]:
    """What is known of the gate, in sentences."""
    if found is None:
        return [f"Gate: {DETERMINISTIC}"] if offline else [NEVER]
    lines = [f"Gate: {DETERMINISTIC}"] if found.deterministic else _flips(found)
    return [*lines, *_planted(found)]


def _flips(found: Calibration) -> list[str]:
    votes = f", {found.votes} votes" if found.votes > 1 else ""
    same, turned = found.identical, found.shuffled
    lines = [
        f"Gate ({found.model or found.analyst}{votes}): asked again in the same words about {found.asked} proposals, "
        f"the verdict flips in {rate(same.flipped, same.pairs)}; with their runs shuffled in "
        f"{rate(turned.flipped, turned.pairs)}."
    ]
    differing = {name: same.by_criterion[name] + turned.by_criterion.get(name, 0) for name in same.by_criterion}
    if any(differing.values()):
        told = ", ".join(f"{name} {count}" for name, count in differing.items() if count)
        lines.append(f"Answers that differ: {told}.")
    if found.settled:
        lines.append(f"{found.settled} further proposals are settled by counting and cannot flip.")
    if found.failed:
        lines.append(f"{found.failed} questions got no answer and are left out.")
    return lines


def _planted(found: Calibration) -> list[str]:
    told = (("the gate", found.planted), ("the model alone, without the counts,", found.alone))
    return [f"On the sample, whose faults are known, {who} {_spotted(one)}." for who, one in told if one is not None]


def _spotted(one: Spotted) -> str:
    said = one.hits + one.false_hits
    return f"supports {said} claims: precision {rate(one.hits, said)}, recall {rate(one.hits, one.true)}"


def votes_words(usage: Mapping[str, Any], votes: int) -> str:
    """What two more votes a proposal would cost, from what a refinement took; empty for a gate that asks nobody."""
    spent = usage.get("stages", {}).get("gate")
    if not spent or not spent["calls"]:
        return ""
    more = 2 / votes
    tokens = (spent["prompt_tokens"] + spent["completion_tokens"]) * more
    price = "" if spent["cost"] is None else f", about {spent['cost'] * more:.4f} {usage['currency']}"
    return (
        f"{votes + 2} votes instead of {votes} would take about {spent['calls'] * more:.0f} more calls and "
        f"{tokens:,.0f} more tokens{price}."
    )


def as_plain(found: Calibration | None) -> dict[str, Any] | None:
    """The figures with exact 95 % intervals of both flip rates; None when the gate was never calibrated."""
    if found is None:
        return None
    plain: dict[str, Any] = to_plain(found)
    for name, flips in (("identical", found.identical), ("shuffled", found.shuffled)):
        edges = clopper_pearson(flips.flipped, flips.pairs) if flips.pairs else None
        plain[name]["interval"] = [round(edge, 4) for edge in edges] if edges else None
    return plain
