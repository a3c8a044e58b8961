"""Which step the offline analyst finds decisive: marks first, then what wrote the call; and its bench on real runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from refiner.analysts.offline.decisive import decisive_span
from refiner.types import Span, Trace
from tests.bench import bench_attribution
from tests.bench.__main__ import as_table

ASKED = Span(0, "ask", "message", "user", "user", output="Count the ferns")
CODE = "Counting:\n```python\nimport ferns\nprint(ferns.count())\n```"


def trace(*spans: Span) -> Trace:
    return Trace("corpus", "t", "canonical", "Count the ferns", "t", "file", spans)


def said(name: str, text: str = "I think it is 3.") -> Span:
    return Span(0, name, "message", "assistant", "assistant", output=text)


def call(name: str, output: str = "3", error: str | None = None, code: str = '{"of": "ferns"}') -> Span:
    return Span(0, name, "tool_call", "count", input=code, output=output, error=error)


def test_the_first_failed_call_decides() -> None:
    assert decisive_span(trace(ASKED, said("a"), call("b"), call("c", "no", "no"), call("d", "no", "no"))) == "c"


@pytest.mark.parametrize("nothing", ["[]", "null", "exitcode: 0 (execution succeeded)\nCode output: \n", " None "])
def test_a_call_that_gave_nothing_is_a_mark(nothing: str) -> None:
    assert decisive_span(trace(ASKED, said("a"), call("b"), call("c", nothing), call("d", "x", "x"))) == "c"


def test_an_observation_that_was_never_recorded_is_none() -> None:
    assert decisive_span(trace(ASKED, call("a", ""), call("b", "no", "no"))) == "b"


def test_the_message_that_wrote_the_code_decides_rather_than_its_run() -> None:
    code = "import ferns\nprint(ferns.count())"
    assert decisive_span(trace(ASKED, said("a", CODE), call("b", "no", "no", code))) == "a"
    assert decisive_span(trace(ASKED, said("a", "Let me see"), call("b", "no", "no", code))) == "b"


def test_without_a_mark_it_is_the_first_step_after_the_request() -> None:
    assert decisive_span(trace(ASKED, said("a"), call("b"))) == "a"
    assert decisive_span(trace(ASKED, call("b"), said("a"))) == "b"
    assert decisive_span(trace(said("first", CODE), call("b", code="import ferns"), said("a"))) == "first"
    assert decisive_span(trace(ASKED)) is None
    assert decisive_span(trace()) is None


def test_what_happened_beside_the_agent_is_never_decisive() -> None:
    system = Span(0, "system", "message", "system", "system", output="Be kind")
    event = Span(0, "window", "event", "open_window", "user", output="Error", error="Error")
    assert decisive_span(trace(system, event, ASKED, event, call("a"))) == "a"


def test_the_figures_of_the_readme(corpora: Path) -> None:
    rows = {row["name"]: row for row in bench_attribution.run(corpora / "who-and-when")}
    assert (rows["reported_decisive_step"]["value"], rows["reported_decisive_step"]["unit"]) == (
        0.429,
        "of 63 runs [0.30, 0.56]",
    )
    assert rows["reported_against_always_step_1"]["against"] == 0.317
    assert rows["reported_against_a_message_at_random"]["against"] == 0.167
    assert rows["reported_against_a_step_at_random"]["against"] == 0.122


def test_the_bench_says_what_to_set_without_the_real_corpora(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("REFINER_CORPORA", raising=False)
    assert "not measured: set REFINER_CORPORA" in as_table(bench_attribution.run())
