"""Stage: what a user corrected becomes a proposal each, however seldom it was said. Counts nothing away."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, cast

from refiner.briefing import brief
from refiner.ids import content_key
from refiner.mining import classes_of, recurring_subjects, subject_of
from refiner.ports import Focus, Labelled, ProposalRequest, Records, Tools
from refiner.sides import of_side, tasks_of
from refiner.types import Cluster, Step


@dataclass(frozen=True, slots=True)
class Corrections:
    """Yields a proposal for each subject of what users said of failing traces, and for each text that has none.

    A trace counts for the first subject of its text. Stands where clusters are proposed from otherwise.
    """

    analyst: str
    name: str = "propose"
    version: int = 1

    def steps(self, records: Records) -> Iterable[Step]:
        briefing = brief(records)
        failing = of_side(briefing.items, "failure")
        known = {subject.name: subject.focus for subject in recurring_subjects(failing, least=1)}
        for said, items in _by_subject(failing).items():
            focus = known.get(said) or Focus("correction", said)
            request = briefing.request(_group(said, items), Focus("correction", focus.name, focus.classes))
            key = content_key("corrections", self.version, self.analyst, briefing.key(request))
            yield Step(self.name, " ".join(said.split())[:80], key, request)

    def run(self, step: Step, tools: Tools) -> tuple[Any, ...]:
        return (tools.analyst.propose(cast(ProposalRequest, step.payload)),)


def _by_subject(failing: Sequence[Labelled]) -> dict[str, list[Labelled]]:
    """Traces by the first subject of their feedback, else by the text; the subject of most tasks first."""
    found: dict[str, list[Labelled]] = defaultdict(list)
    for item in failing:
        text = (item.outcome.feedback or "").strip()
        if text:
            classes = classes_of(item)
            found[subject_of(classes[0]) if classes else text].append(item)
    return dict(sorted(found.items(), key=lambda entry: (-len(tasks_of(entry[1])), entry[1][0].trace.external_id)))


def _group(said: str, items: Sequence[Labelled]) -> Cluster:
    ids = tuple(item.trace.id for item in items)
    label = " ".join(said.split())[:80]
    return Cluster("failure", "recurrence", label, ids, tuple(1.0 for _ in ids), ids[0], (), len(tasks_of(items)))
