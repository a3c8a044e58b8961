"""How refinements go and went, read from the books. Starts and stops nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from refiner.config import RefineConfig
from refiner.errors import RefinerError
from refiner.job_views import Arrived, FailureRow, JobState, JobView, RefinementCard, StageView
from refiner.types import Proposal, Verdict
from refiner.workspace.corpora import Entry
from refiner.workspace.reports import Reports
from refiner.workspace.room import Room, seconds_of
from refiner.workspace.running import Running
from refiner.workspace.usage import usage_of
from storage import Event, Job
from storage.views import StageOverview, refinement_overview


@dataclass(frozen=True, slots=True)
class Progress:
    """Reads of one database's jobs."""

    room: Room
    reports: Reports
    running: Running

    def job(self, refinement_id: str) -> JobView:
        """Where a refinement stands. Raises StoreError when there is no such refinement."""
        if self.reports.is_opened(refinement_id):
            return self._opened(refinement_id)
        store = self.room.store
        start, job = self.reports.start(refinement_id), store.job(refinement_id)
        events = store.events(refinement_id, "run_started", "run_ended", "usage")
        overview = {one.stage: one for one in refinement_overview(store, refinement_id)}
        status: JobState = job.status if job else "interrupted"
        begun = _last(events, "run_started") or _last(store.events(refinement_id, "started"), "started")
        ended = _last(events, "run_ended")
        latest = ended.body if ended and begun and ended.seq > begun.seq else {}
        return JobView(
            refinement_id=refinement_id,
            status=status,
            stage=job.stage if job else "",
            stages=_stages(start.stages, overview, job),
            failures=self._failures(refinement_id, start.stages),
            error=latest.get("error"),
            started_at=begun.at if begun else "",
            seconds=self._seconds(begun, ended, status),
            reviewable=self.reports.is_reviewable(refinement_id),
            usage=usage_of(events, self.running.live(refinement_id)),
            asks=self.running.asking.asks(start.config, latest.get("stopped", ""), latest.get("waiting", 0)),
            cancelling=status == "running" and self.running.shift.worker.is_cancelled(refinement_id),
        )

    def arrived(self, refinement_id: str) -> tuple[Arrived, ...]:
        """The proposals so far, those of the latest stage in its order, each with the gate's word once it ruled."""
        store = self.room.store

        def made(stage: str) -> list[Any]:
            return store.outputs(store.stage_keys(refinement_id, stage))

        ruled = {one.proposal_id: one for one in made("gate") if isinstance(one, Verdict)}
        found = made("fold") or [*made("propose"), *made("recur")]
        return tuple(_arrived(one, ruled.get(one.key)) for one in found if isinstance(one, Proposal))

    def cards(self, entry: Entry) -> list[RefinementCard]:
        """The refinements of a corpus, newest first."""
        if entry.opened:
            opened = [one for one in self.room.store.results() if one.corpus == entry.id]
            return [self._card(one.refinement_id) for one in reversed(opened)]
        return [self._card(one.key) for one in reversed(self.room.store.refinements(entry.id))]

    def newer(self, refinement_id: str) -> tuple[int, int]:
        """How many traces and outcomes have arrived since the refinement was started."""
        if self.reports.is_opened(refinement_id):
            return 0, 0
        start = self.reports.start(refinement_id)
        then = start.body.get("marks")
        if then is None:
            return 0, 0
        now = self.room.store.marks(start.made.corpus)
        return now.traces - then["traces"], now.outcomes - then["outcomes"]

    def _card(self, refinement_id: str) -> RefinementCard:
        opened = self.reports.is_opened(refinement_id)
        config: RefineConfig | None = None if opened else self.reports.start(refinement_id).config
        known = self.reports.report(refinement_id).config if config is None else {}
        newer = self.newer(refinement_id)
        view = self.job(refinement_id)
        return RefinementCard(
            id=refinement_id,
            started_at=view.started_at,
            status=view.status,
            analyst=config.analyst if config else str(known.get("analyst", "")),
            preset=config.preset if config else str(known.get("preset", "")),
            counts=self._counts(refinement_id) if view.reviewable else {},
            newer_traces=newer[0],
            newer_labels=newer[1],
        )

    def _counts(self, refinement_id: str) -> dict[str, int]:
        ended = _last(self.room.store.events(refinement_id, "run_ended"), "run_ended")
        if ended and ended.body.get("counts"):
            return dict(ended.body["counts"])
        try:
            return self.reports.report(refinement_id).counts()
        except RefinerError:
            return {}

    def _opened(self, refinement_id: str) -> JobView:
        report = self.reports.report(refinement_id)
        opened = next(one for one in self.room.store.results() if one.refinement_id == refinement_id)
        stages = tuple(StageView(name, 1, 1, seconds, 0, "done") for name, seconds in report.seconds.items())
        spent = sum(report.seconds.values())
        return JobView(refinement_id, "done", "", stages, (), None, opened.opened_at, spent, True, report.usage)

    def _seconds(self, begun: Event | None, ended: Event | None, status: JobState) -> float:
        if begun is None:
            return 0.0
        if ended is not None and ended.seq > begun.seq:
            return max(0.0, seconds_of(ended.at) - seconds_of(begun.at))
        return max(0.0, self.room.clock() - seconds_of(begun.at)) if status == "running" else 0.0

    def _failures(self, refinement_id: str, stages: list[str]) -> tuple[FailureRow, ...]:
        store = self.room.store
        return tuple(
            FailureRow(stage, label, error)
            for stage in stages
            for _, label, error in store.failures(store.stage_keys(refinement_id, stage))
        )


def _arrived(proposal: Proposal, verdict: Verdict | None) -> Arrived:
    said = (verdict.result, verdict.words) if verdict else ("", "")
    return Arrived(proposal.suggested_edit, proposal.theme, proposal.side, *said)


def _last(events: list[Event], kind: str) -> Event | None:
    return next((event for event in reversed(events) if event.kind == kind), None)


def _stages(names: list[str], overview: dict[str, StageOverview], job: Job | None) -> tuple[StageView, ...]:
    """Stages before the one at work are done, those after it wait; when nothing is at work, finished ones are done."""
    at = names.index(job.stage) if job and job.stage in names else -1
    found = []
    for place, name in enumerate(names):
        known = overview.get(name)
        here = job if job and place == at else None
        done = here.done if here else known.done + known.failed if known else 0
        total = here.total if here else known.steps if known else 0
        seconds = (known.elapsed if known.elapsed is not None else known.seconds) if known else 0.0
        failed = known.failed if known else 0
        found.append(StageView(name, done, total, seconds, failed, _state(place, at, known, job)))
    return tuple(found)


def _state(place: int, at: int, known: StageOverview | None, job: Job | None) -> Literal["waiting", "running", "done"]:
    if job and job.status == "running":
        return "done" if place < at else "running" if place == at else "waiting"
    return "done" if known and known.pending == 0 and known.elapsed is not None else "waiting"
