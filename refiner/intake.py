"""What a command was given, read into memory: traces, outcomes, feedback, what did not fit. No database."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol, TypeVar

from refiner import columns, ingest, labels, registry
from refiner.config import RefineConfig
from refiner.errors import LabelError
from refiner.file_reports import skipped_words
from refiner.namesakes import GIVEN, Named, meant, renamed
from refiner.snapshot import limited
from refiner.types import EvaluatorNote, Outcome, Trace, trace_key


class OfTrace(Protocol):
    @property
    def trace_id(self) -> str: ...


R = TypeVar("R", bound=OfTrace)


@dataclass(frozen=True, slots=True)
class Intake:
    """`outcomes` in the order in which they were stated. Warnings: what a person should know of the label files, and
    of everything else, in sentences. `as_given`: there is one outcome a trace, in their order, that a person took as
    given; none comes from a file."""

    loaded: ingest.Ingest
    traces: tuple[Trace, ...]
    outcomes: tuple[Outcome, ...]
    notes: tuple[EvaluatorNote, ...]
    label_warnings: tuple[str, ...]
    other_warnings: tuple[str, ...] = ()
    as_given: bool = False

    @property
    def warnings(self) -> tuple[str, ...]:
        return (*self.label_warnings, *self.other_warnings)

    def renamed(self, names: Mapping[str, str]) -> Intake:
        """The same, with what is said of a copied trace said of the trace that it is (ids by the ids they had)."""
        outcomes = tuple(replace(one, trace_id=names.get(one.trace_id, one.trace_id)) for one in self.outcomes)
        notes = tuple(replace(one, trace_id=names.get(one.trace_id, one.trace_id)) for one in self.notes)
        return replace(self, outcomes=outcomes, notes=notes)


def take_in(config: RefineConfig, corpus: str) -> Intake:
    """Reads the files of a configuration. Raises FormatError or LabelError when there is nothing to learn from."""
    threshold = labels.Threshold(config.pass_at, config.lower_is_better)
    loaded = ingest.load(
        config.traces,
        corpus=corpus,
        task_key=config.task_key,
        threshold=threshold,
        columns=columns.read(config.columns),
    )
    outcomes, warnings = _labels(config, loaded.traces, loaded, corpus)
    if not outcomes:
        raise LabelError("the traces carry no outcomes and no label file was given; add --rewards FILE")
    traces = tuple(limited(loaded.traces, config.limit))
    return Intake(loaded, traces, outcomes, loaded.notes, warnings, tuple(skipped_words(loaded.skipped)))


def settled(taken: Intake, named: Named, config: RefineConfig, corpus: str) -> Intake:
    """The same with the traces as they are called, and with what is said of those that are kept."""
    traces = tuple(renamed(trace, named) for trace in taken.traces)
    if taken.as_given:
        pairs = zip(taken.traces, traces, taken.outcomes, strict=True)
        kept = (pair for pair in pairs if named.get((pair[0].id, pair[0].source), "") is not None)
        return replace(taken, traces=traces, outcomes=tuple(replace(said, trace_id=now.id) for _, now, said in kept))
    loaded = taken.loaded.settled(corpus, named)
    every = [renamed(trace, named) for trace in taken.loaded.traces]
    outcomes, warnings = _labels(config, every, loaded, corpus)
    return replace(taken, traces=traces, outcomes=outcomes, notes=loaded.notes, label_warnings=warnings)


def by_trace(records: Sequence[R]) -> dict[str, list[R]]:
    """Records by trace id, in their order."""
    found: dict[str, list[R]] = {}
    for record in records:
        found.setdefault(record.trace_id, []).append(record)
    return found


def effective(outcomes: Sequence[Outcome]) -> Mapping[str, Outcome]:
    """The outcome that counts, by trace id."""
    return {trace_id: labels.effective(stated, trace_id) for trace_id, stated in by_trace(outcomes).items()}


def _labels(
    config: RefineConfig, every: Sequence[Trace], loaded: ingest.Ingest, corpus: str
) -> tuple[tuple[Outcome, ...], tuple[str, ...]]:
    """What the files say of the traces loaded, then what label files say of every one."""
    threshold = labels.Threshold(config.pass_at, config.lower_is_better)
    own = list(loaded.outcomes)
    if config.score is not None and loaded.traces:
        scores = {trace.id: labels.scores_of(trace.meta) for trace in loaded.traces}
        own += labels.by_score(scores, config.score, threshold)
    rewards, feedback = config.binary_rewards, config.ground_truth_file
    namesakes = meant((one.external_id, one.meta.get(GIVEN, ""), "") for one in every)
    outcomes, warnings = side_files(
        corpus, named_tasks(every), rewards, feedback, threshold, own=own, namesakes=namesakes
    )
    return (*own, *outcomes), warnings


def named_tasks(traces: Iterable[Trace]) -> dict[str, str]:
    """The external ids, each with the task that its file names; nothing where it was guessed."""
    return {trace.external_id: trace.task_id if trace.task_id_origin == "file" else "" for trace in traces}


def side_files(
    corpus: str,
    tasks: Mapping[str, str],
    rewards: Path | None,
    feedback: Path | None,
    threshold: labels.Threshold,
    *,
    copies: Mapping[str, str] | None = None,
    own: Iterable[Outcome] = (),
    namesakes: Mapping[str, str | None] | None = None,
) -> tuple[tuple[Outcome, ...], tuple[str, ...]]:
    """What label files say about these traces, and what a person should know. Both are empty without a file.

    `tasks`: the external ids, each with the task that its file names, or nothing. `copies`: other ids that traces had
    in copies of them. `namesakes`: as `labels.attach` takes them. `own`: what the traces' own files say: these need no
    label. Raises LabelError.
    """
    if rewards is None and feedback is None:
        return (), ()
    given = None
    if rewards:
        below, names = threshold.lower_is_better, labels.names_of(tasks) | (copies or {}).keys()
        with explained(rewards):
            given = labels.load_rewards(rewards, pass_at=threshold.pass_at, lower_is_better=below, names=names)
    texts = None
    if feedback:
        with explained(feedback):
            texts = labels.load_feedback(feedback)
    attached = labels.attach(corpus, tasks, given, texts, tasks=tasks, copies=copies, namesakes=namesakes)
    rejected = tuple(f"{one.path}:{one.line}: {one.reason}" for one in given.rejected) if given else ()
    ended = {outcome.trace_id for outcome in own if outcome.status != "unknown"}
    missing = tuple(name for name in attached.report.without_label if trace_key(corpus, name) not in ended)
    return attached.outcomes, (*replace(attached.report, without_label=missing).sentences(), *rejected)


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Says of a label file that cannot be read what it is instead, where that is known."""
    try:
        yield
    except LabelError as error:
        known = registry.described(path)
        raise LabelError(f"{error}; it {known}" if known else str(error)) from error
