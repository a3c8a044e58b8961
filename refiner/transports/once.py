"""Asks nothing twice: what was answered is answered again from here, equal requests under way share one call.

What was asked is decided elsewhere, as is whether a reply is any good: one that is not is forgotten on request.
"""

from __future__ import annotations

import threading
from concurrent.futures import Future
from typing import Protocol

from refiner.transports.base import Reply, Request, Transport, halt
from refiner.transports.cost import Ledger


class Shelf(Protocol):
    """Where replies outlive the process. Safe between threads; a reply is there for good once `keep` returns."""

    def replies(self) -> dict[str, Reply]: ...
    def keep(self, request_id: str, reply: Reply) -> None: ...
    def drop(self, request_id: str) -> None: ...


class Once:
    """A transport that passes each request on once. `ledger`: the books of what it passes on, for those who ask."""

    def __init__(self, transport: Transport, ledger: Ledger | None = None) -> None:
        self._transport, self.ledger = transport, ledger
        self._shelf: Shelf | None = None
        self._lock = threading.Lock()
        self._known: dict[str, Future[Reply]] = {}

    @property
    def name(self) -> str:
        return self._transport.name

    def halt(self) -> None:
        halt(self._transport)

    def keep_on(self, shelf: Shelf) -> None:
        """From now on replies are kept there, and those that lie there are not asked for again."""
        self._shelf = shelf
        for key, reply in shelf.replies().items():
            self._known[key] = Future()
            self._known[key].set_result(reply)

    def complete(self, request: Request) -> Reply:
        """The reply. Raises what the call raises, to everybody who waits for it; the next one asks again."""
        with self._lock:
            found = self._known.get(request.id)
            coming = self._known.setdefault(request.id, Future())
        return self._ask(request, coming) if found is None else coming.result()

    def forget(self, request_id: str) -> None:
        """A reply that cannot be used: the same request is asked again."""
        with self._lock:
            self._known.pop(request_id, None)
        if self._shelf is not None:
            self._shelf.drop(request_id)

    def _ask(self, request: Request, coming: Future[Reply]) -> Reply:
        try:
            reply = self._transport.complete(request)
            if self._shelf is not None:
                self._shelf.keep(request.id, reply)
        except BaseException as error:
            with self._lock:
                self._known.pop(request.id, None)
            coming.set_exception(error)
            raise
        coming.set_result(reply)
        return reply
