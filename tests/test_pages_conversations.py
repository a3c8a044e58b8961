"""Conversations on the Corpus page: cutting them, and answering each suggested outcome with a key."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from refiner.errors import ConfigError
from refiner.views import SuggestionRow
from refiner.workspace.desk import Workspace
from tests.conversations import ONE
from tests.fake_desk import HOSTILE, FakeDesk, corpus_view, open_app, words
from tests.rooms import refine


def rows() -> list[SuggestionRow]:
    return [
        SuggestionRow("id-1", "talk:e1", "Sum it", "fail", "correction", "no, a formula", "41"),
        SuggestionRow("id-2", "talk:e2", "Sum it", "pass", "approval", "thanks", "=SUM()"),
        SuggestionRow("id-3", "talk:e3", "Name it", "fail", "correction", "wrong name", "named"),
    ]


@pytest.fixture
def desk() -> FakeDesk:
    made = FakeDesk()
    made.views["runs"] = corpus_view(statuses={"unknown": 3})
    return made


def press(app: AppTest, begin: str) -> None:
    next(one for one in app.button if (one.key or "").startswith(begin)).click().run()


def offered(app: AppTest) -> list[str]:
    return list(app.segmented_control(key="corpus_view").options)


def test_a_cut_leads_to_the_suggestions_and_says_what_was_left_out(
    monkeypatch: pytest.MonkeyPatch, desk: FakeDesk
) -> None:
    app = open_app(monkeypatch, desk, view="talks")
    desk.waiting = rows()
    app.button(key="talks_cut").click().run()
    assert desk.commands("cut_conversations") == [("runs",)]
    assert app.query_params["corpus"] == "runs episodes" and app.query_params["view"] == "suggested"
    shown = words(app)
    assert "2 attempts in 1 conversation" in shown and "2 requests nobody reacted to" in shown


def test_a_corpus_without_conversations_says_so_and_stays(monkeypatch: pytest.MonkeyPatch, desk: FakeDesk) -> None:
    desk.refusals["cut_conversations"] = ConfigError("no user speaks in these traces")
    app = open_app(monkeypatch, desk, view="talks")
    app.button(key="talks_cut").click().run()
    assert "no user speaks in these traces" in words(app) and app.button(key="talks_cut")


def test_each_key_answers_one_suggestion_and_shows_the_next(monkeypatch: pytest.MonkeyPatch, desk: FakeDesk) -> None:
    desk.waiting = rows()
    app = open_app(monkeypatch, desk, view="suggested")
    assert "no, a formula" in words(app) and "The user corrected what was done: 2 runs, probably failed" in words(app)
    press(app, "one_accept_")
    press(app, "one_dismiss_")
    press(app, "one_other_")
    assert desk.calls == [
        ("accept_suggestions", "runs", ("id-1",)),
        ("dismiss_suggestions", "runs", ("id-3",)),
        ("label", "runs", "id-2", "fail", None),
    ]
    assert "No suggestion waits" in words(app)


def test_the_keys_are_single_letters_and_moving_answers_nothing(
    monkeypatch: pytest.MonkeyPatch, desk: FakeDesk
) -> None:
    desk.waiting = rows()
    app = open_app(monkeypatch, desk, view="suggested")
    assert {one.proto.shortcut for one in app.button if one.proto.shortcut} == {"a", "o", "d", "j", "k"}
    press(app, "one_next")
    assert app.query_params["trace"] == "id-3"
    press(app, "one_previous")
    assert app.query_params["trace"] == "id-1" and desk.calls == []


def test_a_kind_is_answered_at_once_and_a_link_to_a_run_shows_its_kind(
    monkeypatch: pytest.MonkeyPatch, desk: FakeDesk
) -> None:
    desk.waiting = rows()
    app = open_app(monkeypatch, desk, view="suggested", trace="id-2")
    assert list(app.segmented_control(key="sign_kind").options) == ["Corrected (2)", "Approved (1)"]
    assert "The user was content: 1 run, probably passed" in words(app)
    app.segmented_control(key="sign_kind").set_value("correction").run()
    app.button(key="dismiss_correction").click().run()
    assert desk.calls == [("dismiss_suggestions", "runs", ("id-1", "id-3"))] and "trace" not in app.query_params
    assert "2 suggestions dismissed." in words(app) and "The user was content: 1 run" in words(app)


def test_the_parts_show_where_they_say_something(monkeypatch: pytest.MonkeyPatch, desk: FakeDesk) -> None:
    assert "Conversations" in offered(open_app(monkeypatch, desk)) and "Suggested" not in offered(
        open_app(monkeypatch, desk)
    )
    desk.waiting = rows()
    assert "Suggested" in offered(open_app(monkeypatch, desk))
    desk.waiting, desk.views["runs"] = [], corpus_view(statuses={"pass": 3})
    assert not {"Conversations", "Suggested"} & set(offered(open_app(monkeypatch, desk)))


def test_words_of_a_conversation_are_never_markup(monkeypatch: pytest.MonkeyPatch, desk: FakeDesk) -> None:
    desk.waiting = [SuggestionRow("id", HOSTILE, HOSTILE, "fail", "correction", HOSTILE, HOSTILE)]
    app = open_app(monkeypatch, desk, view="suggested")
    markup = "\n".join([*(one.proto.body for one in app.get("html")), *(one.label for one in app.button)])
    assert not app.exception and "&lt;script&gt;" in markup
    assert "<script>alert" not in markup and not re.search(r"(?<!\\)!\[", "\n".join(one.label for one in app.button))


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    opened = Workspace.open(tmp_path / "refiner.duckdb")
    yield opened
    opened.close()


def test_from_an_uploaded_conversation_to_changes_to_review(
    monkeypatch: pytest.MonkeyPatch, workspace: Workspace
) -> None:
    app = open_app(monkeypatch, workspace)
    app.file_uploader[0].set_value([("talk.jsonl", ONE.encode(), "")]).run()
    app.segmented_control(key="corpus_view").set_value("talks").run()
    app.button(key="talks_cut").click().run()
    name = "my runs episodes"
    assert workspace.corpus(name).statuses["unknown"] == 4
    press(app, "one_accept_")
    press(app, "one_accept_")
    press(app, "one_accept_")
    press(app, "one_dismiss_")
    assert workspace.corpus(name).statuses | {"fail": 2, "pass": 1, "unknown": 1} == workspace.corpus(name).statuses
    review = workspace.review(refine(workspace, name))
    rules = [item.row.rule for item in review.items if item.row.proposals]
    assert [item.row.result for item in review.items if item.row.proposals] == ["undecided", "undecided"]
    assert any("Use a formula instead of a number." in rule for rule in rules)
    app = open_app(monkeypatch, workspace, "map", corpus=name, refinement=review.refinement_id)
    assert not app.exception and "went through the corrections one by one" in words(app)
