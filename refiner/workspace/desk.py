"""The desk that a front end works at: one method a read or a command, each a plain value back. Draws nothing."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from refiner.errors import ConfigError
from refiner.job_views import Arrived, JobView, RefinementCard
from refiner.jobs import Shift, Worker
from refiner.labels import Threshold
from refiner.model_views import NO_KEYS, Keys, ModelDefaults, Tested
from refiner.reporting.report import Report
from refiner.skills import skeleton
from refiner.skills.loading import HISTORY, PROVENANCE
from refiner.types import Status
from refiner.views import CorpusCard, CorpusView, Estimate, IngestReport, LabelRow, SkillView, TableView, Upload
from refiner.workspace.asking import Asking
from refiner.workspace.conversation_desk import ConversationDesk
from refiner.workspace.conversations import Conversations
from refiner.workspace.corpora import Corpora
from refiner.workspace.cutting import Cutting
from refiner.workspace.deciding import Deciding
from refiner.workspace.digest import Digests
from refiner.workspace.evidence import Evidence
from refiner.workspace.evidence_desk import EvidenceDesk
from refiner.workspace.exporting import Exporting
from refiner.workspace.gates import Gates
from refiner.workspace.heldout import Seal
from refiner.workspace.label_desk import LabelDesk
from refiner.workspace.labelling import Labelling
from refiner.workspace.ledgers import Ledgers
from refiner.workspace.measuring import Measuring
from refiner.workspace.plan import Planner
from refiner.workspace.progress import Progress
from refiner.workspace.reports import Reports
from refiner.workspace.review_desk import ReviewDesk
from refiner.workspace.room import REVIEWER, Room
from refiner.workspace.running import Running, lost
from refiner.workspace.sample import Sample
from refiner.workspace.scoring import Scoring
from refiner.workspace.startskill import MAIN, StartSkills, from_files, from_uploads
from refiner.workspace.suggesting import Suggesting
from refiner.workspace.tables import look
from refiner.workspace.taking import Reading, Taking
from refiner.workspace.tools import warm_up
from refiner.workspace.usage import Meter


class Workspace(ReviewDesk, EvidenceDesk, LabelDesk, ConversationDesk):
    """One open database. Every method may be called from any thread; every one may raise RefinerError with words."""

    def __init__(self, room: Room) -> None:
        digests = Digests(room.store)
        self._room = room
        self._corpora = Corpora(room, digests, StartSkills(room))
        self._taking = Taking(room, digests)
        self._labelling = Labelling(room, digests)
        self._scoring = Scoring(room, digests)
        self._suggesting = Suggesting(room, digests)
        self._conversations = Conversations(self._corpora)
        self._reports = Reports(self._corpora)
        self._deciding = Deciding(room, self._reports)
        self._asking = Asking(room)
        planner = Planner(self._corpora, self._asking)
        shift: Shift[Meter] = Shift(Worker(partial(lost, room.store)))
        self._running = Running(planner, self._reports, shift, self._deciding.carry_over, self._asking)
        self._progress = Progress(room, self._reports, self._running)
        self._seal = Seal(self._deciding)
        self._ledgers = Ledgers(self._deciding)
        self._measuring = Measuring(self._reports, self._running)
        self._gates = Gates(self._reports, self._measuring)
        self._cutting = Cutting(planner, self._conversations)
        self._evidence = Evidence(self._corpora, self._reports)
        self._exporting = Exporting(room, self._deciding, self._seal, self._ledgers, self._gates, self._evidence)

    @classmethod
    def open(
        cls, path: Path, *, clock: Callable[[], float] = time.time, environ: Mapping[str, str] | None = None
    ) -> Workspace:
        """Opens or makes the database. Raises StoreBusy when another process has it, naming that process."""
        return cls(Room.open(Path(path), clock, os.environ if environ is None else environ))

    def close(self) -> None:
        """Stops the job at work after its step (it can be resumed), and lets the file go. Closing twice is fine."""
        for one in (self._cutting, self._measuring, self._running):
            one.shift.close()
        self._room.store.close()

    def warm_up(self) -> None:
        """Loads what the first clustering needs, some seconds of work; for a thread in the background."""
        warm_up()

    def reviewer(self) -> str:
        """The name that decisions and labels are kept under."""
        return self._room.reviewer()

    def set_reviewer(self, name: str) -> None:
        """Sets the reviewer. Raises ConfigError for an empty name."""
        name = " ".join(name.split())[:80]
        if not name:
            raise ConfigError("the reviewer needs a name; decisions are kept under it")
        self._room.store.put_setting(REVIEWER, name)

    def corpora(self) -> list[CorpusCard]:
        """Every corpus, oldest first."""
        return [self._corpora.card(entry) for entry in self._corpora.entries()]

    def create_corpus(self, name: str) -> None:
        """Makes an empty corpus. Raises ConfigError when the name is taken or unusable."""
        self._corpora.create(name)

    def remove_corpus(self, name: str) -> None:
        """Takes a corpus away, with its labels and refinements. Raises ConfigError when there is none of that name."""
        entry = self._corpora.entry(name)
        running = self._running.shift.worker.running()
        if running is not None and self._reports.corpus(running) == entry.id:
            raise ConfigError(f'a refinement of "{name}" is running; cancel it first')
        if any(self._reports.corpus(one) == entry.id for one in self._measuring.shift.at_work):
            raise ConfigError(f'a gate of "{name}" is being asked again; cancel that first')
        if entry.id in self._cutting.shift.at_work:
            raise ConfigError(f'the conversations of "{name}" are being read; stop that first')
        self._corpora.remove(name)

    def corpus(self, name: str) -> CorpusView:
        """Everything about a corpus. Raises ConfigError when there is none of that name."""
        return self._corpora.view(self._corpora.entry(name))

    def load_sample(self) -> str:
        """The name of the scripted sample corpus, loaded with its labels and skill unless it is there."""
        return Sample(self._corpora, self._taking).load()

    def ingest(
        self,
        name: str,
        uploads: Sequence[Upload],
        *,
        task_key: str | None = None,
        columns: Mapping[str, str] | None = None,
    ) -> IngestReport:
        """Adds traces and label files to a corpus; what cannot be used is in the report, with its reason."""
        return self._taking.take(self._corpora.own(name), uploads, Reading(task_key, columns=columns))

    def ingest_files(
        self,
        name: str,
        paths: Sequence[Path],
        *,
        task_key: str | None = None,
        columns: Mapping[str, str] | None = None,
        threshold: Threshold | None = None,
    ) -> IngestReport:
        """Like `ingest`, for files and folders of this machine, read where they lie and however large they are."""
        grade = threshold or Threshold()
        reading = Reading(task_key, grade.pass_at, grade.lower_is_better, columns)
        return self._taking.take_files(self._corpora.own(name), paths, reading)

    def look_at_table(self, upload: Upload, columns: Mapping[str, str] | None = None) -> TableView:
        """A table before it is taken in: columns, what they are taken for, three runs as that would give them."""
        return look(upload, columns)

    def last_upload(self, name: str) -> IngestReport | None:
        """The report of the latest upload or label file, or None."""
        return self._taking.last(self._corpora.entry(name))

    def attach_labels(
        self, name: str, upload: Upload, *, pass_at: float = 1.0, lower_is_better: bool = False
    ) -> IngestReport:
        """Adds a label or feedback file. Raises LabelError when nothing of it fits, with examples of both ids."""
        return self._taking.attach(self._corpora.own(name), upload, Reading(None, pass_at, lower_is_better))

    def label(self, name: str, trace_id: str, status: Status, *, note: str | None = None) -> None:
        """Says how a trace ended, as the reviewer; a note becomes its feedback."""
        self._labelling.label(self._corpora.entry(name), trace_id, status, note)

    def dispute(self, name: str, trace_id: str, reason: str) -> None:
        """Sets the outcome of a trace aside: from the next refinement on it is on neither side."""
        self._labelling.dispute(self._corpora.entry(name), trace_id, reason)

    def label_rows(self, name: str, *, status: str | None = None, offset: int = 0, limit: int = 60) -> list[LabelRow]:
        """Traces to label, in external-id order: those of one outcome, or all."""
        return self._labelling.rows(self._corpora.entry(name), status, offset, limit)

    def read_skill(self, uploads: Sequence[Upload]) -> dict[str, bytes]:
        """The files of an uploaded skill: single files, a folder, or a zip of one. Raises SkillError with words."""
        return from_uploads(uploads)

    def set_skill(
        self, name: str, files: Mapping[str, bytes] | None, *, main: str = MAIN, skill_name: str | None = None
    ) -> SkillView:
        """Sets the start skill; None starts from a skeleton. Raises SkillError when the files cannot be one."""
        entry = self._corpora.own(name)
        skill = skeleton(skill_name or name) if files is None else from_files(files, main)
        return self._corpora.skills.set(entry.id, skill, (files or {}).get(f"{HISTORY}/{PROVENANCE}"))

    def estimate(self, name: str, settings: Mapping[str, Any]) -> Estimate:
        """What a refinement would take; `blocked` says why it cannot be started."""
        running = self.running() is not None
        return self._running.planner.estimate(self._corpora.entry(name), settings, running)

    def start(self, name: str, settings: Mapping[str, Any], keys: Keys = NO_KEYS) -> str:
        """Starts a refinement and returns its id at once. Raises JobRunning, ConfigError or LabelError.

        `keys` serve this run only: they are kept nowhere, and a resume needs them again.
        """
        return self._running.start(self._corpora.entry(name), dict(settings), keys)

    def job(self, refinement_id: str) -> JobView:
        """Where a refinement stands. Raises StoreError when there is none of that id."""
        return self._progress.job(refinement_id)

    def arrived(self, refinement_id: str) -> tuple[Arrived, ...]:
        """The proposals of a refinement so far, and what the gate says of them; they are decided on when it is done."""
        return self._progress.arrived(refinement_id)

    def running(self) -> str | None:
        """The refinement at work, or None; one that has said how it ended is not at work any more."""
        name = self._running.shift.worker.running()
        job = self._room.store.job(name) if name else None
        return name if job and job.status == "running" else None

    def cancel(self, refinement_id: str) -> None:
        """Stops a refinement after the step at work; what is finished is kept and can be reviewed."""
        self._running.cancel(refinement_id)

    def resume(
        self, refinement_id: str, keys: Keys = NO_KEYS, *, limits: Mapping[str, float | None] | None = None
    ) -> None:
        """Goes on where a refinement stopped, and tries again what failed. Raises JobRunning.

        `limits`: `max_cost` and `max_tokens_total` from now on; one left out is none.
        """
        self._running.resume(refinement_id, keys, limits)

    def rerun(self, refinement_id: str, stage: str, keys: Keys = NO_KEYS) -> None:
        """Does a stage and all after it anew. Raises JobRunning, or ConfigError for an unknown stage."""
        self._running.rerun(refinement_id, stage, keys)

    def model_defaults(self) -> ModelDefaults:
        """What the settings file and the environment say of a model. Raises ConfigError for a file with mistakes."""
        return self._asking.defaults()

    def test_connection(self, name: str, settings: Mapping[str, Any], keys: Keys = NO_KEYS) -> tuple[Tested, ...]:
        """One short prompt to each model and endpoint of the settings; no text of a trace. Raises ConfigError."""
        return self._asking.test(self._running.planner.settings(self._corpora.entry(name), settings), keys)

    def agree(self, hosts: Sequence[str]) -> None:
        """Agrees, once and for all, that text of traces may be sent to these hosts."""
        self._asking.agree(tuple(hosts))

    def requests(self, refinement_id: str) -> bytes:
        """The requests that wait for a reply, as a zip file. Raises ConfigError when nothing is handed off."""
        return self._asking.requests(self._reports.start(refinement_id).config)

    def answer(self, refinement_id: str, upload: Upload) -> int:
        """Takes in replies, a .json file or a zip of them; how many. Raises FormatError for anything else."""
        return self._asking.answer(self._reports.start(refinement_id).config, upload.name, upload.data.read())

    def wait(self, seconds: float | None = None) -> bool:
        """Waits until no job is at work; False when that took longer. For scripts and tests; pages poll `job`."""
        return all(one.shift.worker.join(seconds) for one in (self._running, self._measuring, self._cutting))

    def refinements(self, name: str) -> list[RefinementCard]:
        """The refinements of a corpus, newest first."""
        return self._progress.cards(self._corpora.entry(name))

    def corpus_of(self, refinement_id: str) -> str:
        """The name of the corpus of a refinement. Raises StoreError or ConfigError when it is gone."""
        return self._corpora.by_id(self._reports.corpus(refinement_id)).name

    def report(self, refinement_id: str) -> Report:
        """What the refinement found. Raises NotReady while it runs, or when it stopped too early."""
        return self._reports.report(refinement_id)

    def newer(self, refinement_id: str) -> tuple[int, int]:
        """How many traces and labels have arrived since the refinement was started."""
        return self._progress.newer(refinement_id)

    def open_result(self, folder: Path) -> str:
        """Copies the finished refinement of a command line's output folder here, for reading; its id."""
        return self._reports.open_result(Path(folder))
