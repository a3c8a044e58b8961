"""`refiner ablate`: the whole method and its five arms over one corpus, in one comparable table."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict, dataclass
from pathlib import Path

from refiner import config as settings
from refiner.cli.console import Progress, table
from refiner.cli.refine import add_arguments as add_refine_arguments
from refiner.cli.refine import ask, load
from refiner.reporting.report import Result

FULL = "full"
HEADERS = (
    "arm",
    "summaries",
    "clusters",
    "proposals",
    "supported",
    "undecided",
    "unsupported",
    "taken",
    "same as full",
)


@dataclass(frozen=True, slots=True)
class Arm:
    """One row: what the arm made, and how many of its taken rules the full method took too."""

    arm: str
    summaries: int
    clusters: int
    proposals: int
    supported: int
    undecided: int
    unsupported: int
    taken: int
    same_as_full: int


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_refine_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    from refiner import workspace

    base = load(arguments)
    ask(base)
    workspace.prepare(base.out)
    rows: list[Arm] = []
    full: frozenset[str] = frozenset()
    for name in (FULL, *settings.ABLATIONS):
        result = _refine(arguments, base.out, name)
        full = _rules(result) if name == FULL else full
        rows.append(_arm(name, result, full))
    print(json.dumps([asdict(row) for row in rows], indent=2) if arguments.json else as_text(rows))
    if not arguments.json:
        print(f"Results: one folder an arm in {base.out}")
    return 0


def as_text(rows: list[Arm]) -> str:
    cells = [tuple(str(value) for value in asdict(row).values()) for row in rows]
    return table(HEADERS, cells, (11, 9, 8, 9, 9, 9, 11, 5, 12))


def _refine(arguments: argparse.Namespace, out: Path, name: str) -> Result:
    """One arm; all share one database, so that what they have in common is done once."""
    from refiner import workspace

    arguments.output_dir = str(out / name)
    arguments.db = str(out / workspace.DATABASE)
    arguments.ablate = [] if name == FULL else [name]
    return workspace.refine(load(arguments), Progress())


def _rules(result: Result) -> frozenset[str]:
    return frozenset(row.rule for row in result.report.decided if row.taken)


def _arm(name: str, result: Result, full: frozenset[str]) -> Arm:
    report = result.report
    counts = report.counts()
    return Arm(
        arm=name,
        summaries=len(report.summaries),
        clusters=sum(len(one.clusters) for one in report.clusterings),
        proposals=len(report.proposals),
        supported=counts["supported"],
        undecided=counts["undecided"],
        unsupported=counts["unsupported"],
        taken=counts["taken"],
        same_as_full=len(_rules(result) & full),
    )
