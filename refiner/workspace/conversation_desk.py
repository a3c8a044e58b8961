"""The part of the desk on conversations: cutting them into attempts, by phrases or by a model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from refiner.conversation_views import CutJob, CutReport
from refiner.model_views import NO_KEYS, Keys
from refiner.views import Estimate, Upload
from refiner.workspace.conversations import Conversations
from refiner.workspace.corpora import Corpora
from refiner.workspace.cutting import Cutting


class ConversationDesk:
    """What a workspace does with conversations. May be called from any thread."""

    _corpora: Corpora
    _conversations: Conversations
    _cutting: Cutting

    def cut_conversations(self, name: str) -> CutReport:
        """Cuts the conversations of a corpus into attempts, kept as a corpus of their own with suggested outcomes.

        Raises ConfigError when there is nothing to cut; doing it again adds only what is new.
        """
        return self._conversations.cut(self._corpora.own(name))

    def estimate_cut(self, name: str, settings: Mapping[str, Any]) -> Estimate:
        """What cutting them by a model would take; `steps` counts the conversations, `blocked` says why it cannot."""
        return self._cutting.estimate(self._corpora.entry(name), settings)

    def start_cut(self, name: str, settings: Mapping[str, Any], keys: Keys = NO_KEYS) -> None:
        """Starts cutting them by a model; `cut_job` tells how it goes. Raises JobRunning or ConfigError.

        The attempts are kept like those of `cut_conversations`. What was answered before is not asked again.
        """
        self._cutting.start(self._corpora.own(name), settings, keys)

    def cut_job(self, name: str) -> CutJob | None:
        """How the latest cut by a model stands; None when there was none."""
        return self._cutting.job(self._corpora.entry(name))

    def cancel_cut(self, name: str) -> None:
        """Stops after the conversations at work; their replies are kept."""
        self._cutting.cancel(self._corpora.entry(name))

    def resume_cut(self, name: str, keys: Keys = NO_KEYS) -> None:
        """Goes on with the settings of the latest cut. Raises JobRunning or ConfigError."""
        self._cutting.resume(self._corpora.own(name), keys)

    def cut_requests(self, name: str) -> bytes:
        """The requests that wait for a reply, as a zip file. Raises ConfigError when nothing is handed off."""
        return self._cutting.requests(self._corpora.entry(name))

    def answer_cut(self, name: str, upload: Upload) -> int:
        """Takes in replies, a .json file or a zip of them; how many. Raises FormatError for anything else."""
        return self._cutting.answer(self._corpora.entry(name), upload.name, upload.data.read())
