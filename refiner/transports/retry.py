"""When to ask again and how long to wait first; when to stop asking at all. Sends nothing itself."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timezone
from email.utils import parsedate_to_datetime
from typing import Literal

from refiner.errors import AnalystError, ConfigError, Unreachable

LONGEST_WAIT = 120.0
"""Seconds; a server that wants more is not waited for."""
LONGEST_BACKOFF = 30.0
GIVE_UP_AFTER = 3
"""Calls in a row that found nobody, after which no more are made."""

Taken = tuple[int | None, int | None]
UNTOLD: Taken = (None, None)
Part = Literal["url", "key", "model", "json", "busy", "prompt", "window"]


class Failed(Exception):
    """One attempt failed. `error` is what to raise if it was the last; `attempts` is how many this failure is worth.

    `wish`: the seconds the server asked to wait. `part`: what to look at. `nobody`: no connection came about.
    `taken`: the tokens of prompt and reply (None = not told) of an attempt that is paid for; None = it is not.
    """

    def __init__(
        self,
        error: AnalystError | ConfigError,
        part: Part,
        *,
        attempts: int = 1,
        wish: float | None = None,
        nobody: bool = False,
        taken: Taken | None = None,
    ) -> None:
        super().__init__(str(error))
        self.error, self.part, self.attempts, self.wish, self.nobody = error, part, attempts, wish, nobody
        self.taken = taken


class Refused(Exception):
    """The endpoint did not like the form of the request (a status of its own and words), not what it is about."""

    def __init__(self, status: int, words: str, failed: Failed) -> None:
        super().__init__(words)
        self.status, self.words, self.failed = status, words, failed


def backoff(failures: int, jitter: float) -> float:
    """Seconds before the next attempt after so many failures: doubling from 1 to 30, of which half is by chance."""
    return float(min(2.0 ** (failures - 1), LONGEST_BACKOFF) * (0.5 + jitter / 2))


def wished(headers: Mapping[str, str], now: float) -> float | None:
    """The seconds a server asks to wait (`retry-after-ms`, `retry-after` in seconds or as a date); None = no wish.

    `now` is the time of day in seconds since 1970.
    """
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    text = headers.get("retry-after")
    seconds = _number(text)
    return seconds if seconds is not None else _until(text, now)


def _number(text: str | None) -> float | None:
    try:
        value = float(text or "")
    except ValueError:
        return None
    return max(value, 0.0) if math.isfinite(value) else None


def _until(text: str | None, now: float) -> float | None:
    try:
        moment = parsedate_to_datetime(text or "")
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=timezone.utc)  # noqa: UP017
    return max(moment.timestamp() - now, 0.0)


@dataclass
class Pace:
    """One pause for all threads: when a server asks for time, nobody calls it before, and not all at once after."""

    clock: Callable[[], float]
    sleep: Callable[[float], object]
    jitter: Callable[[], float]
    until: float = 0.0
    lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def hold(self, seconds: float) -> None:
        """Nobody starts a call within the next so many seconds."""
        with self.lock:
            self.until = max(self.until, self.clock() + seconds)

    def wait(self, check: Callable[[], None]) -> None:
        """Returns when calls may start again, or raises what `check` does, which is called before and after waiting."""
        check()
        waited_for = 0.0
        while self.until > max(waited_for, now := self.clock()):
            waited_for = self.until
            self.sleep((waited_for - now) * (1 + self.jitter() / 4))
            check()


@dataclass
class Breaker:
    """Stops all calls once one shows that none can work: a refused key, a spent quota, a wrong address, nobody there.

    `opened` lets those who wait give up at once. It stays open for the life of the transport: what a person must mend
    does not mend itself.
    """

    worked: bool = False
    nobody: int = 0
    failed: Failed | None = None
    opened: threading.Event = field(default_factory=threading.Event, repr=False)
    lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def check(self) -> None:
        """Raises the failure that opened the breaker, if it is open."""
        if self.failed is not None:
            raise self.failed

    def success(self) -> None:
        with self.lock:
            self.worked, self.nobody = True, 0

    def failure(self, failed: Failed) -> None:
        """Opens for a systemic error; finding nobody is one at first contact, and later after three calls in a row."""
        error = failed.error
        with self.lock:
            self.nobody = self.nobody + 1 if failed.nobody else 0
            if isinstance(error, Unreachable):
                for_all = failed.nobody and (not self.worked or self.nobody >= GIVE_UP_AFTER)
                error.systemic = for_all or (failed.wish or 0.0) > LONGEST_WAIT
            if isinstance(error, ConfigError) or error.systemic:
                self.failed = self.failed or failed
                self.opened.set()
