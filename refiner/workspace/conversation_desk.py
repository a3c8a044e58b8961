"""The part of the desk on conversations: cutting them into attempts."""

from __future__ import annotations

from refiner.conversation_views import CutReport
from refiner.workspace.conversations import Conversations
from refiner.workspace.corpora import Corpora


class ConversationDesk:
    """What a workspace does with conversations. May be called from any thread."""

    _corpora: Corpora
    _conversations: Conversations

    def cut_conversations(self, name: str) -> CutReport:
        """Cuts the conversations of a corpus into attempts, kept as a corpus of their own with suggested outcomes.

        Raises ConfigError when there is nothing to cut; doing it again adds only what is new.
        """
        return self._conversations.cut(self._corpora.own(name))
