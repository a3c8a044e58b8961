"""Refinements as jobs: starting, watching, stopping, going on. The engine does the work; this keeps the books."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from refiner import codec
from refiner.config import plain, result_fields
from refiner.engine import Emit, Engine, Event, RefinementRecords, StageEnded, StageProgress, StageStarted
from refiner.errors import BudgetSpent, ConfigError, RefinerError, StoreError, WaitingForReplies
from refiner.ids import text_key
from refiner.jobs import Stopped, Ticket, Worker
from refiner.ports import Records, Stage, Tools
from refiner.snapshot import Seen, Snapshot
from refiner.strategies import cluster
from refiner.types import Refinement, Step
from refiner.workspace import tools_for, versions
from refiner.workspace.corpora import Entry
from refiner.workspace.plan import Plan, Planner
from refiner.workspace.reports import Reports
from refiner.workspace.tools import engine_for
from refiner.workspace.usage import Meter, meter_of, metered
from storage import JobStatus

log = logging.getLogger(__name__)
CHEAP = ("fold", "gate", "merge", "audit")
"""The stages that a cancelled refinement still goes through, so that what is finished can be reviewed."""
UNEXPECTED = "something unexpected happened"


@dataclass(frozen=True, slots=True)
class Again:
    """A stage whose finished steps do not count: the salt makes its step keys new ones."""

    stage: Stage
    salt: str

    @property
    def name(self) -> str:
        return self.stage.name

    @property
    def version(self) -> int:
        return self.stage.version

    def steps(self, records: Records) -> Iterable[Step]:
        for step in self.stage.steps(records):
            yield replace(step, key=text_key("again", self.salt, step.key))

    def run(self, step: Step, tools: Tools) -> tuple[Any, ...]:
        return self.stage.run(step, tools)


@dataclass(frozen=True, slots=True)
class Case:
    """One refinement at work."""

    refinement_id: str
    stages: Sequence[Stage]
    records: RefinementRecords
    engine: Callable[[Emit], Engine]
    meter: Meter | None = None


@dataclass(frozen=True, slots=True)
class Running:
    """The jobs of one database. `carry` brings earlier decisions to a refinement that is through."""

    planner: Planner
    reports: Reports
    worker: Worker
    carry: Callable[[str, str], int]

    def start(self, entry: Entry, settings: dict[str, Any]) -> str:
        """Starts a refinement of a corpus; the same one again goes on from where it is. Raises JobRunning."""
        with self.worker.claim() as go:
            plan = self.planner.plan(entry, settings)
            refinement_id = self._open(entry, plan)
            self._go(go, refinement_id, plan.snapshot)
        return refinement_id

    def resume(self, refinement_id: str) -> None:
        """Goes on with a refinement: what is finished stays, what failed is tried again. Raises JobRunning."""
        self._refuse_opened(refinement_id)
        with self.worker.claim() as go:
            self._go(go, refinement_id)

    def rerun(self, refinement_id: str, stage: str) -> None:
        """Does a stage and all after it anew. Raises ConfigError for a stage that there is not, or JobRunning."""
        self._refuse_opened(refinement_id)
        stages = self.reports.start(refinement_id).stages
        if stage not in stages:
            raise ConfigError(f'there is no stage "{stage}"; there are {", ".join(stages)}')
        with self.worker.claim() as go:
            before = len(self.reports.store.events(refinement_id, "rerun"))
            self.reports.store.event(refinement_id, "rerun", {"stage": stage, "salt": f"{refinement_id}:{before + 1}"})
            self._go(go, refinement_id)

    def cancel(self, refinement_id: str) -> None:
        """Stops after the step at work; what is finished is kept. Nothing happens when it is not running."""
        self.worker.stop(refinement_id)

    def lost(self, refinement_id: str, error: BaseException) -> None:
        """Takes the news of a job that could not even say how it ended."""
        log.error("job %s was lost", refinement_id, exc_info=error)
        with suppress(StoreError):
            self.reports.store.set_job(refinement_id, "failed")

    def _refuse_opened(self, refinement_id: str) -> None:
        if self.reports.is_opened(refinement_id):
            raise ConfigError("this result was opened for reading; refine its traces in a corpus of your own")

    def _open(self, entry: Entry, plan: Plan) -> str:
        """Writes down what the refinement works on."""
        store = self.reports.store
        tools = tools_for(plan.config, self.planner.corpora.room.environ)
        made = Refinement(
            entry.id,
            plan.snapshot.key,
            store.put_skill(plan.base),
            result_fields(plan.config),
            versions(tools.embedder.identity),
        )
        refinement_id = store.start_refinement(self._known(made))
        kept = [item.trace for item in plan.snapshot.training if item.trace.task_id_origin != "file"]
        store.keep_revisions(kept)
        body = {
            "inputs": plan.inputs,
            "seen": Seen.of(plan.snapshot),
            "config": plain(plan.config),
            "stages": [stage.name for stage in cluster.stages(plan.config, tools)],
            "marks": self.planner.corpora.digests.of(entry.id).marks,
        }
        store.event(refinement_id, "started", codec.to_plain(body))
        self.reports.forget(refinement_id)
        return refinement_id

    def _known(self, made: Refinement) -> Refinement:
        """The same refinement if there was one, else one whose parent is the latest that can be reviewed."""
        earlier = list(reversed(self.reports.store.refinements(made.corpus)))
        same = (one for one in earlier if replace(one, parent=None, versions={}) == replace(made, versions={}))
        found = next(same, None)
        if found is not None:
            return found
        parent = next((one.key for one in earlier if self.reports.is_reviewable(one.key)), None)
        return replace(made, parent=parent)

    def _go(
        self, go: Callable[[str, Callable[[Ticket], None]], None], refinement_id: str, snapshot: Snapshot | None = None
    ) -> None:
        case = self._case(refinement_id, snapshot)
        self.reports.forget(refinement_id)
        self.reports.store.event(refinement_id, "run_started", {})
        self.reports.store.set_job(refinement_id, "running")
        go(refinement_id, lambda ticket: self._work(case, ticket))

    def _case(self, refinement_id: str, snapshot: Snapshot | None) -> Case:
        start, store = self.reports.start(refinement_id), self.reports.store
        tools = tools_for(start.config, self.planner.corpora.room.environ)
        stages: list[Stage] = cluster.stages(start.config, tools)
        for event in store.events(refinement_id, "rerun"):
            first = [stage.name for stage in stages].index(event.body["stage"])
            stages[first:] = [Again(stage, event.body["salt"]) for stage in stages[first:]]
        base = store.skill(start.made.base)
        seen = snapshot or self.reports.snapshot(start)
        records = RefinementRecords(seen.training, base, store)
        return Case(
            refinement_id, stages, records, lambda emit: engine_for(start.config, store, tools, emit), meter_of(tools)
        )

    def _work(self, case: Case, ticket: Ticket) -> None:
        """A whole job, to its end in words."""
        error: str | None = None
        status: JobStatus = "done"
        try:
            with metered(self.reports.store, case.refinement_id, case.meter):
                status = self._stages(case, ticket)
        except (BudgetSpent, WaitingForReplies) as later:
            status, error = "interrupted", str(later)
        except RefinerError as failure:
            status, error = "failed", str(failure)
        except Exception as failure:
            log.exception("refinement %s failed", case.refinement_id)
            status, error = "failed", f"{UNEXPECTED} ({type(failure).__name__}: {failure}); the log has the details"
        self._end(case.refinement_id, status, error)

    def _stages(self, case: Case, ticket: Ticket) -> JobStatus:
        try:
            case.engine(self._watch(case.refinement_id, ticket)).run(case.refinement_id, case.stages, case.records)
        except Stopped as stopped:
            if stopped.why == "close":
                return "interrupted"
            self._finish(case)
            return "cancelled"
        return "done"

    def _finish(self, case: Case) -> None:
        """The cheap stages over what is finished; nothing when not even the contrast is."""
        store, records = self.reports.store, case.records
        for stage in case.stages:
            records.keys.setdefault(stage.name, store.stage_keys(case.refinement_id, stage.name))
        records.cache.clear()
        if records.produced("contrast"):
            rest = [stage for stage in case.stages if stage.name in CHEAP]
            case.engine(self._watch(case.refinement_id, Ticket())).run(case.refinement_id, rest, records)
            records.cache.clear()

    def _watch(self, refinement_id: str, ticket: Ticket) -> Emit:
        store = self.reports.store

        def heard(event: Event) -> None:
            if isinstance(event, StageStarted):
                store.set_job(refinement_id, "running", event.stage, event.reused, event.total)
            elif isinstance(event, StageProgress):
                store.set_job(refinement_id, "running", event.stage, event.done, event.total)
            elif isinstance(event, StageEnded):
                store.finish_stage(refinement_id, event.stage, event.seconds)
                return
            ticket.check()

        return heard

    def _end(self, refinement_id: str, status: JobStatus, error: str | None) -> None:
        """Says how the job ended, last of all: whoever sees that finds everything else in place."""
        store, job = self.reports.store, self.reports.store.job(refinement_id)
        report = self.reports.settle(refinement_id) if status in ("done", "cancelled") else None
        parent = store.refinement(refinement_id).parent
        if report and parent:
            with suppress(RefinerError):
                self.carry(parent, refinement_id)
        counts = report.counts() if report else {}
        store.event(refinement_id, "run_ended", {"status": status, "error": error, "counts": counts})
        stage = job.stage if job else ""
        store.set_job(refinement_id, status, stage, job.done if job else 0, job.total if job else 0)
