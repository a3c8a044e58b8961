"""Labels meet traces: which statement counts, and who was left without a partner. No files here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from refiner.errors import LabelError
from refiner.labels._files import LabelFile
from refiner.types import Origin, Outcome, trace_key

_PRECEDENCE: tuple[Origin, ...] = ("human", "environment", "judge")
_EXAMPLES = 3


@dataclass(frozen=True, slots=True)
class LabelReport:
    """How labels and traces met: external ids, sorted."""

    labelled: int
    without_trace: tuple[str, ...]
    without_label: tuple[str, ...]

    def sentences(self) -> list[str]:
        """One sentence for each kind of mismatch, with the count and three examples; empty when all met."""
        kinds = (
            (self.without_trace, "labels belong to no trace"),
            (self.without_label, "traces have no label and are not learned from"),
        )
        return [f"{len(ids)} {words}, for example {_examples(ids)}." for ids, words in kinds if ids]


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
) -> Attached:
    """Outcomes for the traces that a label or feedback names, in external-id order.

    A feedback text without an outcome becomes an `unknown` outcome that carries it; see `effective`. Raises LabelError
    when labels (feedback, where there are no labels) and traces have not one id in common.
    """
    rewards = rewards or LabelFile({})
    texts = {**rewards.feedback, **(feedback or {})}
    known, given = set(external_ids), rewards.statuses.keys() | texts.keys()
    met = sorted(known & given)
    labelled = rewards.statuses.keys() or given
    if known and labelled and not known & labelled:
        raise LabelError(
            f"not one of the {len(labelled)} labels belongs to one of the {len(known)} traces: labels name "
            f"{_examples(sorted(labelled))}; traces are called {_examples(sorted(known))}"
        )
    outcomes = []
    for name in met:
        status, score = rewards.statuses.get(name, ("unknown", None))
        outcomes.append(Outcome(trace_key(corpus, name), status, origin, score, texts.get(name), at))
    unlabelled = tuple(sorted(known - rewards.statuses.keys())) if rewards.statuses else ()
    return Attached(tuple(outcomes), LabelReport(len(met), tuple(sorted(given - known)), unlabelled))


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
