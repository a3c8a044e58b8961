"""What one refinement sees: which traces count, on which side, and which tasks are held out. Pure selection."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from refiner.errors import StoreError
from refiner.ids import content_key, unit_hash
from refiner.ports import Labelled
from refiner.tasks import split_units
from refiner.types import EvaluatorNote, Outcome, Trace

TRAINING = ("pass", "fail")


@dataclass(frozen=True, slots=True)
class Sealed:
    """A held-out trace that passed or failed, by name only: what it holds is read when a person opens the seal."""

    revision: str
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class Snapshot:
    """`training`: what is learned from, in external-id order. `held_out`: tasks and traces kept out of everything.

    `statuses`, `tasks` and `task_origins` count what is not held out; `sealed` names what is.
    """

    key: str
    training: tuple[Labelled, ...]
    held_out_tasks: int
    held_out_traces: int
    statuses: dict[str, int]
    tasks: int
    task_origins: dict[str, int]
    tried_twice: int
    sealed: tuple[Sealed, ...] = ()


def limited(traces: Iterable[Trace], limit: int | None) -> list[Trace]:
    """The `limit` traces with the smallest hash of their external id (all when None), in external-id order."""
    ordered = sorted(traces, key=lambda trace: trace.external_id)
    if limit is None:
        return ordered
    chosen = sorted(ordered, key=lambda trace: (unit_hash(trace.external_id), trace.external_id))[:limit]
    return sorted(chosen, key=lambda trace: trace.external_id)


def take(
    traces: Sequence[Trace],
    outcomes: Mapping[str, Outcome],
    notes: Mapping[str, Sequence[EvaluatorNote]],
    share: float,
) -> Snapshot:
    """The snapshot of traces in external-id order. `outcomes` are the effective ones; no record = unknown."""
    labelled = [
        Labelled(trace, outcomes.get(trace.id) or Outcome(trace.id, "unknown"), tuple(notes.get(trace.id, ())))
        for trace in traces
    ]
    apart = held_out_traces(traces, share)
    kept = [item for item in labelled if item.trace.id not in apart]
    training = tuple(item for item in kept if item.outcome.status in TRAINING)
    out = [item for item in labelled if item.trace.id in apart]
    per_task = Counter(item.trace.task_id for item in training)
    seen = sorted(
        (item.trace.id, item.trace.revision, item.outcome.key, [note.key for note in item.notes]) for item in labelled
    )
    return Snapshot(
        key=content_key("snapshot", seen),
        training=training,
        held_out_tasks=len({item.trace.task_id for item in out}),
        held_out_traces=len(out),
        statuses=dict(sorted(Counter(item.outcome.status for item in kept).items())),
        tasks=len({item.trace.task_id for item in kept}),
        task_origins=dict(sorted(Counter(item.trace.task_id_origin for item in kept).items())),
        tried_twice=sum(count > 1 for count in per_task.values()),
        sealed=tuple(Sealed(item.trace.revision, item.outcome) for item in out if item.outcome.status in TRAINING),
    )


def held_out_traces(traces: Sequence[Trace], share: float) -> frozenset[str]:
    """The ids of the traces that are held out: those of held-out tasks, or of held-out conversations."""
    units = split_units(traces)
    return frozenset(trace_id for trace_id, unit in units.items() if held_out(unit, share))


def held_out(task_id: str, share: float) -> bool:
    """Whether a task (or a conversation) is held out: its hash modulo 100 lies below the share in percent."""
    return unit_hash(task_id) % 100 < round(share * 100)


def known_tasks(traces: Iterable[Trace]) -> int:
    """Distinct tasks with an id of their own."""
    return len({trace.task_id for trace in traces if trace.task_id_origin != "none"})


@dataclass(frozen=True, slots=True)
class Seen:
    """A snapshot without its traces, as it is stored: ids, revisions and effective outcomes."""

    key: str
    revisions: dict[str, str]
    outcomes: tuple[Outcome, ...]
    held_out_tasks: int
    held_out_traces: int
    statuses: dict[str, int]
    tasks: int
    task_origins: dict[str, int]
    tried_twice: int
    sealed: tuple[Sealed, ...] = ()

    @classmethod
    def of(cls, snapshot: Snapshot) -> Seen:
        return cls(
            key=snapshot.key,
            revisions={item.trace.id: item.trace.revision for item in snapshot.training},
            outcomes=tuple(item.outcome for item in snapshot.training),
            held_out_tasks=snapshot.held_out_tasks,
            held_out_traces=snapshot.held_out_traces,
            statuses=snapshot.statuses,
            tasks=snapshot.tasks,
            task_origins=snapshot.task_origins,
            tried_twice=snapshot.tried_twice,
            sealed=snapshot.sealed,
        )

    @property
    def wanted(self) -> list[tuple[str, str]]:
        """The (trace id, revision) of its traces, in order."""
        return [(one.trace_id, self.revisions[one.trace_id]) for one in self.outcomes]

    def snapshot(self, traces: Iterable[Trace], notes: Mapping[str, Sequence[EvaluatorNote]]) -> Snapshot:
        """The snapshot with its traces again: those of `wanted`. Raises StoreError when one is missing."""
        current = {trace.id: trace for trace in traces}
        gone = len(self.revisions.keys() - current.keys())
        if gone:
            raise StoreError(f"{gone} traces of this refinement have grown or gone since; refine again to export")
        training = tuple(
            Labelled(current[one.trace_id], one, tuple(notes.get(one.trace_id, ()))) for one in self.outcomes
        )
        return Snapshot(
            self.key,
            training,
            self.held_out_tasks,
            self.held_out_traces,
            self.statuses,
            self.tasks,
            self.task_origins,
            self.tried_twice,
            self.sealed,
        )
