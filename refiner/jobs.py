"""A worker that does one job at a time in a thread and can be asked to stop between steps. Knows no storage."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Generic, Literal, Protocol, TypeVar

from refiner.errors import JobRunning

log = logging.getLogger(__name__)
Stop = Literal["cancel", "close"]
BUSY = "a refinement is running, and only one runs at a time; wait for it, or cancel it"


class Stopped(BaseException):
    """Raised inside of a job that was asked to stop. `why`: a person cancelled, or the program ends."""

    def __init__(self, why: Stop) -> None:
        super().__init__(why)
        self.why: Stop = why


@dataclass(slots=True)
class Ticket:
    """One job's side of the talk. `check` between two steps; `ended` is set when the job is over, well or not."""

    name: str = ""
    why: Stop | None = None
    ended: threading.Event = field(default_factory=threading.Event)

    def check(self) -> None:
        """Raises Stopped when the job was asked to stop."""
        if self.why is not None:
            raise Stopped(self.why)


Work = Callable[[Ticket], None]
"""A job. It reports its own end; an exception that leaves it is handed to the worker's `lost`."""


Go = Callable[[str, Work], None]
"""Starts a job of that name."""


def log_lost(name: str, error: BaseException) -> None:
    """Takes the news of a job that could not even say how it ended."""
    log.error("job %s was lost", name, exc_info=error)


class Worker:
    """At most one job at a time, each in a thread of its own that does not keep the process alive."""

    def __init__(self, lost: Callable[[str, BaseException], None] = log_lost, busy: str = BUSY) -> None:
        self._lost, self._busy = lost, busy
        self._lock = threading.Lock()
        self._current: Ticket | None = None
        self._closed = False

    def running(self) -> str | None:
        """The name of the job at work, or None (also while one is only being prepared)."""
        current = self._current
        return (current.name or None) if current else None

    @contextmanager
    def claim(self) -> Iterator[Go]:
        """Reserves the worker while a job is prepared; inside, the yielded function starts it.

        Raises JobRunning when another job has it.
        """
        ticket = self._reserve()
        started = False

        def start(name: str, work: Work) -> None:
            nonlocal started
            ticket.name, started = name, True
            threading.Thread(target=self._run, args=(ticket, work), name=f"job {name}", daemon=True).start()

        try:
            yield start
        finally:
            if not started:
                self._release(ticket)

    def stop(self, name: str, why: Stop = "cancel") -> bool:
        """Asks the job to stop after the step at work; whether it was running."""
        with self._lock:
            current = self._current
            if current is None or current.name != name:
                return False
            current.why = current.why or why
            return True

    def is_cancelled(self, name: str) -> bool:
        """Whether this job is still at work and was asked to stop by a person."""
        current = self._current
        return current is not None and current.name == name and current.why == "cancel"

    def join(self, seconds: float | None = None) -> bool:
        """Waits until no job is at work; False when that took longer."""
        current = self._current
        return current is None or current.ended.wait(seconds)

    def close(self, then: Callable[[], None] = lambda: None) -> None:
        """Stops the job at work, does `then`, and waits for the end of its step; no other one starts."""
        with self._lock:
            self._closed = True
            if self._current is not None:
                self._current.why = "close"
        then()
        self.join()

    def _reserve(self) -> Ticket:
        with self._lock:
            if self._closed:
                raise JobRunning("the workspace is being closed; open it again")
            if self._current is not None:
                raise JobRunning(self._busy)
            self._current = Ticket()
            return self._current

    def _run(self, ticket: Ticket, work: Work) -> None:
        try:
            work(ticket)
        except BaseException as error:
            self._lost(ticket.name, error)
        finally:
            self._release(ticket)

    def _release(self, ticket: Ticket) -> None:
        with self._lock:
            self._current = None
        ticket.ended.set()


class Halting(Protocol):
    """What a job has in hand while it asks others."""

    def halt(self) -> None:
        """Lets no further call start; replies under way are still kept."""


Case = TypeVar("Case", bound=Halting)


@dataclass(frozen=True, slots=True)
class Shift(Generic[Case]):
    """A worker, and what its job has in hand by its name: whoever is stopped asks nobody any more."""

    worker: Worker
    at_work: dict[str, Case] = field(default_factory=dict)

    def launch(self, go: Go, name: str, case: Case, work: Callable[[Case, Ticket], None]) -> None:
        """Starts a job, which is at work from here on until it has ended."""

        def whole(ticket: Ticket) -> None:
            try:
                work(case, ticket)
            finally:
                self.at_work.pop(name, None)

        self.at_work[name] = case
        go(name, whole)

    def cancel(self, name: str) -> None:
        """Stops a job after the step at work. Nothing happens when it is not running."""
        if self.worker.stop(name):
            self._halt()

    def close(self) -> None:
        """Stops the job at work after its step and waits for that; no other one starts."""
        self.worker.close(self._halt)

    def _halt(self) -> None:
        for case in list(self.at_work.values()):
            case.halt()
