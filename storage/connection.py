"""The one place that connects. Owns the file, the writer lock and the cursors; knows no table."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from weakref import WeakValueDictionary

import duckdb

from refiner.errors import StoreBusy, StoreError
from storage import faults, migrations

_ATTACH = "ATTACH ? AS store (TYPE duckdb, ROW_GROUP_SIZE 2048{})"
"""Small row groups, because a checkpoint writes the last one of a table anew: of the usual 122,880 rows that would be
everything there is, and every checkpoint would cost more than the one before."""
_USE = "USE store"
"""What a cursor does not take over from the connection that it is of."""
_CONFIG: dict[str, str | bool | int | float | list[str]] = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "python_enable_replacements": False,
}


class Database:
    """An open database file. Reads run side by side, each on a cursor of its own; one writer at a time."""

    def __init__(self, path: Path, root: duckdb.DuckDBPyConnection, *, read_only: bool) -> None:
        self.path, self.read_only = path, read_only
        self._root: duckdb.DuckDBPyConnection | None = root
        self._writer = threading.RLock()
        self._writing: duckdb.DuckDBPyConnection | None = None
        self._cursors = threading.Lock()

    @contextmanager
    def read(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """A cursor of the calling thread. Raises StoreError when the database fails or is closed."""
        with faults.translated(self.path):
            cursor = self._cursor()
            try:
                yield cursor
            finally:
                cursor.close()

    @contextmanager
    def write(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """A cursor inside one transaction: all of the block is kept, or (on any exception) nothing of it.

        Inside another such block of the same thread it is the cursor, and the transaction, of that one.
        """
        if self.read_only:
            raise StoreError(f"{self.path} was opened for reading only; open it for writing to change it.")
        with self._writer:
            if self._writing is not None:
                yield self._writing
                return
            with self.read() as cursor, _transaction(cursor):
                self._writing = cursor
                try:
                    yield cursor
                finally:
                    self._writing = None

    @contextmanager
    def bulk(self) -> Iterator[None]:
        """While very much is written: checkpoints, which rewrite what is there, come rarely, and memory stays small."""
        self._set("SET wal_autocheckpoint = '64MB'", "SET memory_limit = '512MB'")
        try:
            yield
        finally:
            self._set("RESET wal_autocheckpoint", "RESET memory_limit")

    def _set(self, *statements: str) -> None:
        with self.read() as cursor:
            for statement in statements:
                cursor.execute(statement)

    def close(self) -> None:
        """Waits for a commit in flight, then lets the file go. Closing twice is fine."""
        with self._writer, self._cursors:
            root, self._root = self._root, None
            if root is not None:
                root.close()
        with _opening:
            if _open.get(self.path) is self:
                del _open[self.path]

    def _cursor(self) -> duckdb.DuckDBPyConnection:
        with self._cursors:
            if self._root is None:
                raise StoreError(f"the database {self.path} is closed; open it again.")
            cursor = self._root.cursor()
        cursor.execute(_USE)
        return cursor


_open: WeakValueDictionary[Path, Database] = WeakValueDictionary()
_opening = threading.RLock()


def open_database(path: Path, *, read_only: bool = False) -> Database:
    """The database at `path`, made if missing (unless read_only) and brought to the schema of this code.

    Raises StoreBusy when it is open elsewhere (or a second time here), SchemaTooNew, or StoreError.
    """
    path = path.resolve()
    if "?" in str(path):  # DuckDB puts the name of its log before it
        raise StoreError(f"the database {path} cannot be opened: its path has a question mark; name another folder.")
    with _opening:
        if path in _open:
            raise StoreBusy(faults.busy_message(path, "this very process, which opened it before"))
        if not path.exists():
            _make(path, read_only)
        database = Database(path, connect(path, read_only=read_only), read_only=read_only)
        try:
            _bring_up(database)
        except BaseException:
            database.close()
            raise
        _open[path] = database
    return database


def connect(path: Path, *, read_only: bool = False) -> duckdb.DuckDBPyConnection:
    """The only call of duckdb.connect in the product."""
    with faults.translated(path):
        root = duckdb.connect(config={**_CONFIG, "temp_directory": f"{path}.tmp"})
        try:
            root.execute(_ATTACH.format(", READ_ONLY" if read_only else ""), [str(path)])
            root.execute(_USE)
            # From here on no query reads any other file or the network.
            root.execute("SET enable_external_access = false")
        except BaseException:
            root.close()
            raise
        return root


@contextmanager
def _transaction(cursor: duckdb.DuckDBPyConnection) -> Iterator[None]:
    cursor.begin()
    try:
        yield
        cursor.commit()
    except BaseException:
        with suppress(duckdb.Error):  # a failed commit has rolled back already
            cursor.rollback()
        raise


def _bring_up(database: Database) -> None:
    with database.read() as cursor:
        if database.read_only:
            migrations.require_current(cursor, database.path)
        else:
            migrations.apply(cursor, database.path)


def _make(path: Path, read_only: bool) -> None:
    """Builds an empty database beside `path` and moves it there, so that a kill never leaves half a file at `path`."""
    if read_only:
        raise StoreError(f"there is no database at {path}; run a refinement first, or name another one.")
    draft = path.with_name(path.name + ".new")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with closing(_connect_draft(draft)) as root:
            # The draft's lock is held here, so nobody else can be between this check and their own move.
            if not path.exists():
                _fill(root, draft, path)
        _move(draft, path)
    except OSError as error:
        message = f"the database {path} cannot be made: {error.strerror}; name a folder that can be written."
        raise StoreError(message) from error


def _connect_draft(draft: Path) -> duckdb.DuckDBPyConnection:
    try:
        return connect(draft)
    except StoreBusy:
        raise
    except StoreError:  # left by a run that was killed while making it; it never held anything
        draft.unlink(missing_ok=True)
        draft.with_name(draft.name + ".wal").unlink(missing_ok=True)
        return connect(draft)


def _fill(root: duckdb.DuckDBPyConnection, draft: Path, path: Path) -> None:
    try:
        with faults.translated(path):
            migrations.apply(root, path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def _move(draft: Path, path: Path) -> None:
    if path.exists():
        draft.unlink(missing_ok=True)
        return
    with suppress(FileNotFoundError):  # another process opened the same draft and moved it first
        draft.rename(path)
        draft.with_name(draft.name + ".wal").unlink(missing_ok=True)
