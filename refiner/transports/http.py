"""Replies from any endpoint that speaks OpenAI's chat completions. Sends only to the address it was given.

Retries are ours, not the client's: bounded, seen by tests, heeding the server's wish to wait. The key is held by the
client alone; no message, text form or file has it.
"""

from __future__ import annotations

import json
import random
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import dataclass, replace
from typing import Any

from refiner.errors import AnalystError, ConfigError
from refiner.jsontext import clean
from refiner.transports import envelope, faults, listing
from refiner.transports.address import Address, checked_key
from refiner.transports.base import HALTED, Reply, Request
from refiner.transports.capability import Capabilities, Capability, Level
from refiner.transports.client import get, open_client, post, read_body
from refiner.transports.retry import LONGEST_WAIT, Breaker, Failed, Pace, Part, Refused, backoff

TIMEOUT = 300.0
"""Seconds for a whole reply; local models take their time."""
MOST_BYTES = 8_000_000
"""The longest body that is read; the longest honest reply is far below."""


@dataclass(frozen=True, slots=True)
class Connection:
    """What a test of the connection found. `part`: what is wrong there; None = nothing, everything works."""

    part: Part | None
    words: str
    level: Level | None = None


Meter = Callable[[Request], AbstractContextManager[list[Reply]]]


def unmetered(request: Request) -> AbstractContextManager[list[Reply]]:
    """Keeps no books."""
    return nullcontext([])


class HttpTransport:
    """Raises ConfigError for an address or a key that cannot be used; opens no connection yet.

    `meter` stands around every attempt and is told what it took, also when nothing came of it (`Ledger.call`).
    """

    name = "http"

    def __init__(
        self,
        base_url: str | None,
        api_key: str | None,
        *,
        timeout: float = TIMEOUT,
        capabilities: Capabilities | None = None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], object] | None = None,
        jitter: Callable[[], float] = random.random,
        breaker: Breaker | None = None,
        meter: Meter = unmetered,
    ) -> None:
        self.address = Address.of(base_url)
        self._key, self._timeout, self._clock = checked_key(api_key), timeout, clock
        self._breaker, self._meter = breaker or Breaker(), meter
        self._sleep = sleep or self._breaker.opened.wait
        self._jitter, self._pace = jitter, Pace(clock, self._sleep, jitter)
        self._capabilities = Capabilities() if capabilities is None else capabilities
        self._opening = threading.Lock()
        self._opened: Any = None

    def __repr__(self) -> str:
        return f"HttpTransport({self.address.shown!r})"

    @property
    def host(self) -> str:
        """The host, with its port, that receives the prompts."""
        return self.address.host

    def complete(self, request: Request) -> Reply:
        """The model's reply, after as many attempts as it takes and is allowed.

        Raises AnalystError (`retryable`: another time may do; `systemic`: nothing else will work either), or
        ConfigError for an address or a model that is not there.
        """
        try:
            return self._asked(_sendable(request))
        except Failed as failed:
            raise failed.error from None

    def check(self, model: str, window: int = 0) -> Connection:
        """Sends one short prompt and says which of address, key, model and JSON does not work, if any.

        `window`: how long prompts with their replies may be; too long by the endpoint's own list does not work either.
        """
        try:
            reply = self._asked(_sendable(replace(TEST, model=model)))
        except ConfigError as error:
            return Connection("model", str(error))
        except Failed as failed:
            return Connection(failed.part, str(failed.error))
        capability = self._capabilities.get(self._known_as(model))
        level = capability.level if capability else None
        try:
            json.loads(reply.text)
        except (ValueError, RecursionError):
            return Connection("json", f"{self._where(model)} did not reply with JSON when asked to", level)
        reads = self._reads(model) if window else None
        if reads is not None and reads < window:
            words = f"{self._where(model)} reads {reads:,} tokens at once, and prompts with replies may have {window:,}"
            return Connection("window", words, level)
        return Connection(None, f"{self._where(model)} works", level)

    def _reads(self, model: str) -> int | None:
        """How much the model reads at once, where the endpoint lists that; whatever goes wrong, it is not known."""
        import httpx2
        import openai

        started = self._clock()
        try:
            with closing(get(self._client(), "/models")) as response:
                body = read_body(response, MOST_BYTES, lambda: self._clock() - started > self._timeout)
        except (openai.APIError, httpx2.HTTPError, ValueError, TimeoutError):
            return None
        return listing.window(body, model)

    def halt(self) -> None:
        """Lets no further attempt start; those that wait for one give up at once."""
        self._breaker.failure(Failed(AnalystError(HALTED, systemic=True), "busy"))

    def close(self) -> None:
        """Ends the connections; a later call opens new ones."""
        with self._opening:
            opened, self._opened = self._opened, None
        if opened is not None:
            opened.close()

    def _known_as(self, model: str) -> str:
        return f"{self.address.shown} {model}"

    def _where(self, model: str) -> str:
        return f"the endpoint {self.address.shown} (model {model})"

    def _asked(self, request: Request) -> Reply:
        key = self._known_as(request.model)
        if (known := self._capabilities.get(key)) is None:
            with self._capabilities.first(key):
                if (known := self._capabilities.get(key)) is None:
                    reply, capability = self._negotiated(request, Capability(), proven=False)
                    self._capabilities.remember(key, capability.after_reply(request, reply))
                    return reply
        reply, capability = self._negotiated(request, known, proven=True)
        if capability != known:
            self._capabilities.remember(key, capability)
        return reply

    def _negotiated(self, request: Request, capability: Capability, *, proven: bool) -> tuple[Reply, Capability]:
        """The reply, and the way of asking that the endpoint took in the end."""
        while True:
            try:
                return self._attempts(request, capability), capability
            except Refused as refused:
                lower = capability.after_refusal(refused.status, refused.words, proven=proven)
                if lower is None:
                    raise refused.failed from None
                capability = lower

    def _attempts(self, request: Request, capability: Capability) -> Reply:
        failures = 0
        while True:
            self._pace.wait(self._breaker.check)
            try:
                reply = self._metered(request, capability)
            except Failed as failed:
                failures += 1
                wait = max(backoff(failures, self._jitter()), failed.wish or 0.0)
                if failures >= failed.attempts or wait > LONGEST_WAIT:
                    self._breaker.failure(failed)
                    raise
                if failed.wish is None:
                    self._sleep(wait)
                else:
                    self._pace.hold(wait)
            else:
                self._breaker.success()
                return reply

    def _metered(self, request: Request, capability: Capability) -> Reply:
        """One call, which the meter may hold up or refuse; what a failed one took is told as well."""
        with self._meter(request) as came:
            self._breaker.check()
            try:
                came.append(self._send(request, capability))
            except Failed as failed:
                came += [] if failed.taken is None else [Reply("", request.model, "", *failed.taken)]
                raise
            return came[0]

    def _send(self, request: Request, capability: Capability) -> Reply:
        """One call. Raises Failed or Refused."""
        import httpx2
        import openai

        where, started, began = self._where(request.model), self._clock(), False
        try:
            with closing(post(self._client(), "/chat/completions", capability.arguments(request))) as response:
                began = True
                body = self._body(response, where, started)
                content_type = response.headers.get("content-type", "")
        except openai.APIStatusError as problem:
            raise self._of_status(problem.response, where) from None
        except (openai.APITimeoutError, httpx2.TimeoutException) as problem:
            if isinstance(problem.__cause__ or problem, httpx2.ConnectTimeout):
                raise faults.unreachable(where, "no answer", met_before=self._breaker.worked) from None
            raise faults.too_slow(where, self._timeout) from None
        except (openai.APIConnectionError, httpx2.TransportError, httpx2.DecodingError) as problem:
            raise self._of_connection(problem.__cause__ or problem, where, began) from None
        try:
            return envelope.read(body, content_type, model=request.model, seconds=self._clock() - started)
        except ValueError as problem:
            raise faults.unusable(where, self._clean(str(problem)), envelope.usage(body)) from None

    def _body(self, response: Any, where: str, started: float) -> bytes:
        try:
            return read_body(response, MOST_BYTES, lambda: self._clock() - started > self._timeout)
        except TimeoutError:
            raise faults.too_slow(where, self._timeout) from None
        except ValueError as problem:
            raise faults.unusable(where, str(problem)) from None

    def _of_status(self, response: Any, where: str) -> Failed | Refused:
        body = self._clean(response.text)
        return faults.of_status(response.status_code, response.headers, body, where, time.time())

    def _of_connection(self, cause: BaseException, where: str, began: bool) -> Failed:
        import httpx2

        why = self._clean(str(cause)) or type(cause).__name__
        if isinstance(cause, httpx2.ConnectError):
            return faults.unreachable(where, why, met_before=self._breaker.worked)
        if isinstance(cause, httpx2.DecodingError):
            return faults.unusable(where, "its compression is broken")
        return faults.broken_off(where, why, began=began)

    def _clean(self, text: str) -> str:
        """The endpoint's words without the key, which some repeat."""
        return text.replace(self._key, "[key]") if self._key else text

    def _client(self) -> Any:
        with self._opening:
            if self._opened is None:
                self._opened = open_client(self.address, self._key, self._timeout)
            return self._opened


TEST = Request.of(
    "connection_test",
    "a test of the connection",
    "",
    'Reply with this JSON object and nothing else: {"ok": true}',
    {"type": "object", "additionalProperties": False, "required": ["ok"], "properties": {"ok": {"type": "boolean"}}},
    "",
    1000,
)
"""The prompt of a connection test; room for a model that thinks first."""


def _sendable(request: Request) -> Request:
    """The request as text that can be sent, without characters that UTF-8 does not know."""
    if not request.model:
        raise ConfigError("model: a model analyst needs the name of a model; set `--model NAME`")
    return replace(request, system=clean(request.system), user=clean(request.user))
