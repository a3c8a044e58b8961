"""How the form of the reply is asked for: learnt once for an endpoint's model, remembered, given up step by step."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import stub_model as stubs
from stub_model import StubModel, says, status
from transport_help import MODEL, SCHEMA, knowing, request, transport

from refiner.errors import BadReply, Unreachable
from refiner.transports.capability import Capabilities, Capability
from refiner.transports.schema import for_endpoint, is_strict, problems


@pytest.fixture
def stub() -> Iterator[StubModel]:
    yield from stubs.stubbed()


@pytest.mark.parametrize(
    ("refuses", "forms"),
    [(set(), ["schema"]), ({"schema"}, ["schema", "json"]), ({"schema", "json"}, ["schema", "json", "plain"])],
)
def test_the_best_form_an_endpoint_takes_is_found_once(stub: StubModel, refuses: set[str], forms: list[str]) -> None:
    stub.refuses = refuses
    asked = transport(stub)
    for _ in range(3):
        assert asked.complete(request()).text == stubs.DEFAULT
    assert [call.form for call in stub.chats] == [*forms, forms[-1], forms[-1]]


def test_what_is_known_is_kept_in_a_file_by_endpoint_and_model(stub: StubModel, tmp_path: Path) -> None:
    stub.refuses = {"schema", "json"}
    path = tmp_path / "folder" / "known.json"
    transport(stub, capabilities=Capabilities(path)).complete(request())
    assert len(stub.chats) == 3
    again = transport(stub, capabilities=Capabilities(path))
    again.complete(request())
    assert len(stub.chats) == 4
    again.complete(request(model="another"))
    assert [call.form for call in stub.chats[4:]] == ["schema", "json", "plain"]
    assert set(json.loads(path.read_text())) == {f"{stub.url} {MODEL}", f"{stub.url} another"}


@pytest.mark.parametrize("content", ["", "[]", '{"a b": {"level": "magic"}}', '{"a b": {"unknown": 1}}', '{"a b": 3}'])
def test_a_damaged_file_counts_as_none(tmp_path: Path, content: str) -> None:
    path = tmp_path / "known.json"
    path.write_text(content)
    assert Capabilities(path).known == {}


def test_many_threads_find_out_once(stub: StubModel) -> None:
    stub.refuses = {"schema", "json"}
    asked = transport(stub)
    with ThreadPoolExecutor(16) as pool:
        list(pool.map(lambda number: asked.complete(request(f"p{number}")), range(32)))
    assert [call.form for call in stub.chats].count("schema") == 1
    assert len(stub.chats) == 2 + 32


def test_a_first_call_that_fails_holds_nobody_up(stub: StubModel) -> None:
    asked = transport(stub)
    stub.script(*[status(500)] * 6)
    with pytest.raises(Unreachable):
        asked.complete(request())
    with ThreadPoolExecutor(8) as pool:
        assert len(list(pool.map(lambda number: asked.complete(request(f"p{number}")), range(8)))) == 8


@pytest.mark.parametrize("form", ["json", "plain"])
def test_without_a_schema_in_the_call_it_stands_in_the_system_message(stub: StubModel, form: str) -> None:
    asked = transport(stub, capabilities=knowing(stub, Capability(form)))  # type: ignore[arg-type]
    asked.complete(request())
    system = stub.chats[0].body["messages"][0]["content"]
    assert system.startswith("Be brief.\n\nReply with one JSON object")
    assert json.loads(system.splitlines()[-1]) == SCHEMA


@pytest.mark.parametrize(
    ("message", "change"),
    [
        ("Use 'max_completion_tokens' instead of 'max_tokens'.", {"max_completion_tokens": 100}),
        ("Unsupported value: 'temperature' does not support 0 with this model.", {"max_tokens": 100}),
    ],
)
def test_a_refused_setting_is_left_out_from_then_on(stub: StubModel, message: str, change: dict[str, int]) -> None:
    asked = transport(stub)
    stub.script(status(400, f"Unsupported parameter. {message}"))
    asked.complete(request())
    asked.complete(request())
    assert len(stub.chats) == 3
    for call in stub.chats[1:]:
        lengths = {name: value for name, value in call.body.items() if "tokens" in name}
        assert lengths == change
        assert ("temperature" in call.body) == ("max_completion_tokens" in change)
        assert call.form == "schema"


def test_an_endpoint_may_refuse_several_things_one_after_the_other(stub: StubModel) -> None:
    stub.script(
        status(400, "use max_completion_tokens"),
        status(400, "temperature is fixed"),
        status(500, "response_format type must be one of text or json_object, but got: json_schema"),
        status(400, "'response_format.type' must be 'json_schema' or 'text'"),
    )
    assert transport(stub).complete(request()).text == stubs.DEFAULT
    assert set(stub.chats[-1].body) == {"model", "messages", "max_completion_tokens"}
    assert len(stub.chats) == 5


def test_a_refusal_without_a_reason_counts_as_one_of_the_form_until_a_form_is_known(stub: StubModel) -> None:
    asked = transport(stub)
    stub.script(status(400, "Bad Request"))
    asked.complete(request())
    assert [call.form for call in stub.chats] == ["schema", "json"]
    stub.script(status(400, "Bad Request"))
    with pytest.raises(BadReply, match="Bad Request"):
        asked.complete(request())
    assert len(stub.chats) == 3


def test_an_endpoint_that_refuses_every_form_is_asked_three_times(stub: StubModel) -> None:
    stub.script(*[status(422, "no")] * 9)
    with pytest.raises(BadReply, match="answered 422"):
        transport(stub).complete(request())
    assert len(stub.chats) == 3


def test_a_schema_that_is_taken_and_ignored_is_found_out(stub: StubModel) -> None:
    asked = transport(stub)
    stub.script(says("Sure, here it is: it is so."))
    assert asked.complete(request()).text == "Sure, here it is: it is so."
    asked.complete(request())
    assert [call.form for call in stub.chats] == ["schema", "json"]


@pytest.mark.parametrize("fault", [stubs.LENGTH, stubs.REFUSAL])
def test_a_reply_that_was_cut_or_refused_says_nothing_about_schemas(stub: StubModel, fault: stubs.Fault) -> None:
    asked = transport(stub)
    stub.script(fault)
    asked.complete(request())
    asked.complete(request())
    assert [call.form for call in stub.chats] == ["schema", "schema"]


def test_a_schema_is_sent_without_what_endpoints_refuse() -> None:
    sent = for_endpoint(
        {
            "type": "object",
            "additionalProperties": False,
            "required": ["pattern", "answer"],
            "properties": {
                "pattern": {"type": "string", "minLength": 1},
                "answer": {"enum": ["yes", "no"]},
            },
            "$defs": {"format": {"type": "array", "minItems": 1, "items": {"type": "string", "maxLength": 3}}},
        }
    )
    assert sent["properties"] == {"pattern": {"type": "string"}, "answer": {"enum": ["yes", "no"], "type": "string"}}
    assert sent["$defs"] == {"format": {"type": "array", "items": {"type": "string"}}}
    assert is_strict(sent)


@pytest.mark.parametrize(
    "change", [{"required": []}, {"additionalProperties": True}, {"properties": {"ok": {"properties": {"a": {}}}}}]
)
def test_a_schema_with_optional_parts_is_not_called_strict(change: dict[str, object]) -> None:
    assert not is_strict(SCHEMA | change)


def test_the_schemas_of_all_prompts_can_be_enforced() -> None:
    from refiner import prompts

    for name in prompts.names():
        assert is_strict(for_endpoint(dict(prompts.load(name).reply))), name


def test_problems_name_the_place_and_are_bounded() -> None:
    schema = {"type": "object", "properties": {"rows": {"type": "array", "items": {"type": "integer"}}}}
    assert problems({"rows": [1, "x"]}, schema) == ["rows[1]: 'x' is not of type 'integer'"]
    assert problems([], schema) == ["the reply: [] is not of type 'object'"]
    assert problems({"rows": [1]}, schema) == []
    many = problems({"rows": ["y" * 900] * 20}, schema)
    assert len(many) == 9
    assert many[-1] == "and 12 more"
    assert all(len(line) < 230 for line in many)
