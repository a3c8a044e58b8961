"""Skills, refinements, their jobs and events. What a refinement does is not known here."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import duckdb

from refiner import codec
from refiner.errors import StoreError
from refiner.types import Refinement, SkillVersion
from storage import batches

JobStatus = Literal["running", "done", "failed", "interrupted", "cancelled"]


@dataclass(frozen=True, slots=True)
class Job:
    """How far a refinement has come: `done` of `total` steps of `stage`."""

    refinement_id: str
    status: JobStatus
    stage: str
    done: int
    total: int
    updated_at: str


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened in a refinement, in the order of `seq`."""

    seq: int
    kind: str
    body: dict[str, Any]
    at: str


def put_skill(cursor: duckdb.DuckDBPyConnection, skill: SkillVersion, at: str) -> str:
    """Stores the version unless it is there, and returns its key."""
    batches.insert(cursor, "skill", [{"key": skill.key, "body": codec.encode(skill), "added_at": at}])
    return skill.key


def skill(cursor: duckdb.DuckDBPyConnection, key: str) -> SkillVersion:
    """The version with this key. Raises StoreError when there is none."""
    return codec.decode(SkillVersion, _body(cursor, "SELECT body FROM skill WHERE key = ?", key, "skill version"))


def start(cursor: duckdb.DuckDBPyConnection, refinement: Refinement, at: str) -> str:
    """Stores the refinement unless it is there (the first one stays), and returns its key."""
    row = {
        "refinement_id": refinement.key,
        "seq": batches.next_seq(cursor, "refinement"),
        "corpus": batches.escape(refinement.corpus),
        "snapshot": refinement.snapshot,
        "base": refinement.base,
        "parent": refinement.parent,
        "body": codec.encode(refinement),
        "started_at": at,
    }
    batches.insert(cursor, "refinement", [row])
    return refinement.key


def refinement(cursor: duckdb.DuckDBPyConnection, key: str) -> Refinement:
    """The refinement with this key. Raises StoreError when there is none."""
    sql = "SELECT body FROM refinement WHERE refinement_id = ?"
    return codec.decode(Refinement, _body(cursor, sql, key, "refinement"))


def refinements(cursor: duckdb.DuckDBPyConnection, corpus: str) -> list[Refinement]:
    """The refinements of the corpus, oldest first."""
    sql = "SELECT body FROM refinement WHERE corpus = ? ORDER BY seq"
    return [codec.decode(Refinement, body) for (body,) in batches.rows(cursor, sql, batches.escape(corpus))]


def set_job(cursor: duckdb.DuckDBPyConnection, job: Job) -> None:
    """Writes the state of the job over the one before: the only update in place of the whole database."""
    cursor.execute(
        "INSERT INTO job VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (refinement_id) DO UPDATE SET status = excluded.status,"
        " stage = excluded.stage, done = excluded.done, total = excluded.total, updated_at = excluded.updated_at",
        [job.refinement_id, job.status, job.stage, job.done, job.total, job.updated_at],
    )


def job(cursor: duckdb.DuckDBPyConnection, refinement_id: str) -> Job | None:
    """The job of the refinement, or None when it never had one."""
    sql = "SELECT refinement_id, status, stage, done, total, updated_at FROM job WHERE refinement_id = ?"
    found = batches.rows(cursor, sql, refinement_id)
    return Job(*found[0]) if found else None


def interrupt_running(cursor: duckdb.DuckDBPyConnection, at: str) -> None:
    """Marks jobs that say `running`: nobody else can hold the file, so whoever ran them is gone."""
    cursor.execute("UPDATE job SET status = 'interrupted', updated_at = ? WHERE status = 'running'", [at])


def add_event(
    cursor: duckdb.DuckDBPyConnection, refinement_id: str, kind: str, body: Mapping[str, Any], at: str
) -> None:
    """Appends an event. Raises StoreError when the body is not JSON-able."""
    try:
        text = json.dumps(body, ensure_ascii=True)
    except (TypeError, ValueError) as error:
        raise StoreError(f"the event {kind!r} cannot be stored: {error}") from error
    seq = batches.next_seq(cursor, "event")
    row = {"refinement_id": refinement_id, "seq": seq, "kind": kind, "body": text, "happened_at": at}
    batches.insert(cursor, "event", [row])


def events(cursor: duckdb.DuckDBPyConnection, refinement_id: str, kinds: Sequence[str] = ()) -> list[Event]:
    """The events of the refinement in the order they were written; of these kinds, or all."""
    sql = (
        "SELECT seq, kind, body, happened_at FROM event WHERE refinement_id = ?"
        " AND (len(?::VARCHAR[]) = 0 OR list_contains(?::VARCHAR[], kind)) ORDER BY seq"
    )
    found = batches.rows(cursor, sql, refinement_id, list(kinds), list(kinds))
    return [Event(seq, kind, json.loads(body), at) for seq, kind, body, at in found]


def _body(cursor: duckdb.DuckDBPyConnection, sql: str, key: str, what: str) -> str:
    found = batches.rows(cursor, sql, key)
    if not found:
        raise StoreError(f"there is no {what} {key} in this database; it may belong to another --out or --db.")
    return str(found[0][0])
