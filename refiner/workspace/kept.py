"""Replies that are paid for, kept in the database from the moment they arrive. Asks nobody."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from refiner.transports import Reply
    from storage import Store


@dataclass(frozen=True, slots=True)
class StoredReplies:
    """The replies of one refinement that no finished step holds (`refiner.transports.once.Shelf`)."""

    store: Store
    refinement_id: str

    def replies(self) -> dict[str, Reply]:
        from refiner.transports import Reply

        return {key: Reply(**json.loads(body)) for key, body in self.store.kept_replies(self.refinement_id).items()}

    def keep(self, request_id: str, reply: Reply) -> None:
        self.store.keep_reply(self.refinement_id, request_id, json.dumps(asdict(reply)))

    def drop(self, request_id: str) -> None:
        self.store.drop_replies(self.refinement_id, request_id)
