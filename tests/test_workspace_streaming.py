"""Large files go into a corpus a batch at a time, from where they lie, and the result is that of one batch."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from corpus import refiner
from format_samples import SAMPLES, lines
from rooms import holding, opened

from refiner import reading
from refiner.errors import FormatError
from refiner.workspace import Workspace
from refiner.workspace.streaming import Streamed
from storage import AddReport, Store


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Workspace]:
    with holding(tmp_path, "own") as workspace:
        yield workspace


def record(name: str, *outputs: str, **more: Any) -> dict[str, Any]:
    return {"trace_id": name, "spans": [{"name": "look", "output_text": text} for text in outputs], **more}


def put(path: Path, *records: dict[str, Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(lines(*records))
    return path


def streamed(folder: Path, batch: int, given: Path) -> tuple[AddReport, Any]:
    with Store.open(folder / f"{batch}.duckdb") as store:
        done = Streamed(store, "c", batch).take(reading.read([given], corpus="c"))
        return done.added, (list(store.traces("c")), store.outcomes("c"), store.notes("c"))


def test_many_small_batches_give_what_one_gives(tmp_path: Path) -> None:
    given = tmp_path / "given"
    for name, sample in SAMPLES.items():
        (given / name).mkdir(parents=True)
        (given / name / "a.dat").write_bytes(sample)
    put(given / "b.jsonl", *(record(f"x{n}", *"xy"[: n % 3], "z", outcome="pass", feedback="ok") for n in range(30)))
    put(given / "c.jsonl", *(record(f"x{n}", *"xy"[: n % 3], "z", "more") for n in range(0, 30, 5)))
    put(given / "d.jsonl", *(record(f"x{n}", *"xy"[: n % 3]) for n in range(1, 30, 2) if n % 3))
    whole = streamed(tmp_path, 10**9, given)
    assert streamed(tmp_path, 1, given)[1] == whole[1]
    assert whole[0].added > 40 and whole[0].grown and not whole[0].conflicts


def test_a_stop_in_the_middle_leaves_no_trace_without_its_outcome_and_the_next_try_completes(tmp_path: Path) -> None:
    ended = [record(f"x{n}", "z", outcome="pass", feedback="ok") for n in range(6)]
    put(tmp_path / "given/a.jsonl", *ended, *(record(f"x{n}", "z", outcome="fail") for n in range(0, 6, 2)))

    def cut_short() -> Iterator[reading.FileRecord]:
        for number, one in enumerate(reading.read([tmp_path / "given"], corpus="c")):
            if number == 10:
                raise KeyboardInterrupt
            yield one

    whole = streamed(tmp_path, 10**9, tmp_path / "given")[1]
    with Store.open(tmp_path / "stopped.duckdb") as store:
        with pytest.raises(KeyboardInterrupt):
            Streamed(store, "c", 1).take(cut_short())
        there = {trace.id for trace in store.traces("c")}
        assert len(there) >= 4 and store.outcomes("c").keys() == there
    for name in ("stopped", "1"):
        for _ in range(2):
            with Store.open(tmp_path / f"{name}.duckdb") as store:
                Streamed(store, "c", 1).take(reading.read([tmp_path / "given"], corpus="c"))
                assert (list(store.traces("c")), store.outcomes("c"), store.notes("c")) == whole


def test_files_are_read_where_they_lie_with_the_labels_beside_them(desk: Workspace, tmp_path: Path) -> None:
    put(tmp_path / "runs/a.jsonl", record("r0", "x"), record("r1", "y"))
    (tmp_path / "runs/b.jsonl").write_bytes(b'{"trace_id": "r2"}\n' + lines(record("r3", "x")))
    (tmp_path / "runs/labels.csv").write_text("trace_id,outcome,feedback\nr0,0.5,Half\nr9,1,\n")
    report = desk.ingest_files("own", [tmp_path / "runs"])
    assert (report.accepted, report.labels) == (3, 1)
    assert [(file.path, file.format, file.traces) for file in report.files] == [
        ("a.jsonl", "canonical", 2),
        ("b.jsonl", "canonical", 1),
        ("labels.csv", "labels", 0),
    ]
    assert [(bad.path, bad.line) for bad in report.rejected] == [("b.jsonl", 1)]
    assert "1 label belongs to no trace, for example r9." in report.warnings
    assert desk.corpus("own").statuses["fail"] == 1
    again = desk.ingest_files("own", [tmp_path / "runs/b.jsonl", tmp_path / "runs/a.jsonl"])
    assert (again.accepted, again.duplicates, again.conflicts) == (0, 3, ())


def test_labels_that_come_later_attach(desk: Workspace, tmp_path: Path) -> None:
    desk.ingest_files("own", [put(tmp_path / "a.jsonl", record("r0", "x"), record("r1", "y"))])
    (tmp_path / "later.json").write_text('{"r1": false}')
    report = desk.ingest_files("own", [tmp_path / "later.json"])
    assert (report.accepted, report.labels) == (0, 1)
    assert desk.corpus("own").statuses == {"pass": 0, "fail": 1, "unknown": 1, "infrastructure": 0}


def test_a_path_that_is_not_there_is_an_error_and_changes_nothing(desk: Workspace, tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="no such file or folder"):
        desk.ingest_files("own", [put(tmp_path / "a.jsonl", record("r0", "x")), tmp_path / "nothing"])
    assert desk.corpus("own").traces == 0


def test_after_a_large_ingest_the_database_is_as_usual(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s.duckdb") as store:
        asked = "SELECT name, value FROM duckdb_settings() WHERE name IN ('memory_limit', 'wal_autocheckpoint')"

        def settings() -> list[Any]:
            with store.database.read() as cursor:
                return sorted(cursor.execute(asked).fetchall())

        before = settings()
        with pytest.raises(RuntimeError), store.bulk():
            assert settings() != before
            raise RuntimeError
        assert settings() == before


def test_the_command_makes_the_corpus_and_says_what_it_took(tmp_path: Path) -> None:
    given = put(tmp_path / "a.jsonl", record("r0", "x", outcome="pass"), record("r1", "y"))
    place = ("--corpus", "mine", "--db", tmp_path / "new" / "w.duckdb")
    said = refiner("ingest", given, *place)
    assert said.code == 0 and "2 new traces, 0 grown, 0 already there" in said.out
    told = json.loads(refiner("ingest", given, *place, "--json").out)
    assert (told["accepted"], told["duplicates"]) == (0, 2)
    workspace = opened(tmp_path / "new" / "w.duckdb")
    assert [(card.name, card.traces) for card in workspace.corpora()] == [("mine", 2)]
    workspace.close()
