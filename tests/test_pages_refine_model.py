"""The Refine page with a language model and a real endpoint: controls, keys, test, agreement, limits, hand-off."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from answering import Answerer
from fake_desk import open_app, words
from format_samples import packed
from rooms import Clock, fill
from streamlit.testing.v1 import AppTest
from stub_model import StubModel
from test_model_refine import small, stage_of
from test_workspace_model import answering, replies

from pages._ui import handoff
from refiner.workspace import Workspace

KEY = "hush-hush-hush"
PRICED = "gpt-4o-mini"


@pytest.fixture
def stub() -> Iterator[StubModel]:
    with StubModel(answer=answering(), key=KEY) as running:
        yield running


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Workspace]:
    made = Workspace.open(tmp_path / "refiner.duckdb", clock=Clock(), environ={})
    fill(made, small())
    yield made
    made.close()


@pytest.fixture
def app(monkeypatch: pytest.MonkeyPatch, desk: Workspace) -> AppTest:
    return open_app(monkeypatch, desk, "refine", corpus="own")


def keys_of(app: AppTest) -> set[str]:
    kinds = ("button", "text_input", "number_input", "checkbox", "segmented_control", "toggle", "download_button")
    return {str(one.key) for kind in kinds for one in app.get(kind)}


def with_model(app: AppTest, stub: StubModel, model: str = "m", key: str | None = KEY) -> AppTest:
    app.segmented_control(key="set_analyst").set_value("Language model").run()
    app.text_input(key="set_base_url").set_value(stub.url)
    app.text_input(key="set_model").set_value(model).run()
    if key:
        app.text_input(key=f"set_key_model_{host(stub)}").set_value(key).run()
    return app


def host(stub: StubModel) -> str:
    return stub.url.split("/")[2]


def agreed(app: AppTest, stub: StubModel) -> AppTest:
    return app.checkbox(key=f"agree_{host(stub)}").check().run()


def badge(app: AppTest) -> str:
    """The analyst beside the title."""
    return re.findall(r'class="sr-badge">([^<]*)<', " ".join(one.proto.body for one in app.get("html")))[0]


def ended(app: AppTest, desk: Workspace) -> AppTest:
    assert desk.wait(60)
    return app.run()


def test_nothing_of_a_model_is_drawn_before_it_is_chosen(app: AppTest, stub: StubModel) -> None:
    drawn = {"set_base_url", "set_model", "set_gate_model", "set_key_model_", "model_test", "set_max_tokens"}
    assert not drawn & keys_of(app)
    app.segmented_control(key="set_analyst").set_value("Language model").run()
    assert {"set_base_url", "set_model", "set_key_model_"} <= keys_of(app)
    assert app.text_input(key="set_base_url").value == "", "there is no default address"
    assert "start" not in keys_of(app)
    assert "Give the address of an endpoint and the name of its model first." in words(app)


def test_the_badge_names_the_chosen_analyst_before_a_run_and_then_the_one_that_made_it(
    app: AppTest, stub: StubModel, desk: Workspace
) -> None:
    assert badge(app) == "Offline analyst"
    assert badge(with_model(app, stub)) == "Language model"
    app.segmented_control(key="set_analyst").set_value("Offline").run()
    assert badge(app) == "Offline analyst"
    with_model(app, stub)
    agreed(app, stub).button(key="start").click().run()
    ended(app, desk)
    app.segmented_control(key="set_analyst").set_value("Offline").run()
    assert badge(app) == "Language model", "who made what is shown"


def test_the_key_is_a_password_that_leaves_no_trace_on_the_page(
    app: AppTest, stub: StubModel, desk: Workspace, tmp_path: Path
) -> None:
    with_model(app, stub)
    field = app.text_input(key=f"set_key_model_{host(stub)}").proto
    assert field.type == field.PASSWORD
    agreed(app, stub)
    app.button(key="start").click().run()
    ended(app, desk)
    assert desk.job(app.query_params["refinement"]).status == "done"
    assert {one.headers["authorization"] for one in stub.chats} == {f"Bearer {KEY}"}
    assert KEY not in words(app) + str(app.query_params)
    desk.close()
    assert KEY.encode() not in b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())


def test_a_key_never_goes_to_another_host(app: AppTest, stub: StubModel) -> None:
    with_model(app, stub)
    with StubModel(answer=answering()) as other:
        app.text_input(key="set_base_url").set_value(other.url).run()
        app.button(key="model_test").click().run()
        assert "authorization" not in other.chats[0].headers


def test_the_test_of_the_connection_says_which_part_fails(app: AppTest, stub: StubModel) -> None:
    with_model(app, stub, key=None)
    app.button(key="model_test").click().run()
    assert "The key does not work" in words(app)
    app.text_input(key=f"set_key_model_{host(stub)}").set_value(KEY).run()
    app.button(key="model_test").click().run()
    assert "(model m) works" in words(app) and "does not work" not in words(app)
    stub.models = {"m"}
    app.text_input(key="set_gate_model").set_value("gone").run()
    assert "(model m) works" not in words(app), "a changed setting needs a new test"
    app.button(key="model_test").click().run()
    assert "The model does not work" in words(app)
    stub.models, stub.refuses, stub.answer = None, {"schema", "json"}, lambda body: "no"
    app.button(key="model_test").click().run()
    assert "JSON mode does not work" in words(app)
    app.text_input(key="set_base_url").set_value("http://127.0.0.1:9/v1").run()
    app.button(key="model_test").click().run()
    assert "The address does not work" in words(app)


def test_the_host_is_named_and_agreed_to_once(
    app: AppTest, stub: StubModel, desk: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_model(app, stub)
    assert f"will be sent to {host(stub)}" in words(app)
    assert app.button(key="start").disabled
    agreed(app, stub)
    assert not app.button(key="start").disabled
    app.button(key="start").click().run()
    ended(app, desk)
    again = with_model(open_app(monkeypatch, desk, "refine", corpus="own"), stub)
    assert "will be sent to" not in words(again) and not again.button(key="start").disabled


def test_the_button_says_calls_money_and_the_limits(app: AppTest, stub: StubModel) -> None:
    with_model(app, stub, PRICED)
    shown = words(app)
    assert "calls</span>" in shown and "tokens</span>" in shown and "prices of 20" in shown
    app.number_input(key="set_max_cost").set_value(2.0)
    app.number_input(key="set_max_tokens").set_value(400_000).run()
    label = app.button(key="start").label
    assert label.startswith("Refine 24 traces, about ") and " calls, about 0." in label
    assert label.endswith(" USD, at most 2.00 USD, at most 400,000 tokens")
    app.number_input(key="set_max_tokens").set_value(2_000).run()
    assert "The limit is below the estimate." in words(app)


def test_a_judged_contrast_is_a_choice_that_the_estimate_prices(app: AppTest, stub: StubModel) -> None:
    with_model(app, stub, PRICED)
    before = calls_on_the_button(app)
    app.toggle(key="set_contrast").set_value(True).run()
    assert calls_on_the_button(app) > before
    app.segmented_control(key="set_preset").set_value("As published").run()
    assert "set_contrast" not in keys_of(app), "the published gate has no place for it"


def calls_on_the_button(app: AppTest) -> int:
    return int(app.button(key="start").label.partition("about ")[2].partition(" calls")[0].replace(",", ""))


def test_an_embedding_endpoint_of_the_environment_is_priced_with_the_offline_analyst_too(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, stub: StubModel
) -> None:
    named = {"EMBEDDING_BASE_URL": stub.url, "EMBEDDING_MODEL": "text-embedding-3-small", "EMBEDDING_API_KEY": KEY}
    desk = Workspace.open(tmp_path / "embedding.duckdb", clock=Clock(), environ=named)
    fill(desk, small())
    app = open_app(monkeypatch, desk, "refine", corpus="own")
    assert "about 1 call, about 0.00 USD" in app.button(key="start").label
    assert {"set_max_cost", "set_max_tokens", f"agree_{host(stub)}"} <= keys_of(app)
    agreed(app, stub).button(key="start").click().run()
    ended(app, desk)
    assert len(stub.embedded) == 2 and "Spent: 2 calls" in words(app) and "Embeddings" in words(app)
    desk.close()


def test_money_is_not_limited_where_no_price_is_known(app: AppTest, stub: StubModel) -> None:
    with_model(app, stub)
    assert "set_max_cost" not in keys_of(app) and "set_max_tokens" in keys_of(app)
    assert "no price of this model is known" in words(app)


def test_spend_by_stage_is_on_the_page(app: AppTest, stub: StubModel, desk: Workspace) -> None:
    agreed(with_model(app, stub, PRICED), stub)
    app.button(key="start").click().run()
    ended(app, desk)
    shown = words(app)
    asked = sum(stage_of(one.body) == "summarise" for one in stub.chats)
    assert f"<td>Summaries</td><td class=n>{asked}</td>" in shown
    assert f"Spent: {len(stub.chats)} calls" in shown and "USD" in shown
    assert re.search(r"That is \d+% (less|more) than the [\d,]+ tokens of the estimate", shown)
    assert "Language model" in shown


def test_a_reached_limit_can_be_raised_where_it_is_said(app: AppTest, stub: StubModel, desk: Workspace) -> None:
    agreed(with_model(app, stub), stub)
    app.number_input(key="set_max_tokens").set_value(25_000).run()
    app.button(key="start").click().run()
    ended(app, desk)
    assert "The limit is reached" in words(app) and "of at most 25,000 tokens" in words(app)
    assert app.number_input(key="job_max_tokens").value == 50_000
    app.number_input(key="job_max_tokens").set_value(900_000).run()
    app.button(key="job_resume").click().run()
    ended(app, desk)
    assert desk.job(app.query_params["refinement"]).status == "done"


def test_a_new_session_is_asked_for_the_key_before_it_goes_on(
    app: AppTest, stub: StubModel, desk: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.agree([host(stub)])
    stopped = desk.start("own", {"analyst": "model", "base_url": stub.url, "model": "m"})
    assert desk.wait(60)
    fresh = open_app(monkeypatch, desk, "refine", corpus="own", refinement=stopped)
    assert "answered 401" in words(fresh)
    fresh.text_input(key=f"job_key_model_{host(stub)}").set_value(KEY).run()
    fresh.button(key="job_resume").click().run()
    ended(fresh, desk)
    assert desk.job(stopped).status == "done"


def test_a_hand_off_is_downloaded_answered_and_uploaded(
    app: AppTest, desk: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    app.segmented_control(key="set_analyst").set_value("Language model").run()
    app.segmented_control(key="set_way").set_value("A person or an agent").run()
    assert not {"set_base_url", "set_key_model_", "model_test"} & keys_of(app)
    assert "requests" in app.button(key="start").label and "will be sent to" not in words(app)
    app.button(key="start").click().run()
    ended(app, desk)
    shown = words(app)
    assert "Waiting for 24 replies" in shown and "The refinement stopped" not in shown
    assert {"handoff_requests", "job_resume"} <= keys_of(app)
    refinement = app.query_params["refinement"]
    found = replies(desk.requests(refinement), Answerer())
    held = packed({f"{name}.json": text for name, text in found.items()})
    monkeypatch.setattr(handoff.session, "workspace", lambda: desk)
    taken: list[Any] = []
    monkeypatch.setattr(handoff.cards, "notice", lambda kind, said: taken.append((kind, said)))
    given = io.BytesIO(held)
    given.name = "replies.zip"
    handoff.take_in([given], handoff.of(desk.job(refinement), lambda: desk.resume(refinement)))
    assert desk.wait(60)
    assert taken == [("done", "24 files of replies taken in; it goes on.")]
    job = desk.job(refinement)
    assert job.asks is not None and job.asks.stopped == "waiting" and job.stage == "propose"
