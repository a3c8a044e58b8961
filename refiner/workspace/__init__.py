"""The composition root: configuration, database, analyst, embedder and executor put together. The only user of storage.

No screen, no console, no SQL: what a front end shows comes from the `Report` and from the events it is given.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar

from refiner import codec, intake, skills
from refiner.config import RefineConfig, held_out_share, plain, result_fields, secrets
from refiner.engine import Emit, Engine, Event, RefinementRecords, StageStarted
from refiner.errors import LabelError, OutputError, StoreError
from refiner.executors.local import InlineExecutor, ThreadExecutor
from refiner.ports import Embedder, Executor, Stage, Tools
from refiner.registry import analyst
from refiner.reporting.report import Inputs, Report, Result
from refiner.reporting.tree import write_tree
from refiner.snapshot import Seen, Snapshot, known_tasks, take
from refiner.strategies import cluster
from refiner.types import (
    Change,
    Clustering,
    Finding,
    Outcome,
    Proposal,
    Refinement,
    Shortfall,
    SkillVersion,
    Summary,
    Verdict,
)
from storage import AddReport, JobStatus, Store

R = TypeVar("R")
CORPUS = "corpus"
DATABASE = "refiner.duckdb"
_MEASURED = ("skill-refiner", "numpy", "scipy", "umap-learn", "hdbscan", "numba")


def ignore(event: Event) -> None:
    """A listener for those who do not listen."""


Strategy = Callable[[RefineConfig, Tools], Sequence[Stage]]
"""How proposals come about: the stages of a refinement, in order."""


def refine(
    config: RefineConfig,
    emit: Emit = ignore,
    environ: Mapping[str, str] | None = None,
    strategy: Strategy = cluster.stages,
) -> Result:
    """Refines a skill from recorded traces and writes the output tree; the same call on the same folder resumes.

    Raises ConfigError, FormatError, LabelError, SkillError, OutputError or StoreError; what was finished is kept.
    """
    base = skills.load(config.skill_file, config.skill_name)
    taken = intake.take_in(config, CORPUS)
    prepare(config.out)
    tools = tools_for(config, os.environ if environ is None else environ)
    with Store.open(config.db or config.out / DATABASE) as store:
        return Session(store, config, tools, emit, strategy).refine(base, taken)


def export(database: Path, refinement_id: str, out: Path) -> Path:
    """Writes the output tree of a stored refinement into a new or empty folder and returns that folder."""
    if not database.exists():
        raise StoreError(f"{database}: there is no such database; name one with --db FILE")
    prepare(out, fresh=True)
    with Store.open(database) as store:
        write_tree(recall(store, refinement_id), out)
    return out


def prepare(out: Path, *, fresh: bool = False) -> None:
    """Makes the output folder. Raises OutputError when it holds something that is not an earlier result."""
    if out.exists() and not out.is_dir():
        raise OutputError(f"{out} is a file; --out needs a folder")
    known = () if fresh else (DATABASE, "run.json")
    if out.is_dir() and any(out.iterdir()) and not any((out / name).exists() for name in known):
        raise OutputError(f"{out} holds other files, so nothing was written; choose an empty or new folder with --out")
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"{out} cannot be made ({error.strerror}); choose another folder with --out") from error


def tools_for(config: RefineConfig, environ: Mapping[str, str]) -> Tools:
    """The analyst and the embedder that the configuration asks for."""
    return Tools(analyst(config.analyst), _embedder(config, environ))


def _embedder(config: RefineConfig, environ: Mapping[str, str]) -> Embedder:
    if config.embedding_host is None or config.embedding_base_url is None:
        from refiner.embedders.packaged import PackagedEmbedder

        return PackagedEmbedder()
    from refiner.embedders.endpoint import EndpointEmbedder

    return EndpointEmbedder(config.embedding_base_url, config.embedding_model, secrets(environ).embedding_api_key)


@dataclass(frozen=True, slots=True)
class Session:
    """One refinement in one open database."""

    store: Store
    config: RefineConfig
    tools: Tools
    emit: Emit
    strategy: Strategy = cluster.stages

    def refine(self, base: SkillVersion, taken: intake.Intake) -> Result:
        """Stores what came in, runs the stages, writes the tree."""
        inputs, snapshot = self._freeze(taken)
        refinement_id = self._start(base, inputs, snapshot)
        records = RefinementRecords(snapshot.training, base, self.store)
        try:
            report = self._run(refinement_id, inputs, snapshot, records)
        except BaseException as error:
            with suppress(StoreError):
                status: JobStatus = "interrupted" if isinstance(error, KeyboardInterrupt) else "failed"
                self.store.set_job(refinement_id, status)
            raise
        self.store.set_job(refinement_id, "done")
        return Result(
            report.skill_text, report.changes, report.proposals, report.verdicts, refinement_id, self.config.out, report
        )

    def _freeze(self, taken: intake.Intake) -> tuple[Inputs, Snapshot]:
        added = self.store.add_traces(CORPUS, taken.traces)
        self.store.add_outcomes(taken.outcomes)
        self.store.add_notes(taken.notes)
        wanted = {trace.id for trace in taken.traces}
        current = [trace for trace in self.store.traces(CORPUS) if trace.id in wanted]
        share = held_out_share(self.config.rules, self.config.holdout, known_tasks(current))
        outcomes = intake.effective([*taken.outcomes, *self._human()])
        snapshot = take(current, outcomes, intake.by_trace(taken.notes), share)
        if not snapshot.training:
            raise LabelError(_nothing_labelled(snapshot))
        return _inputs(taken, added), snapshot

    def _human(self) -> list[Outcome]:
        """What people said of traces earlier, in this database."""
        stated = self.store.outcomes(CORPUS).values()
        return [outcome for outcomes in stated for outcome in outcomes if outcome.origin == "human"]

    def _start(self, base: SkillVersion, inputs: Inputs, snapshot: Snapshot) -> str:
        key = self.store.put_skill(base)
        made = Refinement(CORPUS, snapshot.key, key, result_fields(self.config), versions(self.tools.embedder.identity))
        refinement_id = self.store.start_refinement(made)
        body = {"inputs": inputs, "seen": Seen.of(snapshot), "config": plain(self.config)}
        self.store.event(refinement_id, "started", codec.to_plain(body))
        self.store.set_job(refinement_id, "running")
        return refinement_id

    def _run(self, refinement_id: str, inputs: Inputs, snapshot: Snapshot, records: RefinementRecords) -> Report:
        executor = _executor(self.config)
        engine = Engine(self.store, executor, self.tools, self._watched(refinement_id))
        seconds = engine.run(refinement_id, self.strategy(self.config, self.tools), records)
        for stage, spent in seconds.items():
            self.store.finish_stage(refinement_id, stage, spent)
        made = self.store.refinement(refinement_id)
        report = assemble(refinement_id, made, self.config, inputs, snapshot, records, seconds)
        write_tree(report, self.config.out)
        return report

    def _watched(self, refinement_id: str) -> Emit:
        def heard(event: Event) -> None:
            if isinstance(event, StageStarted):
                self.store.set_job(refinement_id, "running", event.stage, event.reused, event.total)
            self.emit(event)

        return heard


def _executor(config: RefineConfig) -> Executor:
    return InlineExecutor() if config.workers == 1 else ThreadExecutor(config.workers)


def _nothing_labelled(snapshot: Snapshot) -> str:
    counts = ", ".join(f"{count} {status}" for status, count in snapshot.statuses.items())
    return f"no trace passed or failed ({counts}); outcomes are what is learned from: add --rewards FILE"


def _inputs(taken: intake.Intake, added: AddReport) -> Inputs:
    conflicts = tuple(
        f"{name}: the trace in {new} contradicts the one in {old}, which stays." for name, old, new in added.conflicts
    )
    return Inputs(
        files=tuple(codec.to_plain(one) for one in taken.loaded.files),
        rejected=taken.loaded.rejected,
        copies=len(taken.traces) - len({trace.id for trace in taken.traces}),
        warnings=(*taken.warnings, *conflicts),
    )


def versions(embedder: str) -> dict[str, str]:
    """What a result ran on."""
    return {**{name: version(name) for name in _MEASURED}, "embedder": embedder}


def recall(store: Store, refinement_id: str) -> Report:
    """The report of a stored refinement. Raises StoreError when it is unknown or its traces are gone."""
    made = store.refinement(refinement_id)
    started = next(event.body for event in store.events(refinement_id) if event.kind == "started")
    config = _config(started["config"])
    seen = codec.from_plain(Seen, started["seen"])
    snapshot = seen.snapshot(list(store.traces(made.corpus)), store.notes(made.corpus))
    records = RefinementRecords(snapshot.training, store.skill(made.base), store)
    tools = tools_for(config, {})
    for stage in cluster.stages(config, tools):
        records.keys[stage.name] = store.stage_keys(refinement_id, stage.name)
    finished = [event.body for event in store.events(refinement_id) if event.kind == "stage_finished"]
    seconds = {body["stage"]: body["seconds"] for body in finished}
    inputs = codec.from_plain(Inputs, started["inputs"])
    return assemble(refinement_id, made, config, inputs, snapshot, records, seconds)


def _config(given: Mapping[str, Any]) -> RefineConfig:
    """The stored configuration; its ablations are already part of its settings."""
    return RefineConfig(**{name: value for name, value in given.items() if value not in (None, [])})


def assemble(
    refinement_id: str,
    made: Refinement,
    config: RefineConfig,
    inputs: Inputs,
    snapshot: Snapshot,
    records: RefinementRecords,
    seconds: Mapping[str, float],
) -> Report:
    """The report of a finished refinement from what its stages produced."""

    def made_by(stage: str, kind: type[R]) -> tuple[R, ...]:
        return tuple(one for one in records.produced(stage) if isinstance(one, kind))

    return Report(
        refinement_id=refinement_id,
        base=records.skill(),
        snapshot=snapshot,
        inputs=inputs,
        config=plain(config),
        versions=made.versions,
        seconds=dict(seconds),
        analyst=config.analyst,
        include_undecided=config.include_undecided,
        audits_block=config.rules.audits == "block",
        table=records.produced("contrast")[0],
        summaries=made_by("summarise", Summary),
        clusterings=made_by("cluster", Clustering),
        proposals=made_by("fold", Proposal),
        shortfalls=made_by("fold", Shortfall),
        verdicts=made_by("gate", Verdict),
        changes=made_by("merge", Change),
        findings=made_by("audit", Finding),
    )
