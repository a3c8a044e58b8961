"""Stage: proposals that say the same become one; the weakest are listed without an edit; so is what got no proposal."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from refiner.ids import content_key
from refiner.mining import RECURS_TASKS, Subject, fault_of, feedback_classes, recurring_subjects
from refiner.ports import Labelled, Records, Tools
from refiner.sides import SIDES, of_side, tasks_of
from refiner.themes import themes
from refiner.tried import Support, Veto, judged
from refiner.types import Clustering, Contrast, ContrastTable, Proposal, Shortfall, Side, Step, Summary

SAME = 0.8  # share of a feedback subject's traces that a fact must hold in to explain it


@dataclass(frozen=True, slots=True)
class Material:
    proposals: tuple[Proposal, ...]
    shortfalls: tuple[Shortfall, ...]
    facts: dict[str, frozenset[str]]
    subjects: dict[str, frozenset[str]]
    tasks: dict[str, int]
    explained: dict[str, str]
    vetoes: tuple[Veto, ...] = ()
    support: Support | None = None


@dataclass(frozen=True, slots=True)
class Fold:
    """Yields the final `Proposal`s in order of strength, then every `Shortfall`.

    `budget`: the most proposals in all. `recurs`: the tasks from which a feedback subject is counted.
    """

    sides: tuple[Side, ...] = SIDES
    min_side: int = 4
    min_tasks: int = 3
    max_undecided: int | None = 20
    folding: bool = True
    budget: int | None = None
    recurs: int = RECURS_TASKS
    vetoes: tuple[Veto, ...] = ()
    name: str = "fold"
    version: int = 1

    def steps(self, records: Records) -> Iterable[Step]:
        mined = [*records.produced("propose"), *records.produced("recur")]
        table: ContrastTable = records.produced("contrast")[0]
        subjects = recurring_subjects(records.labelled(), self.recurs)
        proposals = tuple(one for one in mined if isinstance(one, Proposal))
        shortfalls = (
            *self._skipped(records),
            *too_few(records.produced("cluster"), records.produced("summarise"), self.min_tasks),
            *(one for one in mined if isinstance(one, Shortfall)),
            *shadows(table.contrasts),
            *([] if proposals else [nothing_recurs(records.labelled(), table, self.min_side)]),
        )
        facts = {one.predicate: frozenset(one.holds) for one in table.contrasts if one.is_fact}
        tasks = task_counts(table.contrasts, subjects)
        explained = {one.predicate: one.explained_by for one in table.contrasts if one.explained_by}
        known = {one.name: ids(one) for one in subjects}
        material = Material(proposals, shortfalls, facts, known, tasks, explained, *self._past(records, table))
        limits = (self.max_undecided, self.folding, *([] if self.budget is None else [self.budget]))
        key = content_key(self.name, self.version, *limits, material)
        yield Step(self.name, f"{len(proposals)} proposals", key, material)

    def run(self, step: Step, tools: Tools) -> tuple[Any, ...]:
        material = cast(Material, step.payload)
        merged = fold(material) if self.folding else sorted(material.proposals, key=said)
        folded, vetoed = unvetoed(merged, material)
        strong = [one for one in folded if fault_of(one) in material.facts]
        weak = [one for one in folded if fault_of(one) not in material.facts]
        weak.sort(key=lambda one: (one.feedback_class is None, -tasks_behind(one, material), said(one)))
        limited = weak[: self.max_undecided]
        kept = [*strong, *limited][: self.budget]
        listed = [weaker(one, material) for one in (*strong, *weak) if one not in kept]
        return (*kept, *material.shortfalls, *listed, *vetoed)

    def _past(self, records: Records, table: ContrastTable) -> tuple[tuple[Veto, ...], Support | None]:
        """What was rejected in an earlier refinement, and what stands behind it in this corpus."""
        subjects = (subject for veto in self.vetoes for subject in veto.subjects)
        return self.vetoes, Support.of(records.labelled(), table, subjects) if self.vetoes else None

    def _skipped(self, records: Records) -> Iterable[Shortfall]:
        for side in SIDES:
            count = len(of_side(records.labelled(), side))
            if side not in self.sides:
                yield Shortfall(side, "skipped_side", side, count, 0, f"The {side} side is switched off.")
            elif count < self.min_side:
                words = f"The {side} side has {count} of the {self.min_side} traces it takes to learn from it."
                yield Shortfall(side, "skipped_side", side, count, 0, words)


def unvetoed(proposals: Sequence[Proposal], material: Material) -> tuple[list[Proposal], list[Shortfall]]:
    """The proposals without those that a person rejected before on the same evidence, and these as shortfalls."""
    if material.support is None:
        return list(proposals), []
    found = [judged(one, material.vetoes, material.support) for one in proposals]
    kept = [one for one in found if isinstance(one, Proposal)]
    return kept, [one for one in found if isinstance(one, Shortfall)]


def ids(subject: Subject) -> frozenset[str]:
    return frozenset(item.trace.id for item in subject.items)


def fold(material: Material) -> list[Proposal]:
    """One proposal for each (section, fact or feedback class), facts first; what a fact explains goes into it."""
    groups: dict[object, list[Proposal]] = defaultdict(list)
    for proposal in sorted(material.proposals, key=lambda one: (SIDES.index(one.side), one.kind, said(one))):
        groups[_identity(proposal, material)].append(proposal)
    merged = [_merge(group) for group in groups.values()]
    order = {fact: place for place, fact in enumerate(material.facts)}
    return sorted(merged, key=lambda one: (order.get(fault_of(one) or "", len(order)), said(one)))


def said(proposal: Proposal) -> tuple[str, ...]:
    """What a proposal says, for ordering: a key would hold trace ids, and so the name of the corpus."""
    about = (fault_of(proposal) or "", proposal.feedback_class or "")
    return (*about, proposal.suggested_edit, proposal.theme, proposal.rationale)


def _identity(proposal: Proposal, material: Material) -> object:
    if proposal.behaviour is not None:
        fault = fault_of(proposal)
        cause = material.explained.get(fault or "")
        return "behaviour", cause if cause and cause in {fault_of(one) for one in material.proposals} else fault
    if proposal.feedback_class is None:
        return "edits", tuple(edit.key for edit in proposal.edits)
    explaining = _explaining(material.subjects.get(proposal.feedback_class, frozenset()), material)
    return ("behaviour", explaining) if explaining else ("class", proposal.section, proposal.feedback_class)


def _explaining(traces: frozenset[str], material: Material) -> str | None:
    """The proposed fact that holds in at least 0.8 of the traces; of several the one with the largest overlap."""
    proposed = {fault_of(one) for one in material.proposals}
    shares = {
        fact: len(traces & holds) / len(traces) for fact, holds in material.facts.items() if traces and fact in proposed
    }
    good = [fact for fact, share in shares.items() if share >= SAME]
    return min(good, key=lambda fact: (-shares[fact], len(material.facts[fact]), fact), default=None)


def _merge(group: Sequence[Proposal]) -> Proposal:
    """The first that carries a predicate (else the first) speaks for all; the others are named."""
    lead = next((one for one in group if one.behaviour), group[0])
    groups = tuple(sorted({key for one in group for key in one.groups}))
    named = {one.feedback_class or fault_of(one) or one.theme for one in group if one is not lead}
    others = named - {fault_of(lead), lead.feedback_class}
    return replace(lead, groups=groups, folded=tuple(sorted(others)))


def task_counts(contrasts: Sequence[Contrast], subjects: Sequence[Subject]) -> dict[str, int]:
    """Distinct failing tasks by predicate and by feedback subject."""
    counts = {one.predicate: one.tasks_with for one in contrasts}
    counts.update({one.name: len({item.trace.task_id for item in one.items}) for one in subjects})
    return counts


def tasks_behind(proposal: Proposal, material: Material) -> int:
    return material.tasks.get(proposal.feedback_class or fault_of(proposal) or "", 0)


def weaker(proposal: Proposal, material: Material) -> Shortfall:
    subject = proposal.feedback_class or fault_of(proposal) or proposal.theme
    words = f"Recurs, but among the weaker ones: {proposal.rationale}"
    traces = len(material.subjects.get(subject, ()))
    return Shortfall(proposal.side, "weaker_recurrence", subject, traces, tasks_behind(proposal, material), words)


def shadows(contrasts: Sequence[Contrast]) -> Iterable[Shortfall]:
    """What would look like a cause, were it not for a fact that explains it."""
    for one in contrasts:
        if one.explained_by:
            words = f"Explained by {one.explained_by}; on its own {one.words}."
            yield Shortfall("failure", "explained_by", one.predicate, one.failures_with, one.tasks_with, words)


def too_few(clusterings: Sequence[Clustering], summaries: Sequence[Summary], min_tasks: int) -> Iterable[Shortfall]:
    """Clusters whose traces come from too few tasks."""
    texts = {one.trace_id: one.summary for one in summaries}
    for clustering in clusterings:
        labels = themes([[texts[one] for one in cluster.members] for cluster in clustering.clusters])
        for cluster, label in zip(clustering.clusters, labels, strict=True):
            if cluster.tasks < min_tasks:
                words = f"{len(cluster.members)} traces of {cluster.tasks} task(s); it takes {min_tasks} tasks."
                yield Shortfall(cluster.side, "too_few_tasks", label, len(cluster.members), cluster.tasks, words)


def nothing_recurs(items: Sequence[Labelled], table: ContrastTable, min_side: int) -> Shortfall:
    """What was looked for in vain, how many traces it takes, and the three nearest misses."""
    failing, passing = of_side(items, "failure"), of_side(items, "success")
    both = len(tasks_of(failing) & tasks_of(passing))
    words = (
        f"Nothing recurs among {len(failing)} failing and {len(passing)} passing traces of {len(tasks_of(items))} "
        f"tasks. Looked for: complaints of the evaluator in {RECURS_TASKS} or more tasks, behaviours that go with "
        f"failure ({len(table.contrasts)} compared), and what the traces of a cluster share. It takes at least "
        f"{min_side} traces a side and {RECURS_TASKS} tasks with both outcomes; here are {both}. "
        f"Nearest: {_nearest(items, table) or 'none'}."
    )
    return Shortfall("failure", "nothing_recurs", "", len(items), len(tasks_of(items)), words)


def _nearest(items: Sequence[Labelled], table: ContrastTable) -> str:
    complaints = [(-one.tasks, one.name, f"{one.tasks} tasks") for one in feedback_classes(items).values() if one.tasks]
    leaning = [one for one in table.contrasts if one.causes != "no"]
    shown = [(-one.tasks_with, one.predicate, one.words) for one in leaning if one.tasks_with]
    return "; ".join(f"{name} ({words})" for _, name, words in sorted([*complaints, *shown])[:3])
