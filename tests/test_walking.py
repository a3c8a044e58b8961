"""Folders and zip archives of mixed formats in one go, on the command line as in the app, with one report."""

from __future__ import annotations

import gzip
import json
import tempfile
from pathlib import Path

import pytest
from corpus import refiner
from format_samples import SAMPLES, inspect_sample, inspect_zip, lines, packed

from refiner import ingest, walking
from refiner.archives import zipfile
from refiner.errors import FormatError


def put(path: Path, data: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


PLAIN = {f"{name}.dat": sample for name, sample in SAMPLES.items() if name in ("canonical", "chat", "codex")}


@pytest.mark.parametrize("how", [zipfile.ZIP_DEFLATED, zipfile.ZIP_ZSTANDARD])
def test_a_zip_gives_what_its_files_give(tmp_path: Path, how: int) -> None:
    for name, data in PLAIN.items():
        put(tmp_path / "plain" / name, data)
    zipped = put(tmp_path / "all.zip", packed(PLAIN, how))
    inside, beside = ingest.load([zipped], corpus="c"), ingest.load([tmp_path / "plain"], corpus="c")
    assert [trace.revision for trace in inside.traces] == [trace.revision for trace in beside.traces]
    assert [file.path for file in inside.files] == sorted(PLAIN)


def test_folders_zips_and_logs_that_are_zips_are_told_apart(tmp_path: Path) -> None:
    put(tmp_path / "runs/a.zip", packed(PLAIN))
    put(tmp_path / "runs/log.eval", inspect_zip(inspect_sample("a", 1, "C")))
    put(tmp_path / "runs/.hidden.zip", packed(PLAIN))
    put(tmp_path / "runs/chat.json", SAMPLES["chat"])
    told = json.loads(refiner("inspect", tmp_path / "runs", "--json").out)
    assert [(file["path"], file["format"]) for file in told["files"]] == [
        ("a.zip/canonical.dat", "canonical"),
        ("a.zip/chat.dat", "chat"),
        ("a.zip/codex.dat", "codex"),
        ("chat.json", "chat"),
        ("log.eval", "inspect-ai"),
    ]


def test_hostile_archives_are_named_and_leave_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inside = tmp_path / "temporary/deep"
    inside.mkdir(parents=True)
    monkeypatch.setattr(tempfile, "tempdir", str(inside))
    files = {
        "../../../escaped.jsonl": SAMPLES["canonical"],
        "inner.zip": packed(PLAIN),
        "bomb.jsonl": b"0" * 30_000_000,
    }
    zipped = put(tmp_path / "given/hostile.zip", packed(files))
    loaded = ingest.load([zipped], corpus="c")
    assert [file.path for file in loaded.files] == ["escaped.jsonl"]
    reasons = {record.path: record.reason for record in loaded.skipped}
    assert "zip inside a zip" in reasons["hostile.zip/inner.zip"]
    assert "more than 200 times its size" in reasons["hostile.zip/bomb.jsonl"]
    assert [path for path in (tmp_path / "temporary").rglob("*") if path != inside] == []


@pytest.mark.parametrize(
    ("data", "says"), [(b"PK\x03\x04 broken", "damaged"), (packed({}), "no file in it")], ids=["damaged", "empty"]
)
def test_an_archive_with_nothing_in_it_is_an_error(tmp_path: Path, data: bytes, says: str) -> None:
    with pytest.raises(FormatError, match=says), walking.found([put(tmp_path / "a.zip", data)]):
        pass


def test_an_archive_of_traces_and_labels_is_taken_as_a_whole(tmp_path: Path) -> None:
    spans = [{"name": "look", "output_text": "x"}]
    traces = lines(*({"trace_id": name, "spans": spans} for name in ("r1", "r2")))
    files = {"runs/a.jsonl": traces, "labels.csv": b"trace_id,outcome\nr1,pass\nr2,fail\n"}
    zipped = put(tmp_path / "all.zip", packed(files))
    said = refiner("ingest", zipped, "--corpus", "own", "--db", tmp_path / "w.duckdb")
    assert said.code == 0 and "2 new traces, 0 grown, 0 already there; 2 traces labelled." in said.out


def test_one_bad_file_that_was_named_does_not_keep_the_others_out(tmp_path: Path) -> None:
    spans = [{"name": "look", "output_text": "x"}]
    good = put(tmp_path / "z.jsonl.gz", gzip.compress(lines({"trace_id": "r1", "spans": spans})))
    bad = put(tmp_path / "a.jsonl", b"%PDF-1.7\n"), put(tmp_path / "b.zip", b"PK\x03\x04 broken")
    said = refiner("ingest", *bad, good, "--corpus", "own", "--db", tmp_path / "w.duckdb")
    assert said.code == 0 and "1 new" in said.out
    assert "a PDF document" in said.out and "the zip archive is damaged" in said.out


def test_many_files_are_told_by_format_and_reason_with_counts_that_add_up(tmp_path: Path) -> None:
    for number in range(25):
        one = {"trace_id": f"r{number}", "spans": [{"name": "look", "output_text": "x"}]}
        put(tmp_path / f"runs/deep/{number}.jsonl", lines(one) + b"{broken\n")
    put(tmp_path / "runs/chat.json", SAMPLES["chat"])
    put(tmp_path / "runs/README.md", b"# Runs")
    for command in (["inspect"], ["ingest", "--corpus", "own", "--db", tmp_path / "w.duckdb"]):
        said = " ".join(refiner(*command, tmp_path / "runs").out.split())
        assert "25 files in deep canonical 25" in said and "chat.json chat 3" in said
        assert "total 28" in said and "10.jsonl" not in said.partition("Rejected:")[0]
        assert "deep/0.jsonl:2, deep/1.jsonl:2, deep/10.jsonl:2 and 22 more: not JSON" in said
        assert "Not read: README.md: holds no traces of a known format." in said
    assert "28 new traces, 0 grown, 0 already there; 0 traces labelled." in said
    assert "The corpus holds 28 traces now: 1 passed, 1 failed, 26 without an outcome." in said
    again = refiner(*command, tmp_path / "runs").out
    assert "Nothing new: 28 traces read, and already there" in again


def test_files_of_one_name_that_were_named_one_by_one_are_runs_of_their_own(tmp_path: Path) -> None:
    said = [put(tmp_path / f"runs/{name}/chat.json", chat_of(name)) for name in ("one", "two")]
    alone = put(tmp_path / "three/other.json", chat_of("three"))
    loaded = ingest.load([*said, alone], corpus="c")
    assert [trace.external_id for trace in loaded.traces] == ["one/chat.json", "other.json", "two/chat.json"]
    folders = ingest.load([path.parent for path in said], corpus="c")
    assert [report.path for report in folders.files] == ["one/chat.json", "two/chat.json"]


def chat_of(words: str) -> bytes:
    return json.dumps([{"role": "user", "content": words}, {"role": "assistant", "content": "yes"}]).encode()
