"""Vectors from any endpoint that speaks OpenAI's embeddings protocol. Sends only to the address it was given.

The client is the one of the model transport, with the same guards. Retries are ours, not the client's, so that they
are bounded, seen by tests, and heed the server's wish to wait. The key is held by the client alone. What calls take is
told to a meter; limits are its business.
"""

from __future__ import annotations

import json
import math
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from functools import cached_property
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from refiner.errors import AnalystError, ConfigError, EmbedderError
from refiner.transports import Reply, Request, address
from refiner.transports.base import HALTED
from refiner.transports.client import open_client, post, read_body
from refiner.transports.envelope import embedding_tokens, said
from refiner.transports.http import Meter, unmetered
from refiner.transports.retry import wished

if TYPE_CHECKING:
    from refiner.ports import Vectors

STAGE = "embed"
"""Where a ledger books what calls take."""
BATCH = 64
ATTEMPTS = 5
LONGEST_WAIT = 60.0  # seconds; a server that wants more is not waited for
TIMEOUT = 60.0
MOST_BYTES = 64_000_000  # 64 vectors of 8,192 numbers are below 15 MB
EMPTY = "(empty)"  # endpoints refuse an empty text; this one stands in for it
_RETRIED = (408, 409, 425, 429)
_ADVICE = {
    401: "check EMBEDDING_API_KEY",
    403: "check EMBEDDING_API_KEY and what it may use",
    404: "check EMBEDDING_BASE_URL (it usually ends in /v1) and EMBEDDING_MODEL",
    413: "the texts are too long for it: choose another EMBEDDING_MODEL",
    429: "run the same command again later",
}


class EndpointEmbedder:
    """Embeds by POST to `base_url`/embeddings. Raises ConfigError for an address, a model or a key that cannot be used.

    Opens no connection yet. `meter` stands around every attempt, may refuse it, and is told what it took.
    """

    name = "endpoint"

    def __init__(
        self,
        base_url: str | None,
        model: str | None,
        api_key: str | None,
        *,
        timeout: float = TIMEOUT,
        sleep: Callable[[float], object] | None = None,
        clock: Callable[[], float] = time.monotonic,
        meter: Meter = unmetered,
    ) -> None:
        self._address = address.Address.of(base_url, address.EMBEDDING)
        self._key = address.checked_key(api_key, address.EMBEDDING)
        if not model:
            raise ConfigError("an embedding endpoint needs the name of a model: set EMBEDDING_MODEL")
        self._model, self._timeout, self._clock, self._meter = model, timeout, clock, meter
        self._halted = threading.Event()
        self._sleep = sleep or self._halted.wait
        self.identity = f"endpoint {self._address.shown} {model}"

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Returns `(len(texts), d) float32` with rows of unit norm; equal texts are sent once, 64 at a time.

        Raises EmbedderError (`retryable` when trying again later may help), saying what to do.
        """
        import numpy as np

        sendable = [_sendable(text) for text in texts]
        distinct = list(dict.fromkeys(sendable))
        vectors: list[list[float]] = []
        for start in range(0, len(distinct), BATCH):
            vectors += self._batch(distinct[start : start + BATCH])
        if len({len(vector) for vector in vectors}) > 1:
            raise self._error("sent vectors of different lengths: check EMBEDDING_MODEL")
        rows = np.array(vectors, dtype=np.float64).reshape(len(distinct), len(vectors[0]) if vectors else 0)
        norms = np.linalg.norm(rows, axis=1, keepdims=True)
        if not (np.isfinite(norms).all() and norms.all()):
            raise self._error("sent a vector that is all zero or too large: check EMBEDDING_MODEL")
        place = {text: number for number, text in enumerate(distinct)}
        return np.asarray((rows / norms).astype(np.float32)[[place[text] for text in sendable]])

    def halt(self) -> None:
        """Lets no further attempt start: it raises AnalystError. One that waits for its turn gives up at once."""
        self._halted.set()

    def _batch(self, texts: list[str]) -> list[list[float]]:
        try:
            return _vectors(self._ask(texts), len(texts))
        except ValueError as problem:
            raise self._unusable(str(problem)) from None

    def _ask(self, texts: list[str]) -> Any:
        """The reply, parsed, after as many attempts as it takes and is allowed."""
        for attempt in range(1, ATTEMPTS + 1):
            if self._halted.is_set():
                raise AnalystError(HALTED, systemic=True)
            try:
                return self._metered(texts)
            except _Failed as failed:
                wait = 2.0 ** (attempt - 1) if failed.wish is None else failed.wish
                if not failed.error.retryable or attempt == ATTEMPTS or wait > LONGEST_WAIT:
                    raise failed.error from None
            self._sleep(wait)
        raise AssertionError("the last attempt returns or raises")

    def _metered(self, texts: list[str]) -> Any:
        """One call with its books kept, also of one that failed when the endpoint may have worked for it."""
        request = Request.of(STAGE, f"{len(texts)} texts", "", "\n".join(texts), {}, self._model, 0)
        with self._meter(request) as came:
            try:
                reply = self._parsed(self._send(texts))
            except _Failed as failed:
                came += [Reply("", self._model, "", None, 0)] if failed.taken else []
                raise
            came.append(Reply("", self._model, "stop", embedding_tokens(reply), 0))
            return reply

    def _parsed(self, body: bytes) -> Any:
        try:
            return json.loads(body)
        except RecursionError:
            raise _Failed(self._unusable("nested too deeply"), taken=True) from None
        except ValueError as problem:
            raise _Failed(self._unusable(str(problem)), taken=True) from None

    def _send(self, texts: list[str]) -> bytes:
        """One call. Raises _Failed."""
        import httpx2
        import openai

        body = {"model": self._model, "input": texts, "encoding_format": "float"}
        started, began = self._clock(), False
        try:
            with closing(post(self._client, "/embeddings", body)) as response:
                began = True
                return read_body(response, MOST_BYTES, lambda: self._clock() - started > self._timeout)
        except openai.APIStatusError as problem:
            wish = wished(problem.response.headers, time.time())
            raise _Failed(self._refused(problem.response), wish) from None
        except (openai.APITimeoutError, httpx2.TimeoutException, TimeoutError) as problem:
            words = f"did not finish a reply within {self._timeout:g} s: run the same command again"
            met = not isinstance(problem.__cause__ or problem, httpx2.ConnectTimeout)
            raise _Failed(self._error(words, retryable=True), taken=met) from None
        except ValueError as problem:
            raise _Failed(self._unusable(str(problem)), taken=True) from None
        except (openai.APIConnectionError, httpx2.TransportError, httpx2.DecodingError) as problem:
            why = self._clean(str(problem.__cause__ or problem)) or type(problem).__name__
            words = f"cannot be reached ({why}): start it, or check EMBEDDING_BASE_URL"
            raise _Failed(self._error(words, retryable=True), taken=began) from None

    @cached_property
    def _client(self) -> Any:
        return open_client(self._address, self._key, self._timeout)

    def _refused(self, response: Any) -> EmbedderError:
        status = response.status_code
        retryable = status in _RETRIED or status >= 500
        advice = _ADVICE.get(status, "try again later" if retryable else "check EMBEDDING_BASE_URL and EMBEDDING_MODEL")
        words = self._clean(said(response.text))[:200]
        return self._error(f"answered {status}{f' ({words})' if words else ''}: {advice}", retryable=retryable)

    def _unusable(self, why: str) -> EmbedderError:
        return self._error(f"sent a reply that cannot be used ({self._clean(why)}): check EMBEDDING_BASE_URL")

    def _error(self, what: str, *, retryable: bool = False) -> EmbedderError:
        return EmbedderError(f"the embedding endpoint {self._address.shown} {what}", retryable=retryable)

    def _clean(self, text: str) -> str:
        """The endpoint's words without the key, which some repeat."""
        return text.replace(self._key, "[key]") if self._key else text


class _Failed(Exception):
    """One attempt failed; `wish`: the seconds the server asked to wait. `taken`: it may have to be paid for."""

    def __init__(self, error: EmbedderError, wish: float | None = None, *, taken: bool = False) -> None:
        super().__init__(str(error))
        self.error, self.wish, self.taken = error, wish, taken


def _sendable(text: str) -> str:
    """Valid Unicode that is not blank."""
    return text.encode("utf-8", "replace").decode("utf-8") if text.strip() else EMPTY


def _vectors(reply: Any, wanted: int) -> list[list[float]]:
    """The vectors of a reply in the order of the texts. Raises ValueError saying what is wrong with it."""
    data = reply.get("data") if isinstance(reply, dict) else None
    if not isinstance(data, list) or not all(isinstance(item, dict) for item in data):
        raise ValueError("no list `data` of objects")
    if len(data) != wanted:
        raise ValueError(f"{len(data)} vectors for {wanted} texts")
    places = [item.get("index", place) for place, item in enumerate(data)]
    if not all(type(place) is int for place in places) or sorted(places) != list(range(wanted)):
        raise ValueError("the field `index` does not count the texts")
    return [_numbers(item.get("embedding")) for _, item in sorted(zip(places, data, strict=True), key=itemgetter(0))]


def _numbers(vector: Any) -> list[float]:
    if not isinstance(vector, list) or not vector or not all(type(value) in (int, float) for value in vector):
        raise ValueError("an embedding that is not a list of numbers")
    try:
        numbers = [float(value) for value in vector]
    except OverflowError:
        numbers = [math.inf]
    if not all(map(math.isfinite, numbers)):
        raise ValueError("an embedding with a number that is not finite")
    return numbers
