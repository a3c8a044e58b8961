"""`refiner app`: starts the review app on this machine and says where it is. Draws nothing itself."""

from __future__ import annotations

import argparse
import json
import os
import signal
import socket
import subprocess
import sys
import time
import webbrowser
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

from refiner.errors import OutputError, RefinerError, UsageError
from refiner.resources import ROOT

DATABASE = Path(".refiner/refiner.duckdb")
PORT = 8501
TRIED = 50
PATIENCE = 60.0
"""Seconds to wait for the server; it answers in about two."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--port", type=int, default=PORT, help=f"the port to use; the next free one when it is taken (default {PORT})"
    )
    parser.add_argument("--db", type=Path, default=DATABASE, metavar="FILE", help=f"the database (default {DATABASE})")
    parser.add_argument("--open", type=Path, metavar="OUT", help="show the result that `refiner refine` wrote to OUT")


def run(arguments: argparse.Namespace) -> int:
    database = arguments.db.absolute()
    running = Running.at(database)
    if running is not None:
        print("This database is open in an app that runs already:\n")
        print(f"    {running.url}")
        return 0
    result = _result(arguments.open)
    port = free_port(arguments.port)
    if port != arguments.port:
        print(f"Port {arguments.port} is taken, so the next free one is used: {port}.")
    return serve(database, port, result)


@dataclass(frozen=True, slots=True)
class Running:
    """An app that has a database open: the process of its server and its address."""

    pid: int
    url: str

    @classmethod
    def at(cls, database: Path) -> Running | None:
        """The app that has this database open; None when there is none or the one that was noted is gone."""
        try:
            noted = json.loads(address_file(database).read_text(encoding="utf-8"))
            found = cls(int(noted["pid"]), str(noted["url"]))
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return found if _alive(found.pid) and _answers(found.url) else None

    def write(self, database: Path) -> None:
        """Notes the address beside the database."""
        body = json.dumps({"pid": self.pid, "url": self.url})
        address_file(database).write_text(body + "\n", encoding="utf-8")


def address_file(database: Path) -> Path:
    """Where the app that has `database` open notes its address: `.refiner/refiner.app.json` for the default one."""
    return database.with_suffix(".app.json")


def probe(database: Path) -> None:
    """Opens the database once, so that what is wrong with it is said here and not on a page. Raises StoreError."""
    from refiner.workspace.desk import Workspace

    try:
        database.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(
            f"{database.parent} cannot be made ({error.strerror}); choose another place with --db"
        ) from error
    Workspace.open(database).close()


def free_port(wanted: int) -> int:
    """The first port from `wanted` on that nobody listens at. Raises UsageError when there is none."""
    if not 0 < wanted < 65536:
        raise UsageError(f"--port {wanted}: a port is a number from 1 to 65535")
    for port in range(wanted, min(wanted + TRIED, 65536)):
        if _is_free(port):
            return port
    raise UsageError(f"no free port from {wanted} to {wanted + TRIED - 1}; choose another with --port")


def serve(database: Path, port: int, result: Path | None = None) -> int:
    """Runs the server until it is stopped; the address is the last thing printed. Raises StoreError.

    The database is looked at while the server loads its libraries, and let go before it serves anybody.
    """
    url = f"http://localhost:{port}"
    environment = {**os.environ, "REFINER_DB": str(database), **({"REFINER_OPEN": str(result)} if result else {})}
    with _server(port, environment) as server:
        probe(database)
        _tell(server)
        wait_for(lambda: _answers(url), server.poll)
        _tell(server)
        Running(server.pid, url).write(database)
        try:
            print("Skill Refiner is running. Stop it with Ctrl+C.\n")
            print(f"    {url}", flush=True)
            if _has_screen():
                webbrowser.open(url)
            return server.wait()
        except KeyboardInterrupt:
            return 0
        finally:
            address_file(database).unlink(missing_ok=True)


def wait_for(
    ready: Callable[[], bool],
    ended: Callable[[], int | None],
    *,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> None:
    """Returns once the server answers. Raises RefinerError when it ended or keeps silent."""
    deadline = clock() + PATIENCE
    while not ready():
        if (code := ended()) is not None:
            raise RefinerError(f"the server of the app ended with code {code}; its words stand above")
        if clock() > deadline:
            raise RefinerError(f"the server of the app did not answer within {PATIENCE:.0f} s; try again")
        sleep(0.1)


@contextmanager
def _server(port: int, environment: Mapping[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    """The server as a child process that never outlives this one's ordinary end."""
    command = [sys.executable, "-m", "refiner.cli.server", "run", str(ROOT / "app.py"), f"--server.port={port}"]
    server = subprocess.Popen(command, env=dict(environment), stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    before = signal.signal(signal.SIGTERM, _stop)
    try:
        yield server
    finally:
        signal.signal(signal.SIGTERM, before)
        with suppress(KeyboardInterrupt):
            server.terminate()
            server.wait()


def _tell(server: subprocess.Popen[bytes]) -> None:
    """Lets the server take its next step; one that is gone is noticed by whoever waits for it."""
    with suppress(OSError):
        assert server.stdin is not None
        server.stdin.write(b"\n")
        server.stdin.flush()


def _result(folder: Path | None) -> Path | None:
    if folder is not None and not folder.is_dir():
        raise UsageError(f"--open {folder}: there is no such folder; name the OUT folder of a `refiner refine`")
    return folder.absolute() if folder else None


def _stop(number: int, frame: object) -> None:
    raise KeyboardInterrupt


def _alive(pid: int) -> bool:
    if os.name != "posix":  # there, a signal of any number ends the process; the answer of the address has to do
        return True
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except OSError:
        return False
    return True


def _answers(url: str) -> bool:
    try:
        with urlopen(f"{url}/_stcore/health", timeout=2) as reply:
            return bool(reply.status == 200)
    except (URLError, OSError, ValueError):
        return False


def _is_free(port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe_socket:
        if os.name == "posix":  # a port that was just left counts as free
            probe_socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe_socket.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def _has_screen() -> bool:
    shown = sys.platform in ("darwin", "win32") or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    return bool(shown) and sys.stdout.isatty()
