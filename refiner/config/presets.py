"""Presets and ablations as data. Nothing here reads a file, a flag or the environment.

A preset fixes what no single setting can express on its own; the few settings that have a field of their own in
`RefineConfig` (gate, votes, undecided, held-out share) take their default from it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

Gate = Literal["off", "failure", "both"]
PACKAGED_EMBEDDER = "packaged"


@dataclass(frozen=True, slots=True)
class Preset:
    """How a refinement works where the configuration says nothing else.

    `holdout` is the share of tasks kept out once `holdout_from` tasks with a known id exist, else 0.
    `min_side` is the number of traces below which a side is skipped.
    """

    name: str
    keep_spans_without_output: bool
    long_trace: Literal["cut the end", "pin feedback"]
    check_quotes: bool
    small_n: Literal["published", "groups"]
    min_side: int
    embedding_model: str
    members: Literal["first that fit", "medoid then spread"]
    show_contrast: bool
    recurrence_pass: bool
    fold_proposals: bool
    propose_noise: bool
    gate: Gate
    votes: int
    include_undecided: bool
    merge: Literal["rewrite", "anchored"]
    holdout: float
    holdout_from: int
    audits: Literal["report", "block"]


STANDARD = Preset(
    name="standard",
    keep_spans_without_output=True,
    long_trace="pin feedback",
    check_quotes=True,
    small_n="groups",
    min_side=4,
    embedding_model=PACKAGED_EMBEDDER,
    members="medoid then spread",
    show_contrast=True,
    recurrence_pass=True,
    fold_proposals=True,
    propose_noise=False,
    gate="both",
    votes=1,
    include_undecided=False,
    merge="anchored",
    holdout=0.2,
    holdout_from=100,
    audits="block",
)

# The published configuration of record, except that noise is not proposed: it was paid for and dropped anyway.
PAPER = Preset(
    name="paper",
    keep_spans_without_output=False,
    long_trace="cut the end",
    check_quotes=False,
    small_n="published",
    min_side=3,
    embedding_model="qwen3-embedding:4b",
    members="first that fit",
    show_contrast=False,
    recurrence_pass=False,
    fold_proposals=False,
    propose_noise=False,
    gate="failure",
    votes=1,
    include_undecided=True,
    merge="rewrite",
    holdout=0.0,
    holdout_from=0,
    audits="report",
)

PRESETS: Mapping[str, Preset] = MappingProxyType({preset.name: preset for preset in (STANDARD, PAPER)})

ABLATIONS: Mapping[str, Mapping[str, str | bool]] = MappingProxyType(
    {
        "summary": MappingProxyType({"summarizer": "none"}),
        "clustering": MappingProxyType({"cluster_method": "single"}),
        "positive": MappingProxyType({"use_positive": False}),
        "negative": MappingProxyType({"use_negative": False}),
        "gating": MappingProxyType({"gate": "off"}),
    }
)
"""What each named ablation sets, and nothing else. Softening at source is part of the merge and never off."""


def held_out_share(preset: Preset, chosen: float | None, known_tasks: int) -> float:
    """The share of tasks to hold out: the `chosen` one, else the preset's once enough tasks have a known id."""
    if chosen is not None:
        return chosen
    return preset.holdout if known_tasks >= preset.holdout_from else 0.0
