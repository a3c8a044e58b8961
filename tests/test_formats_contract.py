"""What holds for every trace format: it knows its own files, survives broken ones, and hands out sound records."""

from __future__ import annotations

import io
import json
import random
import re
from collections import Counter
from itertools import takewhile
from pathlib import Path
from typing import Any

import format_samples
import pytest
from format_samples import AS_TEXT, PICTURE, SAMPLES, WITHOUT_CALLS
from hypothesis import given, settings
from hypothesis import strategies as st

from refiner import codec, ingest, registry
from refiner.errors import FormatError
from refiner.ports import Source
from refiner.resources import ROOT
from refiner.types import BadRecord, EvaluatorNote, Outcome, Trace

README = ROOT / "README.md"
INDENTED = re.compile(r"    |\n").match
NAMES = sorted(SAMPLES)
JSON_NAMES = sorted(set(SAMPLES) - AS_TEXT)
SETTINGS = settings(deadline=None, derandomize=True, max_examples=60)
FEW = settings(deadline=None, derandomize=True, max_examples=25)
BY_NAME = {known.name: known for known in registry.formats()}
PIECES = [b"null", b"NaN", b"[]", b"{}", b"-1", b"1e999", b'"', b"\\u0000", b"\\ud800", b"\xff", b"\n", b"true", b",,,"]


def read(name: str, data: bytes) -> list[Any]:
    return list(BY_NAME[name].parse(io.BytesIO(data), Source("corpus", "given.dat")))


def traces(items: list[Any]) -> list[Trace]:
    return [item for item in items if isinstance(item, Trace)]


def check(items: list[Any]) -> None:
    """What must be true of whatever a reader yields."""
    seen: set[str] = set()
    for item in items:
        assert isinstance(item, Trace | Outcome | EvaluatorNote | BadRecord)
        assert codec.decode(type(item), codec.encode(item)) == item
        repr(item).encode()
        if isinstance(item, Trace):
            seen.add(item.id)
            assert item.external_id and item.spans and item.revision
            assert [span.ordinal for span in item.spans] == list(range(len(item.spans)))
            assert max(Counter(span.span_id for span in item.spans).values()) == 1
            assert item.task_id_origin == ("file" if item.task_id else "none")
        elif isinstance(item, BadRecord):
            assert item.reason and item.line >= 0
        else:
            assert item.trace_id in seen
    assert items, "a file that gives nothing is not accounted for"


def test_every_format_has_a_sample() -> None:
    assert sorted(BY_NAME) == NAMES


def test_the_format_that_the_readme_shows_is_a_whole_one() -> None:
    shown = README.read_text(encoding="utf-8").partition("A whole one, `mine.py`:\n\n")[2]
    code = "".join(line.removeprefix("    ") for line in takewhile(INDENTED, shown.splitlines(keepends=True)))
    made: dict[str, Any] = {}
    exec(compile(code, "mine.py", "exec"), made)  # the code that a reader of the README pastes
    assert len(code.splitlines()) < 40
    one = {"id": "a", "goal": "Count", "ok": False, "my_steps": [{"tool": "look", "arguments": "{}", "result": "x"}]}
    data = format_samples.lines(one, {**one, "id": "b", "my_steps": 7}, {"id": ""})
    items = list(made["FORMAT"].parse(io.BytesIO(data), Source("corpus", "given.dat")))
    check(items)
    assert made["FORMAT"].sniff(data) == 1.0 and [span.name for span in items[0].spans] == ["user", "look"]
    assert [item.status for item in items if isinstance(item, Outcome)] == ["fail", "fail"]
    assert isinstance(items[-1], BadRecord) and items[-1].line == 3


@pytest.mark.parametrize("name", NAMES)
def test_a_sample_is_recognised_and_read_without_loss(name: str) -> None:
    known = registry.detect(SAMPLES[name])
    assert known is not None and known.name == name
    items = read(name, SAMPLES[name])
    check(items)
    found = traces(items)
    assert len(found) >= 2 and not any(isinstance(item, BadRecord) for item in items)
    assert max(Counter(trace.external_id for trace in found).values()) == 1
    calls = [span for trace in found for span in trace.spans if span.kind == "tool_call"]
    assert bool(calls) == (name not in WITHOUT_CALLS) and all(call.input for call in calls)
    assert all(trace.format == name and trace.corpus == "corpus" for trace in found)


@pytest.mark.parametrize("name", NAMES)
def test_pictures_become_placeholders_everywhere(name: str) -> None:
    items = read(name, SAMPLES[name])
    text = "\n".join(codec.encode(item) for item in items)
    assert "[image png" in text
    assert PICTURE[:40] not in text and not re.search(r"[A-Za-z0-9+/]{150,}", text)


@pytest.mark.parametrize("name", NAMES)
def test_a_file_is_recognised_when_only_its_beginning_is_seen(name: str) -> None:
    head = SAMPLES[name][: len(SAMPLES[name]) * 3 // 4]
    known = registry.detect(head)
    assert known is not None and known.name == name


@pytest.mark.parametrize("name", NAMES)
def test_names_of_files_and_their_order_change_nothing(name: str, tmp_path: Path) -> None:
    paths = []
    for number, other in enumerate(NAMES):
        paths.append(tmp_path / f"{0 if other == name else number + 1}.dat")
        paths[-1].write_bytes(SAMPLES[other])
    loaded = ingest.load(paths, corpus="corpus")
    assert loaded == ingest.load(paths[::-1], corpus="corpus") == ingest.load([tmp_path], corpus="corpus")
    assert {report.format for report in loaded.files} == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
@SETTINGS
@given(data=st.data())
def test_broken_bytes_never_raise(name: str, data: Any) -> None:
    content = bytearray(SAMPLES[name])
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(content)))
        piece = data.draw(st.sampled_from(PIECES) | st.binary(max_size=8))
        content[at : at + data.draw(st.integers(0, 30))] = piece
    check(read(name, bytes(content)))
    registry.detect(bytes(content))


@pytest.mark.parametrize("name", NAMES)
@FEW
@given(noise=st.binary(max_size=120), keep=st.floats(0, 0.5))
def test_any_bytes_whatever_never_raise(name: str, noise: bytes, keep: float) -> None:
    """Noise by itself, and after a beginning that this format takes for its own."""
    for data in (noise, SAMPLES[name][: int(len(SAMPLES[name]) * keep)] + noise):
        registry.detect(data)
        for item in read(name, data):
            assert codec.decode(type(item), codec.encode(item)) == item


@FEW
@given(data=st.data())
def test_a_broken_archive_never_raises(data: Any) -> None:
    content = bytearray(format_samples.inspect_zip(format_samples.inspect_sample(1, 1, "C")))
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(content)))
        content[at : at + data.draw(st.integers(0, 30))] = data.draw(st.binary(max_size=8))
    check(read("inspect-ai", bytes(content)))


@pytest.mark.parametrize("name", NAMES)
@FEW
@given(cut=st.floats(0.05, 1))
def test_a_file_that_was_cut_off_never_raises(name: str, cut: float) -> None:
    check(read(name, SAMPLES[name][: int(len(SAMPLES[name]) * cut)]))


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


def records(name: str) -> list[Any]:
    text = SAMPLES[name].decode()
    if name == "inspect-ai":
        return [json.loads(text)]
    return json.loads(text) if text.startswith("[") else [json.loads(line) for line in text.splitlines()]


@pytest.mark.parametrize("name", JSON_NAMES)
@SETTINGS
@given(data=st.data())
def test_no_value_anywhere_raises(name: str, data: Any) -> None:
    given_records = records(name)
    place: Any = given_records
    while True:
        key = data.draw(st.sampled_from(list(place) if isinstance(place, dict) else range(len(place))))
        if not isinstance(place[key], dict | list) or not place[key] or data.draw(st.booleans()):
            break
        place = place[key]
    place[key] = data.draw(VALUES)
    check(read(name, format_samples.lines(*given_records)))


@pytest.mark.parametrize("name", JSON_NAMES)
def test_hopeless_nesting_costs_one_record(name: str) -> None:
    deep = b'{"deep": ' + b"[" * 100_000 + b"]" * 100_000 + b"}\n"
    sample = format_samples.lines(*records(name))
    items = read(name, sample + deep)
    check(items)
    assert [trace.external_id for trace in traces(items)] == [t.external_id for t in traces(read(name, sample))]
    assert any(isinstance(item, BadRecord) and "deep" in item.reason for item in items)


@pytest.mark.parametrize("depth", [100, 450, 490, 5000])
@pytest.mark.parametrize("name", JSON_NAMES)
def test_nesting_inside_a_record_costs_no_more_than_that_record(name: str, depth: int) -> None:
    for record in (given_records := records(name)):
        for holder in walk(record):
            for key in ("content", "input", "arguments", "output", "output_text", "args"):
                if key in holder:
                    holder[key] = "NESTED"
    nested = b'[{"k": ' * depth + b"1" + b"}]" * depth
    check(read(name, format_samples.lines(*given_records).replace(b'"NESTED"', nested)))


def walk(value: Any) -> list[dict[str, Any]]:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [*([value] if isinstance(value, dict) else []), *(found for item in inner for found in walk(item))]


@settings(deadline=None, derandomize=True, max_examples=10)
@given(rng=st.randoms(use_true_random=False))
def test_a_folder_of_everything_is_read_in_one_go(tmp_path_factory: Any, rng: random.Random) -> None:
    folder = tmp_path_factory.mktemp("all")
    names = [f"{i}.jsonl" for i in range(len(NAMES))]
    rng.shuffle(names)
    for name, file in zip(NAMES, names, strict=True):
        (folder / file).write_bytes(SAMPLES[name])
    (folder / "notes.json").write_text('{"a": {"role": "admin"}}')
    loaded = ingest.load([folder], corpus="corpus")
    assert Counter(report.format for report in loaded.files if report.traces) == Counter(NAMES)
    assert len({trace.external_id for trace in loaded.traces}) == len(loaded.traces)
    assert [trace.external_id for trace in loaded.traces] == sorted(trace.external_id for trace in loaded.traces)


@pytest.mark.parametrize("name", NAMES)
def test_a_named_file_of_noise_is_an_error_that_names_it(name: str, tmp_path: Path) -> None:
    path = tmp_path / "noise.dat"
    path.write_bytes(SAMPLES[name][:60])
    try:
        loaded = ingest.load([path], corpus="corpus")
    except FormatError as error:
        assert error.path == str(path)
    else:
        assert loaded.traces
