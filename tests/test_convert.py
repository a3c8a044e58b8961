"""`refiner convert`: whatever the format was, the three canonical files say the same."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from corpus import refiner
from format_samples import SAMPLES, lines

from refiner import convert, ingest, intake, reading
from refiner.cli.convert import as_text
from refiner.convert import FILES, Labelling
from refiner.errors import LabelError, OutputError
from refiner.labels import Threshold, effective
from refiner.namesakes import renamed
from refiner.types import Trace, trace_key


def record(name: str, *outputs: str, **more: object) -> dict[str, object]:
    spans = [{"name": "look", "input_text": "{}", "output_text": text} for text in outputs]
    return {"trace_id": name, "spans": spans, **more}


def traces(items: list[reading.Item]) -> list[Trace]:
    return [item for item in items if isinstance(item, Trace)]


def comparable(trace: Trace) -> Trace:
    """The trace without what its file gives it."""
    return replace(trace, format="", source="")


def filled(path: Path) -> Path | None:
    """The file, unless it holds nothing: reading an empty one is an error."""
    return path if json.loads(path.read_text()) else None


def check_same(paths: list[Path], out: Path) -> ingest.Ingest:
    """That the converted files read back as what the originals say; returns the originals."""
    before = ingest.load(paths, corpus="corpus")
    convert.convert(paths, out)
    after = ingest.load([out / "traces.jsonl"], corpus="corpus")
    assert [comparable(trace) for trace in after.traces] == [comparable(trace) for trace in before.traces]
    outcomes, _ = intake.side_files(
        "corpus",
        intake.named_tasks(after.traces),
        filled(out / "binary_rewards.json"),
        filled(out / "feedback.json"),
        Threshold(),
    )
    said, again = intake.by_trace(before.outcomes), intake.by_trace((*after.outcomes, *outcomes))
    for trace in before.traces:
        old, new = effective(said.get(trace.id, ()), trace.id), effective(again.get(trace.id, ()), trace.id)
        assert (old.status, old.feedback) == (new.status, new.feedback)
    return before


@pytest.mark.parametrize("name", sorted(SAMPLES))
def test_every_format_reads_back_equal(name: str, tmp_path: Path) -> None:
    path = tmp_path / "given.dat"
    path.write_bytes(SAMPLES[name])
    assert check_same([path], tmp_path / "out").traces


@pytest.mark.parametrize("folder", ["tau-bench", "inspect_ai", "claude-code", "codex"])
def test_real_corpora_read_back_equal(folder: str, corpora: Path, tmp_path: Path) -> None:
    before = [one.item for one in reading.read([corpora / folder], corpus="corpus") if isinstance(one.item, Trace)]
    done = convert.convert([corpora / folder], tmp_path / "out")
    after = [one.item for one in reading.read([tmp_path / "out/traces.jsonl"], corpus="corpus")]
    names = dict(done.copies)
    before = [replace(one, external_id=names.get(one.external_id, one.external_id)) for one in before]
    namesakes = {(trace_key("corpus", name), source): own for name, source, own in done.namesakes}
    before = [renamed(one, namesakes) for one in before]
    assert sorted({one.external_id for one in before}) == sorted(one.external_id for one in traces(after))
    assert len(before) == done.traces + done.duplicates + len(done.conflicts)
    given = {(one.id, one.revision): comparable(one) for one in before[::-1]}
    assert [comparable(one) for one in traces(after)] == [given[one.id, one.revision] for one in traces(after)]


def test_only_passed_and_failed_are_rewards_and_the_rest_is_counted(tmp_path: Path) -> None:
    given = tmp_path / "given.jsonl"
    ends = {"a": "pass", "b": "fail", "c": "unknown", "d": "infrastructure"}
    given.write_bytes(lines(*(record(name, "x", outcome=end) for name, end in ends.items()), record("e", "y")))
    done = convert.convert([given], tmp_path / "out")
    assert json.loads((tmp_path / "out/binary_rewards.json").read_text()) == {"a": True, "b": False}
    assert done.statuses == {"pass": 1, "fail": 1, "unknown": 2, "infrastructure": 1}
    again = ingest.load([tmp_path / "out/traces.jsonl"], corpus="corpus")
    assert [outcome.status for outcome in again.outcomes] == ["infrastructure"]


def test_an_observation_that_only_looks_like_an_error_stays_none(tmp_path: Path) -> None:
    given = tmp_path / "given.jsonl"
    spans = [
        {"name": "look", "input_text": "{}", "output_text": "Error codes: none", "error": False},
        {"name": "look", "input_text": "{}", "output_text": "Error: no such page"},
    ]
    given.write_bytes(lines({"trace_id": "a", "spans": spans}))
    (trace,) = check_same([given], tmp_path / "out").traces
    assert [span.error for span in trace.spans] == [None, "Error: no such page"]


def test_label_files_and_thresholds_are_taken_in(tmp_path: Path) -> None:
    given, rewards = tmp_path / "given.jsonl", tmp_path / "rewards.csv"
    given.write_bytes(lines(record("a", "x"), record("b", "x", reward=0.4), record("c", "x")))
    rewards.write_text("trace_id,outcome,feedback\na,0.7,Nearly\nnobody,1,\n")
    done = convert.convert([given], tmp_path / "out", Labelling(rewards, threshold=Threshold(0.6)))
    assert json.loads((tmp_path / "out/binary_rewards.json").read_text()) == {"a": True, "b": False}
    assert json.loads((tmp_path / "out/feedback.json").read_text()) == {"a": "Nearly"}
    assert done.warnings == (
        "1 label belongs to no trace, for example nobody.",
        "1 trace has no label and is not learned from, for example c.",
    )


@pytest.mark.parametrize("backwards", [False, True])
def test_a_run_that_grew_is_written_once_and_a_contradiction_is_named(tmp_path: Path, backwards: bool) -> None:
    short, long, other = record("a", "1"), record("a", "1", "2"), record("a", "3")
    given = tmp_path / "given.jsonl"
    given.write_bytes(lines(*((long, short) if backwards else (short, long)), record("b", "x"), other))
    done = convert.convert([given], tmp_path / "out")
    read = ingest.load([tmp_path / "out"], corpus="corpus").traces
    assert [(trace.external_id, len(trace.spans)) for trace in read] == [("a", 2), ("b", 1)]
    assert (done.traces, done.duplicates, len(done.conflicts)) == (2, 1, 1)


@pytest.mark.parametrize("backwards", [False, True])
def test_a_session_copied_under_another_id_is_written_once_with_the_labels_of_either(
    tmp_path: Path, backwards: bool
) -> None:
    given, rewards = tmp_path / "given.jsonl", tmp_path / "rewards.json"
    began = [record("first", "x", begins_with="u1"), record("resumed", "x", "y", begins_with="u1", outcome="fail")]
    other = [record("other", "z", begins_with="u1"), record("last", "x", begins_with="u2")]
    given.write_bytes(lines(*(began[::-1] if backwards else began), *other))
    rewards.write_text(json.dumps({"first": True, "other": False}))
    done = convert.convert([given], tmp_path / "out", Labelling(rewards))
    kept, copy = ("resumed", "first") if backwards else ("first", "resumed")
    assert done.copies == ((copy, kept),) and (done.traces, done.duplicates) == (3, 1)
    written = ingest.load([tmp_path / "out/traces.jsonl"], corpus="corpus").traces
    assert {one.external_id: len(one.spans) for one in written} == {kept: 2, "last": 1, "other": 1}
    assert json.loads((tmp_path / "out/binary_rewards.json").read_text()) == {kept: True, "other": False}
    assert any(line.endswith(f"for example, {copy} is {kept}.") for line in as_text(done, tmp_path))


def test_nothing_is_written_when_something_is_wrong(tmp_path: Path) -> None:
    given, out = tmp_path / "given.jsonl", tmp_path / "out"
    given.write_bytes(lines(record("a", "x")))
    (tmp_path / "rewards.json").write_text('{"a": "yes"}')
    with pytest.raises(LabelError, match="must be true, false"):
        convert.convert([given], out, Labelling(tmp_path / "rewards.json"))
    assert list(out.iterdir()) == []
    convert.convert([given], out)
    with pytest.raises(OutputError, match=r"traces\.jsonl and .* already; choose another folder, or add --overwrite"):
        convert.convert([given], out)
    assert convert.convert([out / "traces.jsonl"], out, overwrite=True).traces == 1
    assert sorted(path.name for path in out.iterdir()) == sorted(FILES)


def test_the_command_says_what_was_left_out(tmp_path: Path) -> None:
    given = tmp_path / "given.jsonl"
    given.write_bytes(lines(record("a", "x", outcome="pass"), record("b", "x")) + b"not json\n")
    said = refiner("convert", given, "--out", tmp_path / "out")
    assert said.code == 0
    assert f"{tmp_path / 'out' / 'binary_rewards.json'}: 1 outcomes, 1 passed and 0 failed" in said.out
    assert "1 traces have no known outcome and are not in the rewards." in said.out
    assert "Rejected: given.jsonl:3: not JSON" in said.out
    told = json.loads(refiner("convert", given, "--out", tmp_path / "out", "--overwrite", "--json").out)
    assert told["traces"] == 2 and told["statuses"]["pass"] == 1 and len(told["rejected"]) == 1
