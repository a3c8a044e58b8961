"""Killed, interrupted, or out of disk at any moment: nothing is half-written, nothing is done twice, nothing differs.

Real processes: one process imports the product and makes a child by `fork` for each run, so that a run costs no import.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest
from corpus import Said, refiner, tree, workbook

from refiner.resources import ROOT
from storage import Store

DATABASE = "refiner.duckdb"
STAGES = (
    *("contrast", "summarise", "embed", "cluster", "propose"),
    *("recur", "fold", "gate", "merge", "audit"),
)

DRIVER = """
import json, os, pathlib, resource, signal, sys
import duckdb, markdown_it, pyarrow.pandas_compat, ruamel.yaml, scipy.sparse.csgraph, tqdm
import refiner.analysts.offline.proposing, refiner.clustering.side, refiner.clustering.groups, refiner.formats.canonical
from refiner import engine, workspace
from refiner.cli import console, main
from refiner.cli import refine as command
from refiner.embedders import packaged
from refiner.engine import StageEnded, StageProgress, StageStarted

packaged._load()

engine.COMMIT_STEPS = 5  # so that a stage of 48 steps is killed in its middle

def stop(job):
    os.kill(os.getpid(), getattr(signal, job["signal"]))

def told(event):
    match event:
        case StageStarted():
            return ["started", event.stage, event.reused, event.total]
        case StageProgress():
            return ["progress", event.stage, event.done, event.total]
        case StageEnded():
            return ["ended", event.stage]

class Watched(console.Progress):
    def __call__(self, event):
        super().__call__(event)
        line = told(event)
        if line:
            log.append(line)
            pathlib.Path(job["log"]).write_text(json.dumps(log))
        if line and line[:2] == job.get("at"):
            stop(job)

def counted(function, times):
    left = [times]
    def replaced(*given, **more):
        if left[0] == 0:
            stop(job)
        left[0] -= 1
        return function(*given, **more)
    return replaced

def child():
    out = os.open(job["said"], os.O_CREAT | os.O_WRONLY | os.O_TRUNC)
    os.dup2(out, 1)
    os.dup2(out, 2)
    command.Progress = Watched
    if "replaced" in job:
        os.replace = counted(os.replace, job["replaced"])
    if "renamed" in job:
        pathlib.Path.rename = counted(pathlib.Path.rename, job["renamed"])
    if "limit" in job:
        resource.setrlimit(resource.RLIMIT_FSIZE, (job["limit"], resource.RLIM_INFINITY))
    code = main(job["arguments"])
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)

for line in sys.stdin:
    job, log = json.loads(line), []
    pid = os.fork()
    if pid == 0:
        try:
            child()
        except BaseException:
            import traceback
            traceback.print_exc()
            os._exit(99)
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
"""


class Runner:
    """Runs the command in children of a process that has everything imported."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1"}
        self.process = subprocess.Popen(
            [sys.executable, "-c", DRIVER],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment,
        )  # fmt: skip

    def __call__(self, *arguments: object, **job: Any) -> tuple[int, str, list[list[Any]]]:
        """Exit code (-9: killed), what was said, and the events as far as they came."""
        log, said = self.folder / "events.json", self.folder / "said.txt"
        log.write_text("[]")
        job = {"arguments": [str(one) for one in arguments], "log": str(log), "said": str(said), **job}
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(json.dumps(job) + "\n")
        self.process.stdin.flush()
        code = int(self.process.stdout.readline())
        return code, said.read_text(), json.loads(log.read_text())

    def close(self) -> None:
        self.process.communicate(timeout=60)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runner]:
    runner = Runner(tmp_path_factory.mktemp("runner"))
    yield runner
    runner.close()


@pytest.fixture(scope="module")
def given(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    return workbook().write(tmp_path_factory.mktemp("in"))


@pytest.fixture(scope="module")
def undisturbed(given: list[str], tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, bytes], Said]:
    out = tmp_path_factory.mktemp("undisturbed") / "out"
    said = refiner("refine", *given, "--out", out)
    assert said.code == 0
    return tree(out), said


def finished(events: list[list[Any]]) -> dict[str, int]:
    """How many steps of each stage were surely kept: what was last told of it."""
    return {stage: count for kind, stage, count, *_ in (one for one in events if one[0] != "ended")}


def kept(events: list[list[Any]]) -> dict[str, int]:
    """How many steps of each stage were not run again."""
    return {stage: reused for kind, stage, reused, _ in (one for one in events if one[0] == "started")}


def assert_whole(out: Path, undisturbed: tuple[dict[str, bytes], Said], said: str = "") -> None:
    assert tree(out) == undisturbed[0]
    assert not (out / ".writing").exists() and (out / "run.json").exists()
    assert said.endswith(undisturbed[1].out.splitlines()[-1] + "\n")


def test_killed_in_every_stage_it_goes_on_where_it_was(
    run: Runner, given: list[str], undisturbed: tuple[dict[str, bytes], Said], tmp_path: Path
) -> None:
    out = tmp_path / "out"
    known: dict[str, int] = {}
    for stage in STAGES:
        code, _, events = run("refine", *given, "--out", out, at=["progress", stage], signal="SIGKILL")
        assert code == -signal.SIGKILL, stage
        assert not (out / "run.json").exists()
        reused = kept(events)
        assert {one: count for one, count in reused.items() if count < known.get(one, 0)} == {}
        known |= finished(events)
    assert 5 <= known["summarise"] <= 48
    code, said, events = run("refine", *given, "--out", out)
    assert code == 0
    totals = {stage: total for kind, stage, _, total in (one for one in events if one[0] == "started")}
    assert kept(events) == totals  # the last stage too: its only step was kept before the kill
    assert_whole(out, undisturbed, said)


@pytest.mark.parametrize(
    "moment",
    [
        {"renamed": 0},
        {"at": ["progress", "summarise"]},
        {"replaced": 0},
        {"replaced": 7},
    ],
    ids=["making the database", "mid-stage", "before the tree", "mid-tree"],
)
def test_killed_once_the_same_command_gives_the_same_bytes(
    run: Runner,
    given: list[str],
    undisturbed: tuple[dict[str, bytes], Said],
    tmp_path: Path,
    moment: dict[str, Any],
) -> None:
    out = tmp_path / "out"
    code, _, before = run("refine", *given, "--out", out, signal="SIGKILL", **moment)
    assert code == -signal.SIGKILL
    assert not (out / "run.json").exists()
    code, said, events = run("refine", *given, "--out", out)
    assert code == 0, said
    assert {stage: count for stage, count in kept(events).items() if count < finished(before).get(stage, 0)} == {}
    assert_whole(out, undisturbed, said)


def test_killed_while_replacing_a_result_with_its_database_elsewhere(
    run: Runner, given: list[str], undisturbed: tuple[dict[str, bytes], Said], tmp_path: Path
) -> None:
    out, where = tmp_path / "out", ["--db", tmp_path / "elsewhere.duckdb"]
    assert run("refine", *given, "--out", out, "--include", "undecided", *where)[0] == 0
    code, _, _ = run("refine", *given, "--out", out, *where, signal="SIGKILL", replaced=7)
    assert code == -signal.SIGKILL
    assert not (out / "run.json").exists()  # files of two results lie there: nothing says that they are one
    code, said, _ = run("refine", *given, "--out", out, *where)
    assert code == 0, said
    assert_whole(out, undisturbed, said)
    assert not (out / DATABASE).exists()


def test_interrupted_it_ends_with_130_and_goes_on(
    run: Runner, given: list[str], undisturbed: tuple[dict[str, bytes], Said], tmp_path: Path
) -> None:
    out = tmp_path / "out"
    code, said, before = run("refine", *given, "--out", out, at=["progress", "summarise"], signal="SIGINT")
    assert code == 130
    assert "Traceback" not in said
    assert said.splitlines()[-1] == ("refiner: interrupted; finished work is kept, the same command goes on from here")
    with Store.open(out / DATABASE) as store:
        (made,) = store.refinements("corpus")
        job = store.job(made.key)
    assert job is not None and job.status == "interrupted"
    early = refiner("export", "--refinement", made.key, "--db", out / DATABASE, "--out", tmp_path / "copy")
    assert early.code == 1 and "is not finished; run its command again, then export it" in early.err
    assert not (tmp_path / "copy").exists()
    code, said, events = run("refine", *given, "--out", out)
    assert code == 0
    assert kept(events)["summarise"] >= finished(before)["summarise"] >= 5
    assert_whole(out, undisturbed, said)


def test_ctrl_c_during_a_query_is_an_interruption_not_an_error(tmp_path: Path) -> None:
    running = Event()

    def press() -> None:
        running.wait()
        os.kill(os.getpid(), signal.SIGINT)

    pressing = Thread(target=press)
    pressing.start()
    with Store.open(tmp_path / DATABASE) as store:
        with pytest.raises(KeyboardInterrupt), store.database.read() as cursor:
            cursor.execute("SET threads = 1")  # else another thread may take the whole query, and this one only waits
            running.set()  # the query holds this thread before the other one gets to run
            cursor.execute("SELECT sum(sqrt(range)) FROM range(1000000000000)").fetchall()
        pressing.join()
        assert list(store.traces("corpus")) == []


LIMITS = {  # in bytes a file; what is being written when it is reached
    9_000: "the empty database",
    100_000: "traces",
    150_000: "summaries",
    280_000: "verdicts",
}


@pytest.mark.parametrize("limit", LIMITS, ids=LIMITS.values())
def test_disk_full_is_said_plainly_and_the_same_command_goes_on(
    run: Runner, given: list[str], undisturbed: tuple[dict[str, bytes], Said], tmp_path: Path, limit: int
) -> None:
    out = tmp_path / "out"
    code, said, before = run("refine", *given, "--out", out, limit=limit)
    assert code == 1 and "Traceback" not in said
    assert said.splitlines()[-1].startswith(f"refiner: disk full while writing {out / DATABASE}")
    assert "Nothing of the last commit was kept, everything before it is safe. Free some space" in said
    assert not (out / "run.json").exists()
    code, said, events = run("refine", *given, "--out", out)
    assert code == 0, said
    done = finished(before)
    assert {stage: count for stage, count in kept(events).items() if count < done.get(stage, 0)} == {}
    assert_whole(out, undisturbed, said)
    assert [path.name for path in out.iterdir() if ".new" in path.name or path.name.endswith(".tmp")] == []


def test_disk_full_when_the_database_is_closed_loses_nothing(
    run: Runner, given: list[str], undisturbed: tuple[dict[str, bytes], Said], tmp_path: Path
) -> None:
    out = tmp_path / "out"
    code, said, before = run("refine", *given, "--out", out, limit=1_000_000)
    assert code == 0
    assert_whole(out, undisturbed, said)
    code, said, events = run("refine", *given, "--out", out)
    assert code == 0
    assert sum(kept(events).values()) == sum(finished(before).values())
    assert_whole(out, undisturbed, said)


def test_disk_full_while_the_result_is_written_leaves_no_half_file(
    run: Runner, given: list[str], undisturbed: tuple[dict[str, bytes], Said], tmp_path: Path
) -> None:
    out, copy = tmp_path / "out", tmp_path / "copy"
    assert refiner("refine", *given, "--out", out).code == 0
    made = json.loads((out / "run.json").read_text())["refinement"]
    command = ["export", "--refinement", made, "--db", out / DATABASE, "--out", copy]
    code, said, _ = run(*command, limit=20_000)
    assert (code, said.strip()) == (
        1,
        f"refiner: {copy} cannot be written (File too large); make room or choose another --out and run the same "
        "command again: finished work is kept",
    )
    assert list(copy.iterdir()) == []
    assert run(*command)[0] == 0
    assert tree(copy) == undisturbed[0]
