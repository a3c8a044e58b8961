"""From paths to an Ingest: walking, reports, order independence, tasks, and bytes of every kind."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from refiner import ingest, labels
from refiner.errors import FormatError
from refiner.intake import Intake
from refiner.types import EvaluatorNote, Outcome, Trace


def record(trace_id: str | None, said: str = "do it", **extra: Any) -> str:
    spans = [{"name": "user", "output_text": said}, {"name": "run", "input_text": "{}", "output_text": "ok"}]
    return json.dumps({**({"trace_id": trace_id} if trace_id else {}), "spans": spans, **extra})


def tau(task_id: int, trial: int, reward: float) -> dict[str, Any]:
    traj = [{"role": "user", "content": "hi"}]
    return {"task_id": task_id, "reward": reward, "info": {}, "traj": traj, "trial": trial}


def write(path: Path, *lines: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def load(*paths: Path, **options: Any) -> ingest.Ingest:
    return ingest.load(paths, corpus="corpus", **options)


def placeless(loaded: ingest.Ingest) -> tuple[Any, ...]:
    return tuple(replace(trace, source="") for trace in loaded.traces), loaded.outcomes, loaded.notes


def test_files_and_folders_are_read_and_sorted_by_id(tmp_path: Path) -> None:
    write(tmp_path / "runs" / "b.dat", record("t3"), record("t1"))
    write(tmp_path / "runs" / "deep" / "a.json", json.dumps([tau(1, 0, 1.0)]))
    single = write(tmp_path / "x.jsonl", record("t2"))
    loaded = load(tmp_path / "runs", single)
    assert [trace.external_id for trace in loaded.traces] == ["t1", "t2", "t3", "task1-trial0"]
    assert [(report.path, report.format, report.traces, report.spans) for report in loaded.files] == [
        ("b.dat", "canonical", 2, 4),
        ("deep/a.json", "tau-bench", 1, 1),
        ("x.jsonl", "canonical", 1, 2),
    ]
    assert {trace.source for trace in loaded.traces} == {"b.dat:1", "b.dat:2", "deep/a.json:1", "x.jsonl:1"}


def test_in_a_folder_what_is_no_trace_is_skipped_and_reported(tmp_path: Path) -> None:
    write(tmp_path / "traces.jsonl", record("a"))
    write(tmp_path / ".hidden" / "traces.jsonl", record("b"))
    write(tmp_path / "deep" / ".DS_Store", record("c"))
    write(tmp_path / "binary_rewards.json", '{"a": true}')
    write(tmp_path / "feedback.csv", "id,feedback", "a,x")
    write(tmp_path / "README.md", "# Notes")
    (tmp_path / "picture.png").write_bytes(b"\x89PNG\x00\xff")
    (tmp_path / "empty.jsonl").write_bytes(b"")
    write(tmp_path / "log.json", json.dumps({"info": {"trace_id": "x"}, "data": {"spans": []}}))
    loaded = load(tmp_path)
    assert [trace.external_id for trace in loaded.traces] == ["a"]
    assert {skipped.path: skipped.reason for skipped in loaded.skipped} == {
        ".hidden": "hidden",
        "deep/.DS_Store": "hidden",
        "README.md": "holds no traces of a known format",
        "binary_rewards.json": "holds labels, feedback or other single values, not traces",
        "empty.jsonl": "the file is empty",
        "feedback.csv": "holds labels, feedback or other single values, not traces",
        "picture.png": "holds no traces of a known format",
    }
    (unread,) = loaded.rejected
    assert (unread.path, unread.line, unread.reason) == ("log.json", 0, "is an MLflow trace, which is not read")


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", ["empty", "trace_id"]),
        (b" \n\n", ["empty"]),
        (b"just text", ["no traces of a known format", "tau-bench"]),
        (b'{"a": true}', ["labels"]),
        (
            b'{"type": "user", "sessionId": "x", "uuid": "y", "parentUuid": null}',
            ["claude-code", "not one record can be used"],
        ),
        (b'{"version": 2, "status": "success", "eval": {}}', ["inspect-ai", "the log holds no samples"]),
        (b"PK\x03\x04....header.json", ["inspect-ai", "the zip archive is damaged"]),
        (b'[{"role": "user", "content": ""}]', ["chat", "not one of the `messages` has any words"]),
        (b'{"timestamp": "x", "type": "session_meta", "payload": {}}', ["codex", "a session without any words"]),
        (b'{"info": {}, "data": {"spans": []}}', ["an MLflow trace", "not read"]),
        (b'{"trace_id": "a", "spans": [{"name": "x", "output_text": null}]}', ["canonical", "line 1", "no span has"]),
    ],
)
def test_a_file_with_nothing_usable_is_an_error_that_names_it(tmp_path: Path, content: bytes, says: list[str]) -> None:
    path = tmp_path / "given.jsonl"
    path.write_bytes(content)
    with pytest.raises(FormatError) as caught:
        load(path)
    assert caught.value.path == str(path)
    assert all(words in str(caught.value) for words in ["given.jsonl", *says])


def test_missing_paths_and_folders_without_traces_are_errors(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="no such file"):
        load(tmp_path / "none")
    with pytest.raises(FormatError, match="no traces in"):
        load(tmp_path)
    write(tmp_path / "notes.md", "# Notes")
    with pytest.raises(FormatError, match=r"notes\.md"):
        load(tmp_path)


def test_a_bad_beginning_longer_than_the_head_does_not_spoil_a_file(tmp_path: Path) -> None:
    path = write(tmp_path / "runs.jsonl", "x" * 200_000, record("a"))
    loaded = load(path)
    assert [trace.external_id for trace in loaded.traces] == ["a"]
    assert [bad.line for bad in loaded.rejected] == [1]


def test_the_name_of_a_file_decides_nothing(tmp_path: Path) -> None:
    loaded = load(
        write(tmp_path / "gpt-4o-airline.json", record("a")), write(tmp_path / "traces.jsonl", json.dumps(tau(1, 1, 0)))
    )
    assert [report.format for report in loaded.files] == ["canonical", "tau-bench"]


def test_a_file_named_twice_is_read_once(tmp_path: Path) -> None:
    path = write(tmp_path / "runs.jsonl", record(None))
    assert len(load(path, path, tmp_path).traces) == 1


def test_copies_growth_and_conflicts_are_left_in_in_a_stable_order(tmp_path: Path) -> None:
    grown = json.loads(record("a"))
    grown["spans"].append({"name": "run", "output_text": "more"})
    lines = [json.dumps(grown), record("a"), record("a")]
    for order in (lines, lines[::-1]):
        assert [len(trace.spans) for trace in load(write(tmp_path / "runs.jsonl", *order)).traces] == [2, 2, 3]


def test_equal_runs_with_different_outcomes_are_two_traces(tmp_path: Path) -> None:
    loaded = load(write(tmp_path / "runs.jsonl", record("a", outcome=True), record("b", outcome=False)))
    assert [(outcome.trace_id, outcome.status) for outcome in loaded.outcomes] == [
        (loaded.traces[0].id, "pass"),
        (loaded.traces[1].id, "fail"),
    ]


@settings(deadline=None, derandomize=True)
@given(st.randoms(use_true_random=False), st.integers(0, 12))
def test_the_order_of_lines_and_files_changes_nothing(tmp_path_factory: Any, rng: random.Random, cut: int) -> None:
    lines = [record(None, f"say {i % 2}") for i in range(4)]
    lines += [record("same", outcome=True), record("same", outcome=False), record("same", "other", feedback="x")]
    lines += [record(f"t{i}", f"task {'abc'[i % 3]}", outcome=bool(i % 2), feedback=f"f{i}") for i in range(5)]
    folder = tmp_path_factory.mktemp("order")
    steady = placeless(load(write(folder / "one" / "a.jsonl", *lines)))
    rng.shuffle(lines)
    assert placeless(load(write(folder / "two" / "a.jsonl", *lines))) == steady
    named = [line for line in lines if "trace_id" in line]
    parts = [write(folder / f"{name}.jsonl", *part) for name, part in (("x", named[:cut]), ("y", named[cut:])) if part]
    rng.shuffle(parts)
    split = load(*parts)
    assert [trace.external_id for trace in split.traces] == sorted(json.loads(line)["trace_id"] for line in named)
    assert placeless(split) == placeless(load(*parts[::-1]))


@pytest.fixture(scope="module")
def bases() -> dict[str, bytes]:
    lines = [record("a", reward=0.5), record(None, meta={"task_id": 1}), record("c", model="m", start=1769860800)]
    traj = [
        {"role": "user", "content": "hi"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "1", "function": {"name": "f", "arguments": "{}"}}],
        },
        {"role": "tool", "tool_call_id": "1", "name": "f", "content": "Error: no"},
    ]
    task = {"actions": [{"name": "f", "kwargs": {"a": [1]}}], "instruction": "x", "outputs": ["1"]}
    runs = [{**tau(1, 0, 1.0), "traj": traj, "info": {"task": task, "reward_info": None}}, tau(1, 1, 0.0)]
    return {"canonical": "\n".join(lines).encode(), "tau-bench": json.dumps(runs).encode()}


PIECES = [
    b"null",
    b"NaN",
    b"[]",
    b"{}",
    b"-1",
    b"1e999",
    b'"',
    b"\\u0000",
    b"\\ud800",
    b"\xff",
    b"\n",
    b"true",
    b"," * 3,
]


@settings(deadline=None, derandomize=True)
@given(st.sampled_from(["canonical", "tau-bench"]), st.data())
def test_no_bytes_raise_anything_but_a_format_error(tmp_path_factory: Any, bases: Any, kind: str, data: Any) -> None:
    content = bytearray(bases[kind])
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(content)))
        piece = data.draw(st.sampled_from(PIECES) | st.binary(max_size=8))
        content[at : at + data.draw(st.integers(0, 30))] = piece
    path = tmp_path_factory.getbasetemp() / "noise.dat"
    path.write_bytes(bytes(content))
    try:
        loaded = load(path)
    except FormatError as error:
        assert error.path == str(path)
    else:
        assert loaded.traces and all(trace.spans and trace.external_id for trace in loaded.traces)
        json.dumps([trace.key for trace in loaded.traces])


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@settings(deadline=None, derandomize=True)
@given(st.sampled_from(["canonical", "tau-bench"]), st.data())
def test_no_value_anywhere_raises_anything_but_a_format_error(
    tmp_path_factory: Any, bases: Any, kind: str, data: Any
) -> None:
    text = bases[kind].decode()
    records = [json.loads(line) for line in text.splitlines()] if kind == "canonical" else json.loads(text)
    place: Any = data.draw(st.sampled_from(records))
    while True:
        key = data.draw(st.sampled_from(list(place) if isinstance(place, dict) else range(len(place))))
        if not isinstance(place[key], dict | list) or not place[key] or data.draw(st.booleans()):
            break
        place = place[key]
    place[key] = data.draw(VALUES)
    path = tmp_path_factory.getbasetemp() / "values.dat"
    path.write_text("\n".join(json.dumps(item) for item in records), encoding="utf-8")
    try:
        loaded = load(path)
    except FormatError:
        return
    assert len(loaded.traces) + len(loaded.rejected) >= len(records)
    for trace in loaded.traces:
        json.dumps(trace.key)
        repr(trace).encode()


def trace(external_id: str, task: str = "", task_id: str = "") -> Trace:
    return Trace("c", external_id, "canonical", task, task_id, "file" if task_id else "none", ())


def tasks(*traces: Trace) -> list[tuple[str, str]]:
    return [(item.task_id, item.task_id_origin) for item in ingest.assign_tasks(traces)]


def test_a_task_id_of_the_file_stays() -> None:
    assert tasks(trace("a", "x", "t9")) == [("t9", "file")]


def test_requests_equal_up_to_case_space_and_numbers_are_one_task() -> None:
    others = [trace(f"o{letter}", f"other {letter}") for letter in "abcdef"]
    found = tasks(trace("a", "Sum  12 rows\nof A"), trace("b", "sum 3.5 ROWS of a"), *others)
    assert found[0] == found[1] and found[0][1] == "text"
    assert len({name for name, _ in found}) == 7


def test_a_request_that_opens_more_than_a_quarter_names_no_task() -> None:
    common = [trace(f"c{i}", "hello") for i in range(2)]
    rest = [trace(f"r{letter}", f"do {letter}") for letter in "abcdef"]
    assert tasks(*common, *rest)[0][1] == "text"
    assert tasks(*common, *rest[:5])[:2] == [("c0", "none"), ("c1", "none")]


def test_without_a_request_each_trace_is_its_own_task() -> None:
    assert tasks(*(trace(f"t{i}") for i in range(9)))[4] == ("t4", "none")


def test_copies_of_one_trace_do_not_make_its_request_common() -> None:
    rest = [trace(f"r{letter}", f"do {letter}") for letter in "abc"]
    assert tasks(trace("a", "hello"), trace("a", "hello"), *rest)[0][1] == "text"


def test_assigning_again_changes_nothing() -> None:
    traces = [trace("a", "x"), trace("b", ""), *(trace(f"r{letter}", f"do {letter}") for letter in "abcde")]
    assert ingest.assign_tasks(ingest.assign_tasks(traces)) == ingest.assign_tasks(traces)


def test_task_key_and_threshold_reach_the_readers(tmp_path: Path) -> None:
    path = write(tmp_path / "runs.jsonl", record("a", case="k1", reward=0.5))
    loaded = load(path, task_key="case", threshold=labels.Threshold(0.5))
    assert (loaded.traces[0].task_id, loaded.outcomes[0].status) == ("k1", "pass")
    assert loaded.files[0].outcomes["pass"] == 1


def test_the_inspect_report(tmp_path: Path) -> None:
    write(tmp_path / "a.jsonl", record("a", outcome=True), "5", record("b"))
    write(tmp_path / "b.json", json.dumps([tau(1, 0, 0.0), tau(1, 1, 1.0)]))
    write(tmp_path / "rewards.json", '{"a": true}')
    report = ingest.inspect_report([tmp_path])
    assert json.loads(json.dumps(report)) == {
        "files": [
            {
                "path": "a.jsonl",
                "format": "canonical",
                "traces": 2,
                "spans": 4,
                "outcomes": {"pass": 1, "fail": 0, "unknown": 1, "infrastructure": 0},
                "rejected": [{"line": 2, "reason": "not an object but a number"}],
            },
            {
                "path": "b.json",
                "format": "tau-bench",
                "traces": 2,
                "spans": 2,
                "outcomes": {"pass": 1, "fail": 1, "unknown": 0, "infrastructure": 0},
                "rejected": [],
            },
        ],
        "totals": {
            "traces": 4,
            "spans": 6,
            "outcomes": {"pass": 2, "fail": 1, "unknown": 1, "infrastructure": 0},
            "rejected": 1,
        },
    }


def test_what_is_said_of_a_copied_trace_is_said_of_the_trace_that_it_is() -> None:
    said = (Outcome("copy", "fail"), Outcome("other", "pass"))
    taken = Intake(ingest.Ingest((), (), (), ()), (), said, (EvaluatorNote("copy", "gold", "x"),), ())
    renamed = taken.renamed({"copy": "kept"})
    assert [one.trace_id for one in renamed.outcomes] == ["kept", "other"]
    assert [one.trace_id for one in renamed.notes] == ["kept"]


def test_a_file_of_a_known_format_that_holds_no_run_is_named(tmp_path: Path) -> None:
    (tmp_path / "empty.csv").write_text("trace_id,prompt,response\n")
    (tmp_path / "one.csv").write_text("trace_id,prompt,response\na,Dig,Ok\n")
    loaded = ingest.load([tmp_path], corpus="corpus")
    assert [(one.path, one.reason) for one in loaded.skipped] == [("empty.csv", "reads like table, but holds no runs")]
