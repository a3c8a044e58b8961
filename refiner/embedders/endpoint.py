"""Vectors from any endpoint that speaks OpenAI's embeddings protocol. Sends only to the address it was given.

Retries are ours, not the client's, so that they are bounded, seen by tests, and heed the server's wish to wait.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Sequence
from functools import cached_property
from operator import itemgetter
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit, urlunsplit

from refiner.errors import ConfigError, EmbedderError

if TYPE_CHECKING:
    from refiner.ports import Vectors

BATCH = 64
ATTEMPTS = 5
LONGEST_WAIT = 60.0  # seconds; a server that wants more is not waited for
TIMEOUT = 60.0
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
    """Embeds by POST to `base_url`/embeddings. Raises ConfigError without a base URL or a model; opens nothing yet."""

    name = "endpoint"

    def __init__(
        self,
        base_url: str | None,
        model: str | None,
        api_key: str | None,
        *,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        if not base_url:
            raise ConfigError(
                "an embedding endpoint needs its address: set EMBEDDING_BASE_URL, e.g. http://localhost/v1"
            )
        if urlsplit(base_url).scheme not in ("http", "https"):
            raise ConfigError("EMBEDDING_BASE_URL must start with http:// or https://")
        if not model:
            raise ConfigError("an embedding endpoint needs the name of a model: set EMBEDDING_MODEL")
        self._base_url, self._model, self._api_key, self._sleep = base_url, model, api_key or "none", sleep
        self.identity = f"endpoint {self._shown_url} {model}"

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

    def _batch(self, texts: list[str]) -> list[list[float]]:
        try:
            return _vectors(json.loads(self._ask(texts)), len(texts))
        except ValueError as problem:
            raise self._error(f"sent a reply that cannot be used ({problem}): check EMBEDDING_BASE_URL") from problem

    def _ask(self, texts: list[str]) -> str:
        """The body of the reply, after as many attempts as it takes and is allowed."""
        import openai

        for attempt in range(1, ATTEMPTS + 1):
            try:
                reply = self._client.embeddings.with_raw_response.create(
                    model=self._model, input=texts, encoding_format="float"
                )
                return str(reply.http_response.text)
            except openai.APIStatusError as problem:
                failure = self._refused(problem)
                wait = _wished_wait(problem.response.headers.get("retry-after"), attempt)
            except openai.APIConnectionError as problem:
                failure = self._error(
                    f"cannot be reached ({problem.__cause__ or problem}): start it, or check EMBEDDING_BASE_URL",
                    retryable=True,
                )
                wait = 2.0 ** (attempt - 1)
            if not failure.retryable or attempt == ATTEMPTS or wait > LONGEST_WAIT:
                raise failure
            self._sleep(wait)
        raise AssertionError("the last attempt returns or raises")

    @cached_property
    def _client(self) -> Any:
        """A client that reads no setting of its own from the environment and follows no redirect to another host."""
        import openai

        return openai.OpenAI(
            api_key=self._api_key,
            base_url=self._base_url,
            organization="",
            project="",
            timeout=TIMEOUT,
            max_retries=0,
            http_client=openai.DefaultHttpxClient(follow_redirects=False),
        )

    def _refused(self, problem: Any) -> EmbedderError:
        status = problem.status_code
        retryable = status in _RETRIED or status >= 500
        advice = _ADVICE.get(status, "try again later" if retryable else "check EMBEDDING_BASE_URL and EMBEDDING_MODEL")
        said = " ".join(problem.response.text.split())[:200]
        return self._error(f"answered {status}{f' ({said})' if said else ''}: {advice}", retryable=retryable)

    def _error(self, what: str, *, retryable: bool = False) -> EmbedderError:
        return EmbedderError(f"the embedding endpoint {self._shown_url} {what}", retryable=retryable)

    @property
    def _shown_url(self) -> str:
        """The address without a user name, password or query, which may be secrets."""
        parts = urlsplit(self._base_url)
        return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path.rstrip("/"), "", ""))


def _sendable(text: str) -> str:
    """Valid Unicode that is not blank."""
    return text.encode("utf-8", "replace").decode("utf-8") if text.strip() else EMPTY


def _wished_wait(header: str | None, attempt: int) -> float:
    """Seconds to wait: what the server asks for, else twice as long at every attempt."""
    try:
        wished = float(header or "")
    except ValueError:
        return 2.0 ** (attempt - 1)
    return max(wished, 0.0) if math.isfinite(wished) else 2.0 ** (attempt - 1)


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
