"""Reports of refinements, remembered: those of this database and those opened from elsewhere. Runs nothing."""

from __future__ import annotations

import shlex
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from refiner import codec
from refiner.config import RefineConfig
from refiner.engine import RefinementRecords
from refiner.errors import NotReady, RefinerError, StoreError
from refiner.reporting.report import Inputs, Report
from refiner.review import with_description, with_mendings
from refiner.snapshot import Seen, Snapshot
from refiner.strategies import cluster
from refiner.types import Embedding, Refinement
from refiner.workspace import DATABASE, assemble, failures, recall, stored_config, tools_for
from refiner.workspace.corpora import Corpora
from refiner.workspace.usage import usage_of
from storage import Event, Store

_KEPT = 4
LAST_STAGES = ("contrast", "merge", "audit")
"""What a report cannot do without."""


@dataclass(frozen=True, slots=True)
class Stored:
    """A finished refinement as one text: its report, and the vectors that neighbours are found by."""

    report: Report
    vectors: tuple[Embedding, ...]


@dataclass(frozen=True, slots=True)
class Start:
    """What a refinement was started with. `stages`: the names of its stages, in order."""

    made: Refinement
    config: RefineConfig
    seen: Seen
    inputs: Inputs
    body: dict[str, Any]

    @property
    def stages(self) -> list[str]:
        if "stages" in self.body:
            return list(self.body["stages"])
        return [stage.name for stage in cluster.stages(self.config, tools_for(self.config, {}, plugged=False))]


@dataclass(slots=True)
class Reports:
    """The reports of one database. One thread at a time reads one."""

    corpora: Corpora
    kept: dict[str, Report] = field(default_factory=dict)
    starts: dict[str, Start] = field(default_factory=dict)
    lock: threading.RLock = field(default_factory=threading.RLock)

    @property
    def store(self) -> Store:
        return self.corpora.room.store

    def report(self, refinement_id: str) -> Report:
        """The report. Raises NotReady while there is none yet, StoreError or ConfigError when there is none at all."""
        with self.lock:
            if refinement_id in self.kept:
                return self.kept[refinement_id]
            body = self.store.result_body(refinement_id)
            return self._keep(codec.decode(Stored, body).report if body else self._recalled(refinement_id))

    def settle(self, refinement_id: str) -> Report | None:
        """The report of a refinement whose job is about to end; None when it lacks something."""
        with self.lock:
            return self._keep(self._assembled(refinement_id)) if self.is_complete(refinement_id) else None

    def forget(self, refinement_id: str) -> None:
        """Makes the next reader look again."""
        with self.lock:
            self.kept.pop(refinement_id, None)
            self.starts.pop(refinement_id, None)

    def is_opened(self, refinement_id: str) -> bool:
        return self.opened_from(refinement_id) is not None

    def opened_from(self, refinement_id: str) -> str | None:
        """The folder that a result was opened from, quoted for a shell; None for a refinement of this database."""
        sources = (one.source for one in self.store.results() if one.refinement_id == refinement_id)
        return next((shlex.quote(one) for one in sources), None)

    def corpus(self, refinement_id: str) -> str:
        """The id of the corpus a refinement belongs to. Raises StoreError when there is no such refinement."""
        opened = next((one.corpus for one in self.store.results() if one.refinement_id == refinement_id), None)
        return opened or self.store.refinement(refinement_id).corpus

    def is_reviewable(self, refinement_id: str) -> bool:
        """Whether a refinement of this database has all that a report needs, and nothing is being written to it."""
        job = self.store.job(refinement_id)
        return job is not None and job.status != "running" and self.is_complete(refinement_id)

    def is_complete(self, refinement_id: str) -> bool:
        """Whether the stages that a report needs are finished."""
        keys = [self.store.stage_keys(refinement_id, stage) for stage in LAST_STAGES]
        wanted = {key for of_stage in keys for key in of_stage}
        return all(keys) and self.store.finished(sorted(wanted)) == wanted

    def start(self, refinement_id: str) -> Start:
        """How a refinement began the latest time. Raises StoreError when it never did."""
        known = self.starts.get(refinement_id)
        if known is None:
            known = self._start(refinement_id)
            self.starts[refinement_id] = known
        return known

    def _start(self, refinement_id: str) -> Start:
        made = self.store.refinement(refinement_id)
        events = self.store.events(refinement_id, "started")
        body = events[-1].body if events else None
        if body is None:
            raise StoreError(f"refinement {refinement_id} was never started; start a new one")
        seen, inputs = codec.from_plain(Seen, body["seen"]), codec.from_plain(Inputs, body["inputs"])
        return Start(made, stored_config(body["config"]), seen, inputs, body)

    def snapshot(self, start: Start) -> Snapshot:
        """What the refinement saw, whatever has arrived since."""
        seen = start.seen
        return seen.snapshot(self.store.revisions(seen.wanted), self.store.notes(start.made.corpus))

    def vectors(self, refinement_id: str) -> Sequence[Embedding]:
        """The vectors of the summaries of a refinement."""
        body = self.store.result_body(refinement_id)
        if body:
            return codec.decode(Stored, body).vectors
        return [
            one
            for one in self.store.outputs(self.store.stage_keys(refinement_id, "embed"))
            if isinstance(one, Embedding)
        ]

    def open_result(self, folder: Path) -> str:
        """Copies the latest finished refinement of an output folder into this database, as it stands now; its id."""
        database = folder / DATABASE
        if not database.is_file():
            raise StoreError(f"{folder} holds no {DATABASE}; name the --out folder of a `refiner refine`")
        with Store.open(database, read_only=True) as other:
            refinement_id, stored = _latest(other, folder)
        with self.corpora.room.lock:
            opened = next((one for one in self.store.results() if one.refinement_id == refinement_id), None)
            if opened is None:
                name = self.corpora.free_name(folder.resolve().name)
                entry = self.corpora.create(name, opened=True)
                self.store.put_result(refinement_id, entry.id, str(folder), codec.encode(stored))
            elif self.store.result_body(refinement_id) != (body := codec.encode(stored)):
                self.store.refresh_result(refinement_id, body)
                self.forget(refinement_id)
            if opened is not None and all(entry.id != opened.corpus for entry in self.corpora.entries()):
                self.corpora.restore(opened.corpus)
        return refinement_id

    def _recalled(self, refinement_id: str) -> Report:
        job = self.store.job(refinement_id)
        self.corpora.by_id(self.store.refinement(refinement_id).corpus)
        if not self.is_reviewable(refinement_id):
            raise NotReady(_not_ready(job.status if job else "interrupted"))
        return self._assembled(refinement_id)

    def _keep(self, report: Report) -> Report:
        while len(self.kept) >= _KEPT:
            del self.kept[next(iter(self.kept))]
        self.kept[report.refinement_id] = shown = with_mendings(with_description(report))
        return shown

    def _assembled(self, refinement_id: str) -> Report:
        start = self.start(refinement_id)
        snapshot = self.snapshot(start)
        records = RefinementRecords(snapshot.training, self.store.skill(start.made.base), self.store)
        for stage in start.stages:
            records.keys[stage] = self.store.stage_keys(refinement_id, stage)
        return assemble(
            refinement_id,
            start.made,
            start.config,
            start.inputs,
            snapshot,
            records,
            stage_seconds(self.store.events(refinement_id, "stage_finished")),
            failures(self.store, records),
            usage_of(self.store.events(refinement_id, "usage")),
            start.body.get("before", {}),
        )


def stage_seconds(events: Sequence[Event]) -> dict[str, float]:
    """Seconds on the clock by finished stage, of its latest run."""
    return {event.body["stage"]: float(event.body["seconds"]) for event in events if event.kind == "stage_finished"}


def _latest(other: Store, folder: Path) -> tuple[str, Stored]:
    """The newest refinement of another database that has a report."""
    problem: RefinerError | None = None
    for corpus, _ in other.corpora():
        for made in reversed(other.refinements(corpus)):
            try:
                report = recall(other, made.key)
            except RefinerError as error:
                problem = problem or error
                continue
            vectors = other.outputs(other.stage_keys(made.key, "embed"))
            return made.key, Stored(report, tuple(one for one in vectors if isinstance(one, Embedding)))
    words = f" ({problem})" if problem else ""
    raise StoreError(f"{folder} holds no finished refinement{words}; run its `refiner refine` command again")


def _not_ready(status: str) -> str:
    if status == "running":
        return "this refinement is still running; its changes can be reviewed when it is done"
    return f"this refinement was {status} before there was anything to review; resume it, or start a new one"
