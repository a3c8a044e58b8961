"""From traces to a skill through the command line: what is found, what it rests on, and what changes nothing."""

from __future__ import annotations

import difflib
import json
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from corpus import (
    RULE,
    SKILL,
    Corpus,
    Said,
    call,
    coding_sessions,
    from_session,
    lines,
    read,
    refiner,
    run,
    skill_of,
    tree,
    workbook,
)

from refiner.snapshot import held_out

HOLDOUT = 0.25


def results(out: Path) -> dict[str, str]:
    """The changes by what they would add."""
    return {change["rule"]: change["result"] for change in read(out, "combined/changes.json")}


def refined(corpus: Corpus, folder: Path, *more: object) -> tuple[Path, Said]:
    out = folder / "out"
    return out, refiner("refine", *corpus.write(folder / "in"), "--out", out, *more)


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Said]:
    return refined(workbook(), tmp_path_factory.mktemp("done"))


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same with the undecided changes in the skill."""
    return refined(workbook(), tmp_path_factory.mktemp("everything"), "--include", "undecided")[0]


def test_fault_complaint_and_known_rule_get_the_three_verdicts(done: tuple[Path, Said]) -> None:
    out, said = done
    assert said.code == 0
    assert results(out) == {
        RULE: "supported",
        "Before ending, tell the user every figure that was asked for, computed from tool results.": "undecided",
        "Do not call `delete_sheet`.": "unsupported",
    }
    assert skill_of(out) == SKILL + f"  - {RULE}\n"
    assert "8 of 18 failing and 0 of 30 passing runs; within 8 tasks p = 0.00015" in " ".join(said.out.split())
    assert "covered: the skill already says: - Never call `delete_sheet`." in " ".join(said.out.split())


def test_a_harmless_habit_is_no_change(done: tuple[Path, Said]) -> None:
    assert "list_sheets" not in (done[0] / "combined" / "changes.json").read_text()


@pytest.fixture(scope="module")
def again(done: tuple[Path, Said], tmp_path_factory: pytest.TempPathFactory) -> Path:
    corpus = replace(workbook(), skill=skill_of(done[0]))
    return refined(corpus, tmp_path_factory.mktemp("again"))[0]


def test_a_skill_that_has_the_rule_gets_it_no_second_time(again: Path, done: tuple[Path, Said]) -> None:
    assert results(again)[RULE] == "unsupported"
    assert skill_of(again) == skill_of(done[0])
    (change,) = [one for one in read(again, "combined/changes.json") if one["rule"] == RULE]
    criteria = {one["name"]: one["answer"] for one in change["proposals"][0]["verdict"]["criteria"]}
    assert criteria["covered"] == "yes" and criteria["causes"] == "yes"


# Order changes nothing.


def backwards(corpus: Corpus, folder: Path) -> list[object]:
    (folder / "traces.jsonl").write_bytes(lines(reversed(corpus.traces)))
    (folder / "rewards.json").write_text(json.dumps(dict(reversed(corpus.rewards.items()))))
    (folder / "feedback.json").write_text(json.dumps(dict(reversed(corpus.feedback.items()))))
    return ["--traces", folder / "traces.jsonl"]


def in_a_folder(corpus: Corpus, folder: Path) -> list[object]:
    (folder / "runs" / "more").mkdir(parents=True)
    (folder / "runs" / "b.jsonl").write_bytes(lines(corpus.traces[30:]))
    (folder / "runs" / "more" / "a.log").write_bytes(lines(corpus.traces[:30]))
    return ["--traces", folder / "runs"]


def in_files(corpus: Corpus, folder: Path) -> list[object]:
    for number in range(3):
        (folder / f"{number}.jsonl").write_bytes(lines(corpus.traces[number::3]))
    return ["--traces", folder / "2.jsonl", folder / "0.jsonl", "--traces", folder / "1.jsonl"]


@pytest.mark.parametrize("arranged", [backwards, in_a_folder, in_files])
def test_the_order_of_lines_files_and_flags_changes_no_byte(
    done: tuple[Path, Said], tmp_path: Path, arranged: Callable[[Corpus, Path], list[object]]
) -> None:
    given = workbook().write(tmp_path)
    traces = arranged(workbook(), tmp_path)
    said = refiner("refine", *traces, *given[2:], "--out", tmp_path / "out")
    assert said.code == 0
    ours, theirs = tree(tmp_path / "out"), tree(done[0])
    assert ours.keys() == theirs.keys()
    names_files = {"combined/report.html"}
    assert {name for name in ours if ours[name] != theirs[name]} <= names_files


# Held-out tasks.


@pytest.fixture(scope="module")
def with_holdout(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Said]:
    return refined(workbook(), tmp_path_factory.mktemp("holdout"), "--holdout", HOLDOUT)


def is_held_out(trace: dict[str, Any]) -> bool:
    return held_out(trace["task_id"], HOLDOUT)


def another(trace: dict[str, Any]) -> dict[str, Any]:
    """A held-out trace with all else than its id and task turned round."""
    return run(trace["trace_id"], "Sing.", [call("sing", "la")] * 3, trace["task_id"]) if is_held_out(trace) else trace


def changed(corpus: Corpus) -> Corpus:
    out = {one["trace_id"] for one in corpus.traces if is_held_out(one)}
    rewards = {name: not passed if name in out else passed for name, passed in corpus.rewards.items()}
    feedback = {**corpus.feedback, **dict.fromkeys(out, "Missing action: sing()")}
    return replace(corpus, traces=tuple(map(another, corpus.traces)), rewards=rewards, feedback=feedback)


def removed(corpus: Corpus) -> Corpus:
    return replace(corpus, traces=tuple(one for one in corpus.traces if not is_held_out(one)))


@pytest.mark.parametrize("altered", [changed, removed])
def test_held_out_traces_change_nothing(
    with_holdout: tuple[Path, Said], tmp_path: Path, altered: Callable[[Corpus], Corpus]
) -> None:
    out, _ = refined(altered(workbook()), tmp_path, "--holdout", HOLDOUT)
    ours, theirs = tree(out), tree(with_holdout[0])
    assert ours.keys() == theirs.keys()
    names_snapshot = {"combined/manifest.json", "combined/report.html", "combined/provenance.json"}  # or the one count
    assert {name for name in ours if ours[name] != theirs[name]} <= names_snapshot
    assert read(out, "run.json")["traces"] == read(with_holdout[0], "run.json")["traces"]


def test_held_out_traces_show_as_one_count_and_nowhere_else(with_holdout: tuple[Path, Said]) -> None:
    out, said = with_holdout
    kept_out = [one for one in workbook().traces if is_held_out(one)]
    tasks = len({one["task_id"] for one in kept_out})
    assert 2 <= tasks <= 10
    assert f"Held out of everything: {tasks} tasks ({len(kept_out)} traces)." in said.out.splitlines()
    written = b"".join(tree(out).values()).decode() + (out / "run.json").read_text() + said.out
    assert [one["trace_id"] for one in kept_out if one["trace_id"] in written] == []
    assert read(out, "run.json")["held_out"] == {"tasks": tasks, "traces": len(kept_out)}
    assert sum(read(out, "run.json")["traces"].values()) == 48 - len(kept_out)


def test_when_all_is_held_out_the_message_says_so(tmp_path: Path) -> None:
    corpus = replace(workbook(), traces=tuple(one for one in workbook().traces if is_held_out(one)))
    _, said = refined(corpus, tmp_path, "--holdout", HOLDOUT)
    assert said.code == 1
    assert f"{len(corpus.traces)} traces are held out" in said.err and "lower --holdout" in said.err


# Every line leads back, and the patches apply.


def added_lines(base: str, text: str) -> list[int]:
    """The numbers, from 1, of the lines of `text` that are not in `base`."""
    matcher = difflib.SequenceMatcher(None, base.splitlines(), text.splitlines(), autojunk=False)
    spans = [(start, end) for kind, _, _, start, end in matcher.get_opcodes() if kind != "equal"]
    return [number + 1 for start, end in spans for number in range(start, end)]


def test_every_added_line_leads_to_a_change_a_verdict_and_spans(everything: Path) -> None:
    text = skill_of(everything)
    found = read(everything, "combined/provenance.json")
    added = added_lines(SKILL, text)
    assert len(added) == 2
    spans = {one["trace_id"]: one["spans"] for one in workbook().traces}
    for number in added:
        (place,) = [one for one in found["ranges"] if one["start_line"] <= number <= one["end_line"]]
        (proposal,) = found["changes"][place["change"]]["proposals"]
        assert proposal["verdict"]["result"] in ("supported", "undecided")
        assert len(proposal["traces"]) >= 3
        for trace in proposal["traces"]:
            for span in trace["spans"]:
                said = workbook().feedback[trace["trace"]]
                source = said if span["ordinal"] < 0 else json.dumps(spans[trace["trace"]][span["ordinal"]])
                assert span["quote"].split("\n")[-1].removeprefix("output: ") in source


def applied(patch: Path, folder: Path) -> None:
    subprocess.run(["git", "apply", "--unsafe-paths", str(patch)], cwd=folder, check=True, capture_output=True)


VARIANTS = {
    "as it is": SKILL,
    "CRLF": SKILL.replace("\n", "\r\n"),
    "no line at the end": SKILL.rstrip("\n"),
    "no skill yet": None,
}


@pytest.mark.parametrize("skill", VARIANTS.values(), ids=VARIANTS)
def test_the_patches_make_the_files(tmp_path: Path, skill: str | None) -> None:
    corpus = replace(workbook(), skill=skill)
    out, said = refined(corpus, tmp_path)
    assert said.code == 0
    folder = tmp_path / "checkout"
    folder.mkdir()
    if skill is not None:
        (folder / "SKILL.md").write_bytes(skill.encode())
    applied(out / "combined" / "skill.diff", folder)
    assert (folder / "SKILL.md").read_bytes().decode() == skill_of(out)
    assert RULE in skill_of(out)
    applied(out / "combined" / "undecided.diff", folder)
    refiner("refine", *corpus.write(tmp_path / "in"), "--out", out, "--include", "undecided")
    assert (folder / "SKILL.md").read_bytes().decode() == skill_of(out)
    assert "tell the user every figure" in skill_of(out)


def test_the_undecided_patch_opens_with_a_line_a_change(done: tuple[Path, Said]) -> None:
    first, second, *_ = (done[0] / "combined" / "undecided.diff").read_text().splitlines()
    assert first.startswith("# Before ending, tell the user every figure")
    assert first.endswith("| recurs in the evaluator's feedback: 4 traces, 4 tasks")
    assert second == "diff --git a/SKILL.md b/SKILL.md"


# What may not get into a skill, or onto a terminal.

SECRET = "test_invoice_XK7731"


def leaking() -> Corpus:
    """16 tasks; in three of them a failing test is named after an invoice."""
    traces, feedback = [], {}
    for task in range(16):
        for trial in range(2):
            name = f"run{task:02}-{trial}"
            calls = [call("open_workbook", path="book.xlsx"), call("save_workbook", "saved")]
            traces.append(run(name, f"Bill sheet {task}.", calls, f"t{task:02}"))
            if trial:
                feedback[name] = f"Failing test: {SECRET}" if task < 3 else f"Expected output not given: {task}"
    return Corpus(tuple(traces), {one["trace_id"]: one["trace_id"] not in feedback for one in traces}, feedback)


def test_a_change_that_holds_a_literal_of_a_task_is_quarantined(tmp_path: Path) -> None:
    out, said = refined(leaking(), tmp_path, "--include", "undecided")
    (change,) = [one for one in read(out, "combined/changes.json") if SECRET in one["rule"]]
    assert not change["in_proposed_skill"]
    assert [(one["kind"], one["severity"], one["match"]) for one in change["findings"]] == [
        ("leak", "quarantine", SECRET)
    ]
    assert change["left_out_because"].startswith(f"leak: '{SECRET}' (id) comes from trace run00-1")
    assert SECRET not in skill_of(out)
    assert SECRET not in (out / "combined" / "undecided.diff").read_text()
    assert "tell the user every figure" in skill_of(out)
    assert SECRET in said.out and "comes from trace run00-1" in said.out


HOSTILE = "\x1b]0;owned\x07\x1b[31m\u202e\x9b2J"


def hostile() -> Corpus:
    """The usual corpus with escape sequences wherever a run can put them."""
    text = json.dumps([workbook().traces, dict(workbook().rewards), dict(workbook().feedback)])
    for word in ("read_range", "task0", "B1", "book.xlsx"):
        text = text.replace(word, word + json.dumps(HOSTILE)[1:-1])
    traces, rewards, feedback = json.loads(text)
    del rewards[f"task0{HOSTILE}0-run0"]
    return Corpus(tuple(traces), {**rewards, f"nobody{HOSTILE}": True}, feedback)


def test_control_characters_of_traces_never_reach_the_terminal(tmp_path: Path) -> None:
    out, said = refined(hostile(), tmp_path)
    assert said.code == 0 and "supported" in results(out).values()
    given = tmp_path / "in"
    shown = [
        said,
        refiner("inspect", given / "traces.jsonl"),
        refiner("inspect", given / "rewards.json"),
        refiner("refine", "--traces", given / "traces.jsonl", "--rewards", given / "feedback.json", "--out", out),
    ]
    for one in shown:
        assert [char for char in one.out + one.err if not (char.isprintable() or char in "\n\t")] == []
    assert "nobody\ufffd" in said.out and "task0\ufffd" in said.out
    assert shown[-1].code == 1 and "B1\ufffd" in shown[-1].err


# One run a task, labelled by hand.


@pytest.fixture(scope="module")
def sessions(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Said]:
    folder = tmp_path_factory.mktemp("sessions")
    given = coding_sessions().write(folder)
    return folder / "out", refiner("refine", *given, "--name", "coding", "--out", folder / "out")


def test_one_run_a_task_ends_in_ranked_recommendations_and_never_in_support(sessions: tuple[Path, Said]) -> None:
    out, said = sessions
    assert said.code == 0
    changes = read(out, "combined/changes.json")
    assert {one["result"] for one in changes} == {"undecided"}
    assert [(one["rule"], one["proposals"][0]["verdict"]["words"]) for one in changes] == [
        (
            "After `Edit`, call `Bash:pytest` before finishing.",
            "goes with failure (15 of 30 against 3 of 30), not matched by task",
        ),
        (
            "Do not call `Bash:git push` after `Bash:pytest`.",
            "goes with failure (9 of 15 against 1 of 27), not matched by task",
        ),
    ]
    assert "goes with failure (15 of 30 against 3 of 30), not matched by task" in " ".join(said.out.split())


def test_the_last_lines_say_that_no_task_was_tried_twice(sessions: tuple[Path, Said]) -> None:
    out, said = sessions
    last = said.out.splitlines()[-6:]
    assert last == [
        "0 supported, 2 undecided, 0 unsupported (each undecided one recurs in 15 to 26 tasks; "
        "no task was tried twice, so no cause can be counted).",
        "The proposed skill has no rule yet.",
        f"Result: {out}/combined/proposed_skill.md",
        f"Review it in the browser: refiner app --open {out}",
        f"Read: {out}/combined/undecided.diff",
        "Take all: the same command with `--include undecided`.",
    ]


def test_before_the_start_it_says_what_such_a_corpus_cannot_give(sessions: tuple[Path, Said]) -> None:
    assert "no task was tried twice: changes can be recommended, none can be supported" in sessions[1].err


def test_without_anything_that_recurs_it_still_says_that_no_task_was_tried_twice(tmp_path: Path) -> None:
    names = ["anchor", "basket", "candle", "dagger", "engine", "falcon", "garden", "hammer"]
    traces = [run(one, f"The {one} of {one}s.", [call(one, one * 9, **{one: one})], one) for one in names]
    rewards = {one: place % 2 == 0 for place, one in enumerate(names)}
    corpus = Corpus(tuple(traces), rewards, dict.fromkeys(("basket", "dagger"), "Expected output not given: 7"))
    out, said = refined(corpus, tmp_path)
    assert said.code == 0 and skill_of(out) == SKILL
    text = " ".join(said.out.split())
    assert "No change is proposed. Nothing recurs among 4 failing and 4 passing traces of 8 tasks. Looked for:" in text
    assert "Nearest: expected output not given (2 tasks)." in text
    assert "no task was tried twice" in text
    assert [one["kind"] for one in read(out, "combined/shortfalls.json")] == ["nothing_recurs"]


@pytest.mark.corpora
def test_real_sessions_labelled_by_hand_end_without_support(corpora: Path, tmp_path: Path) -> None:
    traces = []
    for path in sorted((corpora / "claude-code" / "real_projects").rglob("*.jsonl")):
        records = [json.loads(line) for line in path.read_text().splitlines() if line.strip()]
        trace = from_session(path.stem, records)
        if any(span.get("output_text") for span in trace["spans"]):
            traces.append(trace)
    assert len(traces) >= 50
    rewards = {one["trace_id"]: not any(span.get("error") for span in one["spans"]) for one in traces}
    out, said = refined(Corpus(tuple(traces), rewards, skill=None), tmp_path)
    assert said.code == 0
    assert read(out, "run.json")["counts"]["supported"] == 0
    assert read(out, "combined/changes.json") or read(out, "combined/shortfalls.json")


# An embedding endpoint instead of the packaged model.


class Endpoint(ThreadingHTTPServer):
    """An OpenAI-compatible embedding endpoint on this machine: the requests it was sent, and the status it answers."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked: list[dict[str, Any]] = []
        self.status = 200

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.server_port}"

    @property
    def flags(self) -> list[str]:
        return ["--embedding-base-url", f"http://{self.host}/v1", "--embedding-model", "x"]


class Handler(BaseHTTPRequestHandler):
    server: Endpoint

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append({"path": self.path, **request})
        data = [{"index": place, "embedding": _vector(text)} for place, text in enumerate(request["input"])]
        body = json.dumps({"object": "list", "data": data, "model": request["model"]}).encode()
        self.send_response(self.server.status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Retry-After", "0")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with Endpoint() as server:
        thread = Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def _vector(text: str) -> list[float]:
    return [1.0 + text.count(word) for word in ("delete_sheet", "list_sheets", "read_range", "Evaluator")]


def test_an_embedding_endpoint_is_used_when_agreed_to(
    endpoint: Endpoint, done: tuple[Path, Said], tmp_path: Path
) -> None:
    out, said = refined(workbook(), tmp_path, *endpoint.flags, "--yes")
    assert said.code == 0
    assert {(one["path"], one["model"]) for one in endpoint.asked} == {("/v1/embeddings", "x")}
    texts = [text for one in endpoint.asked for text in one["input"]]
    assert 8 <= len(texts) <= 48 and all("Steps: open_workbook" in text for text in texts)
    assert read(out, "run.json")["versions"]["embedder"].startswith(f"endpoint http://{endpoint.host}/v1 x")
    assert results(out) == results(done[0])
    sent = len(endpoint.asked)
    again = refined(workbook(), tmp_path, *endpoint.flags, "--yes")[1]
    assert again.code == 0 and len(endpoint.asked) == sent  # what was paid for is kept
    database, copy = out / "refiner.duckdb", tmp_path / "copy"
    made = read(out, "run.json")["refinement"]
    assert refiner("export", "--refinement", made, "--db", database, "--out", copy).code == 0
    assert tree(copy) == tree(out) and len(endpoint.asked) == sent


def test_without_an_answer_nothing_is_sent_and_nothing_written(endpoint: Endpoint, tmp_path: Path) -> None:
    out, said = refined(workbook(), tmp_path, *endpoint.flags)
    assert said.code == 2
    assert f"refiner: nothing was sent to {endpoint.host}; add --yes to agree" in said.err
    assert endpoint.asked == [] and not out.exists()


def test_an_endpoint_that_refuses_stops_the_command_with_its_reason(endpoint: Endpoint, tmp_path: Path) -> None:
    endpoint.status = 401
    out, said = refined(workbook(), tmp_path, *endpoint.flags, "--yes")
    assert said.code == 1
    assert "answered 401" in said.err and "check EMBEDDING_API_KEY" in said.err
    assert len(endpoint.asked) == 1 and not (out / "run.json").exists()


def test_an_endpoint_that_is_down_leaves_an_incomplete_result_and_the_next_run_completes_it(
    endpoint: Endpoint, done: tuple[Path, Said], tmp_path: Path
) -> None:
    endpoint.status = 503
    out, said = refined(workbook(), tmp_path, *endpoint.flags, "--yes")
    assert said.code == 1
    incomplete = next(line for line in said.out.splitlines() if line.startswith("Incomplete: 2 steps failed ("))
    assert "answered 503" in incomplete and incomplete.endswith("; the same command tries them again.")
    assert len(read(out, "run.json")["failed_steps"]) == 2
    assert "embeddings" in said.err and "2 FAILED" in said.err
    endpoint.status = 200
    _, said = refined(workbook(), tmp_path, *endpoint.flags, "--yes")
    assert said.code == 0 and "Incomplete" not in said.out
    assert read(out, "run.json")["failed_steps"] == []
    assert results(out) == results(done[0])
