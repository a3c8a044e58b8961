"""Replies of a model that no finished step holds yet; they go once their refinement is through. Reads no reply."""

from __future__ import annotations

import duckdb

from storage import batches


def keep(cursor: duckdb.DuckDBPyConnection, refinement_id: str, request_id: str, body: str) -> None:
    """Stores the reply to a request, in place of an earlier one."""
    drop(cursor, refinement_id, request_id)
    row = {"refinement_id": refinement_id, "request_id": request_id, "body": batches.escape(body)}
    batches.insert(cursor, "reply", [row])


def kept(cursor: duckdb.DuckDBPyConnection, refinement_id: str) -> dict[str, str]:
    """The replies of a refinement by request."""
    sql = "SELECT request_id, body FROM reply WHERE refinement_id = ? ORDER BY request_id"
    return {key: batches.unescape(body) for key, body in batches.rows(cursor, sql, refinement_id)}


def drop(cursor: duckdb.DuckDBPyConnection, refinement_id: str, request_id: str | None = None) -> None:
    """Removes one reply of a refinement, or all of them."""
    cursor.execute(
        "DELETE FROM reply WHERE refinement_id = ? AND (?::VARCHAR IS NULL OR request_id = ?)",
        [refinement_id, request_id, request_id],
    )
