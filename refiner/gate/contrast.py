"""How every behaviour goes with the outcome: measured within tasks, corrected for the number of tests, never asked.

Reads spans, tasks and pass or fail. Feedback, evaluator notes and summaries may not enter here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from refiner.behaviours import Joined, Not, Order, Plain, Predicate, negate, parse, vocabulary
from refiner.gate.cohort import Cohort, cohort_of, count, jaccard, truth
from refiner.gate.facts import SAME_SET, Candidate, select
from refiner.gate.family import Member, members, preference
from refiner.gate.measured import MIN_TASKS, Measured, contrast, turned
from refiner.gate.statistics import bh, could_reach
from refiner.ports import Labelled
from refiner.types import Answer, Contrast, ContrastTable, Side


def measure(labelled: Sequence[Labelled], *, gate_q: float = 0.05) -> ContrastTable:
    """The contrasts of all testable atoms by p, facts marked. Only runs that passed or failed are compared."""
    cohort = cohort_of(labelled)
    atoms = vocabulary(cohort.traces)
    family = members(cohort, atoms, *truth(cohort, atoms))
    found = _measured(cohort, family)
    ps = [one.tails.upper for one in found] + [one.tails.lower for one in found]
    qs = bh(ps).tolist()
    pairs = []
    for place, one in enumerate(found):
        decidable = not cohort.matched or could_reach(ps, place, one.tails.upper_least, gate_q)
        pairs.append((one, contrast(cohort, one, q=qs[place], m=len(ps), gate_q=gate_q, decidable=decidable)))
    pairs = sorted(_without_twins(pairs), key=lambda pair: (pair[0].p, preference(pair[0].predicate)))
    return _table(cohort, pairs, m=len(ps), gate_q=gate_q, vocabulary=len(atoms))


def _measured(cohort: Cohort, family: Sequence[Member]) -> list[Measured]:
    """Each member of the family in the direction that goes with failure."""
    if not family:
        return []
    holds = np.column_stack([member.holds for member in family])
    counted = count(cohort, holds, np.column_stack([member.applies for member in family]))
    found = []
    for member, counts in zip(family, counted, strict=True):
        tails, held, atoms, fails = counts.tails, member.holds, member.plain, counts.lean >= 0
        if not fails:
            counts, tails = turned(counts, tails)
            held, atoms = member.applies & ~held, member.opposite
        found.append(Measured(member.statement(holds=fails), held, member.applies, counts, tails, atoms))
    return found


def _without_twins(pairs: Sequence[tuple[Measured, Contrast]]) -> list[tuple[Measured, Contrast]]:
    """All but not(sequence(a, b)) where absent(b after a), which stands for the pair, says nearly the same."""
    stated = {atom: one for one, _ in pairs for atom in one.atoms}

    def is_covered(one: Measured) -> bool:
        twin = stated.get(_twin(one.predicate) or "")
        return twin is not None and twin is not one and jaccard(twin.holds, one.holds) >= SAME_SET

    return [pair for pair in pairs if not is_covered(pair[0])]


def _twin(text: str) -> str | None:
    """absent(b after a) for not(sequence(a, b))."""
    predicate = parse(text)
    if isinstance(predicate, Not) and isinstance(predicate.part, Order) and predicate.part.kind == "sequence":
        return str(Order("absent", predicate.part.a, predicate.part.b))
    return None


def _table(
    cohort: Cohort, pairs: Sequence[tuple[Measured, Contrast]], *, m: int, gate_q: float, vocabulary: int
) -> ContrastTable:
    candidates = [
        Candidate(one.predicate, one.holds, one.applies, one.p)
        for one, record in pairs
        if cohort.matched and record.causes == "yes" and record.tasks_with >= MIN_TASKS
    ]
    facts = select(cohort, candidates, gate_q)
    contrasts = tuple(
        replace(
            record,
            is_fact=record.predicate in facts.order,
            explained_by=facts.explained.get(record.predicate),
        )
        for _, record in pairs
    )
    return ContrastTable(contrasts, facts.order, m, gate_q, cohort.matched, vocabulary)


def of(predicate: str, labelled: Sequence[Labelled], table: ContrastTable, *, side: Side = "failure") -> Contrast:
    """The contrast of any predicate: a member's (or that of an equal set of runs), else measured but not corrected.

    Side `success`: the predicate is claimed to go with success, so its negation is measured. A statement that
    contradicts a measured one has p but no q. Raises PredicateError for a text that is not a predicate.
    """
    text = negate(predicate) if side == "success" else str(parse(predicate))
    known = {contrast.predicate: contrast for contrast in table.contrasts}
    if text in known:
        return known[text]
    found = measured(text, labelled)
    if (twin := known.get(_twin(text) or "")) is not None and _overlap(twin.holds, found.holds) >= SAME_SET:
        return twin
    return _compared(found, labelled, table)


def measured(text: str, labelled: Sequence[Labelled]) -> Contrast:
    """A predicate's counts and one-sided p in the direction that goes with failure, outside of any correction."""
    cohort = cohort_of(labelled)
    holds, applies = truth(cohort, [text])
    counts = count(cohort, holds, applies)[0]
    one = Measured(text, holds[:, 0], applies[:, 0], counts, counts.tails)
    return replace(contrast(cohort, one, q=None, m=0, gate_q=0.0), exploratory=True)


def _compared(found: Contrast, labelled: Sequence[Labelled], table: ContrastTable) -> Contrast:
    found = replace(found, m=table.m)
    shown = set(found.holds)
    rest = tuple(run for run in found.applies if run not in shown)
    for member in (one for one in table.contrasts if one.applies == found.applies):
        if member.holds == found.holds:
            return replace(member, predicate=found.predicate)
        if member.holds == rest:
            return replace(found, exploratory=False)
    predicate = parse(found.predicate)
    if len(predicate.atoms()) == 1:
        return found
    return replace(found, causes=_weakest(predicate, labelled, table))


def _overlap(first: Sequence[str], second: Sequence[str]) -> float:
    union = set(first) | set(second)
    return len(set(first) & set(second)) / len(union) if union else 1.0


def _weakest(predicate: Predicate, labelled: Sequence[Labelled], table: ContrastTable) -> Answer:
    """The answer of the least supported atom that is not negated; unknown when all are."""
    answers = {of(str(atom), labelled, table).causes for atom in _unnegated(predicate)}
    ranked: tuple[Answer, ...] = ("no", "unknown", "yes")
    return next((answer for answer in ranked if answer in answers), "unknown")


def _unnegated(predicate: Predicate, *, negated: bool = False) -> list[Predicate]:
    if isinstance(predicate, Not):
        return _unnegated(predicate.part, negated=not negated)
    if isinstance(predicate, Joined):
        return [atom for part in predicate.parts for atom in _unnegated(part, negated=negated)]
    assert isinstance(predicate, Plain | Order)
    return [] if negated else [predicate]
