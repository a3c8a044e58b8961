"""ToolBench answers: the longest path of a search, what the search itself said, searches that came to no end."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from format_samples import TOOLBENCH, steps, toolbench_answer

from refiner import ingest, registry
from refiner.formats.toolbench import FORMAT
from refiner.ports import Source
from refiner.types import BadRecord, Outcome


def parse(record: Any) -> list[Any]:
    return list(FORMAT.parse(io.BytesIO(json.dumps(record).encode()), Source("corpus", "G1_answer/7_DFS.json")))


def test_an_answer_is_its_longest_path_and_its_win() -> None:
    trace, stated = parse(toolbench_answer(True, TOOLBENCH[:2], TOOLBENCH, TOOLBENCH[:5]))
    assert (trace.external_id, trace.task, stated.status) == ("G1_answer/7_DFS", "Count the ferns", "pass")
    assert trace.meta == {"finish_type": "give_up", "api_calls": "2", "total_tokens": "9"}
    assert steps(trace)[2:] == [
        ("count", '{"of": "palms"}', TOOLBENCH[3]["content"]),
        ("search", "", "This is not the first try."),
        ("assistant", "", "Ferns then."),
        ("count", '{"of": "ferns"}', '{"error": "", "response": "3"}'),
        ("Finish", '{"answer": "3"}', ""),
    ]
    assert [span.error for span in trace.spans if span.kind == "tool_call"] == ['No such "plant"', None, None]
    assert [span.output for span in trace.spans if span.role == "user"] == [
        "\nCount the ferns\nBegin! [image png 3 KB]"
    ]


def node(kind: str, said: str, *children: Any, **more: Any) -> dict[str, Any]:
    return {"node_type": kind, "description": said, "children": list(children), **more}


def test_a_search_that_came_to_no_end_is_read_from_its_tree() -> None:
    seen = {"observation": '{"error": "No such function", "response": ""}', "observation_code": 1}
    last = node("Action", "guess", node("Action Input", "{}", observation="none"))
    deep = node("Thought", "Count.", node("Action", "count", node("Action Input", "{}", last, **seen)))
    tree = node("Action Input", "", node("Thought", "Too short."), deep, node("Thought", "Too late."))
    trace, stated = parse(toolbench_answer(False, tree=tree))
    assert steps(trace) == [
        ("user", "", "Count the ferns"),
        ("assistant", "", "Count."),
        ("count", "{}", seen["observation"]),
        ("guess", "{}", "none"),
    ]
    assert (trace.spans[2].error, stated) == ("No such function", Outcome(trace.id, "fail"))


def test_an_answer_without_steps_is_reported_and_one_without_a_win_is_unknown() -> None:
    (bad,) = parse(toolbench_answer(False))
    assert isinstance(bad, BadRecord) and "no step" not in bad.reason and "step of the agent" in bad.reason
    assert parse({**toolbench_answer(False, TOOLBENCH), "win": None})[1].status == "unknown"


@pytest.mark.corpora
def test_the_real_answers(corpora: Path) -> None:
    loaded = ingest.load([corpora / "toolbench"], corpus="corpus")
    assert len(loaded.traces) == 9 and loaded.rejected == ()
    assert sorted(outcome.status for outcome in loaded.outcomes) == ["fail"] * 3 + ["pass"] * 6
    spans = [span for trace in loaded.traces for span in trace.spans]
    assert not any("unnamed" in span.name for span in spans)
    assert all(trace.task and "Begin!" not in trace.task for trace in loaded.traces)
    assert sum(span.role == "user" for span in spans) == 9
    known = registry.detect(next((corpora / "toolbench").rglob("21_*.json")).read_bytes()[: 1 << 16])
    assert known is FORMAT
