"""The second base line beside the method: all feedback in one list, no clusters, the same gate."""

from __future__ import annotations

from typing import Any

from refiner.strategies import cluster, one_shot
from sample_data.generator import generate
from tests.bench.planted import PACKS, compared, refined, row, share

SEEDS = range(101, 104)


def run() -> list[dict[str, Any]]:
    """Share of planted faults found by each, feedback given, and what a person is left to decide."""
    rows = []
    for name, pack in PACKS.items():
        results = {"cluster": [], "one_shot": []}
        for seed in SEEDS:
            corpus = generate(pack, seed)
            for label, strategy in (("cluster", cluster.stages), ("one_shot", one_shot.stages)):
                results[label].append(compared(pack, refined(pack, corpus, feedback=True, strategy=strategy)))
        found = {label: share(ones, lambda one: one.found, lambda one: one.faults) for label, ones in results.items()}
        for label, ones in results.items():
            rows.append(row(f"pack_{name}/{label}/found", found[label], "share", "planted faults"))
            left = sum(one.undecided for one in ones) / len(ones)
            rows.append(row(f"pack_{name}/{label}/undecided", left, "changes a refinement", "none"))
    return rows
