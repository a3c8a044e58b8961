"""Harbor trials, folders and all, and ATIF trajectories: quirks of the versions, what belongs together, who failed."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from format_samples import claude_code, lines, trajectory
from hypothesis import given, settings
from hypothesis import strategies as st
from rooms import opened, upload

from refiner import ingest
from refiner.errors import FormatError
from refiner.file_reports import skipped_words
from refiner.formats.harbor import FORMAT
from refiner.ports import Source
from refiner.types import BadRecord, Outcome, Span, Trace

RESULT = {
    "id": "u1",
    "task_name": "list-it",
    "trial_name": "list-it__abc",
    "agent_info": {"name": "agent-1", "model_info": {"name": "model-1"}},
    "agent_result": {"n_input_tokens": 9, "n_output_tokens": 3, "cost_usd": None},
    "verifier_result": {"rewards": {"reward": 0.0}},
    "exception_info": None,
}
TESTS = [
    {"name": "test_file", "status": "failed", "message": "assert 1 == 2", "trace": "..."},
    {"name": "test_name", "status": "failed", "trace": "def test():\n>   x\nE   KeyError: 'x'\n"},
    {"name": "test_kind", "status": "passed"},
    {"name": "test_later", "status": "skipped"},
]


def steps(*of: dict[str, Any], **more: Any) -> dict[str, Any]:
    return trajectory("s1", steps=[{"step_id": number, **one} for number, one in enumerate(of, 1)], **more)


def parse(record: dict[str, Any]) -> list[Any]:
    return list(FORMAT.parse(io.BytesIO(json.dumps(record, indent=1).encode()), Source("corpus", "trajectory.json")))


def folder(root: Path, **files: Any) -> Path:
    """A trial folder; `__` in a name is a slash."""
    for name, content in files.items():
        path = root / name.replace("__", "/").replace("_json", ".json").replace("_txt", ".txt").replace("_l", ".jsonl")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    return root


def load(root: Path) -> tuple[Trace, Outcome]:
    loaded = ingest.load([root], corpus="corpus")
    (trace,), (outcome,) = loaded.traces, loaded.outcomes
    return trace, outcome


def said(trace: Trace) -> list[tuple[str, str, str]]:
    return [(span.name, span.input, span.output) for span in trace.spans]


def test_the_golden_trajectory() -> None:
    (trace,) = parse(trajectory("s1"))
    at = "2026-01-31T12:00:00Z"
    assert trace.spans == (
        Span(0, "s0", "message", "user", "user", output="List it\n[image png 3 KB]"),
        Span(1, "s1", "message", "assistant", "assistant", output="Looking.", started_at=at),
        Span(2, "c1", "tool_call", "bash", "", '{"cmd": "ls"}', "Error: no such folder", "Error: no such folder", at),
    )
    assert (trace.external_id, trace.model, trace.task_id_origin) == ("s1", "model-1", "none")
    assert trace.meta == {"agent": "agent-1", "input_tokens": "7", "output_tokens": "2", "cost_usd": "0.25"}


@pytest.mark.parametrize("version", ["1.0", "1.2", "1.4", "1.6", "1.7"])
def test_every_version_is_known_and_its_own_totals_count(version: str) -> None:
    record = trajectory("s1", schema_version=f"ATIF-v{version}", final_metrics={"total_prompt_tokens": 70})
    assert FORMAT.sniff(json.dumps(record).encode()) == 1.0
    assert parse(record)[0].meta["input_tokens"] == "70"


def test_observations_without_the_id_of_their_call_are_joined_in_order() -> None:
    calls = [{"tool_call_id": name, "function_name": name, "arguments": {}} for name in ("a", "b")]
    seen = {"results": [{"content": "A"}, {"content": [{"type": "text", "text": "B"}]}]}
    (trace,) = parse(steps({"source": "agent", "message": "", "tool_calls": calls, "observation": seen}))
    assert said(trace) == [("a", "{}", "A"), ("b", "{}", "B")]
    (alone,) = parse(steps({"source": "agent", "message": "ls", "observation": {"results": [{"content": "x"}]}}))
    assert [(span.kind, span.output) for span in alone.spans] == [("message", "ls"), ("tool_result", "x")]


def test_a_sub_agent_is_named_where_it_was_called() -> None:
    call = {"tool_call_id": "c", "function_name": "delegate", "arguments": {}}
    seen = {"results": [{"source_call_id": "c", "subagent_trajectory_ref": [{"session_id": "sub-1"}]}]}
    (trace,) = parse(steps({"source": "agent", "message": "", "tool_calls": [call], "observation": seen}))
    assert said(trace) == [("delegate", "{}", "[sub-agent sub-1]")]


def delegating(reference: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A trajectory whose second call sets a sub-agent to work."""
    calls = [{"tool_call_id": name, "function_name": name, "arguments": {}} for name in ("look", "delegate")]
    seen = [{"source_call_id": "delegate", "content": "Two.", "subagent_trajectory_ref": [reference]}]
    asked = {"source": "user", "message": "Count"}
    return steps(asked, {"source": "agent", "tool_calls": calls, "observation": {"results": seen}}, **more)


SUB = [
    {"step_id": 1, "source": "user", "message": "Count the files"},
    {
        "step_id": 2,
        "source": "agent",
        "message": "Two",
        "tool_calls": [{"tool_call_id": "look", "function_name": "ls"}],
    },
]


def below(trace: Trace) -> list[tuple[str, str, str]]:
    """Role, words and parent of the steps of sub-agents."""
    return [(span.role, span.output or span.name, span.parent) for span in trace.spans if span.parent]


def test_the_steps_of_an_embedded_sub_agent_hang_on_the_call_that_set_it_to_work() -> None:
    sub = trajectory("s1", steps=SUB, trajectory_id="t2")
    (trace,) = parse(delegating({"trajectory_id": "t2"}, subagent_trajectories=[sub]))
    assert said(trace)[2] == ("delegate", "{}", "Two.\n[sub-agent t2]")
    assert below(trace) == [
        ("system", "Count the files", "delegate"),
        ("assistant", "Two", "delegate"),
        ("", "ls", "delegate"),
    ]
    assert len({span.span_id for span in trace.spans}) == len(trace.spans) and trace.task == "Count"


def test_sub_agents_in_files_are_read_at_any_depth_and_each_once(tmp_path: Path) -> None:
    here = {"trajectory_path": "/logs/agent/trajectory.summarization-1.json"}
    again = delegating({"trajectory_path": "trajectory.json"})["steps"]
    copied = {"source": "user", "message": "Count", "is_copied_context": True}
    inner = trajectory("s2", steps=[copied, *SUB, *again[1:]])
    root = folder(tmp_path, result_json=RESULT, agent__trajectory_json=delegating(here))
    (root / "agent" / "trajectory.summarization-1.json").write_text(json.dumps(inner))
    trace, _ = load(root)
    assert [words for _, words, _ in below(trace)] == [
        "Count the files",
        "Two",
        "ls",
        "look",
        "Two.\n[sub-agent trajectory.json]",
    ]
    assert {parent for _, _, parent in below(trace)} == {"delegate"}


def job(root: Path) -> Path:
    """A job folder with one trial."""
    folder(root / "job", result_json={"stats": {}, "n_total_trials": 1}, config_json={"jobs_dir": "x", "n_attempts": 1})
    folder(
        root / "job" / "trial", result_json=RESULT, agent__trajectory_json=steps({"source": "user", "message": "Hi"})
    )
    return root


def test_what_a_job_says_of_itself_is_left_out_and_said_once(tmp_path: Path) -> None:
    loaded = ingest.load([job(tmp_path)], corpus="corpus")
    assert [trace.external_id for trace in loaded.traces] == ["list-it__abc"] and loaded.rejected == ()
    (words,) = skipped_words(loaded.skipped)
    assert words.startswith(
        "Not read: job/config.json, job/result.json: is the summary or the settings of a Harbor job"
    )
    with pytest.raises(FormatError, match="of a Harbor job"):
        ingest.load([tmp_path / "job" / "result.json"], corpus="corpus")


def test_the_app_shows_no_row_for_what_a_job_says_of_itself(tmp_path: Path) -> None:
    desk = opened(tmp_path / "refiner.duckdb")
    desk.create_corpus("own")
    files = sorted(path for path in job(tmp_path / "in").rglob("*") if path.is_file())
    report = desk.ingest(
        "own", [upload(path.relative_to(tmp_path / "in").as_posix(), path.read_bytes()) for path in files]
    )
    assert (report.accepted, report.rejected) == (1, ())
    assert [row.path for row in report.files if "trial" not in row.path] == []
    assert len([words for words in report.warnings if "Harbor job" in words]) == 1


def test_copied_context_is_not_doubled() -> None:
    told = {"source": "user", "message": "List it"}
    again = {**told, "is_copied_context": True}
    (trace,) = parse(steps(told, {"source": "agent", "message": "Yes"}, again))
    assert [text for _, _, text in said(trace)] == ["List it", "Yes"]
    (alone,) = parse(steps(again, {"source": "agent", "message": "Yes"}))
    assert [text for _, _, text in said(alone)] == ["List it", "Yes"]


def test_a_trial_of_several_files_is_one_trace(tmp_path: Path) -> None:
    first = steps({"source": "user", "message": "List it"}, continued_trajectory_ref="trajectory.cont-1.json")
    summary = {"source": "user", "message": "So far: nothing", "is_copied_context": True}
    later = steps(summary, {"source": "agent", "message": "Done", "metrics": {"prompt_tokens": 5}})
    root = folder(
        tmp_path,
        result_json=RESULT,
        config_json={"task": {}},
        agent__trajectory_json=first,
        agent__sessions__claude_l=claude_code(),
        agent__agent_txt=b"screen",
        verifier__ctrf_json={"results": {"tool": {"name": "pytest"}, "tests": TESTS}},
    )
    (root / "agent" / "trajectory.cont-1.json").write_text(json.dumps(later))
    (root / "agent" / "trajectory.summarization-1-summary.json").write_text(json.dumps(later))
    trace, outcome = load(root)
    assert [text for _, _, text in said(trace)] == ["List it", "Done"]
    assert (trace.external_id, trace.task_id, trace.task_id_origin) == ("list-it__abc", "list-it", "file")
    assert trace.meta == {"agent": "agent-1", "input_tokens": "9", "output_tokens": "3"}
    assert (outcome.status, outcome.score) == ("fail", 0.0)
    assert outcome.feedback == "Test failed: test_file: assert 1 == 2\nTest failed: test_name: E   KeyError: 'x'"


def test_files_of_a_trial_are_read_with_it_and_those_beside_it_by_themselves(tmp_path: Path) -> None:
    folder(tmp_path / "job" / "one", result_json=RESULT, agent__trajectory_json=trajectory("s1"))
    folder(tmp_path / "job", result_json={"stats": {}, "n_total_trials": 1}, other_json=trajectory("s2"))
    loaded = ingest.load([tmp_path], corpus="corpus")
    assert [trace.external_id for trace in loaded.traces] == ["list-it__abc", "s2"]
    assert not loaded.rejected
    assert [(bad.path, "summary" in bad.reason) for bad in loaded.skipped] == [("job/result.json", True)]


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"verifier_result": {"rewards": {"reward": 1.0}}}, "pass"),
        ({"verifier_result": {"rewards": {"reward": 0.4}}}, "fail"),
        ({"verifier_result": {"rewards": {"score": 1}}}, "pass"),
        ({"verifier_result": None}, "unknown"),
        ({"verifier_result": {"rewards": None}}, "unknown"),
        ({"exception_info": {"exception_type": "EnvironmentStartTimeout"}}, "infrastructure"),
    ],
)
def test_how_a_trial_ended(tmp_path: Path, change: dict[str, Any], status: str) -> None:
    root = folder(tmp_path, result_json={**RESULT, **change}, agent__trajectory_json=trajectory("s1"))
    trace, outcome = load(root)
    assert outcome.status == status
    crashed = [(span.name, span.error) for span in trace.spans if span.kind == "event"]
    assert crashed == ([("harness", "EnvironmentStartTimeout")] if status == "infrastructure" else [])


def test_a_picture_in_a_file_of_its_own_is_named() -> None:
    picture = {"type": "image", "source": {"media_type": "image/png", "path": "images/a.png"}}
    (trace,) = parse(steps({"source": "user", "message": [{"type": "text", "text": "What is it?"}, picture]}))
    assert trace.task == "What is it?\n[file images/a.png]"


def test_how_long_the_agent_took_leaves_out_setting_up_and_checking() -> None:
    phase = {"started_at": "2026-01-31T12:00:10", "finished_at": "2026-01-31T12:01:11.25Z"}
    whole = {"started_at": "2026-01-31T12:00:00Z", "finished_at": "2026-01-31T12:09:00Z"}
    broken = {**RESULT, "exception_info": {"exception_type": "Gone"}, **whole}
    (trace, _), (unknown, _) = parse({**broken, "agent_execution": phase}), parse(broken)
    (turned, _) = parse({**broken, "agent_execution": {**phase, "started_at": "2026-02-01T00:00:00Z"}})
    assert (trace.meta["seconds"], unknown.meta.get("seconds"), turned.meta.get("seconds")) == ("61.25", None, None)


def test_the_verifiers_own_files_stand_in_for_what_is_missing(tmp_path: Path) -> None:
    printed = (
        b"\x1b[31mFAILED\x1b[0m ../tests/test_x.py::test_file - assert 1 == 2\nFAILED ../tests/test_x.py::test_two"
    )
    root = folder(
        tmp_path,
        result_json={**RESULT, "verifier_result": None},
        agent__trajectory_json=trajectory("s1"),
        verifier__reward_txt=b"0\n",
        **{"verifier__test-stdout_txt": printed},
    )
    _, outcome = load(root)
    assert (outcome.status, outcome.score) == ("fail", 0.0)
    assert outcome.feedback == "Test failed: test_x.py::test_file: assert 1 == 2\nTest failed: test_x.py::test_two"


def test_without_a_trajectory_the_session_is_read_then_the_screen(tmp_path: Path) -> None:
    session = folder(tmp_path / "a", result_json=RESULT, agent__sessions__x__one_l=claude_code())
    trace, outcome = load(session)
    assert [span.name for span in trace.spans if span.kind == "tool_call"] == ["Read"]
    assert (trace.format, trace.external_id, outcome.status) == ("harbor", "list-it__abc", "fail")
    shown, _ = load(folder(tmp_path / "b", result_json=RESULT, agent__agent_txt=b"\x1b[1m$ ls\x1b[0m\r\nnothing\r\n"))
    assert [(span.kind, span.name, span.output) for span in shown.spans] == [("event", "terminal", "$ ls\nnothing")]


def test_a_trial_without_steps_is_refused_unless_it_crashed(tmp_path: Path) -> None:
    (bad,) = parse(RESULT)
    assert isinstance(bad, BadRecord) and "without steps" in bad.reason
    trace, outcome = parse({**RESULT, "exception_info": {"exception_type": "Gone", "exception_message": "No\nimage"}})
    assert (trace.spans[0].error, outcome.status) == ("Gone: No", "infrastructure")


def test_nothing_outside_the_folder_is_read(tmp_path: Path) -> None:
    (tmp_path / "secret.json").write_text(json.dumps(trajectory("secret")))
    first = steps({"source": "user", "message": "List it"}, continued_trajectory_ref="../../secret.json")
    root = folder(tmp_path / "trial", result_json=RESULT, agent__trajectory_json=first)
    (root / "agent" / "link.txt").symlink_to(tmp_path / "secret.json")
    trace, _ = load(root)
    assert [text for _, _, text in said(trace)] == ["List it"]


def test_a_circle_of_files_ends(tmp_path: Path) -> None:
    first = steps({"source": "user", "message": "List it"}, continued_trajectory_ref="trajectory.json")
    trace, _ = load(folder(tmp_path, result_json=RESULT, agent__trajectory_json=first))
    assert len(trace.spans) == 1


class Drawer:
    """Files beside a trial, in memory."""

    def __init__(self, files: dict[str, bytes]) -> None:
        self.files = files

    def names(self) -> list[str]:
        return sorted(self.files)

    def read(self, name: str) -> bytes | None:
        return self.files.get(name)


@settings(deadline=None, derandomize=True, max_examples=80)
@given(data=st.data())
def test_broken_files_of_a_trial_never_raise(data: st.DataObject) -> None:
    report = {"results": {"tool": {"name": "x"}, "tests": TESTS}}
    files = {
        "agent/trajectory.json": json.dumps(
            trajectory("s1", continued_trajectory_ref="trajectory.cont-1.json")
        ).encode(),
        "agent/trajectory.cont-1.json": json.dumps(trajectory("s1")).encode(),
        "agent/session.jsonl": claude_code(),
        "verifier/ctrf.json": json.dumps(report).encode(),
        "verifier/test-stdout.txt": b"FAILED test_x.py::test_two - no",
        "verifier/reward.txt": b"nan",
    }
    result = bytearray(json.dumps({**RESULT, "verifier_result": None}).encode())
    for name in data.draw(st.lists(st.sampled_from([*files, ""]), min_size=1, max_size=3)):
        content = bytearray(files[name]) if name else result
        at = data.draw(st.integers(0, len(content)))
        content[at : at + data.draw(st.integers(0, 40))] = data.draw(st.binary(max_size=8))
        if name:
            files[name] = bytes(content)
    read = list(FORMAT.parse(io.BytesIO(bytes(result)), Source("corpus", "result.json", beside=Drawer(files))))
    assert read and all(isinstance(item, Trace | Outcome | BadRecord) for item in read)


def test_lines_of_several_trajectories() -> None:
    read = FORMAT.parse(io.BytesIO(lines(trajectory("a"), trajectory("b", steps=[]))), Source("corpus", "x"))
    first, second = read
    assert isinstance(first, Trace) and isinstance(second, BadRecord)
