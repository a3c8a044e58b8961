"""Writes the shipped sample: `python -m sample_data.generator --seed 7 --out sample_data`."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from sample_data.generator import PACK_A, Corpus, Pack, generate

NOTE = (
    "The agents are scripted: which fault a run acts out was drawn at random and is recorded here. The files, the tool "
    "output and the outcomes are real. This file is for judging a learner; a learner must not read it."
)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m sample_data.generator", description=__doc__)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--tasks", type=int, default=60)
    parser.add_argument("--trials", type=int, default=4)
    parser.add_argument("--out", type=Path, required=True, help="folder for the five files")
    options = parser.parse_args()
    corpus = generate(PACK_A, options.seed, tasks=options.tasks, trials=options.trials)
    files = shipped_files(PACK_A, corpus, seed=options.seed, tasks=options.tasks, trials=options.trials)
    options.out.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (options.out / name).write_text(text, encoding="utf-8", newline="\n")
    print(f"{sum(corpus.rewards.values())} of {len(corpus.rewards)} runs pass; written to {options.out}")


def shipped_files(pack: Pack, corpus: Corpus, **settings: int) -> dict[str, str]:
    """Name -> text of every generated file."""
    return {
        "traces.jsonl": "".join(json.dumps(trace, ensure_ascii=False) + "\n" for trace in corpus.traces),
        "binary_rewards.json": _pretty(corpus.rewards),
        "feedback.json": _pretty(corpus.feedback),
        "SKILL.md": pack.skill,
        "truth.json": _pretty(truth(pack, corpus, **settings)),
    }


def truth(pack: Pack, corpus: Corpus, **settings: int) -> dict[str, Any]:
    """What was planted and where it was acted out."""
    fault_fields = ("name", "sentence", "consequence", "predicate", "probability", "endorsed_by")

    def entry(part: Any, *fields: str) -> dict[str, Any]:
        known = {name: getattr(part, name) for name in fields if getattr(part, name) != ""}
        return {**known, "traces": corpus.acted[part.name]}

    def heeds(fault: Any) -> list[dict[str, Any]]:
        return [{"polarity": heed.polarity, "groups": [list(group) for group in heed.groups]} for heed in fault.heeds]

    return {
        "note": NOTE,
        "pack": pack.name,
        **settings,
        "faults": [{**entry(fault, *fault_fields), "heeds": heeds(fault)} for fault in pack.faults],
        "stated": entry(pack.stated, *fault_fields),
        "habits": [entry(habit, "name", "sentence", "predicate", "probability") for habit in pack.habits],
        "accidents": [entry(accident, "name", "sentence", "scope") for accident in pack.accidents],
    }


def _pretty(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=1) + "\n"


if __name__ == "__main__":
    main()
