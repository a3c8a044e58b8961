"""The two embedders: what they return, and what a person is told when they cannot."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from refiner.embedders import endpoint, packaged
from refiner.embedders.endpoint import ATTEMPTS, EndpointEmbedder
from refiner.embedders.packaged import PackagedEmbedder
from refiner.errors import AnalystError, BudgetSpent, ConfigError, EmbedderError
from refiner.transports.cost import Ledger, Spend

ROOT = Path(__file__).resolve().parents[1]
TEXTS = ["The agent saved the workbook and did not read it back.", "Cancelled the wrong reservation.", "Saved it."]


FRESH = """
import logging, sys
asked = []
sys.addaudithook(lambda event, _: asked.append(event) if event in NETWORK else None)
NETWORK = ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto", "urllib.Request")
from refiner.embedders.packaged import PackagedEmbedder
PackagedEmbedder().embed(["x"])
root = logging.getLogger()
print(asked, root.handlers, root.level == logging.WARNING)
"""


def test_packaged_model_asks_nothing_of_the_network_and_leaves_logging_as_it_was(tmp_path: Path) -> None:
    environment = {**os.environ, "HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path)}
    shown = subprocess.run(
        [sys.executable, "-c", FRESH], capture_output=True, text=True, check=True, env=environment, cwd=ROOT
    )
    assert shown.stdout.strip() == "[] [] True"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.filterwarnings("ignore:A test tried to use socket")  # a library's look for IPv6 on this machine
def test_packaged_model_needs_no_socket(socket_disabled: None) -> None:
    packaged._load.cache_clear()
    vectors = PackagedEmbedder().embed(TEXTS)
    assert (vectors.shape, vectors.dtype) == ((3, 256), np.float32)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)


def test_packaged_vectors_are_those_of_wordllama() -> None:
    import wordllama

    model = wordllama.WordLlama.load(cache_dir=Path(wordllama.__file__).parent, disable_download=True)
    assert np.allclose(PackagedEmbedder().embed(TEXTS), model.embed(TEXTS, norm=True), atol=1e-6)


def test_packaged_vector_does_not_depend_on_the_batch() -> None:
    embedder = PackagedEmbedder()
    alone = np.vstack([embedder.embed([text]) for text in TEXTS])
    together = embedder.embed([*TEXTS, "a far longer text " * 200])[:3]
    assert alone.tobytes() == together.tobytes()


def test_packaged_meaning_is_closer_than_other_meaning() -> None:
    saved, also_saved, flight = PackagedEmbedder().embed(
        ["saved the workbook without checking", "did not check the saved spreadsheet", "booked a flight to Boston"]
    )
    assert saved @ also_saved > saved @ flight


@pytest.mark.parametrize("text", ["", "   ", "\n; ", "\ud800", "\u0000", "x" * 20_000])
def test_packaged_gives_every_text_a_unit_row(text: str) -> None:
    row = PackagedEmbedder().embed([text])[0]
    assert np.isfinite(row).all()
    assert np.linalg.norm(row) == pytest.approx(1, abs=1e-6)


def test_packaged_takes_no_texts_and_names_what_its_vectors_depend_on() -> None:
    embedder = PackagedEmbedder()
    assert embedder.embed([]).shape == (0, 256)
    assert embedder.identity == "wordllama 0.4.0.post1 l2_supercat 256"


def test_packaged_says_what_to_do_without_its_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    import wordllama

    def missing(*args: object, **more: object) -> None:
        raise FileNotFoundError("gone")

    packaged._load.cache_clear()
    monkeypatch.setattr(wordllama.WordLlama, "load", missing)
    with pytest.raises(EmbedderError, match="make setup"):
        PackagedEmbedder().embed(["x"])


Reply = tuple[int, dict[str, str], str]


class Stub:
    """An endpoint on loopback. `replies` answer one request each; when they are used up, every request is answered."""

    def __init__(self) -> None:
        self.replies: list[Reply | Callable[[list[str]], Reply]] = []
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.paths: list[str] = []
        self.waits: list[float] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                outer.requests.append(body)
                outer.headers.append({name.lower(): value for name, value in self.headers.items()})
                outer.paths.append(self.path)
                planned = outer.replies.pop(0) if outer.replies else good
                status, headers, text = planned(body["input"]) if callable(planned) else planned
                self.send_response(status)
                for name, value in {"Content-Type": "application/json", **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(text.encode())

            def log_message(self, *args: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01})
        self.thread.start()
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/v1"

    def embedder(self, key: str | None = "secret", **more: Any) -> EndpointEmbedder:
        return EndpointEmbedder(self.url, "tiny", key, sleep=self.waits.append, **more)


def vector(text: str) -> list[float]:
    return [float(len(text)), 1.0, 2.0]


def reply(items: list[dict[str, Any]]) -> Reply:
    return 200, {}, json.dumps({"object": "list", "data": items, "model": "tiny"})


def good(texts: list[str]) -> Reply:
    return reply([{"index": place, "embedding": vector(text)} for place, text in enumerate(texts)])


@pytest.fixture
def stub(monkeypatch: pytest.MonkeyPatch) -> Iterator[Stub]:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    stub = Stub()
    yield stub
    stub.server.shutdown()
    stub.thread.join()
    stub.server.server_close()


def expected(texts: list[str]) -> np.ndarray:
    rows = np.array([vector(text) for text in texts])
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def test_endpoint_returns_unit_rows_in_the_order_of_the_texts(stub: Stub) -> None:
    vectors = stub.embedder().embed(TEXTS)
    assert vectors.dtype == np.float32
    assert np.allclose(vectors, expected(TEXTS), atol=1e-6)
    assert stub.paths == ["/v1/embeddings"]
    assert stub.headers[0]["authorization"] == "Bearer secret"
    assert stub.requests[0]["model"] == "tiny"


def test_endpoint_orders_by_index_whatever_the_order_of_the_reply(stub: Stub) -> None:
    def turned(texts: list[str]) -> Reply:
        return reply([{"index": place, "embedding": vector(text)} for place, text in enumerate(texts)][::-1])

    stub.replies = [turned]
    assert np.allclose(stub.embedder().embed(TEXTS), expected(TEXTS), atol=1e-6)


def test_endpoint_sends_64_at_a_time_and_equal_texts_once(stub: Stub) -> None:
    texts = ["x" * (number % 130 + 1) for number in range(200)]
    assert np.allclose(stub.embedder().embed(texts), expected(texts), atol=1e-6)
    assert [len(one["input"]) for one in stub.requests] == [64, 64, 2]


def test_endpoint_gives_an_empty_text_a_row_and_sends_no_empty_one(stub: Stub) -> None:
    vectors = stub.embedder().embed(["", "abc", " \n", "\ud800"])
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    assert (vectors[0] == vectors[2]).all()
    assert all(text.strip() for text in stub.requests[0]["input"])


def test_endpoint_sends_nothing_for_no_texts(stub: Stub) -> None:
    assert len(stub.embedder().embed([])) == 0
    assert stub.requests == []


def test_endpoint_waits_as_long_as_the_server_asks(stub: Stub) -> None:
    stub.replies = [(429, {"Retry-After": "7"}, "{}"), (503, {}, "busy"), (500, {"Retry-After": "soon"}, "")]
    assert len(stub.embedder().embed(TEXTS)) == 3
    assert stub.waits == [7.0, 2.0, 4.0]


def test_endpoint_gives_up_after_a_bounded_number_of_attempts(stub: Stub) -> None:
    stub.replies = [(500, {}, "kaputt")] * 20
    with pytest.raises(EmbedderError, match=r"answered 500 \(kaputt\): try again later") as caught:
        stub.embedder().embed(TEXTS)
    assert caught.value.retryable
    assert (len(stub.requests), len(stub.waits)) == (ATTEMPTS, ATTEMPTS - 1)


def test_endpoint_does_not_wait_for_an_hour(stub: Stub) -> None:
    stub.replies = [(429, {"Retry-After": "3600"}, "{}")]
    with pytest.raises(EmbedderError, match="run the same command again later") as caught:
        stub.embedder().embed(TEXTS)
    assert (caught.value.retryable, stub.waits) == (True, [])


@pytest.mark.parametrize(
    ("status", "advice"),
    [(401, "EMBEDDING_API_KEY"), (403, "EMBEDDING_API_KEY"), (404, "EMBEDDING_BASE_URL"), (400, "EMBEDDING_MODEL")],
)
def test_endpoint_does_not_repeat_what_was_refused(stub: Stub, status: int, advice: str) -> None:
    stub.replies = [(status, {}, '{"error": "no"}')]
    with pytest.raises(EmbedderError, match=advice) as caught:
        stub.embedder().embed(TEXTS)
    assert not caught.value.retryable
    assert (len(stub.requests), stub.waits) == (1, [])


def test_endpoint_follows_no_redirect(stub: Stub) -> None:
    stub.replies = [(307, {"Location": f"{stub.url}/elsewhere"}, "")]
    with pytest.raises(EmbedderError, match="answered 307"):
        stub.embedder().embed(TEXTS)
    assert stub.paths == ["/v1/embeddings"]


def item(embedding: Any, index: Any = 0) -> dict[str, Any]:
    return {"index": index, "embedding": embedding}


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ((200, {}, "{not json"), "cannot be used"),
        ((200, {"Content-Type": "text/html"}, "<html>login</html>"), "cannot be used"),
        ((200, {}, "[]"), "no list `data`"),
        ((200, {}, '{"data": null}'), "no list `data`"),
        ((200, {}, '{"data": [1, 2]}'), "no list `data`"),
        (reply([item([1.0])]), "1 vectors for 2 texts"),
        (reply([item([1.0]), item([2.0])]), "does not count the texts"),
        (reply([item([1.0]), item([2.0], 5)]), "does not count the texts"),
        (reply([item([1.0]), item([2.0], [])]), "does not count the texts"),
        (reply([item([1.0]), item([float("nan")], 1)]), "not finite"),
        (reply([item([1.0]), item([1.0], True)]), "does not count the texts"),
        (reply([item([1.0]), item(["2"], 1)]), "not a list of numbers"),
        (reply([item([1.0]), item([True], 1)]), "not a list of numbers"),
        (reply([item([1.0]), item([], 1)]), "not a list of numbers"),
        (reply([item([1.0]), item("AAAA", 1)]), "not a list of numbers"),
        (reply([item([1.0]), item([1.0, 2.0], 1)]), "different lengths"),
        (reply([item([1.0]), item([0.0], 1)]), "all zero"),
        (reply([item([1.0]), item([10**400], 1)]), "not finite"),
    ],
)
def test_endpoint_refuses_a_reply_that_is_no_embedding(stub: Stub, answer: Reply, words: str) -> None:
    stub.replies = [answer]
    with pytest.raises(EmbedderError, match=words) as caught:
        stub.embedder().embed(["one", "two"])
    assert "check EMBEDDING_" in str(caught.value)


def test_endpoint_that_is_not_there_is_named_without_its_secrets(stub: Stub) -> None:
    waits: list[float] = []
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    embedder = EndpointEmbedder(f"http://127.0.0.1:{port}/v1?key=hidden", "tiny", "k", sleep=waits.append)
    with pytest.raises(EmbedderError, match="EMBEDDING_BASE_URL") as caught:
        embedder.embed(TEXTS)
    assert caught.value.retryable
    assert waits == [1.0, 2.0, 4.0, 8.0]
    assert f"127.0.0.1:{port}/v1" in str(caught.value)
    assert "hidden" not in str(caught.value) + embedder.identity


@pytest.mark.parametrize(
    ("url", "model", "named"),
    [("", "tiny", "EMBEDDING_BASE_URL"), (None, "tiny", "EMBEDDING_BASE_URL"), ("localhost/v1", "tiny", "http://"),
     ("http://localhost/v1", "", "EMBEDDING_MODEL"), ("http://me:pw@localhost/v1", "m", "EMBEDDING_API_KEY")],
)  # fmt: skip
def test_endpoint_needs_an_address_and_a_model(url: str | None, model: str, named: str) -> None:
    with pytest.raises(ConfigError, match=named):
        EndpointEmbedder(url, model, None)


def test_endpoint_takes_nothing_from_the_environment_of_the_client(stub: Stub, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "OPENAI_BASE_URL"):
        monkeypatch.setenv(name, "leaked")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "Authorization: Bearer leaked\nX-Secret: leaked")
    stub.embedder(key=None).embed(TEXTS)
    assert "leaked" not in json.dumps(stub.headers)
    assert not [
        name for name in stub.headers[0] if name.startswith("x-stainless") and name != "x-stainless-raw-response"
    ]


def test_endpoint_asks_no_proxy_that_the_environment_names(stub: Stub, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    assert len(stub.embedder().embed(TEXTS)) == 3


def test_endpoint_that_repeats_the_key_does_not_get_it_into_a_message(stub: Stub) -> None:
    stub.replies = [(401, {}, '{"error": {"message": "Incorrect API key provided: hush-hush"}}')]
    with pytest.raises(EmbedderError, match=r"provided: \[key\]") as caught:
        stub.embedder(key="hush-hush").embed(TEXTS)
    assert "hush" not in str(caught.value)


def test_endpoint_that_sends_without_end_is_not_read_on(stub: Stub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoint, "MOST_BYTES", 2_000_000)
    stub.replies = [(200, {}, "[" * 3_000_000)]
    with pytest.raises(EmbedderError, match="more than 2 MB"):
        stub.embedder().embed(TEXTS)


def test_endpoint_that_takes_too_long_in_all_is_left(stub: Stub) -> None:
    stub.replies = [(200, {}, " " * 3_000_000)] * ATTEMPTS
    ticks = iter(range(0, 10**9, 61))
    embedder = EndpointEmbedder(stub.url, "tiny", None, sleep=stub.waits.append, clock=lambda: next(ticks))
    with pytest.raises(EmbedderError, match="within 60 s") as caught:
        embedder.embed(TEXTS)
    assert caught.value.retryable and len(stub.requests) == ATTEMPTS


def test_identity_tells_models_and_addresses_apart() -> None:
    pairs = [("http://a/v1", "m"), ("http://a/v1", "n"), ("http://b/v1", "m")]
    assert len({EndpointEmbedder(url, model, None).identity for url, model in pairs}) == 3


# --- what calls take


def told(**usage: int) -> Callable[[list[str]], Reply]:
    """A good reply that says what it took."""
    return lambda texts: (200, {}, json.dumps({**json.loads(good(texts)[2]), "usage": usage}))


def test_tokens_are_booked_as_the_endpoint_tells_them_else_estimated_and_said_to_be(stub: Stub) -> None:
    ledger = Ledger()
    stub.replies = [told(prompt_tokens=70, total_tokens=70), told(total_tokens=30)]
    asked = stub.embedder(meter=ledger.call)
    asked.embed(TEXTS)
    asked.embed(["Saved it."])
    assert ledger.stages["embed"] == Spend(2, 100, 0, None, 0)
    asked.embed(["Saved it once more, and then the workbook was closed."])
    spent = ledger.stages["embed"]
    assert (spent.calls, spent.guessed) == (3, 1) and 110 < spent.prompt_tokens < 130


@pytest.mark.parametrize(
    ("failure", "attempts", "booked"),
    [
        ((200, {}, "<html>"), 1, 1),
        ((200, {}, json.dumps({"data": [], "usage": {"prompt_tokens": 5}})), 1, 1),
        ((429, {}, "{}"), ATTEMPTS, 0),
        ((500, {}, "{}"), ATTEMPTS, 0),
        ((401, {}, "{}"), 1, 0),
    ],
)
def test_a_failed_call_is_booked_when_the_endpoint_may_have_worked_for_it(
    stub: Stub, failure: Reply, attempts: int, booked: int
) -> None:
    ledger = Ledger()
    stub.replies = [failure] * ATTEMPTS
    with pytest.raises(EmbedderError):
        stub.embedder(meter=ledger.call).embed(TEXTS)
    assert len(stub.requests) == attempts
    assert ledger.spent.calls == booked


def test_no_call_starts_that_could_pass_a_limit_or_after_a_halt(stub: Stub) -> None:
    asked = stub.embedder(meter=Ledger(cap_tokens=20).call)
    with pytest.raises(BudgetSpent, match="max_tokens_total"):
        asked.embed(TEXTS)
    asked.halt()
    with pytest.raises(AnalystError, match="stopped on request"):
        asked.embed(TEXTS)
    assert stub.requests == []
