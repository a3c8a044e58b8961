"""Opening a database: made, refused, busy, migrated. What a person reads when it cannot be used."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from refiner.errors import SchemaTooNew, StoreBusy, StoreError
from refiner.types import Refinement, Trace
from storage import Store, migrations

ROOT = Path(__file__).parent.parent
TRACE = Trace("corpus", "t1", "generic", "task", "task", "file", ())

HOLD = """
import sys
from pathlib import Path
from storage import Store
with Store.open(Path(sys.argv[1]), read_only=sys.argv[2] == "reader"):
    print("open", flush=True)
    sys.stdin.readline()
"""


def _holder(path: Path, role: str) -> subprocess.Popen[str]:
    child = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path), role],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "open\n"
    return child


def _content(path: Path) -> tuple[bytes, list[str]]:
    return path.read_bytes(), sorted(file.name for file in path.parent.iterdir())


def test_a_database_is_made_in_a_new_folder_and_found_again(tmp_path: Path) -> None:
    path = tmp_path / "out 'x'" / "été;%20.csv"
    with Store.open(path) as store:
        store.add_traces("corpus", [TRACE])
    with Store.open(path) as store:
        assert list(store.traces("corpus")) == [TRACE]
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_a_database_held_by_another_process_names_it_and_the_ways_out(tmp_path: Path) -> None:
    path = tmp_path / "refiner.duckdb"
    child = _holder(path, "writer")
    for read_only in (False, True):
        with pytest.raises(StoreBusy) as caught:
            Store.open(path, read_only=read_only)
        message = str(caught.value)
        assert f"process {child.pid}" in message and str(path) in message
        assert "--out" in message and "--db" in message and "Stop it" in message
        if Path("/proc/self/cmdline").exists():
            assert Path(sys.executable).name in message
    child.communicate("\n", timeout=60)
    Store.open(path).close()


def test_readers_of_two_processes_share_a_database(tmp_path: Path) -> None:
    path = tmp_path / "refiner.duckdb"
    with Store.open(path) as store:
        store.add_traces("corpus", [TRACE])
    child = _holder(path, "reader")
    with Store.open(path, read_only=True) as store:
        assert list(store.traces("corpus")) == [TRACE]
    with pytest.raises(StoreBusy):
        Store.open(path)
    child.communicate("\n", timeout=60)


@pytest.mark.parametrize("read_only", [False, True])
def test_a_second_opening_in_one_process_is_busy_too(tmp_path: Path, read_only: bool) -> None:
    path = tmp_path / "refiner.duckdb"
    (tmp_path / "same").symlink_to(tmp_path)
    with Store.open(path), pytest.raises(StoreBusy, match="this very process"):
        Store.open(tmp_path / "same" / "refiner.duckdb", read_only=read_only)
    Store.open(path, read_only=read_only).close()


@pytest.mark.parametrize("content", [b"", b"trace_id,pass\nt1,true\n", b"PK\x03\x04" + bytes(9000)])
@pytest.mark.parametrize("read_only", [False, True])
def test_a_file_that_is_no_database_is_refused_and_left_alone(tmp_path: Path, content: bytes, read_only: bool) -> None:
    path = tmp_path / "rewards.csv"
    path.write_bytes(content)
    before = _content(path)
    with pytest.raises(StoreError, match="cannot be read as a database of Skill Refiner, and was left as it is"):
        Store.open(path, read_only=read_only)
    assert _content(path) == before


def test_a_database_of_something_else_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "sales.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE sales (amount INTEGER)")
    with pytest.raises(StoreError, match=r"something else \(it has the table 'sales'\).*--db"):
        Store.open(path)
    with duckdb.connect(str(path)) as connection:
        assert connection.execute("SELECT table_name FROM duckdb_tables()").fetchall() == [("sales",)]


def test_a_database_of_newer_code_is_refused_and_says_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "refiner.duckdb"
    Store.open(path).close()
    with duckdb.connect(str(path)) as connection:
        connection.execute("INSERT INTO schema_migration VALUES (99, '0099_later', '2030-01-01T00:00:00Z')")
    for read_only in (False, True):
        with pytest.raises(SchemaTooNew, match=r"schema 99, this one knows \d+\)\. Update Skill Refiner"):
            Store.open(path, read_only=read_only)


def test_a_reader_neither_makes_nor_migrates(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="there is no database at"):
        Store.open(tmp_path / "none.duckdb", read_only=True)
    duckdb.connect(str(tmp_path / "old.duckdb")).close()
    with pytest.raises(StoreError, match="open it once for writing"):
        Store.open(tmp_path / "old.duckdb", read_only=True)
    assert [file.name for file in tmp_path.iterdir()] == ["old.duckdb"]


def test_a_reader_cannot_write_and_a_closed_store_says_so(tmp_path: Path) -> None:
    path = tmp_path / "refiner.duckdb"
    Store.open(path).close()
    with Store.open(path, read_only=True) as store, pytest.raises(StoreError, match="for reading only"):
        store.add_traces("corpus", [TRACE])
    store.close()
    with pytest.raises(StoreError, match="is closed"):
        store.outcomes("corpus")


@pytest.mark.parametrize("path", ["file/refiner.duckdb", ""])
def test_a_path_that_cannot_hold_a_database(tmp_path: Path, path: str) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StoreError, match=r"cannot be (made|used)"):
        Store.open(tmp_path / path)


@pytest.mark.parametrize("name", ["it's", 'a "quote"', "semi;colon", "per%cent", "délivré"])
def test_a_path_is_a_path_whatever_it_is_called(tmp_path: Path, name: str) -> None:
    path = tmp_path / name / f"{name}.duckdb"
    with Store.open(path) as store:
        store.add_traces("corpus", [TRACE])
    with Store.open(path, read_only=True) as store:
        assert list(store.traces("corpus")) == [TRACE]
    assert [file.relative_to(tmp_path) for file in tmp_path.rglob("*.duckdb*")] == [path.relative_to(tmp_path)]


def test_a_path_with_a_question_mark_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="question mark"):
        Store.open(tmp_path / "really?" / "refiner.duckdb")
    assert list(tmp_path.iterdir()) == []


def test_a_draft_left_by_a_killed_run_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "refiner.duckdb.new").write_bytes(b"half of a header")
    with Store.open(tmp_path / "refiner.duckdb") as store:
        assert store.add_traces("corpus", [TRACE]).added == 1
    assert [file.name for file in tmp_path.iterdir()] == ["refiner.duckdb"]


def test_migrations_run_in_order_once_and_whole(tmp_path: Path) -> None:
    folder, path = tmp_path / "migrations", tmp_path / "x.duckdb"
    folder.mkdir()
    (folder / "0002_more.sql").write_text("ALTER TABLE a ADD COLUMN y INTEGER; CREATE TABLE b (z INTEGER);")
    (folder / "0001_first.sql").write_text("CREATE TABLE a (x INTEGER);")
    (folder / "0003_broken.sql").write_text("CREATE TABLE c (x INTEGER); DROP TABLE a; CREATE TABLE oops (")
    with duckdb.connect(str(path)) as connection:
        with pytest.raises(duckdb.Error):
            migrations.apply(connection, path, folder)
        tables = connection.execute("SELECT table_name FROM duckdb_tables() ORDER BY ALL").fetchall()
        assert tables == [("a",), ("b",), ("schema_migration",)]
        (folder / "0003_broken.sql").write_text("CREATE TABLE c (x INTEGER);")
        assert migrations.apply(connection, path, folder) == 3
        assert migrations.apply(connection, path, folder) == 3
        names = connection.execute("SELECT name FROM schema_migration ORDER BY version").fetchall()
        assert names == [("0001_first",), ("0002_more",), ("0003_broken",)]


def test_the_files_of_this_code_are_numbered_without_gaps() -> None:
    versions = [migration.version for migration in migrations.known()]
    assert versions == list(range(1, len(versions) + 1)) and versions


def test_a_job_left_running_is_interrupted_for_writers_and_readers(tmp_path: Path) -> None:
    path = tmp_path / "refiner.duckdb"
    with Store.open(path, clock=lambda: "2026-01-01T00:00:00Z") as store:
        ran, ended = (store.start_refinement(Refinement("corpus", s, "base", {}, {})) for s in ("one", "two"))
        store.set_job(ran, "running", "embed", 3, 7)
        store.set_job(ended, "done", "merge", 1, 1)
    with Store.open(path, read_only=True) as store:
        job = store.job(ran)
        assert job is not None and (job.status, job.stage, job.done, job.total) == ("interrupted", "embed", 3, 7)
    with Store.open(path, clock=lambda: "2026-01-02T00:00:00Z") as store:
        job = store.job(ran)
        assert job is not None and (job.status, job.updated_at) == ("interrupted", "2026-01-02T00:00:00Z")
        untouched = store.job(ended)
        assert untouched is not None and (untouched.status, untouched.updated_at) == ("done", "2026-01-01T00:00:00Z")


def test_a_query_cannot_reach_other_files_or_the_network(tmp_path: Path) -> None:
    (tmp_path / "secret.csv").write_text("a\n1\n")
    with Store.open(tmp_path / "refiner.duckdb") as store, pytest.raises(StoreError), store.database.read() as cursor:
        cursor.execute("SELECT * FROM read_csv(?)", [str(tmp_path / "secret.csv")])
