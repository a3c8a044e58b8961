"""ReAct notebooks: episodes printed over several outputs, the grader's word as the outcome and not as a step."""

from __future__ import annotations

import io
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from format_samples import react_notebook, steps

from refiner import ingest, registry
from refiner.formats.react_notebook import FORMAT
from refiner.ports import Source
from refiner.types import BadRecord, EvaluatorNote, Outcome


def parse(data: bytes) -> list[Any]:
    return list(FORMAT.parse(io.BytesIO(data), Source("corpus", "run.ipynb")))


def notebook(*printed: str) -> bytes:
    outputs = [{"output_type": "stream", "text": text.splitlines(keepends=True)} for text in printed]
    return json.dumps({"nbformat": 4, "cells": [{"cell_type": "code", "outputs": outputs}]}).encode()


def test_a_question_that_was_answered_rightly_and_one_that_was_not() -> None:
    first, passed, _, second, failed, expected = (
        item for line in react_notebook().splitlines() for item in parse(line)
    )
    assert steps(first) == [
        ("user", "", "Ferns flower."),
        ("thought", "", "Look it up."),
        ("Search", "fern", "A plant [image png 3 KB]"),
        ("thought", "", "It says no."),
        ("Finish", "REFUTES", ""),
    ]
    assert (first.external_id, first.task, passed.status) == ("run.ipynb:7", "Ferns flower.", "pass")
    assert failed == Outcome(
        second.id, "fail", score=0.0, feedback="Answer is incorrect: expected SUPPORTS, got REFUTES"
    )
    assert expected == EvaluatorNote(second.id, "expected", "SUPPORTS")


SHOP = """-----------------
0
Action: reset
Observation:\x20
Webshop\x20
Instruction:\x20\x20
i need a pot\x20
[Search]\x20

Action: search[pot]
Observation:\x20
[Back to Search]\x20

Action: think[The first will do.]
Observation: OK.

Action: click[Buy Now]
Observation: Your score (min 0.0, max 1.0): 0.5

1 0.5 0.0 0.0
-------------
-----------------
1
Action: reset
Observation:\x20
Webshop\x20
Instruction:\x20\x20
i need a fern\x20
[Search]\x20

Action: click[Buy Now]
Observation:\x20

2 0.25 0.0 0.0
-------------
"""


def test_purchases_have_their_score_and_unknown_without_one() -> None:
    first, scored, second, unscored = parse(notebook(SHOP[:200], SHOP[200:]))
    assert steps(first) == [
        ("user", "", "i need a pot"),
        ("search", "pot", "[Back to Search]"),
        ("thought", "", "The first will do."),
        ("click", "Buy Now", ""),
    ]
    assert (scored.status, scored.score, unscored.status) == ("fail", 0.5, "unknown")
    assert (second.task, steps(second)[-1]) == ("i need a fern", ("click", "Buy Now", ""))


def test_a_thought_that_was_cut_off_is_a_thought_and_a_refused_action_an_error() -> None:
    cut = SHOP.replace("The first will do.]", "The first [of two] will do, as")
    refused = cut.replace("[Back to Search]", "Invalid action!")
    trace = parse(notebook(refused))[0]
    assert steps(trace)[1:3] == [
        ("search", "pot", "Invalid action!"),
        ("thought", "", "The first [of two] will do, as"),
    ]
    assert [span.error for span in trace.spans] == [None, "Invalid action!", None, None]


def test_a_notebook_without_episodes_is_reported() -> None:
    (bad,) = parse(notebook("Hello\n"))
    assert isinstance(bad, BadRecord) and "no episodes" in bad.reason
    known = registry.detect(notebook("Hello\n"))
    assert known is None


@pytest.mark.corpora
def test_the_real_notebooks(corpora: Path) -> None:
    loaded = ingest.load([corpora / "react"], corpus="corpus")
    assert {report.path: report.traces for report in loaded.files} == {"FEVER.ipynb": 500, "WebShop.ipynb": 500}
    assert len({trace.external_id for trace in loaded.traces}) == 1000
    kinds = Counter(
        (trace.source.split(":")[0], outcome.status)
        for trace, outcome in zip(loaded.traces, loaded.outcomes, strict=True)
    )
    assert kinds["WebShop.ipynb", "pass"] == 179 and kinds["WebShop.ipynb", "unknown"] == 40
    assert kinds["FEVER.ipynb", "pass"] + kinds["FEVER.ipynb", "fail"] == 500
    assert all(trace.task and len(trace.spans) > 1 for trace in loaded.traces)
    calls = [span for trace in loaded.traces for span in trace.spans if span.kind == "tool_call"]
    assert max(len(span.name) for span in calls) < 30 and sum(span.error is not None for span in calls) == 322
