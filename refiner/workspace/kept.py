"""Replies that are paid for, kept in the database from the moment they arrive. Asks nobody."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from refiner.transports import Reply
    from storage import Store


@dataclass(frozen=True, slots=True)
class StoredReplies:
    """The replies of one refinement that no finished step holds (`refiner.transports.once.Shelf`).

    `events` wait for the next reply, to be written with it: one transaction a call, not two.
    """

    store: Store
    refinement_id: str
    events: SimpleQueue[tuple[str, dict[str, Any]]] = field(default_factory=SimpleQueue)

    def replies(self) -> dict[str, Reply]:
        from refiner.transports import Reply

        return {key: Reply(**json.loads(body)) for key, body in self.store.kept_replies(self.refinement_id).items()}

    def keep(self, request_id: str, reply: Reply) -> None:
        self.store.keep_reply(self.refinement_id, request_id, json.dumps(asdict(reply)), list(self._waiting()))

    def _waiting(self) -> Iterator[tuple[str, dict[str, Any]]]:
        with suppress(Empty):
            while True:
                yield self.events.get_nowait()

    def drop(self, request_id: str) -> None:
        self.store.drop_replies(self.refinement_id, request_id)
