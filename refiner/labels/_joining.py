"""Labels meet traces: which statement counts, and who was left without a partner. No files here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from refiner.errors import LabelError
from refiner.labels._files import LabelFile
from refiner.types import Origin, Outcome, trace_key

_PRECEDENCE: tuple[Origin, ...] = ("human", "environment", "judge")
_EXAMPLES = 3

V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class LabelReport:
    """How labels and traces met: external ids, sorted."""

    labelled: int
    without_trace: tuple[str, ...]
    without_label: tuple[str, ...]
    ambiguous: tuple[str, ...] = ()
    """Labels that name a task which several traces tried, or an id which several runs have."""

    def sentences(self) -> list[str]:
        """One sentence for each kind of mismatch, with the count and three examples; empty when all met."""
        kinds = (
            (self.without_trace, "label belongs", "labels belong", "to no trace"),
            (self.without_label, "trace has no label and is", "traces have no label and are", "not learned from"),
            (
                self.ambiguous,
                "label names",
                "labels name",
                "a task or an id that several traces have, so none of them gets one",
            ),
        )
        return [
            f"{len(ids):,} {one if len(ids) == 1 else many} {rest}, for example {', '.join(ids[:_EXAMPLES])}."
            for ids, one, many, rest in kinds
            if ids
        ]


@dataclass(frozen=True, slots=True)
class Attached:
    outcomes: tuple[Outcome, ...]
    report: LabelReport


def attach(
    corpus: str,
    external_ids: Iterable[str],
    rewards: LabelFile | None = None,
    feedback: Mapping[str, str] | None = None,
    *,
    origin: Origin = "environment",
    at: str | None = None,
    tasks: Mapping[str, str] | None = None,
    copies: Mapping[str, str] | None = None,
    namesakes: Mapping[str, str | None] | None = None,
) -> Attached:
    """Outcomes for the traces that a label or feedback names, in external-id order.

    `tasks`: by external id the task that the file of a trace names; a label may name that instead, where just one trace
    tried it. `copies`: other ids that traces had in copies of them. `namesakes`: the ids that several runs have, each
    with the one that labels mean, or None where nobody can tell. A feedback text without an outcome becomes an
    `unknown` outcome that carries it; see `effective`. Raises LabelError when labels (feedback, where there are no
    labels) and traces have not one id in common.
    """
    known, rewards = set(external_ids), rewards or LabelFile({})
    names = _Names.of(known, tasks or {}, copies or {}, namesakes or {})
    statuses, texts = names.renamed(rewards.statuses), names.renamed({**rewards.feedback, **(feedback or {})})
    given = statuses.keys() | texts.keys()
    met = sorted(known & given - names.several)
    labelled = statuses.keys() or given
    several = tuple(sorted(given & names.several))
    if known and labelled and not known & labelled and not several:
        raise LabelError(
            f"not one of the {len(labelled)} labels belongs to one of the {len(known)} traces: labels name "
            f"{_examples(sorted(labelled))}; traces are called {_examples(sorted(known))}. "
            "Give the labels the ids of the traces, or add the traces they were made for"
        )
    outcomes = []
    for name in met:
        status, score = statuses.get(name, ("unknown", None))
        outcomes.append(Outcome(trace_key(corpus, name), status, origin, score, texts.get(name), at))
    unlabelled = tuple(sorted(known - (statuses.keys() - names.several))) if statuses else ()
    strange = tuple(sorted(given - known - names.several))
    return Attached(tuple(outcomes), LabelReport(len(met), strange, unlabelled, several))


@dataclass(frozen=True, slots=True)
class _Names:
    """The names of traces, and others for them: tasks with one trace, copies, ids that several runs have. `several`:
    names that stand for more than one trace."""

    known: frozenset[str]
    by_other: dict[str, str]
    several: frozenset[str]

    @classmethod
    def of(
        cls,
        known: set[str],
        tasks: Mapping[str, str],
        copies: Mapping[str, str],
        namesakes: Mapping[str, str | None],
    ) -> _Names:
        tries = Counter(task for name, task in tasks.items() if task and name in known)
        by_task = {task: name for name, task in tasks.items() if name in known and tries[task] == 1}
        by_copy = {copy: name for copy, name in copies.items() if name in known}
        several = {task for task, count in tries.items() if count > 1 and task not in known}
        by_namesake = {name: one for name, one in namesakes.items() if one is not None}
        several |= namesakes.keys() - by_namesake.keys()
        return cls(frozenset(known - namesakes.keys()), by_task | by_copy | by_namesake, frozenset(several))

    def renamed(self, given: Mapping[str, V]) -> dict[str, V]:
        """The values under names of traces where they have one; what names a trace itself wins over its other names."""
        others = [name for name in given if name not in self.known and name in self.by_other]
        rest = {name: v for name, v in given.items() if name in self.known or name not in self.by_other}
        return {**{self.by_other[name]: given[name] for name in others}, **rest}


def names_of(tasks: Mapping[str, str]) -> frozenset[str]:
    """What a label may name: external ids, and the tasks that they stand for (see `attach`)."""
    return frozenset({*tasks, *filter(None, tasks.values())})


def effective(outcomes: Sequence[Outcome], trace_id: str = "") -> Outcome:
    """The statement that counts, of those about one trace in the order they were made, with the feedback that counts.

    A person's over the environment's over a judge's, the latest of one origin; a heuristic's never. An `unknown` that
    carries feedback is a note, not a statement about the end. Feedback: the latest of the winning origin, else the
    latest of any. `trace_id` names the trace when nothing was said, which is unknown.
    """
    counted = [outcome for outcome in outcomes if outcome.origin in _PRECEDENCE]
    stated = [outcome for outcome in counted if outcome.status != "unknown" or not outcome.feedback]
    ranked = (outcome for origin in _PRECEDENCE for outcome in reversed(stated) if outcome.origin == origin)
    winner = next(ranked, None) or (replace(counted[-1], feedback=None) if counted else Outcome(trace_id, "unknown"))
    texts = sorted((outcome for outcome in counted if outcome.feedback), key=lambda o: o.origin == winner.origin)
    return replace(winner, feedback=texts[-1].feedback if texts else None)


def _examples(ids: Sequence[str]) -> str:
    return ", ".join(ids[:_EXAMPLES]) + (", ..." if len(ids) > _EXAMPLES else "")
