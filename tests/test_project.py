"""The project as a whole: its lock file, its commands in a fresh clone, the rules that the tests themselves keep."""

from __future__ import annotations

import importlib
import os
import re
import shutil
import socket
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from pytest_socket import SocketConnectBlockedError

from refiner.resources import LOCK, ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
SKIPPED_FOLDERS = {
    ".git",
    ".venv",
    "build",
    "__pycache__",
    ".mypy_cache",
    ".ruff_cache",
    ".pytest_cache",
    ".hypothesis",
}


def pinned() -> dict[str, str]:
    """The lock file's entries: name -> everything that belongs to it."""
    blocks = re.findall(r"^([A-Za-z0-9._-]+)==(.*(?:\n    .*)*)", LOCK.read_text(), re.MULTILINE)
    return {name.lower().replace("_", "-").replace(".", "-"): rest for name, rest in blocks}


def test_every_entry_of_the_lock_file_has_a_version_and_hashes() -> None:
    assert len(pinned()) > 50
    assert all("--hash=sha256:" in rest for rest in pinned().values())
    stray = [line for line in LOCK.read_text().splitlines() if not re.match(r"#|    --hash|[A-Za-z0-9._-]+==", line)]
    assert stray == []


def test_everything_the_project_asks_for_is_in_the_lock_file() -> None:
    wanted = [*PROJECT["project"]["dependencies"], *PROJECT["dependency-groups"]["dev"]]
    names = {re.split(r"[=<>;]", entry)[0].lower().replace(".", "-") for entry in wanted}
    assert names <= set(pinned())
    assert pinned()["wordllama"].startswith("0.4.0.post1")


def text_files() -> Iterator[tuple[Path, str]]:
    for folder, folders, files in os.walk(ROOT):
        folders[:] = sorted(name for name in folders if name not in SKIPPED_FOLDERS and not name.endswith(".egg-info"))
        for name in sorted(set(files) - SKIPPED_FOLDERS):  # in a linked work tree `.git` is a file
            try:
                yield (path := Path(folder, name)), path.read_text(encoding="utf-8")
            except UnicodeDecodeError:
                continue


def test_no_file_names_a_package_registry_or_a_place_on_one_machine() -> None:
    hosts = ["py" + "pi.org", "python" + "hosted.org", "registry.npm" + "js", "deb.deb" + "ian.org", "crates" + ".io"]
    places = [r"(?<![\w.-])/" + top + "/" for top in ("ro" + "ot", "wo" + "rk")]
    unwanted = re.compile("|".join([*map(re.escape, hosts), re.escape(str(ROOT) + "/"), *places]))
    found = [f"{path.relative_to(ROOT)}: {match[0]}" for path, text in text_files() if (match := unwanted.search(text))]
    assert found == []


def test_the_command_exists() -> None:
    module, _, function = PROJECT["project"]["scripts"]["refiner"].partition(":")
    assert callable(getattr(importlib.import_module(module), function))


# --- the commands in a fresh clone -----------------------------------------------------------------------------------


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A checkout with nothing set up."""
    for name in ("Makefile", "pyproject.toml", "requirements.lock"):
        shutil.copy(ROOT / name, tmp_path)
    return tmp_path


def interpreter(folder: Path, body: str) -> Path:
    """A stand-in for python3 that answers the questions of the Makefile."""
    file = folder / "python3"
    file.write_text(f"#!/bin/sh\n{body}\n")
    file.chmod(0o755)
    return file


def make(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    return subprocess.run(["make", *words], cwd=folder, env=environ, capture_output=True, text=True, check=False)


def test_setup_without_the_venv_module_fails_with_the_command_that_mends_it(clone: Path) -> None:
    python = interpreter(clone, f'case "$2" in *ensurepip*) exit 1;; esac\nexec {sys.executable} "$@"')
    done = make(clone, "setup", f"PYTHON={python}")
    assert done.returncode != 0
    assert f"apt-get install python{sys.version_info.major}.{sys.version_info.minor}-venv" in done.stdout
    assert not (clone / ".venv").exists()


def test_setup_with_an_old_python_fails_with_the_version_it_needs(clone: Path) -> None:
    done = make(clone, "setup", f"PYTHON={interpreter(clone, 'exit 1')}")
    assert done.returncode != 0 and "Python 3.11 or newer is needed" in done.stdout


def test_setup_without_any_python_says_how_to_get_one(clone: Path) -> None:
    done = make(clone, "setup", "PYTHON=")
    assert done.returncode != 0 and "apt-get install python3 python3-venv" in done.stdout


def test_tests_are_never_run_on_a_machine_that_could_not_be_set_up(clone: Path) -> None:
    done = make(clone, "test", f"PYTHON={interpreter(clone, 'exit 1')}")
    assert done.returncode != 0 and "passed" not in done.stdout


def test_setup_is_done_once_for_each_lock_file(clone: Path) -> None:
    stamp = subprocess.run(
        "cat requirements.lock pyproject.toml | cksum | cut -d' ' -f1",
        shell=True,
        cwd=clone,
        capture_output=True,
        text=True,
    ).stdout.strip()
    (clone / ".venv").mkdir()
    (clone / ".venv" / f".setup-{stamp}").touch()
    assert "Nothing to be done" in make(clone, "setup").stdout
    (clone / "requirements.lock").write_text("changed\n")
    assert "requirements.lock" in make(clone, "-n", "setup").stdout


def test_every_command_of_the_readme_exists() -> None:
    done = make(ROOT, "-n", "setup", "run", "test", "check", "browser", "bench", "doctor")
    assert done.returncode == 0, done.stderr


def with_a_browser_from(clone: Path, user: int, *, comes: bool) -> subprocess.CompletedProcess[str]:
    """`make browser` where there is none at first; `said` in the clone lists what was asked to bring one."""
    (clone / ".venv" / "bin").mkdir(parents=True)
    (clone / "commands").mkdir()
    stamp = make(clone, "-n", "setup").stdout.rsplit(".setup-", 1)[1].split()[0]
    (clone / ".venv" / f".setup-{stamp}").touch()
    got = "touch got" if comes else "false"
    commands = {
        ".venv/bin/python": f'case "$*" in *install*) echo own >>said; {got};; '
        "*) test -e got || { echo no browser >&2; false; };; esac",
        "commands/id": f"echo {user}",
        "commands/apt-get": f'case "$1" in install) echo debian >>said; {got};; esac',
    }
    for name, body in commands.items():
        (clone / name).write_text(f"#!/bin/sh\n{body}\n")
        (clone / name).chmod(0o755)
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS", "CHROMIUM"))}
    environ["PATH"] = f"{clone / 'commands'}:{environ['PATH']}"
    return subprocess.run(["make", "browser"], cwd=clone, env=environ, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(("user", "place"), [(0, "debian"), (1000, "own")])
def test_a_browser_for_the_tests_comes_from_where_this_user_may_get_one(clone: Path, user: int, place: str) -> None:
    assert with_a_browser_from(clone, user, comes=True).returncode == 0
    assert (clone / "said").read_text().split() == [place]


def test_without_any_browser_the_tests_are_not_started(clone: Path) -> None:
    done = with_a_browser_from(clone, 1000, comes=False)
    assert done.returncode != 0 and "no browser" in done.stderr


@pytest.mark.parametrize(("there", "answer"), [(True, "corpora=yes"), (False, "corpora=no")])
def test_the_build_reads_the_real_corpora_where_they_are(tmp_path: Path, there: bool, answer: str) -> None:
    project = tmp_path / "project"
    (project / ".ci").mkdir(parents=True)
    shutil.copy(ROOT / ".ci" / "run", project / ".ci")
    (project / "Makefile").write_text('test:\n\t@test -d "$$REFINER_CORPORA" && echo corpora=yes || echo corpora=no\n')
    if there:
        (tmp_path / "shared" / "corpora").mkdir(parents=True)
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "REFINER_CORPORA"))}
    done = subprocess.run([project / ".ci" / "run"], cwd="/", env=environ, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, answer)
    (project / "Makefile").write_text("test:\n\t@exit 1\n")
    assert subprocess.run([project / ".ci" / "run"], env=environ, capture_output=True, check=False).returncode != 0


# --- what the tests themselves keep to -------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:A test tried to use socket")
def test_the_network_ends_at_this_machine() -> None:
    with pytest.raises(SocketConnectBlockedError):
        socket.create_connection(("192.0.2.1", 80), timeout=0.1)
    with pytest.raises(OSError, match=r"tests may not look up host\.example"):
        socket.create_connection(("host.example", 80), timeout=0.1)
    with socket.create_server(("127.0.0.1", 0)) as server:
        socket.create_connection(server.getsockname(), timeout=5).close()


def run_pytest(folder: Path, body: str, **environ: str) -> subprocess.CompletedProcess[str]:
    """A test file of its own, run under this project's conftest."""
    (folder / "conftest.py").write_text((ROOT / "tests" / "conftest.py").read_text())
    (folder / "test_it.py").write_text(f"import os\nimport pytest\n{body}")
    (folder / "pytest.ini").write_text("[pytest]\nmarkers =\n  corpora: x\n  live: x\n")
    command = [sys.executable, "-m", "pytest", "-rs", "-p", "no:cacheprovider"]
    known = {name: value for name, value in os.environ.items() if name != "REFINER_CORPORA"}
    environ = {**known, "PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", **environ}
    return subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True, check=False)


READS_CORPORA = "def test_it(corpora):\n    if not (corpora / 'x').exists():\n        pytest.skip('x is not there')\n"


def test_a_test_of_the_real_corpora_is_skipped_with_the_reason_where_they_are_not(tmp_path: Path) -> None:
    done = run_pytest(tmp_path, READS_CORPORA)
    assert done.returncode == 0 and "1 skipped" in done.stdout
    assert "set REFINER_CORPORA to their folder" in done.stdout


def test_a_skipped_test_of_the_real_corpora_fails_where_they_are(tmp_path: Path) -> None:
    done = run_pytest(tmp_path, READS_CORPORA, REFINER_CORPORA=str(tmp_path))
    assert done.returncode == 1
    assert "skipped although REFINER_CORPORA is set" in done.stdout and "x is not there" in done.stdout


def test_a_test_file_that_skips_itself_fails_where_the_corpora_are(tmp_path: Path) -> None:
    body = "pytest.skip('not today', allow_module_level=True)\n"
    assert run_pytest(tmp_path, body).returncode == 5
    done = run_pytest(tmp_path, body, REFINER_CORPORA=str(tmp_path))
    assert done.returncode not in (0, 5) and "not today" in done.stdout


def test_a_test_of_the_real_corpora_runs_where_they_are_and_is_counted(tmp_path: Path) -> None:
    (tmp_path / "x").touch()
    done = run_pytest(tmp_path, READS_CORPORA, REFINER_CORPORA=str(tmp_path))
    assert done.returncode == 0 and "real corpora: read by 1 tests" in done.stdout


def test_a_corpora_folder_that_does_not_exist_is_an_error(tmp_path: Path) -> None:
    done = run_pytest(tmp_path, READS_CORPORA, REFINER_CORPORA=str(tmp_path / "none"))
    assert done.returncode != 0 and "which is no folder" in done.stdout + done.stderr


def test_a_test_without_network_takes_it_from_no_later_test_and_no_fixture(tmp_path: Path) -> None:
    body = (
        "import socket\n"
        "def test_first(socket_disabled): pytest.raises(RuntimeError, socket.getaddrinfo, '127.0.0.1', 80)\n"
        "@pytest.fixture(scope='module')\ndef found(): return socket.getaddrinfo('127.0.0.1', 80)\n"
        "def test_here(found): assert found and socket.getaddrinfo('127.0.0.1', 80)\n"
        "def test_abroad(found): pytest.raises(OSError, socket.getaddrinfo, 'host.example', 80)\n"
    )
    done = run_pytest(tmp_path, body, PYTEST_PLUGINS="pytest_socket")
    assert "3 passed" in done.stdout, done.stdout


def test_tests_see_no_settings_and_no_home_of_the_person_who_runs_them(tmp_path: Path) -> None:
    body = (
        "def test_it():\n"
        "    assert not [name for name in os.environ if name.startswith(('OPENAI_', 'LLM_', 'EMBEDDING_'))]\n"
        "    assert os.environ['HOME'] != os.environ['OLD_HOME'] and os.listdir(os.environ['HOME']) == []\n"
    )
    mine = {"OPENAI_API_KEY": "x", "LLM_BASE_URL": "x", "EMBEDDING_MODEL": "x", "OLD_HOME": os.environ["HOME"]}
    done = run_pytest(tmp_path, body, **mine)
    assert done.returncode == 0, done.stdout
