"""Checks of what a change would add, before anything is written: leaks, injections, the specification, repetition."""

from __future__ import annotations

from refiner.audits.auditor import Auditor
from refiner.audits.injection import injections
from refiner.audits.leak import Leak, LeakIndex
from refiner.audits.spec import Problem, body_size, lint, problems
from refiner.audits.spec import check as check_spec
from refiner.audits.statements import contradictions, duplicates

__all__ = [
    "Auditor",
    "Leak",
    "LeakIndex",
    "Problem",
    "body_size",
    "check_spec",
    "contradictions",
    "duplicates",
    "injections",
    "lint",
    "problems",
]
