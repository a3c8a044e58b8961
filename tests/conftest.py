"""What every test gets: no network but loopback, no settings of the person who runs it, and the data folders.

Tests marked `corpora` read the folder that REFINER_CORPORA names. Without it they are skipped, with the reason; with it
a skipped one is a failure, since a check that was silently left out is worth nothing.
"""

from __future__ import annotations

import ipaddress
import os
import signal
import socket
import tempfile
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from refiner import compile_cache, resources

CORPORA = "REFINER_CORPORA"
PERSONAL = ("OPENAI_", "LLM_", "EMBEDDING_")

_read_corpora: set[str] = set()
_personal: dict[str, str] = {}
_resolve = socket.getaddrinfo


def _resolve_loopback(host: Any, *args: Any, **more: Any) -> Any:
    name = host.decode() if isinstance(host, bytes) else host or "localhost"
    if name != "localhost" and not _is_address(name):
        raise OSError(f"tests may not look up {name}")
    return _resolve(host, *args, **more)


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def pytest_configure(config: pytest.Config) -> None:
    corpora = os.environ.get(CORPORA)
    if corpora and not Path(corpora).is_dir():
        raise pytest.UsageError(f"{CORPORA} names {corpora}, which is no folder")
    _personal.update({name: os.environ.pop(name) for name in list(os.environ) if name.startswith(PERSONAL)})
    _personal.update(getattr(config, "workerinput", {}).get("personal", {}))
    # The compile cache of this machine is kept; everything else gets an empty home.
    os.environ[compile_cache.FOLDER_VARIABLE] = str(compile_cache.default_folder().parent)
    home = tempfile.TemporaryDirectory(prefix="refiner-home-", ignore_cleanup_errors=True)
    config.add_cleanup(home.cleanup)
    os.environ["HOME"] = home.name
    # A shell that starts its commands in the background has them ignore Ctrl-C, children included; tests press it.
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Hands to a worker what this process took out of the environment."""
    node.workerinput["personal"] = dict(_personal)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    asked = str(config.getoption("markexpr")).strip() == "live"
    for item in items:
        item.add_marker(pytest.mark.xdist_group(_side_by_side(item.path)))
        if "corpora" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.corpora)
        if item.get_closest_marker("corpora") and not os.environ.get(CORPORA):
            item.add_marker(pytest.mark.skip(reason=f"reads the real corpora; set {CORPORA} to their folder"))
        if item.get_closest_marker("live") and not asked:
            item.add_marker(pytest.mark.skip(reason="asks a real model; runs with `pytest -m live`"))


def _side_by_side(file: Path) -> str:
    """Tests with one name run in one process, one after another: those of a file, which share fixtures, and all that
    need a browser, which share a prepared database and would slow each other down."""
    return file.parent.name if file.parent.name == "browser" else file.stem


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """Names end at this machine, for every test and the fixtures of any scope that it is the first to ask for. Set
    anew each time: libraries under test put the real look-up back, and a test without any network leaves none."""
    socket.getaddrinfo = _resolve_loopback


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if os.environ.get(CORPORA) and item.get_closest_marker("corpora"):
        _refuse_skip(report)
    return report


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if "corpora" in report.keywords:
        _read_corpora.add(report.nodeid)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    if os.environ.get(CORPORA):
        _refuse_skip(report)
    return report


def _refuse_skip(report: Any) -> None:
    if report.skipped and not hasattr(report, "wasxfail"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        report.outcome, report.longrepr = "failed", f"skipped although {CORPORA} is set: {reason}"


def pytest_terminal_summary(terminalreporter: Any) -> None:
    if os.environ.get(CORPORA):
        terminalreporter.write_line(f"real corpora: read by {len(_read_corpora)} tests")


@pytest.fixture(scope="session")
def corpora() -> Path:
    """The folder of real corpora; a test that asks for it is marked `corpora` by that."""
    return Path(os.environ[CORPORA])


@pytest.fixture(scope="session")
def sample_data() -> Path:
    """The folder of the sample corpus that comes with the product."""
    return resources.SAMPLE_DATA


@pytest.fixture(scope="session")
def personal() -> dict[str, str]:
    """The endpoints and keys of the person who runs the tests, which no other test sees."""
    return dict(_personal)
