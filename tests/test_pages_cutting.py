"""Conversations read by a model, on the Corpus page: the choice, agreement, limit, progress, spend, replies by hand."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from answering import for_stub
from stub_model import StubModel
from test_model_conversations import by_prompt

from refiner.conversation_views import CutJob
from refiner.workspace import Workspace
from tests.conversations import ONE
from tests.fake_desk import HOSTILE, AppTest, FakeDesk, corpus_view, open_app, words
from tests.rooms import holding, upload

KEY = "hush-hush-hush"


@pytest.fixture
def stub() -> Iterator[StubModel]:
    with StubModel(key=KEY) as started:
        started.answer = for_stub(by_prompt)
        yield started


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Workspace]:
    with holding(tmp_path, "talks", upload("talk.jsonl", ONE)) as workspace:
        yield workspace


def by_model(monkeypatch: pytest.MonkeyPatch, desk: Workspace) -> AppTest:
    app = open_app(monkeypatch, desk, corpus="talks", view="talks")
    app.segmented_control(key="talks_way").set_value("A language model").run()
    return app


def again(monkeypatch: pytest.MonkeyPatch, desk: Workspace) -> AppTest:
    assert desk.wait(60)
    return open_app(monkeypatch, desk, corpus="talks", view="talks")


def test_a_model_is_chosen_priced_agreed_to_and_reads_in_the_background(
    monkeypatch: pytest.MonkeyPatch, desk: Workspace, stub: StubModel
) -> None:
    app = by_model(monkeypatch, desk)
    assert "Give the address of an endpoint" in words(app)
    assert not [one for one in app.button if one.key in ("talks_cut", "cut_start")]
    app.text_input(key="set_base_url").set_value(stub.url)
    app.text_input(key="set_model").set_value("m").run()
    host = stub.url.split("/")[2]
    app.text_input(key=f"set_key_model_{host}").set_value(KEY).run()
    start = app.button(key="cut_start")
    assert start.label.startswith("Read 1 conversation, about 1 call") and start.disabled and stub.chats == []
    (agree,) = [one for one in app.checkbox if str(one.key).startswith("agree_")]
    agree.check().run()
    app.button(key="cut_start").click().run()
    assert not app.exception and KEY not in words(app)
    shown = words(again(monkeypatch, desk))
    assert "A model read them: 3 attempts in 1 conversation: 2 seem to have failed and 1 passed" in shown
    assert "Spent: 1 call" in shown
    assert len(desk.suggestions("talks episodes")) == 3


def test_while_conversations_are_read_the_page_shows_it_and_can_stop_it(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = FakeDesk()
    fake.views["runs"] = corpus_view(statuses={"unknown": 3})
    fake.cut = CutJob("running", 2, 7)
    app = open_app(monkeypatch, fake, view="talks")
    assert "Read: 2 of 7 conversations" in [one.proto.text for one in app.get("progress")]
    assert not [one for one in app.button if one.key == "talks_cut"]
    app.button(key="cut_cancel").click().run()
    assert fake.commands("cancel_cut") == [("runs",)]


@pytest.mark.parametrize(
    ("job", "said"),
    [
        (CutJob("failed", words=f"the key was refused {HOSTILE}"), "the key was refused"),
        (CutJob("limit", words="the limit of 10 tokens is reached"), "the limit of 10 tokens is reached"),
        (CutJob("cancelled"), "What was read is kept"),
        (CutJob("interrupted", words="The app was closed"), "The app was closed"),
        (CutJob("cancelled", failed=(f"talk {HOSTILE}: no JSON",)), "Left out, no usable reply: talk"),
    ],
)
def test_why_it_did_not_come_to_its_end_is_said_and_it_can_be_started_again(
    monkeypatch: pytest.MonkeyPatch, job: CutJob, said: str
) -> None:
    fake = FakeDesk()
    fake.views["runs"] = corpus_view(statuses={"unknown": 3})
    fake.cut = job
    app = open_app(monkeypatch, fake, view="talks")
    assert said in words(app) and "<script>" not in words(app)
    assert app.button(key="talks_cut")


def test_by_hand_the_requests_are_there_to_take_away(monkeypatch: pytest.MonkeyPatch, desk: Workspace) -> None:
    app = by_model(monkeypatch, desk)
    app.segmented_control(key="set_way").set_value("A person or an agent").run()
    assert app.button(key="cut_start").label == "Read 1 conversation, about 1 request"
    app.button(key="cut_start").click().run()
    app = again(monkeypatch, desk)
    assert "Waiting for 1 reply" in words(app)
    assert [one.key for one in app.get("download_button")] == ["handoff_requests"]
