"""Refinements as jobs: starting, watching, stopping, going on. The engine does the work; this keeps the books."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from refiner import codec
from refiner.config import RefineConfig, plain, result_fields
from refiner.engine import Emit, Engine, Event, RefinementRecords, StageEnded, StageProgress, StageStarted
from refiner.errors import AnalystError, BudgetSpent, ConfigError, RefinerError, StoreError, WaitingForReplies
from refiner.executors.local import InlineExecutor
from refiner.jobs import Go, Shift, Stopped, Ticket, log_lost
from refiner.model_views import NO_KEYS, Keys, Stop
from refiner.ports import Stage, Tools
from refiner.snapshot import Seen, Snapshot
from refiner.strategies import fitting
from refiner.types import Refinement
from refiner.workspace import stored_config, tools_for, versions
from refiner.workspace.asking import Asking
from refiner.workspace.assembling import remembering
from refiner.workspace.corpora import Entry
from refiner.workspace.expecting import expected_of, shown_size
from refiner.workspace.finishing import Quiet, anew, without_asking
from refiner.workspace.plan import Plan, Planner
from refiner.workspace.reports import Reports
from refiner.workspace.tools import engine_for
from refiner.workspace.usage import Meter, meter_of, metered
from storage import JobStatus, Store

log = logging.getLogger(__name__)
UNEXPECTED = "something unexpected happened"


@dataclass(frozen=True, slots=True)
class Case:
    """One refinement at work."""

    refinement_id: str
    config: RefineConfig
    stages: list[Stage]
    records: RefinementRecords
    tools: Tools
    meter: Meter | None = None

    def paid(self, stage: str) -> bool:
        """Whether a stage asks somebody whose calls are stopped one by one: replies under way are still kept."""
        return self.meter is not None and self.meter.paid(stage)


@dataclass(frozen=True, slots=True)
class Running:
    """The jobs of one database. `carry` brings earlier decisions to a refinement that is through."""

    planner: Planner
    reports: Reports
    shift: Shift[Meter]
    carry: Callable[[str, str], int]
    asking: Asking

    def start(self, entry: Entry, settings: dict[str, Any], keys: Keys = NO_KEYS) -> str:
        """Starts a refinement of a corpus; the same one again goes on from where it is. Raises JobRunning."""
        with self.shift.worker.claim() as go:
            plan = self.planner.plan(entry, settings)
            tools = self.tools(plan.config, keys)
            refinement_id = self._open(entry, plan, tools)
            self._go(go, refinement_id, tools, plan.snapshot)
        return refinement_id

    def resume(self, refinement_id: str, keys: Keys = NO_KEYS, limits: Mapping[str, Any] | None = None) -> None:
        """Goes on with a refinement: what is finished stays, what failed is tried again. Raises JobRunning.

        `limits`: new values of `max_cost` and `max_tokens_total`.
        """
        self._refuse_opened(refinement_id)
        with self.shift.worker.claim() as go:
            if limits:
                self._limit(refinement_id, limits)
            self._go(go, refinement_id, self.tools(self.reports.start(refinement_id).config, keys))

    def rerun(self, refinement_id: str, stage: str, keys: Keys = NO_KEYS) -> None:
        """Does a stage and all after it anew. Raises ConfigError for a stage that there is not, or JobRunning."""
        self._refuse_opened(refinement_id)
        stages = self.reports.start(refinement_id).stages
        if stage not in stages:
            raise ConfigError(f'there is no stage "{stage}"; there are {", ".join(stages)}')
        with self.shift.worker.claim() as go:
            tools = self.tools(self.reports.start(refinement_id).config, keys)
            before = len(self.reports.store.events(refinement_id, "rerun"))
            self.reports.store.drop_replies(refinement_id)
            self.reports.store.event(refinement_id, "rerun", {"stage": stage, "salt": f"{refinement_id}:{before + 1}"})
            self._go(go, refinement_id, tools)

    def cancel(self, refinement_id: str) -> None:
        """Stops after the step at work; what is finished is kept. Nothing happens when it is not running."""
        self.shift.cancel(refinement_id)

    def live(self, refinement_id: str) -> dict[str, Any] | None:
        """What the run at work has taken of a model and not written down yet."""
        meter = self.shift.at_work.get(refinement_id)
        return None if meter is None or meter.closed else meter.body()

    def _refuse_opened(self, refinement_id: str) -> None:
        if self.reports.is_opened(refinement_id):
            raise ConfigError("this result was opened for reading; refine its traces in a corpus of your own")

    def tools(self, config: RefineConfig, keys: Keys) -> Tools:
        """Everything a run needs. Raises ConfigError for what cannot work, or for a host nobody agreed to."""
        self.asking.refuse_unasked(config)
        return tools_for(config, self.asking.environ(keys), folder=self.asking.room.folder)

    def _limit(self, refinement_id: str, limits: Mapping[str, Any]) -> None:
        body = self.reports.start(refinement_id).body
        known = {name: limits.get(name) for name in ("max_cost", "max_tokens_total")}
        config = {**body["config"], **known}
        stored_config(config)
        self.reports.store.event(refinement_id, "started", {**body, "config": config})
        self.reports.forget(refinement_id)

    def _open(self, entry: Entry, plan: Plan, tools: Tools) -> str:
        """Writes down what the refinement works on."""
        store = self.reports.store
        made = Refinement(
            entry.id,
            plan.snapshot.key,
            store.put_skill(plan.base),
            result_fields(plan.config),
            versions(tools.embedder.identity),
        )
        refinement_id = store.start_refinement(self._known(made))
        store.keep_revisions(plan.guessed)
        body = {
            "inputs": plan.inputs,
            "seen": Seen.of(plan.snapshot),
            "config": plain(plan.config),
            "stages": [stage.name for stage in fitting(plan.config, plan.snapshot.training)(plan.config, tools)],
            "before": self.planner.corpora.skills.before(entry.id),
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
        self,
        go: Go,
        refinement_id: str,
        tools: Tools,
        snapshot: Snapshot | None = None,
    ) -> None:
        case = self._case(refinement_id, tools, snapshot)
        self.reports.forget(refinement_id)
        self.reports.store.event(refinement_id, "run_started", {})
        self.reports.store.set_job(refinement_id, "running")
        go(refinement_id, lambda ticket: self._work(case, ticket))

    def _case(self, refinement_id: str, tools: Tools, snapshot: Snapshot | None) -> Case:
        start, store = self.reports.start(refinement_id), self.reports.store
        seen = snapshot or self.reports.snapshot(start)
        strategy = fitting(start.config, seen.training)
        usual = remembering(strategy(start.config, tools), start.body.get("before", {}))
        rounds = [(event.body["stage"], event.body["salt"]) for event in store.events(refinement_id, "rerun")]
        stages, asked = anew(usual, rounds)
        base = store.skill(start.made.base)
        records = RefinementRecords(seen.training, base, store)
        meter = meter_of(tools)
        if meter is not None:
            meter.ask_anew(asked)
            meter.expected = expected_of(start.config, [shown_size(item.trace) for item in seen.training])
        return Case(refinement_id, start.config, stages, records, tools, meter)

    def _work(self, case: Case, ticket: Ticket) -> None:
        """A whole job, to its end in words."""
        error: str | None = None
        status: JobStatus = "done"
        later: dict[str, Any] = {}
        if case.meter is not None:
            self.shift.at_work[case.refinement_id] = case.meter
        try:
            with metered(self.reports.store, case.refinement_id, case.meter):
                status = self._stages(case, ticket)
        except (BudgetSpent, WaitingForReplies) as stop:
            status, error, later = "interrupted", str(stop), _later(stop)
        except RefinerError as failure:
            status, error = "failed", str(failure)
        except Exception as failure:
            log.exception("refinement %s failed", case.refinement_id)
            status, error = "failed", f"{UNEXPECTED} ({type(failure).__name__}: {failure}); the log has the details"
        finally:
            self.shift.at_work.pop(case.refinement_id, None)
        self._end(case.refinement_id, status, error, later)

    def _stages(self, case: Case, ticket: Ticket) -> JobStatus:
        engine = engine_for(case.config, self.reports.store, case.tools, self._watch(case, ticket))
        try:
            engine.run(case.refinement_id, case.stages, case.records)
        except (Stopped, AnalystError):
            if ticket.why is None:
                raise
            if ticket.why == "close":
                return "interrupted"
            self._finish(case)
            return "cancelled"
        return "done"

    def _finish(self, case: Case) -> None:
        """The cheap stages over what is finished, asking nobody; nothing when not even the contrast is."""
        store, records = self.reports.store, case.records
        for stage in case.stages:
            records.keys.setdefault(stage.name, store.stage_keys(case.refinement_id, stage.name))
        records.cache.clear()
        if records.produced("contrast"):
            free = case.tools.analyst.deterministic
            tools = case.tools if free else replace(case.tools, analyst=Quiet(case.tools.analyst))
            rest = without_asking(case.stages, (lambda keys: set(keys)) if free else store.finished)
            watch = self._watch(case, Ticket())
            Engine(store, InlineExecutor(), tools, watch).run(case.refinement_id, rest, records)
            records.cache.clear()

    def _watch(self, case: Case, ticket: Ticket) -> Emit:
        store, refinement_id = self.reports.store, case.refinement_id

        def heard(event: Event) -> None:
            if isinstance(event, StageStarted):
                store.set_job(refinement_id, "running", event.stage, event.reused, event.total)
            elif isinstance(event, StageProgress):
                store.set_job(refinement_id, "running", event.stage, event.done, event.total)
            elif isinstance(event, StageEnded):
                store.finish_stage(refinement_id, event.stage, event.seconds)
                return
            if isinstance(event, StageStarted) or not case.paid(getattr(event, "stage", "")):
                ticket.check()

        return heard

    def _end(self, refinement_id: str, status: JobStatus, error: str | None, later: dict[str, Any]) -> None:
        """Says how the job ended, last of all: whoever sees that finds everything else in place."""
        store, job = self.reports.store, self.reports.store.job(refinement_id)
        report = self.reports.settle(refinement_id) if status in ("done", "cancelled") else None
        parent = store.refinement(refinement_id).parent
        if status == "done" and report and not report.failed:
            store.drop_replies(refinement_id)
        if report and parent:
            with suppress(RefinerError):
                self.carry(parent, refinement_id)
        counts = report.counts() if report else {}
        store.event(refinement_id, "run_ended", {"status": status, "error": error, "counts": counts, **later})
        stage = job.stage if job else ""
        store.set_job(refinement_id, status, stage, job.done if job else 0, job.total if job else 0)


def lost(store: Store, refinement_id: str, error: BaseException) -> None:
    """Takes the news of a job that could not even say how it ended."""
    log_lost(refinement_id, error)
    with suppress(StoreError):
        store.set_job(refinement_id, "failed")


def _later(stop: BudgetSpent | WaitingForReplies) -> dict[str, Any]:
    """Why a run stopped that can go on."""
    if isinstance(stop, BudgetSpent):
        limit: Stop = "limit"
        return {"stopped": limit}
    waiting: Stop = "waiting"
    return {"stopped": waiting, "waiting": stop.count}
