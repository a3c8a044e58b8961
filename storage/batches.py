"""Rows in and texts escaped: what every table module needs. No table is named here."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import duckdb


def escape(text: str) -> str:
    """The text in ASCII as inside a JSON string: a column can hold neither a lone surrogate nor, safely, NUL."""
    return json.dumps(text, ensure_ascii=True)[1:-1]


def unescape(text: str) -> str:
    """The inverse of `escape`."""
    return str(json.loads(f'"{text}"'))


def escape_optional(text: str | None) -> str | None:
    """`escape`, keeping None."""
    return None if text is None else escape(text)


def unescape_optional(text: str | None) -> str | None:
    """`unescape`, keeping None."""
    return None if text is None else unescape(text)


def rows(cursor: duckdb.DuckDBPyConnection, sql: str, *values: Any) -> list[tuple[Any, ...]]:
    """All rows of the query. Never `fetchone`: an unread rest keeps the cursor busy."""
    return cursor.execute(sql, list(values)).fetchall()


def insert(cursor: duckdb.DuckDBPyConnection, table: str, new: Sequence[Mapping[str, Any]]) -> None:
    """Appends the rows through Arrow, columns by name; a row whose key is there already is left out."""
    if not new:
        return
    if len(new) == 1:
        _insert_one(cursor, table, new[0])
        return
    import pyarrow

    cursor.register("incoming", pyarrow.Table.from_pylist(list(new)))
    try:
        cursor.execute(f"INSERT INTO {table} BY NAME SELECT * FROM incoming ON CONFLICT DO NOTHING")
    finally:
        cursor.unregister("incoming")


def _insert_one(cursor: duckdb.DuckDBPyConnection, table: str, row: Mapping[str, Any]) -> None:
    """One row without Arrow, whose first use costs half a second of imports."""
    columns, marks = ", ".join(row), ", ".join("?" * len(row))
    cursor.execute(
        f"INSERT INTO {table} ({columns}) VALUES ({marks}) ON CONFLICT DO NOTHING", [row[name] for name in row]
    )


def next_seq(cursor: duckdb.DuckDBPyConnection, table: str) -> int:
    """One more than the highest `seq` of the table. Safe because there is one writer at a time."""
    return int(rows(cursor, f"SELECT coalesce(max(seq), 0) + 1 FROM {table}")[0][0])
