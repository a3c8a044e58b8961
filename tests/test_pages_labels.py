"""The Corpus page's ways to outcomes beyond a file: a score that the traces carry. The desk is a real one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from format_samples import lines
from rooms import holding

from refiner.workspace.desk import Workspace
from tests.fake_desk import open_app, words


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Workspace]:
    with holding(tmp_path, "own") as workspace:
        yield workspace


def fill(desk: Workspace, folder: Path, *scores: dict[str, object]) -> None:
    spans = [{"name": "look", "input_text": "{}", "output_text": "x"}]
    records = [
        {"trace_id": f"r{n}", "spans": spans, "meta": {"scores": json.dumps(one)}} for n, one in enumerate(scores)
    ]
    (folder / "a.jsonl").write_bytes(lines(*records))
    desk.ingest_files("own", [folder / "a.jsonl"])


def test_a_score_is_chosen_with_its_limit_and_direction(
    desk: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(
        desk,
        tmp_path,
        {"<b>match</b>": "C", "turns": 3},
        {"<b>match</b>": "I", "turns": 7},
        {"turns": 9},
        {"other": "x"},
    )
    app = open_app(monkeypatch, desk, corpus="own", view="labels")
    assert not app.exception
    assert app.selectbox(key="score_name").options == ["turns (3 traces, 3 to 9)", "<b>match</b> (2 traces, 0 to 1)"]
    assert "1 trace would pass and 2 would fail; 1 do not carry this score" in words(app)
    app.toggle(key="score_lower").set_value(True).run()
    assert app.number_input(key="score_limit_turns_True").value == 3
    app.number_input(key="score_limit_turns_True").set_value(7.0).run()
    assert "2 traces would pass and 1 would fail" in words(app)
    app.button(key="score_use").click().run()
    assert "3 traces labelled: “turns” passes up to 7." in words(app)
    assert desk.corpus("own").statuses == {"pass": 2, "fail": 1, "unknown": 1, "infrastructure": 0}


def test_without_scores_there_is_nothing_to_choose(
    desk: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(desk, tmp_path, {"comment": "fine"})
    app = open_app(monkeypatch, desk, corpus="own", view="labels")
    assert not app.exception and not app.selectbox and "labels_attach" in {one.key for one in app.button}


def talk(name: str, last: str) -> dict[str, object]:
    said = [("user", "Fix <b>it</b>"), ("assistant", "Done."), ("user", last)]
    return {"trace_id": name, "spans": [{"name": role, "output_text": text} for role, text in said]}


def test_suggestions_are_shown_by_kind_with_their_reason(
    desk: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = [talk(f"bad-{n}", "No, that's <i>wrong</i>.") for n in range(10)]
    (tmp_path / "a.jsonl").write_bytes(lines(*runs, talk("good", "Perfect, thanks!"), talk("silent", "Now the docs")))
    desk.ingest_files("own", [tmp_path / "a.jsonl"])
    app = open_app(monkeypatch, desk, corpus="own", view="labels")
    app.button(key="suggest").click().run()
    assert not app.exception and app.query_params["view"] == "suggested"
    shown = words(app)
    assert "The user corrected what was done: 10 runs, probably failed" in shown
    assert "No, that&#x27;s &lt;i&gt;wrong&lt;/i&gt;." in shown and "<i>wrong" not in shown
    assert desk.corpus("own").statuses["unknown"] == 12
    (good,) = [row for row in desk.suggestions("own") if row.external_id == "good"]
    app.button(key="accept_correction").click().run()
    assert "10 runs labelled." in words(app)
    app.button(key=f"one_dismiss_{good.trace_id}").click().run()
    assert desk.suggestions("own") == []
    assert desk.corpus("own").statuses == {"pass": 0, "fail": 10, "unknown": 2, "infrastructure": 0}
    app.segmented_control(key="corpus_view").set_value("labels").run()
    app.button(key="suggest").click().run()
    assert "No run without an outcome shows a sign" in words(app)
