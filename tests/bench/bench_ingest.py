"""Reading a large file of JSON lines into a corpus: megabytes a second and memory, on one core.

Against it stands DuckDB's own `read_json` with `unnest` of the spans into a table, one thread, on the same file. That
reads columns and does nothing else: no ids, no check of a record, no task, no outcome, no duplicate is looked for.

The file is made here from a seed: 21 spans a trace, words with escapes and accents, times, outcomes. Each side runs in
a process of its own that may use one core. Processor seconds are what other programs on the machine hardly change.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

MEGABYTES = 2000
QUICK = 50
SIZE = "BENCH_INGEST_MB"
"""The environment variable that sets another size of the file, in megabytes."""
AIM_RATE = 20.0
AIM_MEMORY = 1024.0
_ROOT = Path(__file__).resolve().parents[2]
_MEASURED = """
import json, os, resource, sys, time
if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
started = time.perf_counter()
%s
used = resource.getrusage(resource.RUSAGE_SELF)
kilobytes = used.ru_maxrss / (1024 if sys.platform == "darwin" else 1)
print(json.dumps([time.perf_counter() - started, used.ru_utime + used.ru_stime, kilobytes / 1024, count]))
"""
_OURS = """
from pathlib import Path
from refiner.workspace.desk import Workspace
desk = Workspace.open(Path(sys.argv[2]))
desk.create_corpus("bench")
report = desk.ingest_files("bench", [Path(sys.argv[1])])
desk.close()
count = report.accepted
assert not report.rejected
"""
_DUCKDB = """
import duckdb
root = duckdb.connect(sys.argv[2], config={"threads": 1})
root.execute(
    "CREATE TABLE span AS SELECT trace_id, task_id, outcome, unnest(spans, recursive := true) FROM"
    " read_json(?, format = 'newline_delimited', maximum_object_size = 16777216)", [sys.argv[1]]
)
count = root.execute("SELECT count(DISTINCT trace_id) FROM span").fetchall()[0][0]
root.close()
"""


def run(quick: bool = False) -> list[dict[str, Any]]:
    """The rows of the bench; `quick` takes a small file."""
    megabytes = int(os.environ.get(SIZE, QUICK if quick else MEGABYTES))
    with tempfile.TemporaryDirectory(prefix="refiner-bench-") as folder:
        path = Path(folder, "traces.jsonl")
        traces = write(path, megabytes * 1_000_000)
        size = path.stat().st_size / 1_000_000
        ours, theirs = (_measure(code, path, Path(folder, name)) for code, name in ((_OURS, "a.db"), (_DUCKDB, "b.db")))
    assert ours[3] == theirs[3] == traces
    return [
        _row("file", size, "MB", None),
        _row("rate", size / ours[0], "MB/s on one core", AIM_RATE),
        _row("rate_processor", size / ours[1], "MB per processor s", AIM_RATE),
        _row("memory", ours[2], "MiB at most", AIM_MEMORY),
        _row("duckdb_rate", size / theirs[0], "MB/s on one core", None),
        _row("duckdb_memory", theirs[2], "MiB at most", None),
        _row("seconds_against_duckdb", ours[0], "s", theirs[0], ours[0] / theirs[0]),
        _row("processor_against_duckdb", ours[1], "processor s", theirs[1], ours[1] / theirs[1]),
    ]


def write(path: Path, size: int, seed: int = 7) -> int:
    """Writes traces until the file has `size` bytes; returns how many there are."""
    rng = random.Random(seed)
    words = [*(f"word{number}" for number in range(500)), "délivré", '"quoted"', "line\nbreak", "C:\\path", "£"]
    written, count = 0, 0
    with path.open("wb") as file:
        while written < size:
            written += file.write(json.dumps(_record(count, rng, words)).encode() + b"\n")
            count += 1
    return count


def _record(number: int, rng: random.Random, words: list[str]) -> dict[str, Any]:
    spans = [{"span_id": "0", "name": "user", "output_text": " ".join(rng.choices(words, k=60))}]
    spans += [_span(place, rng, words) for place in range(1, 21)]
    outcome = "pass" if rng.random() < 0.5 else "fail"
    return {"trace_id": f"run-{number}", "task_id": f"task-{number // 4}", "outcome": outcome, "spans": spans}


def _span(place: int, rng: random.Random, words: list[str]) -> dict[str, Any]:
    text = " ".join(rng.choices(words, k=rng.randrange(20, 120 if place % 3 == 0 else 400)))
    if place % 3 == 0:
        return {"span_id": str(place), "name": "assistant", "output_text": text}
    given = json.dumps({"path": f"a/{place}.txt", "value": rng.random()})
    times = {"start_time": f"2026-01-31T12:{place:02}:00Z", "end_time": f"2026-01-31T12:{place:02}:09Z"}
    return {"span_id": str(place), "name": f"tool_{place % 5}", "input_text": given, "output_text": text, **times}


def _measure(code: str, path: Path, database: Path) -> list[float]:
    """Seconds, processor seconds, MiB at most, and traces of one side in a process of its own."""
    command = [sys.executable, "-c", _MEASURED % code, str(path), str(database)]
    done = subprocess.run(command, cwd=_ROOT, capture_output=True, text=True, check=True)
    measured: list[float] = json.loads(done.stdout.splitlines()[-1])
    return measured


def _row(name: str, value: float, unit: str, against: float | None, ratio: float | None = None) -> dict[str, Any]:
    against = None if against is None else round(against, 2)
    return {
        "name": name,
        "value": round(value, 2),
        "unit": unit,
        "against": against,
        "ratio": ratio and round(ratio, 2),
    }
