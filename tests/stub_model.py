"""A model endpoint on loopback: chat completions and embeddings over real HTTP, with scripted faults.

In a test:      with StubModel() as stub: stub.script(status(429), RESET); stub.answer = lambda body: '{"ok": true}'
In a process:   python -m tests.stub_model --latency 1.0   (prints its address, ends with its standard input)

Everything that arrives is in `stub.calls`. A fault is used up by one call; when none is left, calls are answered.
`stub.refuses` = forms of reply it does not know ("schema", "json"), `stub.key` = the only key it takes, `stub.models` =
the only models, `stub.limits` = how many chat calls may be open at once before it says 429, `stub.listing` = what it
lists of its models, `stub.tells` = whether embeddings come with their tokens.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import socket
import struct
import sys
import threading
from collections import deque
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

JSON = "application/json"
DEFAULT = '{"ok": true}'


@dataclass(frozen=True)
class Call:
    path: str
    headers: dict[str, str]
    body: dict[str, Any]

    @property
    def form(self) -> str:
        """Which form of reply was asked for: schema, json or plain."""
        kind = (self.body.get("response_format") or {}).get("type", "text")
        return {"json_schema": "schema", "json_object": "json"}.get(kind, "plain")


@dataclass
class Exchange:
    """What a fault may do with one connection."""

    call: Call
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def send(
        self, body: bytes, status: int = 200, content_type: str = JSON, headers: dict[str, str] | None = None
    ) -> None:
        self.writer.write(head(status, len(body), content_type, headers or {}) + body)
        await self.writer.drain()

    async def gone(self) -> None:
        """Returns when the client has closed the connection."""
        with suppress(ConnectionError):
            while await self.reader.read(65536):
                pass


Fault = Callable[[Exchange], Awaitable[None]]
"""A fault that leaves the connection usable returns; one that ends it raises ConnectionError."""


def head(status: int, length: int, content_type: str = JSON, headers: dict[str, str] | None = None) -> bytes:
    lines = [f"HTTP/1.1 {status} Stub", f"content-type: {content_type}", f"content-length: {length}"]
    lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def completion(
    text: str | None = DEFAULT, *, finish: str = "stop", usage: tuple[int, int] | None = (100, 20), **message: Any
) -> dict[str, Any]:
    """The body of a chat completion."""
    body: dict[str, Any] = {
        "id": "stub",
        "object": "chat.completion",
        "model": "stub-model-1",
        "choices": [
            {"index": 0, "finish_reason": finish, "message": {"role": "assistant", "content": text, **message}}
        ],
    }
    if usage is not None:
        body["usage"] = {"prompt_tokens": usage[0], "completion_tokens": usage[1], "total_tokens": sum(usage)}
    return body


def status(number: int, message: str = "no", headers: dict[str, str] | None = None, **error: Any) -> Fault:
    """An error with a body as endpoints send it."""
    return reply({"error": {"message": message, **error}}, number, headers=headers)


def reply(body: Any, code: int = 200, content_type: str = JSON, headers: dict[str, str] | None = None) -> Fault:
    """Any body: bytes and texts as they are, everything else as JSON."""
    data = body if isinstance(body, bytes) else (body if isinstance(body, str) else json.dumps(body)).encode()

    async def act(exchange: Exchange) -> None:
        await exchange.send(data, code, content_type, headers)

    return act


def says(text: str | None, **more: Any) -> Fault:
    """A reply of the model with this text."""
    return reply(completion(text, **more))


async def HANG(exchange: Exchange) -> None:
    """Takes the request and never answers."""
    await exchange.gone()
    raise ConnectionError


async def RESET(exchange: Exchange) -> None:
    """Resets the connection in place of an answer."""
    taken: socket.socket = exchange.writer.get_extra_info("socket")
    taken.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    exchange.writer.transport.abort()
    raise ConnectionError


async def TRUNCATED(exchange: Exchange) -> None:
    """Promises more bytes than it sends."""
    body = json.dumps(completion()).encode()
    exchange.writer.write(head(200, len(body) + 500) + body)
    await exchange.writer.drain()
    raise ConnectionError


async def HALF_CLOSED(exchange: Exchange) -> None:
    """Closes its half of the connection without an answer and goes on listening."""
    exchange.writer.write_eof()
    await exchange.gone()
    raise ConnectionError


async def SLOW_STREAM(exchange: Exchange) -> None:
    """Sends a body byte by byte, often enough for every time-out between two bytes, and never comes to an end."""
    exchange.writer.write(head(200, 10_000_000))
    with suppress(ConnectionError):
        while not exchange.writer.is_closing():
            exchange.writer.write(b" ")
            await exchange.writer.drain()
            await asyncio.sleep(0.01)
    raise ConnectionError


async def HUGE(exchange: Exchange) -> None:
    """A well-formed reply of 64 MB."""
    opening, closing = json.dumps(completion("@")).encode().split(b"@")
    exchange.writer.write(head(200, len(opening) + len(closing) + 64 * 2**20) + opening)
    with suppress(ConnectionError):
        for _ in range(64):
            exchange.writer.write(b"x" * 2**20)
            await exchange.writer.drain()
        exchange.writer.write(closing)
        return
    raise ConnectionError


WRONG_TYPE = reply("<html>Welcome to the proxy</html>", content_type="text/html")
INVALID_JSON = reply('{"choices": [{"message": ')
EMPTY_BODY = reply("")
WRONG_SCHEMA = reply({"completion": "hello"})
NO_CHOICES = reply({"choices": []})
ERROR_IN_200 = reply({"error": {"message": "upstream is gone", "code": 502}})
DUPLICATE_KEYS = reply('{"choices": [], ' + json.dumps(completion())[1:])
REFUSAL = says(None, refusal="I cannot help with that.")
LENGTH = says('{"ok": tr', finish="length")
EMPTY = says("")
TOOL_CALL = says(
    None,
    finish="tool_calls",
    tool_calls=[{"id": "1", "type": "function", "function": {"name": "reply", "arguments": '{"ok": true}'}}],
)


@dataclass
class StubModel:
    """The endpoint, in a thread of this process; a context manager. `url` is what a client is given."""

    latency: float = 0.0
    answer: Callable[[dict[str, Any]], str | Fault] = lambda body: DEFAULT
    refuses: set[str] = field(default_factory=set)
    key: str | None = None
    models: set[str] | None = None
    limits: int | None = None
    listing: Any = None
    tells: bool = True
    calls: list[Call] = field(default_factory=list)
    faults: deque[Fault] = field(default_factory=deque)
    port: int = 0
    most_open: int = 0
    _open: int = 0
    _loop: asyncio.AbstractEventLoop | None = None
    _thread: threading.Thread | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def chats(self) -> list[Call]:
        return [call for call in self.calls if "/chat/completions" in call.path]

    @property
    def embedded(self) -> list[Call]:
        return [call for call in self.calls if "/embeddings" in call.path]

    def script(self, *faults: Fault) -> None:
        """What the next calls meet, one each, in this order."""
        self.faults.extend(faults)

    def __enter__(self) -> StubModel:
        ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve(ready)), daemon=True)
        self._thread.start()
        ready.wait(20)
        return self

    def __exit__(self, *_: object) -> None:
        if self._loop is not None and self._thread is not None:
            self._loop.call_soon_threadsafe(self._stop.set)
            self._thread.join(20)

    async def _serve(self, ready: threading.Event) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        tasks: set[asyncio.Task[None]] = set()

        def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.ensure_future(self._connection(reader, writer))
            tasks.add(task)
            task.add_done_callback(tasks.discard)

        server = await asyncio.start_server(connected, "127.0.0.1", self.port, backlog=512)
        self.port = server.sockets[0].getsockname()[1]
        ready.set()
        await self._stop.wait()
        server.close()
        for task in list(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while (call := await _request(reader)) is not None:
                self.calls.append(call)
                await self._respond(Exchange(call, reader, writer))
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            with suppress(ConnectionError, RuntimeError):
                writer.close()

    async def _respond(self, exchange: Exchange) -> None:
        self._open += 1
        self.most_open = max(self.most_open, self._open)
        too_many = self.limits is not None and self._open > self.limits
        try:
            if too_many:
                return await status(429, "slow down", {"retry-after": "1"})(exchange)
            if self.faults:
                return await self.faults.popleft()(exchange)
            if self.latency:
                await asyncio.sleep(self.latency)
            await self._usual(exchange)
        finally:
            self._open -= 1

    async def _usual(self, exchange: Exchange) -> None:
        call = exchange.call
        if self.key is not None and call.headers.get("authorization") != f"Bearer {self.key}":
            given = call.headers.get("authorization", "").removeprefix("Bearer ")
            return await status(401, f"Incorrect API key provided: {given}", code="invalid_api_key")(exchange)
        path = call.path.partition("?")[0]
        if path.endswith("/models") and self.listing is not None:
            return await exchange.send(json.dumps(self.listing).encode())
        if self.models is not None and call.body.get("model") not in self.models:
            message = f"The model `{call.body.get('model')}` does not exist"
            return await status(404, message, code="model_not_found")(exchange)
        if path.endswith("/embeddings"):
            found = embeddings(call.body)
            return await exchange.send(json.dumps(found if self.tells else {**found, "usage": None}).encode())
        if not path.endswith("/chat/completions"):
            return await exchange.send(b"not found", 404, "text/plain")
        if call.form in self.refuses:
            message = f"response_format of type {call.body['response_format']['type']} is not supported"
            return await status(400, message, type="invalid_request_error")(exchange)
        answer = self.answer(call.body)
        if not isinstance(answer, str):
            return await answer(exchange)
        asked = sum(len(message["content"]) for message in call.body["messages"])
        body = completion(answer, usage=(asked // 4, len(answer) // 4))
        await exchange.send(json.dumps(body).encode())


def embeddings(body: dict[str, Any], width: int = 8) -> dict[str, Any]:
    """Vectors that depend on the text only."""
    texts = body["input"] if isinstance(body["input"], list) else [body["input"]]
    rows = [[byte / 255 for byte in hashlib.sha256(text.encode()).digest()[:width]] for text in texts]
    tokens = sum(map(len, texts)) // 4
    return {
        "data": [{"index": place, "embedding": row} for place, row in enumerate(rows)],
        "model": body.get("model"),
        "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
    }


async def _request(reader: asyncio.StreamReader) -> Call | None:
    """The next request of a connection; None when the client has closed it."""
    try:
        raw = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None
    first, *lines = raw.decode("latin-1").split("\r\n")
    headers = {
        name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines) if name
    }
    data = await reader.readexactly(int(headers.get("content-length", "0")))
    return Call(first.split(" ")[1], headers, json.loads(data) if data else {})


def stubbed(**settings: Any) -> Iterator[StubModel]:
    """For a fixture: `yield from stubbed()`."""
    with StubModel(**settings) as stub:
        yield stub


def main() -> int:
    parser = argparse.ArgumentParser(description="A model endpoint on loopback.")
    parser.add_argument("--latency", type=float, default=0.0)
    parser.add_argument("--reply", default=DEFAULT)
    given = parser.parse_args()
    with StubModel(latency=given.latency, answer=lambda body: given.reply) as stub:
        print(stub.url, flush=True)
        sys.stdin.read()
    return 0


if __name__ == "__main__":
    sys.exit(main())
