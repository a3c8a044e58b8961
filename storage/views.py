"""What the screens ask: one function a screen, one frozen value back. Nothing here writes, and nothing interprets."""

from __future__ import annotations

from dataclasses import dataclass

import duckdb

from storage import batches
from storage.store import Store


@dataclass(frozen=True, slots=True)
class CorpusCounts:
    """Raw counts of a corpus. `outcomes` counts events by (origin, status); which of them count is for the caller."""

    traces: int
    spans: int
    tasks: int
    traces_without_task: int
    task_id_origins: dict[str, int]
    labelled_traces: int
    outcomes: dict[tuple[str, str], int]
    notes: dict[str, int]


@dataclass(frozen=True, slots=True)
class StageOverview:
    """One stage of a refinement. `pending` steps have no attempt yet; `seconds` adds up the last attempts of its steps.

    `elapsed` is the time on the clock, None until the stage is finished. `records` counts outputs by kind.
    """

    stage: str
    steps: int
    done: int
    failed: int
    pending: int
    seconds: float
    elapsed: float | None
    records: dict[str, int]


_CURRENT = """
    WITH held AS (
        SELECT t.* FROM trace t
        JOIN (SELECT trace_id, arg_max(revision, ordinal) AS revision FROM trace_current GROUP BY trace_id) c
          ON c.trace_id = t.trace_id AND c.revision = t.revision
        WHERE t.corpus = ?
    )
"""

_STAGES = """
    WITH link AS (
        SELECT stage, min(seq) AS place, arg_max(step_keys, seq) AS step_keys
        FROM stage_link WHERE refinement_id = ? GROUP BY stage
    ), linked AS (SELECT DISTINCT stage, unnest(step_keys) AS key FROM link)
"""


def corpus_counts(store: Store, corpus: str) -> CorpusCounts:
    """Counts of the current revisions of a corpus; all zero when there is no such corpus."""
    name = batches.escape(corpus)
    with store.database.read() as cursor:
        origins = _pairs(cursor, _CURRENT + "SELECT task_id_origin, count(*) FROM held GROUP BY 1 ORDER BY 1", name)
        totals = batches.rows(
            cursor,
            _CURRENT + "SELECT count(*), coalesce(sum(span_count), 0), count(DISTINCT nullif(task_id, '')),"
            " count(*) FILTER (task_id = ''),"
            " count(*) FILTER (trace_id IN (SELECT trace_id FROM outcome)) FROM held",
            name,
        )
        outcomes = batches.rows(
            cursor,
            _CURRENT + "SELECT origin, status, count(*) FROM outcome"
            " WHERE trace_id IN (SELECT trace_id FROM held) GROUP BY ALL ORDER BY ALL",
            name,
        )
        notes = _pairs(
            cursor,
            _CURRENT + "SELECT kind, count(*) FROM note"
            " WHERE trace_id IN (SELECT trace_id FROM held) GROUP BY 1 ORDER BY 1",
            name,
        )
    traces, spans, tasks, without_task, labelled = totals[0]
    by_outcome = {(origin, status): count for origin, status, count in outcomes}
    return CorpusCounts(traces, int(spans), tasks, without_task, origins, labelled, by_outcome, notes)


def refinement_overview(store: Store, refinement_id: str) -> tuple[StageOverview, ...]:
    """The stages of a refinement in the order they were first linked; empty when there are none."""
    with store.database.read() as cursor:
        rows = batches.rows(
            cursor,
            _STAGES + "SELECT stage, count(l.key), count(*) FILTER (s.status = 'done'),"
            " count(*) FILTER (s.status = 'failed'), coalesce(sum(s.seconds), 0)"
            " FROM link LEFT JOIN linked l USING (stage)"
            " LEFT JOIN (SELECT * FROM step QUALIFY row_number() OVER (PARTITION BY key ORDER BY attempt DESC) = 1) s"
            " ON s.key = l.key GROUP BY stage, place ORDER BY place",
            refinement_id,
        )
        records = _records_by_stage(cursor, refinement_id)
    elapsed = _elapsed(store, refinement_id)
    return tuple(
        StageOverview(
            stage, steps, done, failed, steps - done - failed, seconds, elapsed.get(stage), records.get(stage, {})
        )
        for stage, steps, done, failed, seconds in rows
    )


def _records_by_stage(cursor: duckdb.DuckDBPyConnection, refinement_id: str) -> dict[str, dict[str, int]]:
    rows = batches.rows(
        cursor,
        _STAGES + "SELECT l.stage, o.kind, count(*) FROM linked l JOIN step_output o ON o.step_key = l.key"
        " GROUP BY ALL ORDER BY ALL",
        refinement_id,
    )
    found: dict[str, dict[str, int]] = {}
    for stage, kind, count in rows:
        found.setdefault(stage, {})[kind] = count
    return found


def _elapsed(store: Store, refinement_id: str) -> dict[str, float]:
    finished = [event.body for event in store.events(refinement_id, "stage_finished")]
    return {str(body["stage"]): float(body["seconds"]) for body in finished}


def _pairs(cursor: duckdb.DuckDBPyConnection, sql: str, corpus: str) -> dict[str, int]:
    return {name: count for name, count in batches.rows(cursor, sql, corpus)}
