"""Planted corpora: generated, refined, and compared with the truth by sets of traces, never by words."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from refiner import RefineConfig, Result, behaviours
from refiner.mining import fault_of
from refiner.reporting.report import Decided
from refiner.strategies import cluster
from refiner.workspace import Strategy, ignore, refine
from sample_data.generator import PACK_A, PACK_B, Corpus, Pack

PACKS = {"a": PACK_A, "b": PACK_B}
MATCH = 0.8


@dataclass(frozen=True, slots=True)
class Outcome:
    """One refinement of one planted corpus. `edits`: the proposals behind each change in the proposed skill."""

    faults: int
    found: int
    edits: int
    false_edits: int
    undecided: int
    skill: str


def refined(pack: Pack, corpus: Corpus, *, feedback: bool, strategy: Strategy = cluster.stages) -> Result:
    """The refinement of a corpus, nothing held out, in a folder that is gone afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder)
        (base / "SKILL.md").write_text(pack.skill, encoding="utf-8")
        lines = "".join(json.dumps(trace) + "\n" for trace in corpus.traces)
        (base / "traces.jsonl").write_text(lines, encoding="utf-8")
        (base / "rewards.json").write_text(json.dumps(corpus.rewards), encoding="utf-8")
        (base / "feedback.json").write_text(json.dumps(corpus.feedback), encoding="utf-8")
        config = RefineConfig(
            skill_file=base / "SKILL.md",
            raw_jsonl=(base / "traces.jsonl",),
            binary_rewards=base / "rewards.json",
            ground_truth_file=base / "feedback.json" if feedback else None,
            output_dir=base / "out",
            holdout=0.0,
        )
        return refine(config, ignore, {}, strategy)


def compared(pack: Pack, result: Result) -> Outcome:
    """What was found, and what was put into the skill without being planted."""
    sets = [_holds(result, fault.predicate) for fault in pack.faults]
    stated = _holds(result, pack.stated.predicate)
    supported = [one for row in result.report.decided if row.result == "supported" for one in _sets(result, row)]
    taken = [row for row in result.report.decided if row.taken]
    return Outcome(
        faults=len(sets),
        found=sum(any(same(fault, one) for one in supported) for fault in sets),
        edits=len(taken),
        false_edits=sum(
            not any(same(fault, one) for fault in (*sets, stated) for one in _sets(result, row)) for row in taken
        ),
        undecided=result.report.counts()["undecided"],
        skill=result.skill_text,
    )


def same(one: frozenset[str], other: frozenset[str]) -> bool:
    """Equality of trace sets: Jaccard of at least 0.8."""
    union = one | other
    return bool(union) and len(one & other) / len(union) >= MATCH


def _sets(result: Result, row: Decided) -> list[frozenset[str]]:
    """The traces that a change speaks about: its predicates', or its feedback class's."""
    return [_holds(result, fault) for one in row.proposals if (fault := fault_of(one)) is not None]


def _holds(result: Result, predicate: str) -> frozenset[str]:
    parsed = behaviours.parse(predicate)
    return frozenset(item.trace.id for item in result.report.snapshot.training if parsed.holds(item.trace))


def row(name: str, value: float, unit: str, against: str = "", ratio: float | None = None) -> dict[str, Any]:
    return {"name": name, "value": round(value, 4), "unit": unit, "against": against, "ratio": ratio}


def share(outcomes: Sequence[Outcome], part: Callable[[Outcome], int], whole: Callable[[Outcome], int]) -> float:
    total = sum(map(whole, outcomes))
    return sum(map(part, outcomes)) / total if total else 0.0
