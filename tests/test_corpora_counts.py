"""Every folder of the real corpora is read in one go, with what it is known to hold."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from refiner import codec, ingest

TRACES: dict[str, dict[str, int]] = {
    "claude-code": {"claude-code": 79},
    "codex": {"codex": 1},
    "docent": {"inspect-ai": 17, "tau-bench": 1},
    "inspect_ai": {"inspect-ai": 44},
    "invariant": {"chat": 17},
    "langfuse": {"langfuse": 18},
    "langsmith": {"langsmith": 7},
    "mini-swe-agent": {"mini-swe-agent": 2},
    "openhands": {"openhands": 6},
    "otel-genai": {"otel": 14},
    "pi-agent": {"generic": 1},
    "react": {"react-notebook": 1000},
    "reflexion": {"react-text": 617, "reflexion": 534},
    "swe-agent": {"swe-agent": 22},
    "tau-bench": {"chat": 88, "tau-bench": 200},
    "tau2-bench": {"tau2-bench": 114},
    "toolbench": {"toolbench": 9},
    "webvoyager": {"chat": 4},
    "who-and-when": {"who-and-when": 126},
}
OUTCOMES: dict[str, dict[str, int]] = {
    "docent": {"pass": 10, "fail": 8},
    "inspect_ai": {"pass": 21, "fail": 9},
    "invariant": {"pass": 4, "fail": 1, "unknown": 1},
    "langfuse": {"pass": 1, "fail": 1},
    "openhands": {"pass": 2},
    "react": {"pass": 449, "fail": 511, "unknown": 40},
    "tau-bench": {"pass": 84, "fail": 116},
    "tau2-bench": {"pass": 96, "fail": 18},
    "toolbench": {"pass": 6, "fail": 3},
    "who-and-when": {"fail": 126},
}
UNUSABLE = {
    "claude-code": 5,
    "inspect_ai": 3,
    "otel-genai": 5,
    "reflexion": 18,
}
MOST_OF_THE_ALPHABET = 40
BASE64 = re.compile(r"[A-Za-z0-9+/]{1000}")


@pytest.mark.corpora
@pytest.mark.parametrize("folder", sorted(TRACES))
def test_a_folder_holds_what_it_is_known_to_hold(folder: str, corpora: Path) -> None:
    loaded = ingest.load([corpora / folder], corpus="corpus")
    assert Counter(trace.format for trace in loaded.traces) == TRACES[folder]
    assert len(loaded.rejected) == UNUSABLE.get(folder, 0)
    if folder in OUTCOMES:
        assert Counter(outcome.status for outcome in loaded.outcomes) == OUTCOMES[folder]
    for trace in loaded.traces:
        ids = [span.span_id for span in trace.spans]
        assert len(set(ids)) == len(ids) and trace.external_id
        blobs = [run for run in BASE64.findall(codec.encode(trace)) if len(set(run)) > MOST_OF_THE_ALPHABET]
        assert blobs == [], trace.source


@pytest.mark.corpora
def test_every_corpus_is_counted(corpora: Path) -> None:
    assert {path.name for path in corpora.iterdir() if path.is_dir()} == set(TRACES)
