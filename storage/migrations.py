"""Brings a database to the schema of this code: numbered SQL files, a transaction each. Nothing but DDL lives here."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import duckdb

from refiner.errors import SchemaTooNew, StoreError
from refiner.resources import MIGRATIONS


@dataclass(frozen=True, slots=True)
class Migration:
    """One file `NNNN_name.sql`."""

    version: int
    name: str
    sql: str


def known(folder: Path = MIGRATIONS) -> list[Migration]:
    """The migrations of this code, in order."""
    files = sorted(folder.glob("[0-9]*.sql"))
    return [Migration(int(file.stem.split("_")[0]), file.stem, file.read_text(encoding="utf-8")) for file in files]


def apply(cursor: duckdb.DuckDBPyConnection, path: Path, folder: Path = MIGRATIONS) -> int:
    """Runs what is missing and returns the version reached. Raises SchemaTooNew, or StoreError for a foreign file."""
    steps = known(folder)
    version = _checked_version(cursor, path, steps)
    for step in steps:
        if step.version > version:
            _run(cursor, step)
            version = step.version
    return version


def require_current(cursor: duckdb.DuckDBPyConnection, path: Path) -> None:
    """Raises unless the database has exactly this code's schema (a reader cannot migrate)."""
    steps = known()
    if _checked_version(cursor, path, steps) < steps[-1].version:
        raise StoreError(f"{path} was written by an older version; open it once for writing to bring it up to date.")


def _checked_version(cursor: duckdb.DuckDBPyConnection, path: Path, steps: list[Migration]) -> int:
    version = _version(cursor, path)
    newest = steps[-1].version
    if version > newest:
        raise SchemaTooNew(
            f"{path} was written by a newer version of Skill Refiner (schema {version}, this one knows {newest}). "
            "Update Skill Refiner, or use another folder with --out or another database with --db."
        )
    return version


def _version(cursor: duckdb.DuckDBPyConnection, path: Path) -> int:
    tables = {row[0] for row in cursor.execute("SELECT table_name FROM duckdb_tables()").fetchall()}
    if "schema_migration" in tables:
        return int(cursor.execute("SELECT coalesce(max(version), 0) FROM schema_migration").fetchall()[0][0])
    if tables:
        raise StoreError(
            f"{path} is a database of something else (it has the table {min(tables)!r}), and was left as it is. "
            "Name another file with --db, or another folder with --out."
        )
    return 0


def _run(cursor: duckdb.DuckDBPyConnection, step: Migration) -> None:
    cursor.begin()
    try:
        cursor.execute(
            "CREATE TABLE IF NOT EXISTS schema_migration"
            " (version BIGINT PRIMARY KEY, name VARCHAR NOT NULL, applied_at VARCHAR NOT NULL)"
        )
        cursor.execute(step.sql)
        applied_at = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        cursor.execute("INSERT INTO schema_migration VALUES (?, ?, ?)", [step.version, step.name, applied_at])
    except BaseException:
        cursor.rollback()
        raise
    cursor.commit()
