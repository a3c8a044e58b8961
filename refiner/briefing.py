"""Puts together what an analyst gets to read for one group. Selection only: no analysis, no wording."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from refiner.conditions import condition
from refiner.ids import content_key
from refiner.mining import Subject, classes_of, recurring_subjects, subject_of
from refiner.ports import Focus, Labelled, ProposalRequest, Records
from refiner.sides import of_side, other, tasks_of
from refiner.types import Cluster, ContrastTable, Embedding, SkillVersion, Summary

OPPOSITE = 24  # traces of the other outcome shown as contrast; those of the same tasks come first
CONTRAST = 12  # summaries of them


@dataclass(frozen=True, slots=True)
class Briefing:
    """One refinement's material, indexed once."""

    items: Sequence[Labelled]
    by_id: Mapping[str, Labelled]
    summaries: Mapping[str, Summary]
    vectors: Mapping[str, bytes]
    table: ContrastTable
    subjects: tuple[Subject, ...]
    conditions: Mapping[str, str]
    skill: SkillVersion

    def request(self, group: Cluster, focus: Focus | None = None) -> ProposalRequest:
        """The request for one group; members in external-id order."""
        members = tuple(self.by_id[trace_id] for trace_id in group.members)
        return ProposalRequest(
            group=group,
            members=members,
            summaries=tuple(self.summaries[one] for one in group.members if one in self.summaries),
            opposite=self._opposite(group, members),
            contrasts=self.table.contrasts,
            recurring=self._recurring(group, members),
            conditions=dict(self.conditions),
            skill=self.skill,
            focus=focus,
            contrast=self._contrast(group, members),
        )

    def key(self, request: ProposalRequest) -> str:
        """Everything an analyst's answer to the request may depend on."""
        shown = (*request.members, *request.opposite)
        traces = [(item.trace.id, item.trace.revision, item.outcome.key) for item in shown]
        summaries = [one.key for one in (*request.summaries, *request.contrast)]
        rest = (self.table.key, request.recurring, request.conditions, request.skill.key, request.focus)
        return content_key(request.group, traces, summaries, *rest)

    def _recurring(self, group: Cluster, members: Sequence[Labelled]) -> tuple[Focus, ...]:
        """The recurring subjects that the members carry: what is said of other traces is no part of this request."""
        if group.side != "failure":
            return ()
        carried = {subject_of(name) for item in members for name in classes_of(item)}
        return tuple(subject.focus for subject in self.subjects if subject.name in carried)

    def _contrast(self, group: Cluster, members: Sequence[Labelled]) -> tuple[Summary, ...]:
        shown = self._by_nearness(group, members)
        return tuple(self.summaries[item.trace.id] for item in shown if item.trace.id in self.summaries)[:CONTRAST]

    def _opposite(self, group: Cluster, members: Sequence[Labelled]) -> tuple[Labelled, ...]:
        return tuple(sorted(self._by_nearness(group, members), key=lambda item: item.trace.external_id))

    def _by_nearness(self, group: Cluster, members: Sequence[Labelled]) -> list[Labelled]:
        """Traces of the other outcome: those of the same tasks, then the nearest to the medoid."""
        candidates = of_side(self.items, other(group.side))
        tasks = tasks_of(members)
        same = [item for item in candidates if item.trace.task_id in tasks]
        rest = [item for item in candidates if item.trace.task_id not in tasks]
        shown = same[:OPPOSITE]
        return shown + self._nearest(group.medoid, rest)[: OPPOSITE - len(shown)]

    def _nearest(self, trace_id: str, candidates: Sequence[Labelled]) -> list[Labelled]:
        """By cosine similarity to one trace, ties by external id; none when there are no vectors to compare."""
        import numpy as np

        known = [item for item in candidates if item.trace.id in self.vectors]
        if trace_id not in self.vectors or not known:
            return []
        target = np.frombuffer(self.vectors[trace_id], dtype="<f4")
        rows = np.stack([np.frombuffer(self.vectors[item.trace.id], dtype="<f4") for item in known])
        order = np.argsort(-np.round(rows @ target, 5), kind="stable")
        return [known[index] for index in order]


def brief(records: Records) -> Briefing:
    """Reads what earlier stages produced."""
    items = records.labelled()
    embeddings: Sequence[Embedding] = records.produced("embed")
    table: ContrastTable = records.produced("contrast")[0]
    return Briefing(
        items=items,
        by_id={item.trace.id: item for item in items},
        summaries={one.trace_id: one for one in records.produced("summarise")},
        vectors={one.trace_id: one.vector for one in embeddings},
        table=table,
        subjects=tuple(recurring_subjects(items)),
        conditions={fact: found for fact in table.facts if (found := condition(items, fact))},
        skill=records.skill(),
    )
