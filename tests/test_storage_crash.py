"""What a killed process and a full disk leave behind: exactly what was committed. Real processes, real files."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from refiner.types import Trace
from storage import Store

ROOT = Path(__file__).parent.parent

PRELUDE = """
import os, resource, signal, sys
from refiner.errors import StoreError
from pathlib import Path
from refiner.ports import Done
from refiner.types import Finding, Refinement, Span, Step, Summary, Trace
from storage import Store

path = Path(sys.argv[1])
REFINEMENT = Refinement("corpus", "snapshot", "base", {}, {})

def batch(number, size=20_000):
    # Three steps with two records each, stored together or not at all.
    def done(n):
        noise = os.urandom(size // 2).hex()
        summary = Summary(f"t{number}", f"r{n}", "failure", noise, (f"{number}",))
        finding = Finding(f"{number}.{n}", "leak", "flag", "m", "s", "w")
        return Done(Step("summarise", f"label {n}", f"{number}.{n}", None), (summary, finding))
    return [done(n) for n in range(3)]

def say(text):
    print(text, flush=True)

def limit(more):
    # Lowers only the soft limit, so that it can be lifted again.
    size = max(file.stat().st_size for file in path.parent.iterdir())
    resource.setrlimit(resource.RLIMIT_FSIZE, (size + more, resource.RLIM_INFINITY))
"""

COMMIT_FOREVER = """
store = Store.open(path)
refinement = store.start_refinement(REFINEMENT)
store.set_job(refinement, "running", "summarise", 0, 3)
number = int(sys.argv[2])
while True:
    store.commit(refinement, batch(number))
    store.link_steps(refinement, "summarise", [f"{n}.{k}" for n in range(number + 1) for k in range(3)])
    say(number)
    number += 1
"""

FILL_WITH_STEPS = """
store = Store.open(path)
refinement = store.start_refinement(REFINEMENT)
store.commit(refinement, batch(0))
limit(200_000)
number = 1
try:
    while True:
        store.commit(refinement, batch(number))
        number += 1
except StoreError as error:
    say(error)
say(number)
say(len(store.finished([f"{number}.{k}" for k in range(3)])))
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
if sys.argv[2] == "go on":
    store.commit(refinement, batch(number))
    store.close()
os._exit(0)
"""

FILL_WITH_TRACES = """
def traces(prefix, count):
    return [
        Trace("corpus", f"{prefix}{n}", "generic", "task", "task", "file",
              (Span(0, "s0", "message", "user", "user", output=os.urandom(20_000).hex()),))
        for n in range(count)
    ]
store = Store.open(path)
store.add_traces("corpus", traces("first", 5))
limit(2_000_000)
try:
    store.add_traces("corpus", traces("second", 120))
except StoreError as error:
    say(error)
say(sum(1 for _ in store.traces("corpus")))
os._exit(0)
"""

KILLED_WHILE_MAKING = """
from storage import migrations
def killed(cursor, step):
    cursor.begin()
    cursor.execute(step.sql)
    os.kill(os.getpid(), signal.SIGKILL)
migrations._run = killed
Store.open(path)
"""


def _child(script: str, path: Path, *arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", PRELUDE + script, str(path), *arguments]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)


def _lines(child: subprocess.Popen[str]) -> list[str]:
    out, err = child.communicate(timeout=60)
    assert child.returncode == 0, err
    return out.splitlines()


def _whole_batches(store: Store, upto: int) -> set[int]:
    """The batches that are there. Fails when one is there in part, or a step without its two records."""
    found = set()
    for number in range(upto):
        keys = [f"{number}.{k}" for k in range(3)]
        finished = store.finished(keys)
        assert finished in (set(), set(keys))
        if finished:
            records = store.outputs(keys)
            assert [type(record).__name__ for record in records] == ["Summary", "Finding"] * 3
            assert {record.trace_id for record in records[::2]} == {f"t{number}"}
            found.add(number)
    return found


def test_a_kill_leaves_every_commit_whole_and_the_job_interrupted(tmp_path: Path) -> None:
    path = tmp_path / "refiner.duckdb"
    start, refinement = 0, ""
    for enough in (2, 9):
        child = _child(COMMIT_FOREVER, path, str(start))
        assert child.stdout is not None
        said = [int(child.stdout.readline()) for _ in range(enough)]
        child.send_signal(signal.SIGKILL)
        said += [int(line) for line in child.communicate(timeout=60)[0].split()]
        with Store.open(path) as store:
            there = _whole_batches(store, said[-1] + 3)
            assert there >= set(range(said[-1] + 1))
            (only,) = store.refinements("corpus")
            refinement, start = only.key, max(there) + 1
            job = store.job(refinement)
            assert job is not None and job.status == "interrupted"
            assert len(store.stage_keys(refinement, "summarise")) >= 3 * len(said)
    assert start >= 11 and refinement


def test_a_kill_while_the_database_is_made_leaves_nothing_in_its_place(tmp_path: Path) -> None:
    path = tmp_path / "refiner.duckdb"
    child = _child(KILLED_WHILE_MAKING, path)
    child.communicate(timeout=60)
    assert child.returncode == -signal.SIGKILL
    assert not path.exists()
    with Store.open(path) as store:
        assert list(store.traces("corpus")) == []
    assert [file.name for file in tmp_path.iterdir()] == ["refiner.duckdb"]


@pytest.mark.parametrize("afterwards", ["go on", "die"])
def test_disk_full_in_the_middle_of_a_commit(tmp_path: Path, afterwards: str) -> None:
    path = tmp_path / "refiner.duckdb"
    message, number, seen = _lines(_child(FILL_WITH_STEPS, path, afterwards))
    assert message.startswith("disk full while writing") and str(path) in message
    assert seen == "0"
    kept = int(number) + (afterwards == "go on")
    assert kept > 1
    with Store.open(path) as store:
        assert _whole_batches(store, kept + 2) == set(range(kept))


def test_disk_full_while_traces_are_added(tmp_path: Path) -> None:
    path = tmp_path / "refiner.duckdb"
    message, seen = _lines(_child(FILL_WITH_TRACES, path))
    assert message.startswith("disk full while writing")
    assert seen == "5"
    with Store.open(path) as store:
        assert [trace.external_id for trace in store.traces("corpus")] == [f"first{n}" for n in range(5)]
        assert store.add_traces("corpus", [Trace("corpus", "more", "generic", "", "", "none", ())]).added == 1


def test_disk_full_while_the_database_is_made(tmp_path: Path) -> None:
    script = "resource.setrlimit(resource.RLIMIT_FSIZE, (9_000, resource.RLIM_INFINITY))\n"
    script += "try:\n    Store.open(path)\nexcept StoreError as error:\n    say(error)\n"
    path = tmp_path / "refiner.duckdb"
    (message,) = _lines(_child(script, path))
    assert message.startswith("disk full while writing")
    assert not path.exists()
    Store.open(path).close()
