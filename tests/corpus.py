"""Small corpora written here, as files, and the command that is given them. Deterministic, no randomness.

`workbook` is the usual one: 16 tasks, three runs each, with one planted fault (saved and not read back), one fault that
the skill already forbids, one recurring complaint that no behaviour explains, and two harmless habits. Its summaries
are so alike that no side has 8 different ones, which keeps a refinement of it fast (nothing is projected).
`coding_sessions` has one run a task in the shape of Claude Code sessions, labelled by hand in a CSV file.
"""

from __future__ import annotations

import contextlib
import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from refiner.cli import main

Record = dict[str, Any]

SKILL = """---
name: workbook
description: Edit a workbook with the sheet tools. Use when a request names a sheet.
---

# Workbook

## Steps

- Open the workbook with `open_workbook`.
- Enter values with `write_cell`.

## Sheets

- Never call `delete_sheet`.

## Saving

- Save with `save_workbook` once all values are in.
"""
RULE = "After `save_workbook`, call `read_range` before finishing."
COMPLAINT = "Expected output not given"


@dataclass(frozen=True)
class Corpus:
    """Traces with labels by id. `write` puts them into a folder and returns the flags that name the files."""

    traces: tuple[Record, ...]
    rewards: Mapping[str, Any]
    feedback: Mapping[str, str] = field(default_factory=dict)
    skill: str | None = SKILL

    def write(self, folder: Path) -> list[str]:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "traces.jsonl").write_bytes(lines(self.traces))
        (folder / "rewards.json").write_text(json.dumps(dict(self.rewards)))
        given = ["--traces", str(folder / "traces.jsonl"), "--rewards", str(folder / "rewards.json")]
        if self.feedback:
            (folder / "feedback.json").write_text(json.dumps(dict(self.feedback)))
            given += ["--feedback", str(folder / "feedback.json")]
        if self.skill is not None:
            (folder / "SKILL.md").write_bytes(self.skill.encode())
            given += ["--skill", str(folder / "SKILL.md")]
        return given

    def some(self, ids: Iterable[str]) -> Corpus:
        """The same corpus with these traces only; labels stay as they are."""
        kept = set(ids)
        return replace(self, traces=tuple(one for one in self.traces if one["trace_id"] in kept))

    def ids(self, outcome: Any = None) -> list[str]:
        """The ids of all traces, or of those with this outcome."""
        names = [one["trace_id"] for one in self.traces]
        return names if outcome is None else [name for name in names if self.rewards.get(name) == outcome]


def lines(records: Iterable[Record]) -> bytes:
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records).encode()


def call(name: str, output: str = "ok", **arguments: Any) -> Record:
    return {"name": name, "input_text": json.dumps(arguments), "output_text": output}


def run(trace_id: str, request: str, calls: Sequence[Record], task_id: str | None = None, **more: Any) -> Record:
    """A trace: the request, the calls, a last word."""
    said = {"name": "user", "role": "user", "output_text": request}
    last = {"name": "assistant", "role": "assistant", "output_text": "It is done."}
    task = {} if task_id is None else {"task_id": task_id}
    return {"trace_id": trace_id, **task, "spans": [said, *calls, last], **more}


def workbook() -> Corpus:
    """Tasks 0 to 7 forget to read back in their second run, 8 to 13 delete a sheet; 12 to 15 displease in the third."""
    traces: list[Record] = []
    rewards: dict[str, bool] = {}
    feedback: dict[str, str] = {}
    for task in range(16):
        for trial in range(3):
            name = f"task{task:02}-run{trial}"
            said = _complaint(task, trial)
            calls = _calls(task, trial, forgets=trial == 1 and task < 8, deletes=trial == 1 and 8 <= task < 14)
            traces.append(run(name, f"Set the total of sheet {task + 1}.", calls, f"t{task:02}"))
            rewards[name] = not said
            if said:
                feedback[name] = said
    return Corpus(tuple(traces), rewards, feedback)


def _complaint(task: int, trial: int) -> str:
    if trial == 1 and task < 8:
        return f"B{task + 1}: expected the number {40 + task}, found nothing"
    if trial == 1 and task < 14:
        return "Unexpected action: delete_sheet()"
    return f'{COMPLAINT}: "{1280 + task}"' if trial == 2 and task >= 12 else ""


def _calls(task: int, trial: int, forgets: bool, deletes: bool) -> list[Record]:
    look = call("read_range", f"{40 + task}", range=f"B{task + 1}")
    return [
        call("open_workbook", path="book.xlsx"),
        *([call("list_sheets", "Sheet1, Sheet2")] if (task + trial) % 2 else []),
        call("write_cell", f"wrote B{task + 1}", cell=f"B{task + 1}", value=40 + task),
        *([look] if task % 2 else []),
        *([call("delete_sheet", "deleted", sheet="Notes")] if deletes else []),
        call("save_workbook", "saved in the background"),
        *([] if forgets else [look]),
    ]


@dataclass(frozen=True)
class Sessions:
    """Claude Code sessions by id, each a list of its records, and what a person said of each."""

    records: Mapping[str, Sequence[Record]]
    labels: Sequence[tuple[str, str]]

    def write(self, folder: Path) -> list[str]:
        """Canonical traces and a CSV of labels; returns the flags that name them."""
        folder.mkdir(parents=True, exist_ok=True)
        traces = (from_session(name, records) for name, records in self.records.items())
        (folder / "sessions.jsonl").write_bytes(lines(traces))
        table = io.StringIO()
        csv.writer(table).writerows([("trace_id", "outcome"), *self.labels])
        (folder / "labels.csv").write_text(table.getvalue(), newline="")
        return ["--traces", str(folder / "sessions.jsonl"), "--rewards", str(folder / "labels.csv")]


AREAS = (
    "parser",
    "exporter",
    "login",
    "scheduler",
    "cache",
    "importer",
    "search box",
    "settings page",
    "mailer",
    "router",
)
WISHES = ("fix the crash in", "rename the options of", "speed up", "write the docs of", "add a test to", "clean up")


def coding_sessions() -> Sessions:
    """60 sessions, each of another request. Half are bad: in 15 of those the tests were not run after the last edit,
    and 9 others pushed at once; good ones seldom do either.
    """
    records: dict[str, list[Record]] = {}
    labels: list[tuple[str, str]] = []
    for number in range(60):
        name = f"session-{number:02}"
        bad, tested = number % 2 == 1, number % 4 != 1 and number % 20 != 2
        request = f"Please {WISHES[number % 6]} the {AREAS[number // 6]}."
        pushes = number % 20 in (3, 7, 11) or number == 0
        records[name] = list(_session(name, request, tested, pushes, searches=number % 3 == 0))
        labels.append((name, "FAIL" if bad else "pass"))
    return Sessions(records, labels)


def _session(name: str, request: str, tested: bool, pushes: bool, searches: bool) -> Iterable[Record]:
    """The records of one session file, in its own shape: one line a message, results as user messages."""
    steps = [("Grep", {"pattern": "todo"}, "2 files")] if searches else []
    steps += [("Read", {"file_path": "src/main.py"}, "def main(): ...")]
    steps += [("Edit", {"file_path": "src/main.py"}, "updated")]
    steps += [("Bash", {"command": "pytest -q"}, "3 passed")] if tested else []
    steps += [("Bash", {"command": "git commit -am done"}, "[main 1a] done")]
    steps += [("Bash", {"command": "git push"}, "main -> main")] if pushes else []
    yield {"type": "summary", "summary": "a title", "leafUuid": "u0"}
    yield _message(name, "user", request)
    for number, (tool, given, output) in enumerate(steps):
        use = {"type": "tool_use", "id": f"toolu_{number}", "name": tool, "input": given}
        yield _message(name, "assistant", [{"type": "text", "text": "Next."}, use])
        result = {"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": output, "is_error": False}
        yield _message(name, "user", [result])
    yield _message(name, "assistant", [{"type": "text", "text": "All done."}])


def _message(session: str, role: str, content: Any) -> Record:
    return {"type": role, "sessionId": session, "isSidechain": False, "message": {"role": role, "content": content}}


def from_session(name: str, records: Iterable[Record]) -> Record:
    """A session as a canonical record: texts become messages, a tool use and its result one span."""
    spans: list[Record] = []
    uses: dict[str, Record] = {}
    for record in records:
        if record.get("type") not in ("user", "assistant"):
            continue
        content = record["message"]["content"]
        for block in [{"type": "text", "text": content}] if isinstance(content, str) else content:
            if block["type"] == "text":
                spans.append({"name": record["type"], "role": record["type"], "output_text": block["text"]})
            elif block["type"] == "tool_use":
                uses[block["id"]] = {"name": block["name"], "input_text": json.dumps(block["input"]), "output_text": ""}
                spans.append(uses[block["id"]])
            elif block["type"] == "tool_result" and block["tool_use_id"] in uses:
                _answer(uses[block["tool_use_id"]], block)
    return {"trace_id": name, "spans": spans}


def _answer(span: Record, block: Record) -> None:
    content = block["content"]
    span["output_text"] = content if isinstance(content, str) else json.dumps(content)
    if block.get("is_error"):
        span["error"] = True


class Said(NamedTuple):
    """What a command came to: its exit code and what it printed."""

    code: int
    out: str
    err: str


def refiner(*arguments: object) -> Said:
    """Runs the command line in this process; a mistake in usage ends with its exit code, too."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = main([str(one) for one in arguments])
        except SystemExit as ended:
            code = int(ended.code or 0)
    return Said(code, out.getvalue(), err.getvalue())


def tree(out: Path) -> dict[str, bytes]:
    """The files of a result by relative path, without the database and `run.json`, which holds times."""
    files = {path.relative_to(out).as_posix(): path for path in sorted(out.rglob("*")) if path.is_file()}
    return {name: path.read_bytes() for name, path in files.items() if "duckdb" not in name and name != "run.json"}


def read(out: Path, name: str) -> Any:
    """A JSON file of a result."""
    return json.loads((out / name).read_bytes())


def skill_of(out: Path) -> str:
    return (out / "combined" / "proposed_skill.md").read_bytes().decode()
