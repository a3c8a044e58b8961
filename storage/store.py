"""The face of the database: one method a thing to keep or to ask. No SQL lives here, and no rule of the domain."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any

from refiner.ports import Done
from refiner.types import Decision, EvaluatorNote, Outcome, Refinement, SkillVersion, Trace
from storage import corpora, decisions, labels, refinements, replies, steps, traces
from storage.connection import Database, open_database
from storage.corpora import Marks
from storage.decisions import Opened
from storage.ledger import AddReport
from storage.refinements import Event, Job, JobStatus


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


class Store:
    """An open database. Every method may be called from any thread; writers take turns, each in one transaction.

    Every method raises StoreError when the database fails: the transaction is undone, what was committed stays.
    """

    def __init__(self, database: Database, clock: Callable[[], str] = _now) -> None:
        self.database = database
        self._clock = clock

    @classmethod
    def open(cls, path: Path, *, read_only: bool = False, clock: Callable[[], str] = _now) -> Store:
        """Opens the database at `path`, making it if missing; jobs left running become interrupted.

        Raises StoreBusy when someone holds it, SchemaTooNew when newer code wrote it, else StoreError.
        """
        store = cls(open_database(Path(path), read_only=read_only), clock)
        if not read_only:
            try:
                store._interrupt_running()
            except BaseException:
                store.close()
                raise
        return store

    def __enter__(self) -> Store:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Waits for a commit in flight and lets the file go."""
        self.database.close()

    def add_traces(self, corpus: str, traces_: Sequence[Trace], revisions: Sequence[str] | None = None) -> AddReport:
        """Adds traces: a repetition is counted, a longer one replaces, a namesake gets an id of its own, and one that
        contradicts is rejected and named.

        `revisions`: those of the traces, where they are known already.
        """
        known = [trace.revision for trace in traces_] if revisions is None else revisions
        with self.database.write() as cursor:
            return traces.add(cursor, corpus, traces_, known, self._clock())

    def bulk(self) -> AbstractContextManager[None]:
        """For adding traces by the gigabyte: see `Database.bulk`."""
        return self.database.bulk()

    def together(self) -> AbstractContextManager[object]:
        """What this thread writes inside the block is one transaction: all of it is kept, or nothing."""
        return self.database.write()

    def add_outcomes(self, outcomes: Sequence[Outcome], *, only_first: bool = False) -> int:
        """Appends what was not already said last of a trace, or (`only_first`) at all; returns how many events."""
        with self.database.write() as cursor:
            return labels.add_outcomes(cursor, outcomes, self._clock(), only_first=only_first)

    def add_notes(self, notes: Sequence[EvaluatorNote]) -> None:
        """Appends the evaluator notes that are not stored yet."""
        with self.database.write() as cursor:
            labels.add_notes(cursor, notes)

    def traces(self, corpus: str) -> Iterator[Trace]:
        """The current revision of every trace, in external-id order, as of the first step of the iterator."""
        with self.database.read() as cursor:
            yield from traces.stream(cursor, traces.current(cursor, corpus))

    def outcomes(self, corpus: str) -> dict[str, tuple[Outcome, ...]]:
        """Trace id to outcomes in event order; traces without any are absent, as are outcomes of unknown traces."""
        with self.database.read() as cursor:
            return labels.outcomes(cursor, corpus)

    def notes(self, corpus: str) -> dict[str, tuple[EvaluatorNote, ...]]:
        """Trace id to evaluator notes in the order they came; traces without any are absent."""
        with self.database.read() as cursor:
            return labels.notes(cursor, corpus)

    def put_skill(self, skill: SkillVersion) -> str:
        """Stores a skill version and returns its key."""
        with self.database.write() as cursor:
            return refinements.put_skill(cursor, skill, self._clock())

    def skill(self, key: str) -> SkillVersion:
        """The skill version with this key. Raises StoreError when there is none."""
        with self.database.read() as cursor:
            return refinements.skill(cursor, key)

    def start_refinement(self, refinement: Refinement) -> str:
        """Stores a refinement and returns its key; starting the same again changes nothing."""
        with self.database.write() as cursor:
            return refinements.start(cursor, refinement, self._clock())

    def refinement(self, key: str) -> Refinement:
        """The refinement with this key. Raises StoreError when there is none."""
        with self.database.read() as cursor:
            return refinements.refinement(cursor, key)

    def refinements(self, corpus: str) -> list[Refinement]:
        """The refinements of the corpus, oldest first."""
        with self.database.read() as cursor:
            return refinements.refinements(cursor, corpus)

    def set_job(self, refinement_id: str, status: JobStatus, stage: str = "", done: int = 0, total: int = 0) -> None:
        """Says how far the refinement is, over what was said before."""
        job = Job(refinement_id, status, stage, done, total, self._clock())
        with self.database.write() as cursor:
            refinements.set_job(cursor, job)

    def job(self, refinement_id: str) -> Job | None:
        """The state of the refinement's job, or None. A reader of a file that nobody holds sees no running job."""
        with self.database.read() as cursor:
            job = refinements.job(cursor, refinement_id)
        if job and job.status == "running" and self.database.read_only:
            return replace(job, status="interrupted")
        return job

    def finish_stage(self, refinement_id: str, stage: str, seconds: float) -> None:
        """Records that the stage is complete and how long it took on the clock (an event `stage_finished`)."""
        self.event(refinement_id, "stage_finished", {"stage": stage, "seconds": seconds})

    def event(self, refinement_id: str, kind: str, body: Mapping[str, Any]) -> None:
        """Appends an event; the body is JSON-able."""
        with self.database.write() as cursor:
            refinements.add_event(cursor, refinement_id, kind, body, self._clock())

    def events(self, refinement_id: str, *kinds: str) -> list[Event]:
        """The events of the refinement in the order they were written; of these kinds, or all."""
        with self.database.read() as cursor:
            return refinements.events(cursor, refinement_id, kinds)

    def commit(self, refinement_id: str, done: Sequence[Done]) -> None:
        """Writes steps and their records in one transaction.

        A failed step is kept with its error and is not finished; a later success counts instead. A finished key keeps
        its first result. Raises StoreError for a record that is none of `refiner.types`.
        """
        with self.database.write() as cursor:
            steps.commit(cursor, refinement_id, done, self._clock())

    def finished(self, keys: Sequence[str]) -> set[str]:
        """Those of the step keys that are done."""
        with self.database.read() as cursor:
            return steps.finished(cursor, keys)

    def outputs(self, step_keys: Sequence[str]) -> list[Any]:
        """The records of finished steps, in the order of the keys and then as each step made them."""
        with self.database.read() as cursor:
            return steps.outputs(cursor, step_keys)

    def failures(self, step_keys: Sequence[str]) -> list[tuple[str, str, str]]:
        """(key, label, error) of the steps whose last attempt failed, in the order of the keys."""
        with self.database.read() as cursor:
            return steps.failures(cursor, step_keys)

    def link_steps(self, refinement_id: str, stage: str, step_keys: Sequence[str]) -> None:
        """Records the ordered steps of a stage; the latest link counts."""
        with self.database.write() as cursor:
            steps.link(cursor, refinement_id, stage, step_keys)

    def stage_keys(self, refinement_id: str, stage: str) -> list[str]:
        """The ordered step keys of a stage of a refinement; empty when it was never linked."""
        with self.database.read() as cursor:
            return steps.stage_keys(cursor, refinement_id, stage)

    def keep_reply(
        self, refinement_id: str, request_id: str, body: str, events: Sequence[tuple[str, Mapping[str, Any]]] = ()
    ) -> None:
        """Stores a model's reply as soon as it is there, whatever becomes of its step, with events (kind, body)."""
        with self.database.write() as cursor:
            replies.keep(cursor, refinement_id, request_id, body)
            for kind, told in events:
                refinements.add_event(cursor, refinement_id, kind, told, self._clock())

    def kept_replies(self, refinement_id: str) -> dict[str, str]:
        """Request id to reply, of what was kept and not dropped."""
        with self.database.read() as cursor:
            return replies.kept(cursor, refinement_id)

    def drop_replies(self, refinement_id: str, request_id: str | None = None) -> None:
        """Removes the reply to one request, or all of the refinement."""
        with self.database.write() as cursor:
            replies.drop(cursor, refinement_id, request_id)

    def corpus_event(self, corpus: str, kind: str, body: Mapping[str, Any]) -> None:
        """Appends an event of a corpus; the body is JSON-able."""
        with self.database.write() as cursor:
            corpora.add_event(cursor, corpus, kind, body, self._clock())

    def corpus_events(self, corpus: str, *kinds: str) -> list[Event]:
        """The events of these kinds of a corpus, in the order they were written."""
        with self.database.read() as cursor:
            return corpora.events(cursor, corpus, kinds)

    def corpora(self) -> list[tuple[str, bool]]:
        """(corpus, removed) of every corpus that was ever named, oldest first."""
        with self.database.read() as cursor:
            return corpora.known(cursor)

    def marks(self, corpus: str) -> Marks:
        """How much has arrived in a corpus so far."""
        with self.database.read() as cursor:
            return corpora.marks(cursor, corpus)

    def keep_revisions(self, kept: Sequence[Trace]) -> None:
        """Stores trace revisions beside the current ones, for a refinement to find again whatever arrives later."""
        with self.database.write() as cursor:
            corpora.keep_revisions(cursor, kept, self._clock())

    def revisions(self, wanted: Sequence[tuple[str, str]]) -> Iterator[Trace]:
        """The traces of these (trace id, revision) pairs, in their order; what is not stored is left out."""
        with self.database.read() as cursor:
            yield from traces.stream(cursor, wanted)

    def trace(self, trace_id: str) -> Trace | None:
        """The current revision of a trace, or None."""
        with self.database.read() as cursor:
            return corpora.trace(cursor, trace_id)

    def put_cards(self, cards: Sequence[tuple[str, str, str]]) -> None:
        """Stores what lists show of traces: (trace id, revision, ASCII text)."""
        with self.database.write() as cursor:
            corpora.put_cards(cursor, cards)

    def cards(self, corpus: str) -> list[tuple[str, str, str | None]]:
        """(trace id, revision, text or None) of the current revision of every trace."""
        with self.database.read() as cursor:
            return corpora.cards(cursor, corpus)

    def put_setting(self, name: str, value: str) -> None:
        """Sets a setting of this database."""
        with self.database.write() as cursor:
            corpora.put_setting(cursor, name, value)

    def setting(self, name: str) -> str | None:
        """A setting of this database, or None."""
        with self.database.read() as cursor:
            return corpora.setting(cursor, name)

    def add_decisions(self, added: Sequence[Decision]) -> None:
        """Appends decisions of one refinement to its log."""
        with self.database.write() as cursor:
            decisions.add(cursor, added, self._clock())

    def decisions(self, refinement_id: str) -> list[Decision]:
        """The decision log of a refinement, in order."""
        with self.database.read() as cursor:
            return decisions.log(cursor, refinement_id)

    def put_result(self, refinement_id: str, corpus: str, source: str, body: str) -> None:
        """Stores a finished refinement of another database, as an ASCII text."""
        opened = Opened(refinement_id, corpus, source, self._clock())
        with self.database.write() as cursor:
            decisions.put_result(cursor, opened, body)

    def refresh_result(self, refinement_id: str, body: str) -> None:
        """What an opened result says now, in place of what it said."""
        with self.database.write() as cursor:
            decisions.refresh_result(cursor, refinement_id, body)

    def results(self) -> list[Opened]:
        """Every opened result, oldest first."""
        with self.database.read() as cursor:
            return decisions.results(cursor)

    def result_body(self, refinement_id: str) -> str | None:
        """The text of an opened result, or None."""
        with self.database.read() as cursor:
            return decisions.result_body(cursor, refinement_id)

    def _interrupt_running(self) -> None:
        with self.database.write() as cursor:
            refinements.interrupt_running(cursor, self._clock())
