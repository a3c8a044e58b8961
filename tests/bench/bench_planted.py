"""Does it find what is there, and nothing else? Two packs of planted faults, ten seeds, feedback withheld and given."""

from __future__ import annotations

from typing import Any

from sample_data.generator import Pack, generate
from tests.bench.planted import PACKS, Outcome, compared, refined, row, share

SEEDS = range(101, 111)
AIMS = {True: 0.95, False: 0.9}
FALSE_AIM = 0.05


def run() -> list[dict[str, Any]]:
    """Rows by pack; pack B was written from the interface alone and is the claim."""
    return [one for name, pack in PACKS.items() for one in _pack(name, pack)]


def _pack(name: str, pack: Pack) -> list[dict[str, Any]]:
    outcomes: dict[bool, list[Outcome]] = {False: [], True: []}
    for seed in SEEDS:
        corpus = generate(pack, seed)
        for given in (False, True):
            outcomes[given].append(compared(pack, refined(pack, corpus, feedback=given)))
    return [one for given in (False, True) for one in _rows(name, given, outcomes[given])]


def _rows(name: str, given: bool, outcomes: list[Outcome]) -> list[dict[str, Any]]:
    kind = "with_feedback" if given else "without_feedback"
    found = share(outcomes, lambda one: one.found, lambda one: one.faults)
    wrong = share(outcomes, lambda one: one.false_edits, lambda one: one.edits)
    edits = sum(one.edits for one in outcomes)
    planted = f"{sum(one.faults for one in outcomes)} planted faults (aim {AIMS[given]})"
    return [
        row(f"pack_{name}/found_{kind}", found, "share", planted),
        row(f"pack_{name}/false_edits_{kind}", wrong, "share", f"{edits} edits (aim at most {FALSE_AIM})"),
    ]
