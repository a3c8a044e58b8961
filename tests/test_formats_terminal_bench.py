"""Terminal-Bench runs: one file for all trials, their terminals, what is unknown, what was not the agent's fault."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from format_samples import claude_code, terminal_bench_trial

from refiner import ingest
from refiner.formats.terminal_bench import FORMAT
from refiner.ports import Source
from refiner.types import Outcome, Span, Trace


def run(root: Path, *trials: dict[str, Any], **logs: bytes) -> Path:
    """A run folder. `logs`: what lies in the first trial's folder, by name with `__` for a slash and `_` for a dot."""
    root.mkdir(exist_ok=True)
    (root / "results.json").write_text(json.dumps({"id": "r", "results": list(trials), "accuracy": 0.5}))
    (root / "run_metadata.json").write_text(json.dumps({"agent_name": "mini", "model_name": "model-1"}))
    folder = root / trials[0]["task_id"] / trials[0]["trial_name"]
    for name, content in {"results_json": json.dumps(trials[0]).encode(), **logs}.items():
        path = folder / name.replace("__", "/").replace("_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return root


def load(root: Path) -> tuple[list[Trace], list[Outcome]]:
    loaded = ingest.load([root], corpus="corpus")
    return list(loaded.traces), list(loaded.outcomes)


def alone(**more: Any) -> Outcome:
    data = json.dumps(terminal_bench_trial("t", False, **more)).encode()
    (outcome,) = [x for x in FORMAT.parse(io.BytesIO(data), Source("corpus", "results.json")) if isinstance(x, Outcome)]
    return outcome


def test_a_run_with_the_terminal_of_a_trial(tmp_path: Path) -> None:
    times = {"agent_started_at": "2026-01-31T12:00:00+00:00", "agent_ended_at": "2026-01-31T13:00:12.5+01:00"}
    printed = b"FAILED tests/test_outputs.py::test_file - AssertionError: no file\n"
    root = run(
        tmp_path / "run",
        terminal_bench_trial("t1", False, instruction="List it", total_input_tokens=9, **times),
        terminal_bench_trial("t2", True, instruction="List it"),
        sessions__agent_log=b"\x1b[?2004h$ ls\r\n\x1b[31mnothing\x1b[0m\r\n",
        sessions__tests_log=printed,
        panes__post_txt=b"nothing",
    )
    (first, second), (failed, passed) = load(root)
    assert first.spans == (
        Span(0, "s0", "message", "user", "user", output="List it"),
        Span(1, "s1", "event", "terminal", output="$ ls\nnothing", started_at="2026-01-31T12:00:00Z"),
    )
    assert (first.external_id, first.task, first.task_id, first.model) == ("t1", "List it", "list-it", "model-1")
    assert first.meta == {"agent": "mini", "seconds": "12.5", "input_tokens": "9"}
    assert failed == Outcome(first.id, "fail", feedback="Test failed: test_file: AssertionError: no file")
    assert (passed.trace_id, passed.status, passed.feedback) == (second.id, "pass", None)


def test_an_agents_own_log_is_read_before_the_terminal(tmp_path: Path) -> None:
    logs = {"agent-logs__session_jsonl": claude_code(), "sessions__agent_log": b"$ ls"}
    (trace,), _ = load(run(tmp_path / "run", terminal_bench_trial("t1", False), **logs))
    assert [span.name for span in trace.spans if span.kind == "tool_call"] == ["Read"]
    assert (trace.format, trace.task_id) == ("terminal-bench", "list-it")


def test_a_recording_is_played(tmp_path: Path) -> None:
    cast = b'{"version": 2, "width": 80}\n[0.1, "o", "$ l"]\n[0.2, "i", "x"]\n[0.3, "o", "s\\r\\n"]\nbroken\n'
    (trace,), _ = load(run(tmp_path / "run", terminal_bench_trial("t1", False), sessions__agent_cast=cast))
    assert trace.spans[-1].output == "$ ls"


def test_a_long_terminal_keeps_its_head_and_tail(tmp_path: Path) -> None:
    logs = {"sessions__agent_log": b"begin " + b"x" * 300_000 + b" end"}
    (trace,), _ = load(run(tmp_path / "run", terminal_bench_trial("t1", False), **logs))
    shown = trace.spans[-1].output
    assert shown.startswith("begin x") and shown.endswith("x end") and "characters left out" in shown
    assert len(shown) < 210_000


@pytest.mark.parametrize(
    ("resolved", "mode", "status"),
    [
        (True, "unset", "pass"),
        (True, "agent_timeout", "pass"),
        (False, "unset", "fail"),
        (False, "agent_timeout", "fail"),
        (None, "unset", "unknown"),
        (None, "agent_installation_failed", "infrastructure"),
        (False, "test_timeout", "infrastructure"),
        ("no", "unset", "unknown"),
    ],
)
def test_how_a_trial_ended(resolved: Any, mode: str, status: str) -> None:
    outcome = alone(is_resolved=resolved, failure_mode=mode, parser_results=None)
    assert outcome.status == status
    limited = outcome.feedback == "Stopped by the limit: agent_timeout"
    assert limited == (mode == "agent_timeout")


@pytest.mark.parametrize(
    ("log", "status"),
    [
        (b"$ mini -t 'List it'\nbash: mini: command not found\n$ \n", "infrastructure"),
        (b"$ jq .\nbash: jq: command not found\n$ \n", "fail"),
        (b"$ mini\nbash: mini: command not found\n" + b"$ ls\nnothing\n" * 9, "fail"),
    ],
)
def test_an_agent_that_the_shell_did_not_know_did_not_fail(tmp_path: Path, log: bytes, status: str) -> None:
    _, (outcome,) = load(run(tmp_path / "run", terminal_bench_trial("t1", False), sessions__agent_log=log))
    assert outcome.status == status


def test_the_folder_of_one_trial(tmp_path: Path) -> None:
    root = run(tmp_path / "run", terminal_bench_trial("t1", False), sessions__agent_log=b"$ ls")
    (trace,), (outcome,) = load(root / "list-it" / "t1")
    assert (trace.external_id, trace.spans[-1].output, outcome.status) == ("t1", "$ ls", "fail")
