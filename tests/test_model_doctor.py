"""The doctor tries the endpoints that the settings name, says which part fails, and how to mend it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from stub_model import StubModel, status

from refiner import doctor
from refiner.doctor import Check


@pytest.fixture
def stub() -> Iterator[StubModel]:
    with StubModel(key="k", models={"m", "e"}, answer=lambda body: '{"ok": true}') as stub:
        yield stub


def looked(stub: StubModel, key: str = "k", model: str = "m", **flags: object) -> dict[str, Check]:
    environ = {"LLM_API_KEY": key, "EMBEDDING_API_KEY": key}
    given = {"analyst": "model", "base_url": stub.url, "model": model, **flags}
    return {one.name: one for one in doctor.connections(environ, None, given)}


def test_an_endpoint_that_works_is_green_with_the_form_of_its_replies(stub: StubModel) -> None:
    found = looked(stub, embedding_base_url=stub.url, embedding_model="e")
    assert all(one.ok for one in found.values())
    assert found["model m"].detail == "answers; form of replies: JSON schema"
    assert found["embedding endpoint"].detail == "answers with vectors of 8 numbers"


def test_an_endpoint_that_knows_no_schema_is_green_too(stub: StubModel) -> None:
    stub.refuses = {"schema"}
    assert looked(stub)["model m"].detail == "answers; form of replies: JSON mode"


@pytest.mark.parametrize(
    ("given", "part", "fix"),
    [
        ({"key": "wrong"}, "key: ", "LLM_API_KEY"),
        ({"model": "x"}, "model: ", "--model"),
        ({"base_url": "http://127.0.0.1:9/v1"}, "address: ", "LLM_BASE_URL"),
    ],
)
def test_what_fails_is_named_with_its_fix(stub: StubModel, given: dict[str, str], part: str, fix: str) -> None:
    (check,) = looked(stub, **given).values()  # type: ignore[arg-type]
    assert (check.ok, check.needed) == (False, True)
    assert check.detail.startswith(part) and fix in check.fix
    assert "wrong" not in check.detail.partition("answered")[0]


def test_a_model_that_reads_less_than_a_prompt_may_have_is_not_green(stub: StubModel) -> None:
    stub.listing = {"data": [{"id": "m", "max_model_len": 16_000}]}
    check = looked(stub)["model m"]
    assert not check.ok and "reads 16,000 tokens at once" in check.detail and "--window" in check.fix
    assert looked(stub, window=16_000)["model m"].ok


def test_a_judge_of_its_own_is_tried_as_well(stub: StubModel) -> None:
    found = looked(stub, gate_model="nobody")
    assert found["model m"].ok and not found["model nobody"].ok


def test_an_endpoint_that_talks_instead_of_replying_is_said_to_fail_at_json(stub: StubModel) -> None:
    stub.answer = lambda body: "Hello! How can I help?"
    check = looked(stub)["model m"]
    assert not check.ok and check.detail.startswith("JSON mode: ") and "follows instructions" in check.fix


def test_a_busy_endpoint_is_not_waited_for(stub: StubModel) -> None:
    stub.script(*[status(429, "slow down") for _ in range(20)])
    check = looked(stub)["model m"]
    assert not check.ok and "later" in check.fix


def test_an_embedding_endpoint_that_fails_is_named_with_its_fix(stub: StubModel) -> None:
    given = {"analyst": "model", "base_url": stub.url, "model": "m", "embedding_base_url": stub.url}
    found = doctor.connections({"LLM_API_KEY": "k"}, None, {**given, "embedding_model": "e"})
    check = next(one for one in found if one.name == "embedding endpoint")
    assert not check.ok and "EMBEDDING_API_KEY" in check.fix


def test_a_limit_of_cost_needs_a_price(stub: StubModel) -> None:
    check = looked(stub, max_cost=1.0)["cost limit"]
    assert not check.ok and "--max-tokens-total" in check.fix


def test_folders_in_place_of_an_endpoint_are_looked_at(tmp_path: Path) -> None:
    given = {"analyst": "model", "transport": "handoff", "handoff_dir": str(tmp_path / "new")}
    (hand,) = doctor.connections({}, None, given)
    assert hand.ok and "can be written" in hand.detail
    (replay,) = doctor.connections({}, None, {"analyst": "model", "transport": "replay", "replay_dir": str(tmp_path)})
    assert not replay.ok and "--replay-dir" in replay.fix


def test_nothing_is_asked_of_anybody_by_default(stub: StubModel) -> None:
    assert doctor.connections({"LLM_BASE_URL": stub.url, "LLM_MODEL": "m"}) == []
    assert stub.calls == []


def test_where_each_setting_came_from_is_said_without_the_key(stub: StubModel) -> None:
    environ = {"LLM_BASE_URL": stub.url, "LLM_API_KEY": "hush"}
    found = {one.name: one for one in doctor.readers(environ, None, {"analyst": "model", "model": "m"})}
    detail = found["analyst"].detail
    assert "with a key" in detail and "address: environment variable LLM_BASE_URL" in detail and "hush" not in detail
