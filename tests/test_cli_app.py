"""`refiner app`: the port it takes, the address it notes, and what it says of an app that runs already."""

from __future__ import annotations

import json
import os
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest

from refiner.cli import app, main
from refiner.errors import RefinerError, UsageError


class Healthy(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()

    def log_message(self, *args: object) -> None: ...


@contextmanager
def server() -> Iterator[str]:
    """Something that answers like a running app."""
    with HTTPServer(("127.0.0.1", 0), Healthy) as http:
        thread = Thread(target=http.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{http.server_port}"
        http.shutdown()
        thread.join()


def listener() -> socket.socket:
    taken = socket.socket()
    taken.bind(("127.0.0.1", 0))
    taken.listen()
    return taken


def test_a_taken_port_leads_to_the_next_free_one() -> None:
    with listener() as taken:
        port = taken.getsockname()[1]
        found = app.free_port(port)
        assert port < found < port + app.TRIED
    assert app.free_port(port) == port


@pytest.mark.parametrize("port", [0, -1, 70000])
def test_a_port_that_is_none_is_refused(port: int) -> None:
    with pytest.raises(UsageError, match="1 to 65535"):
        app.free_port(port)


def test_an_app_that_has_the_database_open_is_named_and_nothing_is_started(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    database = tmp_path / "work.duckdb"
    with server() as url:
        app.Running(os.getpid(), url).write(database)
        assert main(["app", "--db", str(database)]) == 0
    lines = capsys.readouterr().out.split()
    assert lines[-1] == url
    assert not database.exists()


@pytest.mark.parametrize(
    "noted",
    [
        "",
        "not json",
        "[]",
        "{}",
        pytest.param(json.dumps({"pid": os.getpid(), "url": "http://127.0.0.1:9"}), id="alive"),
    ],
)
def test_an_address_that_no_longer_answers_counts_for_nothing(tmp_path: Path, noted: str) -> None:
    database = tmp_path / "work.duckdb"
    app.address_file(database).write_text(noted)
    assert app.Running.at(database) is None


def test_a_process_that_is_gone_counts_for_nothing(tmp_path: Path) -> None:
    database = tmp_path / "work.duckdb"
    with server() as url:
        app.Running(2**22 + 1, url).write(database)
        assert app.Running.at(database) is None


def test_a_server_that_ends_or_keeps_silent_is_told_apart() -> None:
    with pytest.raises(RefinerError, match="ended with code 3"):
        app.wait_for(lambda: False, lambda: 3)
    times = iter((0.0, 1.0, 100.0))
    slept: list[float] = []
    with pytest.raises(RefinerError, match="did not answer within 60 s"):
        app.wait_for(lambda: False, lambda: None, clock=lambda: next(times), sleep=slept.append)
    assert len(slept) == 1


def test_a_result_folder_that_is_not_there_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    database = tmp_path / "work.duckdb"
    assert main(["app", "--db", str(database), "--open", str(tmp_path / "gone")]) == 2
    assert "there is no such folder" in capsys.readouterr().err
    assert not database.exists()


def test_a_database_that_cannot_be_opened_is_said_at_once_and_leaves_no_server(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[subprocess.Popen[bytes]] = []
    real = subprocess.Popen
    monkeypatch.setattr(
        app.subprocess, "Popen", lambda *args, **more: started.append(real(*args, **more)) or started[0]
    )
    database = tmp_path / "work.duckdb"
    database.write_bytes(b"no database " * 1000)
    assert main(["app", "--db", str(database)]) != 0
    said = capsys.readouterr()
    assert str(database) in said.err and "http://" not in said.out
    assert started[0].poll() is not None
    assert not app.address_file(database).exists()
