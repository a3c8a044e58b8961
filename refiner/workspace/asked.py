"""Conversations that a model cuts: its replies kept from the moment they arrive, those that come later collected."""

from __future__ import annotations

from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING

from refiner import episodes
from refiner.errors import ConfigError, Waiting, WaitingForReplies
from refiner.ports import Tools
from refiner.types import Trace
from refiner.workspace.kept import StoredReplies

if TYPE_CHECKING:
    from refiner.analysts.model import ModelAnalyst
    from storage import Store

SHELF = "conversations"
"""What replies are kept under; they stay, so that the list and the refinement after it ask once."""


@dataclass(slots=True)
class Asked:
    """Cuts one conversation a call, from many threads. `waiting`: where the requests lie that nobody answered yet."""

    analyst: ModelAnalyst
    waiting: list[str] = field(default_factory=list)
    lock: Lock = field(default_factory=Lock, repr=False)

    @classmethod
    def of(cls, tools: Tools, store: Store) -> Asked:
        """Over these tools, with replies kept in this database. Raises ConfigError without a model analyst."""
        from refiner.analysts.model import ModelAnalyst

        if not isinstance(tools.analyst, ModelAnalyst):
            raise ConfigError("analyst: only a model analyst is asked to cut conversations")
        keep_on = getattr(tools.analyst.caller.transport, "keep_on", None)
        if keep_on is not None:
            keep_on(StoredReplies(store, SHELF))
        return cls(tools.analyst)

    def __call__(self, trace: Trace) -> episodes.Cut:
        from refiner.analysts.model.conversations import cut

        try:
            return cut(self.analyst.caller, self.analyst.settings, trace)
        except Waiting as later:
            with self.lock:
                self.waiting.append(later.where)
            return episodes.of_pieces(trace, ())

    def refuse_waiting(self) -> None:
        """Raises WaitingForReplies when a request of a conversation is unanswered."""
        if self.waiting:
            count, places = len(self.waiting), ", ".join(sorted(set(self.waiting)))
            who = "1 conversation waits for its reply" if count == 1 else f"{count} conversations wait for replies"
            raise WaitingForReplies(
                f"{who}: the requests lie in {places}; answer them, then run the same command again",
                count,
            )
