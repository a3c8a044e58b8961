"""The HTTP transport against a real server on loopback: each fault has one outcome and one number of calls."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import stub_model as stubs
from stub_model import DEFAULT, Exchange, Fault, StubModel, says, status
from transport_help import KEY, MODEL, FakeTime, request, transport

from refiner.errors import AnalystError, AuthFailed, BadReply, ConfigError, RateLimited, Timeout, Unreachable
from refiner.transports.http import HttpTransport


@pytest.fixture
def stub() -> Iterator[StubModel]:
    yield from stubs.stubbed()


def test_a_reply_comes_with_what_the_endpoint_says_about_it(stub: StubModel) -> None:
    stub.script(says('{"ok": true}', usage=(321, 7)))
    reply = transport(stub).complete(request())
    assert (reply.text, reply.model, reply.finish_reason) == ('{"ok": true}', "stub-model-1", "stop")
    assert (reply.prompt_tokens, reply.completion_tokens, reply.refusal) == (321, 7, None)
    body = stub.calls[0].body
    assert body["messages"] == [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Is it so?"}]
    assert (body["model"], body["max_tokens"], body["temperature"]) == (MODEL, 100, 0.0)
    assert body["response_format"]["json_schema"]["strict"] is True


PASSING: list[tuple[str, Fault, list[float]]] = [
    ("429", status(429), [1.0]),
    ("429 with retry-after", status(429, headers={"retry-after": "7"}), [8.75]),
    ("429 with retry-after-ms", status(429, headers={"retry-after-ms": "3000"}), [3.75]),
    ("429 with a wish that is no number", status(429, headers={"retry-after": "soon"}), [1.0]),
    ("500", status(500), [1.0]),
    ("503", status(503, "loading model"), [1.0]),
    ("408", status(408), [1.0]),
    ("a reset connection", stubs.RESET, [1.0]),
    ("a truncated body", stubs.TRUNCATED, [1.0]),
    ("a connection closed on the other side", stubs.HALF_CLOSED, [1.0]),
    ("a body of another type", stubs.WRONG_TYPE, [1.0]),
    ("a body that is not JSON", stubs.INVALID_JSON, [1.0]),
    ("an empty body", stubs.EMPTY_BODY, [1.0]),
    ("another schema", stubs.WRONG_SCHEMA, [1.0]),
    ("no choices", stubs.NO_CHOICES, [1.0]),
    ("an error in a 200", stubs.ERROR_IN_200, [1.0]),
    ("keys that stand twice", stubs.DUPLICATE_KEYS, [1.0]),
    ("a huge body", stubs.HUGE, [1.0]),
]


@pytest.mark.parametrize(("fault", "waits"), [case[1:] for case in PASSING], ids=[case[0] for case in PASSING])
def test_a_passing_fault_costs_one_more_call(stub: StubModel, fault: Fault, waits: list[float]) -> None:
    time = FakeTime()
    stub.script(fault)
    assert transport(stub, time).complete(request()).text == stubs.DEFAULT
    assert len(stub.chats) == 2
    assert time.sleeps == waits


LASTING: list[tuple[str, Fault, type[AnalystError], int, str]] = [
    ("429", status(429), RateLimited, 8, "too many calls; run the same command again later"),
    ("500", status(500, "kaputt"), Unreachable, 6, r"answered 500 \(kaputt\)"),
    ("503", status(503), Unreachable, 6, "answered 503"),
    ("reset", stubs.RESET, Unreachable, 6, "broke off"),
    ("truncated", stubs.TRUNCATED, Unreachable, 3, "broke off"),
    ("half-closed", stubs.HALF_CLOSED, Unreachable, 6, "broke off"),
    ("type", stubs.WRONG_TYPE, BadReply, 2, "text/html instead of JSON"),
    ("invalid", stubs.INVALID_JSON, BadReply, 2, "not JSON: Expecting value at character 25"),
    ("empty body", stubs.EMPTY_BODY, BadReply, 2, "an empty body"),
    ("schema", stubs.WRONG_SCHEMA, BadReply, 2, "no list `choices`"),
    ("error in a 200", stubs.ERROR_IN_200, BadReply, 2, "upstream is gone"),
    ("twice", stubs.DUPLICATE_KEYS, BadReply, 2, '"choices" stands twice'),
    ("huge", stubs.HUGE, BadReply, 2, "more than 8 MB"),
    ("401", status(401), AuthFailed, 1, "check LLM_API_KEY"),
    ("403", status(403), AuthFailed, 1, "check LLM_API_KEY"),
    ("402", status(402, "Insufficient credits"), AuthFailed, 1, "quota is spent"),
    ("quota", status(429, "You exceeded your quota", code="insufficient_quota"), AuthFailed, 1, "quota is spent"),
    ("a long wait", status(429, headers={"retry-after": "3600"}), RateLimited, 1, "asks for a wait of 3600 s"),
    ("moderation", status(403, "flagged by moderation"), BadReply, 1, "its own rules refuse"),
    ("413", status(413), BadReply, 1, "lower `window`"),
    ("too long", status(400, "maximum context length is 8192 tokens"), BadReply, 1, "lower `window`"),
]


@pytest.mark.parametrize(
    ("fault", "error", "calls", "words"), [case[1:] for case in LASTING], ids=[case[0] for case in LASTING]
)
def test_a_lasting_fault_has_one_error_and_a_bounded_number_of_calls(
    stub: StubModel, fault: Fault, error: type[AnalystError], calls: int, words: str
) -> None:
    stub.script(*[fault] * 20)
    with pytest.raises(error, match=words) as caught:
        transport(stub).complete(request())
    assert type(caught.value) is error
    assert len(stub.chats) == calls
    assert KEY not in str(caught.value)


@pytest.mark.parametrize("fault", [stubs.HANG, stubs.SLOW_STREAM])
def test_what_never_ends_is_left_after_the_time_out_and_tried_once_more(stub: StubModel, fault: Fault) -> None:
    stub.script(*[fault] * 5)
    begun, waits = time.monotonic(), []
    asked = HttpTransport(stub.url, KEY, timeout=0.25, sleep=waits.append)
    with pytest.raises(Timeout, match=r"did not finish a reply within 0.25 s") as caught:
        asked.complete(request())
    assert caught.value.retryable
    assert len(stub.chats) == 2
    assert len(waits) == 1
    assert time.monotonic() - begun < 5


def test_waits_grow_and_are_partly_left_to_chance(stub: StubModel) -> None:
    stub.script(*[status(500)] * 5)
    time = FakeTime()
    chances = iter([0.0, 1.0, 0.5, 0.0, 1.0])
    transport(stub, time, jitter=lambda: next(chances)).complete(request())
    assert time.sleeps == [0.5, 2.0, 3.0, 4.0, 16.0]


def test_what_the_model_says_is_passed_on_for_the_analyst_to_judge(stub: StubModel) -> None:
    asked = transport(stub)
    stub.script(stubs.REFUSAL, stubs.LENGTH, stubs.EMPTY, stubs.TOOL_CALL, says("<think>no</think> prose"))
    replies = [asked.complete(request()) for _ in range(5)]
    assert [reply.text for reply in replies] == ["", '{"ok": tr', "", '{"ok": true}', "<think>no</think> prose"]
    assert [reply.finish_reason for reply in replies] == ["stop", "length", "stop", "tool_calls", "stop"]
    assert [reply.refusal for reply in replies] == ["I cannot help with that.", None, None, None, None]
    assert len(stub.chats) == 5


@pytest.mark.parametrize(
    ("fault", "error", "words"),
    [
        (status(404, "The model `m` does not exist"), ConfigError, "^model: .* check the name of the model"),
        (status(400, "m is not a valid model ID"), ConfigError, "^model: "),
        (stubs.reply("<html>404</html>", 404, "text/html"), ConfigError, "^base_url: .*usually ends in /v1"),
        (status(405), ConfigError, "^base_url: "),
        (
            stubs.reply("", 307, headers={"location": "http://127.0.0.1:9/v1"}),
            ConfigError,
            "answered 307; .*another address",
        ),
        (status(401), AuthFailed, "LLM_API_KEY"),
        (status(429, "billing hard limit"), AuthFailed, "quota"),
        (status(429, headers={"retry-after": "3600"}), RateLimited, "3600"),
    ],
)
def test_what_no_other_call_would_survive_stops_them_all(
    stub: StubModel, fault: Fault, error: type[Exception], words: str
) -> None:
    asked = transport(stub)
    stub.script(fault)
    for _ in range(3):
        with pytest.raises(error, match=words) as caught:
            asked.complete(request())
        assert isinstance(caught.value, ConfigError) or caught.value.systemic
    assert len(stub.chats) == 1
    assert transport(stub).complete(request()).text == stubs.DEFAULT


def test_one_bad_prompt_stops_nothing_else(stub: StubModel) -> None:
    asked = transport(stub)
    stub.script(status(413), status(400, "context length exceeded"), *[status(500)] * 6, *[stubs.WRONG_TYPE] * 2)
    for _ in range(4):
        with pytest.raises(AnalystError) as caught:
            asked.complete(request())
        assert not caught.value.systemic
    assert asked.complete(request()).text == stubs.DEFAULT


def free_port() -> int:
    with StubModel() as gone:
        return gone.port


def test_nobody_there_at_first_contact_is_said_after_three_attempts() -> None:
    time = FakeTime()
    asked = HttpTransport(f"http://127.0.0.1:{free_port()}/v1", KEY, clock=time.clock, sleep=time.sleep)
    with pytest.raises(Unreachable, match=r"cannot be reached .*: start it, or check LLM_BASE_URL") as caught:
        asked.complete(request())
    assert caught.value.systemic
    assert len(time.sleeps) == 2
    with pytest.raises(Unreachable):
        asked.complete(request())
    assert len(time.sleeps) == 2


def test_an_endpoint_that_goes_away_is_given_time_and_stops_all_after_three_calls() -> None:
    time = FakeTime()
    with StubModel() as stub:
        asked = transport(stub, time)
        asked.complete(request())
    systemic = []
    for _ in range(3):
        with pytest.raises(Unreachable) as caught:
            asked.complete(request())
        systemic.append(caught.value.systemic)
    assert systemic == [False, False, True]
    assert len(time.sleeps) == 15
    with pytest.raises(Unreachable):
        asked.complete(request())
    assert len(time.sleeps) == 15


def test_a_wish_to_wait_holds_every_thread(stub: StubModel) -> None:
    time = FakeTime()
    asked = transport(stub, time)
    asked.complete(request())
    stub.script(status(429, headers={"retry-after": "30"}))
    asked.complete(request())
    assert time.now == 1000 + 37.5
    asked.complete(request())
    assert time.sleeps == [37.5]


def test_a_storm_of_429_ends_in_replies_for_all(stub: StubModel) -> None:
    time = FakeTime()
    asked = transport(stub, time, jitter=lambda: 0.5)
    asked.complete(request())
    refused = Counter[str]()

    def refuse_twice(body: dict[str, Any]) -> str | Fault:
        prompt = body["messages"][-1]["content"]
        refused[prompt] += 1
        return status(429, headers={"retry-after": "1"}) if refused[prompt] <= 2 else DEFAULT

    stub.answer = refuse_twice
    with ThreadPoolExecutor(16) as pool:
        replies = list(pool.map(lambda number: asked.complete(request(f"prompt {number}")), range(64)))
    assert len(replies) == 64
    assert len(stub.chats) == 1 + 64 * 3


def test_sixty_four_threads_share_one_transport(stub: StubModel) -> None:
    stub.answer = lambda body: f'{{"ok": true, "n": "{body["messages"][-1]["content"]}"}}'
    asked = transport(stub)
    with ThreadPoolExecutor(64) as pool:
        replies = list(pool.map(lambda number: asked.complete(request(f"p{number}")), range(256)))
    assert all(f'"p{number}"' in reply.text for number, reply in enumerate(replies))
    assert len(stub.chats) == 256


def test_a_refused_key_wakes_the_threads_that_wait(stub: StubModel) -> None:
    asked = HttpTransport(stub.url, KEY)  # real waits, of a minute without waking
    asked.complete(request())
    here, told, go = threading.Event(), threading.Event(), threading.Event()

    async def refuse_later(exchange: Exchange) -> None:
        here.set()
        while not go.is_set():
            await asyncio.sleep(0.005)
        await status(401)(exchange)

    async def ask_for_a_minute(exchange: Exchange) -> None:
        await status(429, headers={"retry-after": "60"})(exchange)
        told.set()

    stub.script(refuse_later, ask_for_a_minute)
    with ThreadPoolExecutor(2) as pool:
        refused = pool.submit(asked.complete, request("p1"))
        assert here.wait(20)
        waiting = pool.submit(asked.complete, request("p2"))
        assert told.wait(20)
        go.set()
        assert isinstance(refused.exception(timeout=20), AuthFailed)
        assert isinstance(waiting.exception(timeout=20), AuthFailed)
    assert len(stub.chats) == 3


def test_a_key_is_in_no_text_form_and_no_message(stub: StubModel, tmp_path: Path, caplog: Any) -> None:
    from refiner.transports.capability import Capabilities
    from refiner.transports.record import Recorder

    caplog.set_level(0)
    asked = transport(stub, capabilities=Capabilities(tmp_path / "known.json"))
    Recorder(asked, tmp_path / "kept").complete(request())
    stub.script(status(500, f"cannot use {KEY}"), *[status(401, f"Incorrect API key provided: {KEY}")] * 3)
    with pytest.raises(AuthFailed) as caught:
        asked.complete(request())
    written = "".join(path.read_text() for path in tmp_path.rglob("*") if path.is_file())
    shown = f"{asked!r} {asked} {caught.value!r} {vars(caught.value)} {caught.value.__cause__} {asked.address!r}"
    assert "[key]" in str(caught.value)
    assert stub.calls[0].headers["authorization"] == f"Bearer {KEY}"
    assert KEY not in shown + written + caplog.text


@pytest.mark.parametrize("key", [None, "", "  "])
def test_without_a_key_none_is_sent(stub: StubModel, key: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-another-service")
    monkeypatch.setenv("OPENAI_ADMIN_KEY", "sk-admin")
    transport(stub, key=key).complete(request())
    assert "authorization" not in stub.calls[0].headers


@pytest.mark.parametrize("key", ["sk two words", "sk-ключ", "sk-1\nx-evil: 1"])
def test_a_key_that_cannot_be_sent_is_refused_without_showing_it(key: str) -> None:
    with pytest.raises(ConfigError) as caught:
        HttpTransport("http://127.0.0.1:1/v1", key)
    assert key not in str(caught.value)


def test_a_line_end_after_a_key_does_no_harm(stub: StubModel) -> None:
    transport(stub, key=f"{KEY}\n").complete(request())
    assert stub.calls[0].headers["authorization"] == f"Bearer {KEY}"


def test_the_environment_redirects_nothing_and_adds_nothing(stub: StubModel, monkeypatch: pytest.MonkeyPatch) -> None:
    with StubModel() as elsewhere:
        for name in ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, elsewhere.url)
        monkeypatch.setenv("OPENAI_BASE_URL", elsewhere.url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-other")
        monkeypatch.setenv("OPENAI_ORG_ID", "org-private")
        monkeypatch.setenv("OPENAI_PROJECT_ID", "project-private")
        monkeypatch.setenv(
            "OPENAI_CUSTOM_HEADERS", "Authorization: Bearer sk-other\nHost: other.invalid\nX-Secret: private"
        )
        transport(stub).complete(request())
        assert elsewhere.calls == []
    headers = stub.calls[0].headers
    assert headers["host"] == f"127.0.0.1:{stub.port}"
    assert headers["authorization"] == f"Bearer {KEY}"
    assert not any(word in str(headers) for word in ("private", "sk-other", "openai-", "x-stainless-os"))


@pytest.mark.parametrize(
    ("url", "words"),
    [
        (None, "needs the address of an endpoint; set LLM_BASE_URL"),
        ("  ", "needs the address"),
        ("localhost:8000/v1", "not an address"),
        ("ftp://host/v1", "not an address"),
        ("http://", "not an address"),
        ("http://host:99999/v1", "not an address"),
        ("https://me:hunter2@host/v1", "holds a password"),
    ],
)
def test_an_address_that_cannot_be_used_is_refused_at_once(
    url: str | None, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")
    with pytest.raises(ConfigError, match=words) as caught:
        HttpTransport(url, KEY)
    assert "hunter2" not in str(caught.value)


def test_what_follows_a_question_mark_is_sent_and_never_shown(stub: StubModel, caplog: Any) -> None:
    caplog.set_level(0)
    asked = HttpTransport(f"{stub.url}/?api-version=2&code=hidden", KEY)
    asked.complete(request())
    assert stub.calls[0].path == "/v1/chat/completions?api-version=2&code=hidden"
    assert "hidden" not in f"{asked!r} {asked.address!r} {caplog.text}"
    assert asked.host == f"127.0.0.1:{stub.port}"


def test_a_prompt_with_characters_that_utf8_does_not_know_is_sent(stub: StubModel) -> None:
    transport(stub).complete(request("a\ud800b\x00c"))
    assert stub.calls[0].body["messages"][-1]["content"] == "a\ufffdb\ufffdc"


def test_a_test_of_the_connection_names_what_is_wrong(stub: StubModel) -> None:
    stub.key, stub.models = KEY, {MODEL}
    works = transport(stub).check(MODEL)
    assert (works.part, works.level) == (None, "schema")
    assert transport(stub, key="sk-wrong").check(MODEL).part == "key"
    assert transport(stub).check("other").part == "model"
    assert transport(stub).check("").part == "model"
    gone = HttpTransport(f"http://127.0.0.1:{free_port()}/v1", KEY, sleep=lambda seconds: None)
    assert gone.check(MODEL).part == "url"
    stub.script(stubs.reply("nothing here", 404, "text/plain"))
    assert transport(stub).check(MODEL).part == "url"
    stub.answer = lambda body: "Sure! It is true."
    assert transport(stub).check(MODEL).part == "json"
    stub.script(status(429, headers={"retry-after": "900"}))
    assert transport(stub).check(MODEL).part == "busy"


@pytest.mark.parametrize(
    ("entries", "reads"),
    [
        ([{"id": MODEL, "max_model_len": 8192}, {"id": "other", "max_model_len": 2}], 8192),
        ([{"id": "some/path.gguf", "meta": {"n_ctx": 4096, "n_ctx_train": 131072}}], 4096),
        ([{"id": MODEL, "context_length": 200_000}], None),
        ([{"id": "a", "context_length": 1}, {"id": "b", "context_length": 1}], None),
        ([{"id": MODEL, "max_model_len": "8192"}], None),
        ([MODEL, None], None),
        ("odd", None),
    ],
)
def test_a_window_beyond_what_the_endpoint_lists_is_found_before_it_is_paid_for(
    stub: StubModel, entries: Any, reads: int | None
) -> None:
    stub.listing = {"data": entries}
    found = transport(stub).check(MODEL, 32_000)
    assert found.part == (None if reads is None else "window")
    assert reads is None or f"reads {reads:,} tokens at once, and prompts with replies may have 32,000" in found.words
    assert transport(stub).check(MODEL).part is None, "nobody asked about a window"


def test_a_second_test_of_the_connection_says_the_same(stub: StubModel) -> None:
    stub.key = "sk-right"
    asked = transport(stub)
    assert [asked.check(MODEL).part, asked.check(MODEL).part] == ["key", "key"]


def test_a_closed_transport_opens_again(stub: StubModel) -> None:
    asked = transport(stub)
    asked.complete(request())
    asked.close()
    assert asked.complete(request()).text == stubs.DEFAULT
