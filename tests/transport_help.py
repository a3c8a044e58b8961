"""What the tests of the transports share: a short request, and a clock that only a sleep moves."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Any

from stub_model import StubModel

from refiner.transports import Request
from refiner.transports.capability import Capabilities
from refiner.transports.http import HttpTransport

SCHEMA: dict[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["ok"],
    "properties": {"ok": {"type": "boolean"}},
}
KEY = "sk-secret-1234567890"
MODEL = "m"


def request(user: str = "Is it so?", stage: str = "summarise", label: str = "trace 1", **more: Any) -> Request:
    given = {"system": "Be brief.", "schema": SCHEMA, "model": MODEL, "max_tokens": 100} | more
    return Request.of(stage, label, given.pop("system"), user, **given)


@dataclass
class FakeTime:
    """`sleeps` holds every wait. Safe between threads."""

    now: float = 1000.0
    sleeps: list[float] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def clock(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        with self.lock:
            self.sleeps.append(seconds)
            self.now += seconds


def transport(stub: StubModel, time: FakeTime | None = None, **more: Any) -> HttpTransport:
    """The transport to a stub; without chance in its waits. A model that knows schemas is taken for granted."""
    time = time or FakeTime()
    given: dict[str, Any] = {"clock": time.clock, "sleep": time.sleep, "jitter": lambda: 1.0} | more
    return HttpTransport(stub.url, given.pop("key", KEY), **given)


def knowing(stub: StubModel, capability: Any) -> Capabilities:
    """A store that already knows the stub's model."""
    return Capabilities(known={f"{stub.url} {MODEL}": capability})
