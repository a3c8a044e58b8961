"""Calls a second of the HTTP transport against a stub in a process of its own, with 64 calls in flight.

With 1 s latency: against the 64 calls a second that nothing can exceed. With 50 ms: against a bare thread pool around
the same `openai` client, and, as a mark for what Python can do at all, against `http.client` with one connection a
thread. All send the same prompt and read the same reply. Each is measured several times by turns, and the best counts,
since other programs only ever add to the time. The transport runs as in a refinement: steps on the thread executor.
"""

from __future__ import annotations

import http.client
import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from refiner.executors.local import ThreadExecutor
from refiner.ports import Tools
from refiner.transports.base import Reply, Request
from refiner.transports.capability import Capability
from refiner.transports.http import HttpTransport
from refiner.types import Step
from tests.bench.planted import row

IN_FLIGHT = 64
LATENCIES = (1.0, 0.05)
ROUNDS = {1.0: 8, 0.05: 20}
TURNS = {1.0: 2, 0.05: 4}
MODEL, KEY = "bench", "bench-key"
TEXT = json.dumps({"summary": "It read the order and changed it. " * 12, "observations": ["Read before writing."] * 6})
SCHEMA = {
    "type": "object",
    "additionalProperties": False,
    "required": ["summary", "observations"],
    "properties": {"summary": {"type": "string"}, "observations": {"type": "array", "items": {"type": "string"}}},
}
PROMPT = "A span of a run, with what went in and what came out, as it was recorded.\n" * 130
_ROOT = Path(__file__).resolve().parents[2]

Many = Callable[[int], None]
"""Makes so many calls, 64 at a time, and returns when all are answered."""


def run(rounds: dict[float, int] | None = None, turns: dict[float, int] | None = None) -> list[dict[str, Any]]:
    """The rows of the bench."""
    rows: list[dict[str, Any]] = []
    for latency in LATENCIES:
        with stub(latency) as url:
            calls = IN_FLIGHT * (rounds or ROUNDS)[latency]
            measure = _slow if latency >= 1 else _fast
            rows += measure(url, calls, (turns or TURNS)[latency], f"at_{latency * 1000:.0f}_ms")
    return rows


def _slow(url: str, calls: int, turns: int, name: str) -> list[dict[str, Any]]:
    with transport(url) as ours:
        rate = max(rates[0] for rates in _turns((ours,), calls, turns))
    return [row(f"client_calls_per_s_{name}", rate, "calls/s", str(IN_FLIGHT), round(rate / IN_FLIGHT, 3))]


def _fast(url: str, calls: int, turns: int, name: str) -> list[dict[str, Any]]:
    with transport(url) as ours, bare_openai(url) as openai_pool, bare_http(url) as http_pool:
        ways = (ours, openai_pool, http_pool)
        ours_rate, openai_rate, http_rate = (max(rates) for rates in zip(*_turns(ways, calls, turns), strict=True))
    return [
        row(
            f"client_calls_per_s_{name}", ours_rate, "calls/s", f"{openai_rate:.1f}", round(ours_rate / openai_rate, 3)
        ),
        row(f"bare_openai_calls_per_s_{name}", openai_rate, "calls/s"),
        row(
            f"bare_http_client_calls_per_s_{name}",
            http_rate,
            "calls/s",
            f"{ours_rate:.1f}",
            round(http_rate / ours_rate, 3),
        ),
    ]


def _turns(ways: tuple[Many, ...], calls: int, turns: int) -> list[list[float]]:
    return [[_rate(way, calls) for way in ways] for _ in range(turns)]


def _rate(many: Many, calls: int) -> float:
    """Calls a second, after a first call a thread that opens the connections."""
    many(IN_FLIGHT)
    begun = time.perf_counter()
    many(calls)
    return calls / (time.perf_counter() - begun)


@contextmanager
def stub(latency: float) -> Iterator[str]:
    """The address of a stub in a process of its own."""
    command = [sys.executable, "-m", "tests.stub_model", "--latency", str(latency), "--reply", TEXT]
    with subprocess.Popen(command, cwd=_ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stdin is not None
        yield process.stdout.readline().strip()
        process.stdin.close()


@contextmanager
def transport(url: str) -> Iterator[Many]:
    """The product: its transport below its executor."""
    asked = HttpTransport(url, KEY)
    tools = Tools(analyst=asked, embedder=None)  # type: ignore[arg-type]
    prompt = request()

    def step(step: Step, tools: Tools) -> tuple[Reply]:
        return (asked.complete(prompt),)

    def many(calls: int) -> None:
        steps = [Step("bench", str(number), str(number), None) for number in range(calls)]
        done = list(ThreadExecutor(IN_FLIGHT).map(step, steps, tools))
        assert all(one.error is None and one.records[0].text == TEXT for one in done)

    yield many
    asked.close()


@contextmanager
def bare_openai(url: str) -> Iterator[Many]:
    """A thread pool around the `openai` client, as its documentation shows it."""
    import openai

    with openai.OpenAI(api_key=KEY, base_url=url, max_retries=0) as client, ThreadPoolExecutor(IN_FLIGHT) as pool:
        arguments = Capability().arguments(request())

        def call(number: int) -> bool:
            return client.chat.completions.create(**arguments).choices[0].message.content == TEXT

        def many(calls: int) -> None:
            assert all(pool.map(call, range(calls)))

        yield many


@contextmanager
def bare_http(url: str) -> Iterator[Many]:
    """A thread pool around `http.client`, one connection a thread."""
    address, mine = urlsplit(url), threading.local()
    body = json.dumps(Capability().arguments(request()))
    headers = {"content-type": "application/json", "authorization": f"Bearer {KEY}"}

    def call(number: int) -> bool:
        if not hasattr(mine, "connection"):
            mine.connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=60)
        mine.connection.request("POST", address.path + "/chat/completions", body, headers)
        found = json.loads(mine.connection.getresponse().read())
        return bool(found["choices"][0]["message"]["content"] == TEXT)

    with ThreadPoolExecutor(IN_FLIGHT) as pool:

        def many(calls: int) -> None:
            assert all(pool.map(call, range(calls)))

        yield many


def request() -> Request:
    """One summary's worth of prompt, about 10,000 characters."""
    return Request.of("summarise_failure", "bench", "", PROMPT, SCHEMA, MODEL, 1000)
