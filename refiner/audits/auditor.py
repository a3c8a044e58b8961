"""All audits of one change, in their order. What they look for is written down in the files of their names."""

from __future__ import annotations

from collections.abc import Sequence

from refiner.audits.injection import injections
from refiner.audits.leak import LeakIndex
from refiner.audits.spec import lint
from refiner.audits.statements import duplicates
from refiner.ports import Labelled
from refiner.types import Change, Finding, SkillVersion


class Auditor:
    """Built once for a set of training traces and a base skill; then each change is checked against both."""

    def __init__(self, labelled: Sequence[Labelled], base: SkillVersion) -> None:
        self._base = base
        self._traces = LeakIndex(labelled, base)

    def check(self, change: Change) -> list[Finding]:
        """Leaks, injections, what breaks the specification, and what the skill says already."""
        return [
            *self._traces.check(change),
            *injections(change, self._base, self._traces.holding),
            *lint(change, self._base),
            *duplicates(change, self._base),
        ]
