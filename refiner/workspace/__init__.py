"""The composition root: configuration, database, analyst, embedder and executor put together. The only user of storage.

No screen, no console, no SQL: what a front end shows comes from the `Report` and from the events it is given.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from refiner import codec, intake, skills
from refiner.config import RefineConfig, held_out_share, plain, result_fields, unknown_window_words
from refiner.engine import Emit, Event, Notice, RefinementRecords, StageStarted
from refiner.errors import BudgetSpent, LabelError, StoreError, WaitingForReplies
from refiner.file_reports import conflict_words, copied_words, namesake_words
from refiner.namesakes import Named
from refiner.ports import Tools
from refiner.reporting.closing import opening_lines
from refiner.reporting.report import Inputs, Report, Result
from refiner.reporting.tree import write_tree
from refiner.snapshot import Seen, Snapshot, known_tasks, take
from refiner.strategies import Strategy, cluster, fitting
from refiner.types import Outcome, Refinement, SkillVersion, Trace
from refiner.workspace.assembling import assemble as assemble
from refiner.workspace.assembling import before_of, remembering
from refiner.workspace.completing import completed
from refiner.workspace.expecting import expected_of, expected_words, shown_size
from refiner.workspace.folder import DATABASE as DATABASE
from refiner.workspace.folder import prepare as prepare
from refiner.workspace.tools import engine_for
from refiner.workspace.tools import tools_for as tools_for
from refiner.workspace.usage import Meter, meter_of, metered, usage_of
from storage import AddReport, JobStatus, Store

if TYPE_CHECKING:
    from refiner.workspace.desk import Workspace

__all__ = ["Workspace", "export", "recall", "refine"]

CORPUS = "corpus"
_MEASURED = ("skill-refiner", "numpy", "scipy", "umap-learn", "hdbscan", "numba")


def __getattr__(name: str) -> Any:
    """The desk of the app, imported when first asked for: the command line does without it."""
    if name != "Workspace":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from refiner.workspace.desk import Workspace

    return Workspace


def ignore(event: Event) -> None:
    """A listener for those who do not listen."""


def refine(
    config: RefineConfig,
    emit: Emit = ignore,
    environ: Mapping[str, str] | None = None,
    strategy: Strategy | None = None,
) -> Result:
    """Refines a skill from recorded traces and writes the output tree; the same call on the same folder resumes.

    `strategy` None: the one that fits the traces.
    Raises ConfigError, FormatError, LabelError, SkillError, OutputError or StoreError; what was finished is kept.
    """
    base = skills.load(config.skill_file, config.skill_name)
    taken = intake.take_in(config, CORPUS)
    prepare(config.out)
    tools = tools_for(config, os.environ if environ is None else environ)
    with Store.open(config.db or config.out / DATABASE) as store:
        return Session(store, config, tools, emit, strategy, before_of(config, base)).refine(base, taken)


def export(database: Path, refinement_id: str, out: Path) -> Path:
    """Writes the output tree of a stored refinement into a new or empty folder and returns that folder."""
    if not database.exists():
        raise StoreError(f"{database}: there is no such database; name one with --db FILE")
    with Store.open(database) as store:
        report = recall(store, refinement_id)
    prepare(out, fresh=True)
    write_tree(report, out)
    return out


@dataclass(frozen=True, slots=True)
class Session:
    """One refinement in one open database."""

    store: Store
    config: RefineConfig
    tools: Tools
    emit: Emit
    strategy: Strategy | None = None
    before: Mapping[str, Any] = field(default_factory=dict)

    def refine(self, base: SkillVersion, taken: intake.Intake) -> Result:
        """Stores what came in, runs the stages, writes the tree."""
        inputs, snapshot = self._freeze(taken)
        meter = meter_of(self.tools)
        opening = opening_lines(snapshot) if self.config.analyst == "offline" else []
        for words in [*opening, *(self._forecast(meter, snapshot) if meter is not None else [])]:
            self.emit(Notice(words))
        refinement_id = self._start(base, inputs, snapshot)
        records = RefinementRecords(snapshot.training, base, self.store)
        try:
            report = self._run(refinement_id, inputs, snapshot, records, meter)
        except BaseException as error:
            with suppress(StoreError):
                later = isinstance(error, KeyboardInterrupt | BudgetSpent | WaitingForReplies)
                status: JobStatus = "interrupted" if later else "failed"
                self.store.set_job(refinement_id, status)
            raise
        if not report.failed:
            self.store.drop_replies(refinement_id)
        self.store.set_job(refinement_id, "done")
        return Result(
            report.skill_text, report.changes, report.proposals, report.verdicts, refinement_id, self.config.out, report
        )

    def _forecast(self, meter: Meter, snapshot: Snapshot) -> list[str]:
        """What is said before a model or an embedding endpoint is asked."""
        meter.expected = expected_of(self.config, [shown_size(item.trace) for item in snapshot.training])
        window = unknown_window_words(self.config)
        return [expected_words(self.config, meter.expected), *([window] if window else [])]

    def _freeze(self, taken: intake.Intake) -> tuple[Inputs, Snapshot]:
        with self.store.together():
            added = self.store.add_traces(CORPUS, taken.traces)
            names = dict(added.renamed)
            taken = self._settled(taken, added.named(CORPUS)).renamed(names)
            self.store.add_outcomes(taken.outcomes)
            self.store.add_notes(taken.notes)
        wanted = {names.get(trace.id, trace.id) for trace in taken.traces}
        current = [trace for trace in self.store.traces(CORPUS) if trace.id in wanted]
        share = held_out_share(self.config.rules, self.config.holdout, known_tasks(current))
        outcomes = intake.effective([*taken.outcomes, *self._human()])
        snapshot = take(current, outcomes, intake.by_trace(taken.notes), share)
        if not snapshot.training:
            raise LabelError(_nothing_labelled(snapshot))
        return _inputs(taken, added), snapshot

    def _settled(self, taken: intake.Intake, named: Named) -> intake.Intake:
        """What was taken in, as the traces are called; for those that contradict earlier ones, what was said before."""
        if not named:
            return taken
        taken, stated = intake.settled(taken, named, self.config, CORPUS), self.store.outcomes(CORPUS)
        refused = sorted({trace_id for (trace_id, _), name in named.items() if name is None})
        before = [outcome for trace_id in refused for outcome in stated.get(trace_id, ())]
        return replace(taken, outcomes=(*before, *taken.outcomes))

    def _human(self) -> list[Outcome]:
        """What people said of traces earlier, in this database."""
        stated = self.store.outcomes(CORPUS).values()
        return [outcome for outcomes in stated for outcome in outcomes if outcome.origin == "human"]

    def _start(self, base: SkillVersion, inputs: Inputs, snapshot: Snapshot) -> str:
        key = self.store.put_skill(base)
        made = Refinement(CORPUS, snapshot.key, key, result_fields(self.config), versions(self.tools.embedder.identity))
        refinement_id = self.store.start_refinement(made)
        body = {"inputs": inputs, "seen": Seen.of(snapshot), "config": plain(self.config), "before": self.before}
        self.store.event(refinement_id, "started", codec.to_plain(body))
        self.store.set_job(refinement_id, "running")
        return refinement_id

    def _run(
        self, refinement_id: str, inputs: Inputs, snapshot: Snapshot, records: RefinementRecords, meter: Meter | None
    ) -> Report:
        engine = engine_for(self.config, self.store, self.tools, self._watched(refinement_id))
        with metered(self.store, refinement_id, meter):
            strategy = self.strategy or fitting(self.config, snapshot.training)
            stages = remembering(strategy(self.config, self.tools), self.before)
            seconds = engine.run(refinement_id, stages, records)
        for stage, spent in seconds.items():
            self.store.finish_stage(refinement_id, stage, spent)
        made = self.store.refinement(refinement_id)
        failed = failures(self.store, records)
        usage = usage_of(self.store.events(refinement_id))
        ran = (snapshot, records, seconds, failed, usage, self.before)
        report = assemble(refinement_id, made, self.config, inputs, *ran)
        report = completed(self.store, report, records)
        write_tree(report, self.config.out)
        return report

    def _watched(self, refinement_id: str) -> Emit:
        def heard(event: Event) -> None:
            if isinstance(event, StageStarted):
                self.store.set_job(refinement_id, "running", event.stage, event.reused, event.total)
            self.emit(event)

        return heard


def _nothing_labelled(snapshot: Snapshot) -> str:
    counts = ", ".join(f"{count} {status}" for status, count in snapshot.statuses.items())
    if snapshot.held_out_traces:
        held_out = f"{snapshot.held_out_traces} traces are held out"
        return f"no trace that passed or failed is left ({counts or 'none'}; {held_out}); lower --holdout"
    return f"no trace passed or failed ({counts}); outcomes are what is learned from: add --rewards FILE"


def _inputs(taken: intake.Intake, added: AddReport) -> Inputs:
    conflicts = tuple(map(conflict_words, added.conflicts))
    names = {trace.id: trace.external_id for trace in taken.traces}
    copies = sorted((names[copy], names[kept]) for copy, kept in added.renamed if kept in names)
    return Inputs(
        files=tuple(codec.to_plain(one) for one in taken.loaded.files),
        rejected=taken.loaded.rejected,
        copies=_copies(taken.traces),
        warnings=(*taken.warnings, *conflicts, *copied_words(copies), *namesake_words(added.namesakes)),
    )


def _copies(traces: Sequence[Trace]) -> int:
    """How many traces only repeat one of the same id."""
    counts = Counter(trace.id for trace in traces)
    repeated = [(trace.id, trace.revision) for trace in traces if counts[trace.id] > 1]
    return len(repeated) - len(set(repeated))


def versions(embedder: str) -> dict[str, str]:
    """What a result ran on."""
    return {**{name: version(name) for name in _MEASURED}, "embedder": embedder}


def recall(store: Store, refinement_id: str) -> Report:
    """The report of a stored refinement. Raises StoreError when it is unknown, unfinished, or its traces are gone."""
    made = store.refinement(refinement_id)
    events = store.events(refinement_id)
    started = next((event.body for event in reversed(events) if event.kind == "started"), None)
    finished = {event.body["stage"]: event.body["seconds"] for event in events if event.kind == "stage_finished"}
    if started is None or not finished:
        raise StoreError(f"refinement {refinement_id} is not finished; run its command again, then export it")
    config = stored_config(started["config"])
    seen = codec.from_plain(Seen, started["seen"])
    snapshot = seen.snapshot(store.revisions(seen.wanted), store.notes(made.corpus))
    records = RefinementRecords(snapshot.training, store.skill(made.base), store)
    tools = tools_for(config, {}, plugged=False)
    for stage in cluster.stages(config, tools):
        records.keys[stage.name] = store.stage_keys(refinement_id, stage.name)
    inputs = codec.from_plain(Inputs, started["inputs"])
    ran = (snapshot, records, finished, failures(store, records), usage_of(events), started.get("before", {}))
    report = assemble(refinement_id, made, config, inputs, *ran)
    return completed(store, report, records)


def failures(store: Store, records: RefinementRecords) -> tuple[str, ...]:
    """The steps whose last attempt failed, each with its reason."""
    keys = [key for of_stage in records.keys.values() for key in of_stage]
    return tuple(f"{label}: {error}" for _, label, error in store.failures(keys))


def stored_config(given: Mapping[str, Any]) -> RefineConfig:
    """The stored configuration; its ablations are already part of its settings."""
    return RefineConfig(**{name: value for name, value in given.items() if value not in (None, [])})
