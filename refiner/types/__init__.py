"""The records of Skill Refiner: frozen values, no behaviour beyond identity, no I/O, nothing imported but ids.

Times are ISO 8601 strings in UTC (`2026-01-31T12:00:00Z`) or None. Scores lie in [0, 1], higher is better.
Every record has a `key`; records with equal keys are interchangeable. Sorting, sampling and seeding use a trace's
`external_id`, never its `id`, so that every front end of the product agrees.
"""

from __future__ import annotations

from refiner.types.evidence import (
    Calibration,
    Contrast,
    ContrastTable,
    Criterion,
    Finding,
    Flips,
    HeldOut,
    HeldOutCount,
    Shortfall,
    Spotted,
    Verdict,
)
from refiner.types.groups import Cluster, Clustering, Embedding, MapPoint, Summary
from refiner.types.skills import Change, Edit, Proposal, SkillVersion
from refiner.types.traces import BadRecord, Citation, EvaluatorNote, Outcome, Span, Trace, trace_key
from refiner.types.words import Answer, NoteKind, Origin, Result, Side, SpanKind, Status, TaskIdOrigin
from refiner.types.work import Action, Decision, Refinement, Step

__all__ = [
    "Action",
    "Answer",
    "BadRecord",
    "Calibration",
    "Change",
    "Citation",
    "Cluster",
    "Clustering",
    "Contrast",
    "ContrastTable",
    "Criterion",
    "Decision",
    "Edit",
    "Embedding",
    "EvaluatorNote",
    "Finding",
    "Flips",
    "HeldOut",
    "HeldOutCount",
    "MapPoint",
    "NoteKind",
    "Origin",
    "Outcome",
    "Proposal",
    "Refinement",
    "Result",
    "Shortfall",
    "Side",
    "SkillVersion",
    "Span",
    "SpanKind",
    "Spotted",
    "Status",
    "Step",
    "Summary",
    "TaskIdOrigin",
    "Trace",
    "Verdict",
    "trace_key",
]
