"""Signs in a run suggest how it ended; nothing of it counts before a person accepts it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from corpus import refiner
from format_samples import lines
from rooms import opened

from refiner import labels
from refiner.errors import LabelError
from refiner.labels import effective, suggest
from refiner.types import Outcome, Span, Trace
from refiner.workspace import Workspace

USER, AGENT = "user", "assistant"


def trace(*steps: tuple[str, ...]) -> Trace:
    """Messages are (role, text); calls are (name, input, output) or (name, input, output, error)."""
    spans = []
    for place, step in enumerate(steps):
        if len(step) == 2:
            spans.append(Span(place, f"s{place}", "message", step[0], step[0], output=step[1]))
        else:
            error = step[3] if len(step) > 3 else None
            spans.append(Span(place, f"s{place}", "tool_call", step[0], input=step[1], output=step[2], error=error))
    return Trace("c", "t", "generic", "", "", "none", tuple(spans))


FIX = ((USER, "Fix the parser"), ("edit", "{}", "ok"), (AGENT, "Done, the parser is fixed."))
TEST_RUN = '{"command": "python -m pytest -q tests"}'


@pytest.mark.parametrize(
    ("steps", "kind", "status", "reason"),
    [
        ((*FIX, (USER, "No, that's wrong: it still drops the last line.")), "correction", "fail", "No, that's wrong"),
        (
            (*FIX, (USER, "no, wrong"), (AGENT, "Sorry."), (USER, "Perfect, thanks!")),
            "approval",
            "pass",
            "Perfect",
        ),
        ((*FIX, (USER, "[Request interrupted by user]")), "interruption", "fail", "[Request interrupted"),
        ((FIX[0], ("bash", TEST_RUN, "..F\n1 failed, 12 passed in 2s")), "tests_failed", "fail", "1 failed, 12 passed"),
        (
            (*FIX, ("bash", TEST_RUN, "x\n13 passed in 2s"), (AGENT, "Green.")),
            "tests_passed",
            "pass",
            "13 passed in 2s",
        ),
        ((FIX[0], ("bash", "{}", "Error: gone", "Error: gone")), "last_error", "fail", "bash: Error: gone"),
        ((*FIX, ("call", "{}", "", "API Error: 529 overloaded")), "infrastructure", "infrastructure", "API Error: 529"),
    ],
    ids=lambda value: value if isinstance(value, str) and "_" in value else "",
)
def test_a_sign_suggests_an_outcome_and_is_quoted(steps: Any, kind: str, status: str, reason: str) -> None:
    found = suggest(trace(*steps))
    assert found is not None and (found.kind, found.status) == (kind, status)
    assert found.reason.startswith(reason)


@pytest.mark.parametrize(
    "steps",
    [
        FIX,
        (*FIX, (USER, "Now add a test for it"), (AGENT, "Added.")),
        ((USER, "No, that's wrong is what it prints. Fix it."), (AGENT, "Done.")),
        (*FIX, (USER, "no, wrong"), (AGENT, "Mended."), (USER, "Next: update the readme"), (AGENT, "Updated.")),
        (FIX[0], ("bash", TEST_RUN, "13 passed"), *(("edit", "{}", "ok"),) * 3, (AGENT, "Done.")),
        (FIX[0], ("bash", "{}", "Error: gone", "Error: gone"), (AGENT, "The file is gone, so nothing is to do.")),
        ((USER, "/clear"), (USER, "No, that's wrong is what it prints. Fix it."), (AGENT, "Done.")),
        (),
    ],
    ids=[
        "plain",
        "a new request",
        "the first turn",
        "a later request",
        "edited after the tests",
        "explained",
        "cleared",
        "empty",
    ],
)
def test_what_is_no_sign_suggests_nothing(steps: Any) -> None:
    assert suggest(trace(*steps)) is None


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("bash", '{"command": "cat build/pytest.log"}'),
        ("bash", '{"command": "pip install pytest"}'),
        ("bash", '{"command": "cd app && npm install jest --save-dev"}'),
        ("bash", '{"command": "git commit -m \'mend pytest\'"}'),
        ("read", '{"file_path": "logs/pytest/latest.txt"}'),
        ("grep", '{"pattern": "pytest", "path": "ci"}'),
        ("write", '{"file_path": "ci.yml", "content": "run: pytest"}'),
    ],
)
def test_a_call_that_only_names_a_test_runner_is_no_test_run(name: str, arguments: str) -> None:
    assert suggest(trace(FIX[0], (name, arguments, "3 failed, 1 error"), (AGENT, "Read."))) is None


@pytest.mark.parametrize(
    "arguments",
    [
        '{"command": "cd app && CI=1 npx jest --ci | tail -5"}',
        '{"command": ["bash", "-lc", "uv run pytest -q"]}',
        '{"cmd": "grep -c x a.txt; python -m pytest"}',
        "pytest tests",
    ],
)
def test_a_test_run_is_told_in_the_ways_commands_are_written(arguments: str) -> None:
    found = suggest(trace(FIX[0], ("bash", arguments, "3 failed"), (AGENT, "Hm.")))
    assert found is not None and (found.kind, found.reason) == ("tests_failed", "3 failed")


def test_an_interruption_that_the_tool_wrote_down_is_one_unless_the_agent_was_told_to_go_on() -> None:
    stopped = Span(3, "x", "event", "interruption", output="[interrupted: Request was aborted.]")
    run = trace(*FIX)
    found = suggest(replace(run, spans=(*run.spans, stopped)))
    assert found is not None and (found.kind, found.ordinal) == ("interruption", 3)
    went_on = (USER, "[Request interrupted by user]"), (USER, "continue"), ("edit", "{}", "ok"), (AGENT, "Done.")
    assert suggest(trace(*FIX, *went_on)) is None


def test_a_picture_and_a_farewell_do_not_hide_what_the_user_said() -> None:
    picture, farewell = (USER, "[image png 386 KB]"), (USER, "/exit")
    found = suggest(trace(*FIX, (USER, "No, that's wrong."), picture, (AGENT, "Hm."), farewell))
    assert found is not None and (found.kind, found.reason) == ("correction", "No, that's wrong.")


def test_a_suggestion_never_counts_by_itself() -> None:
    found = suggest(trace(*FIX, (USER, "Perfect, thanks!")))
    assert found is not None
    assert effective([found.outcome()], "t") == Outcome("t", "unknown")
    assert labels.suggested(found.outcome()) == ("approval", "Perfect, thanks!")
    assert labels.suggested(Outcome("t", "pass", feedback="approval: x")) is None


def record(name: str, last: str, **more: Any) -> dict[str, Any]:
    said = [("user", "Fix the parser"), ("assistant", "Done."), ("user", last)]
    return {"trace_id": name, "spans": [{"name": role, "output_text": text} for role, text in said], **more}


RUNS = (
    record("good", "Perfect, thanks!"),
    record("bad", "No, that's wrong, it still fails."),
    record("worse", "no, not what I asked for"),
    record("silent", "Now write the docs"),
    record("told", "Perfect, thanks!", outcome="fail"),
)


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Workspace]:
    (tmp_path / "a.jsonl").write_bytes(lines(*RUNS))
    workspace = opened(tmp_path / "w.duckdb")
    workspace.create_corpus("own")
    workspace.ingest_files("own", [tmp_path / "a.jsonl"])
    yield workspace
    workspace.close()


def listed(desk: Workspace) -> list[tuple[str, str, str]]:
    return [(row.external_id, row.kind, row.status) for row in desk.suggestions("own")]


def test_suggestions_are_listed_accepted_and_dismissed(desk: Workspace) -> None:
    assert listed(desk) == []
    assert desk.suggest_labels("own") == {"correction": 2, "approval": 1}
    everything = [("bad", "correction", "fail"), ("good", "approval", "pass"), ("worse", "correction", "fail")]
    assert listed(desk) == everything
    assert desk.suggest_labels("own") == {"correction": 2, "approval": 1} and listed(desk) == everything
    assert desk.corpus("own").statuses == {"pass": 0, "fail": 1, "unknown": 4, "infrastructure": 0}
    ids = {row.external_id: row.trace_id for row in desk.suggestions("own")}
    assert desk.accept_suggestions("own", [ids["good"], ids["bad"]]) == 2
    assert desk.dismiss_suggestions("own", [ids["worse"]]) == 1
    assert listed(desk) == [] and desk.suggest_labels("own") == {"correction": 1} and listed(desk) == []
    assert desk.corpus("own").statuses == {"pass": 1, "fail": 2, "unknown": 2, "infrastructure": 0}
    (good,) = desk.label_rows("own", status="pass")
    assert (good.external_id, good.origin, good.feedback) == ("good", "human", "")
    with pytest.raises(LabelError, match="1 of these suggestions are no longer open"):
        desk.accept_suggestions("own", [ids["worse"]])


def test_a_label_by_hand_closes_a_suggestion(desk: Workspace) -> None:
    desk.suggest_labels("own")
    rows = {row.external_id: row.trace_id for row in desk.suggestions("own")}
    desk.label("own", rows["good"], "fail")
    assert [name for name, _, _ in listed(desk)] == ["bad", "worse"]
    assert desk.corpus("own").disagreements == ()


def test_the_command_lists_and_takes_them_by_kind(desk: Workspace, tmp_path: Path) -> None:
    desk.close()
    place = ("--corpus", "own", "--db", tmp_path / "w.duckdb")
    said = refiner("labels", "suggest", *place)
    assert said.code == 0 and "No, that's wrong, it still fails." in said.out and "Nothing counts yet." in said.out
    assert refiner("labels", "dismiss", "approval", *place).out == "1 suggestion dismissed.\n"
    strange = refiner("labels", "accept", "approval", *place)
    assert strange.code != 0 and "no open suggestion is of the kind approval; there are correction" in strange.err
    assert refiner("labels", "accept", "correction", *place).out == "2 traces labelled.\n"
    assert json.loads(refiner("labels", "suggest", "--json", *place).out) == []
    said = refiner("labels", "accept", *place)
    assert said.code == 2 and "name the kinds to accept" in said.err
