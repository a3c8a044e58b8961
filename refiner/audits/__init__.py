"""Checks of what a change would add, before anything is written: leaks, injected instructions, the specification."""

from __future__ import annotations

from refiner.audits.injection import injections
from refiner.audits.leak import Leak, LeakIndex
from refiner.audits.spec import Problem, body_size, lint, problems
from refiner.audits.spec import check as check_spec

__all__ = ["Leak", "LeakIndex", "Problem", "body_size", "check_spec", "injections", "lint", "problems"]
