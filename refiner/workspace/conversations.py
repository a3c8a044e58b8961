"""Conversations of a corpus cut into attempts, as a corpus of their own. Their outcomes are suggestions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from refiner import episodes
from refiner.conversation_views import CutReport
from refiner.errors import ConfigError
from refiner.types import Trace
from refiner.workspace.corpora import Corpora, Entry


@dataclass(frozen=True, slots=True)
class Conversations:
    """The conversations of one database."""

    corpora: Corpora

    def of(self, entry: Entry) -> list[Trace]:
        """The traces in which a user speaks."""
        return [trace for trace in self.corpora.room.store.traces(entry.id) if episodes.is_conversation(trace)]

    def cut(self, entry: Entry) -> CutReport:
        """Cuts every conversation by phrases and keeps the attempts; doing it again adds what is new.

        Raises ConfigError when no user speaks, or none says how an attempt went.
        """
        return self.keep(entry, [episodes.cut(trace) for trace in self.of(entry)])

    def keep(self, entry: Entry, cuts: Sequence[episodes.Cut]) -> CutReport:
        """Keeps the attempts of conversations in a corpus beside theirs. Raises ConfigError when there is none."""
        store = self.corpora.room.store
        skipped = Counter(one.reason for cut in cuts for one in cut.skipped)
        if not any(cut.episodes for cut in cuts):
            raise ConfigError(_nothing(entry, len(cuts)))
        target = self._target(entry)
        gathered = episodes.gather(cuts, target.id)
        added = store.add_traces(target.id, gathered.traces)
        store.add_outcomes(gathered.outcomes)
        statuses = Counter(outcome.status for outcome in gathered.outcomes)
        talks = sum(bool(cut.episodes) for cut in cuts)
        return CutReport(
            target.name, talks, statuses["fail"], statuses["pass"], dict(sorted(skipped.items())), added.added
        )

    def _target(self, entry: Entry) -> Entry:
        """The corpus of the attempts: the one of an earlier cut, or a new one."""
        with self.corpora.room.lock:
            store = self.corpora.room.store
            known = [event.body["into"] for event in store.corpus_events(entry.id, "cut")]
            there = [one for one in self.corpora.entries() if one.id in known]
            if there:
                return there[-1]
            made = self.corpora.create(self.corpora.free_name(f"{entry.name} episodes"), episodes=True)
            if self.corpora.skills.key(entry.id):
                self.corpora.skills.set(made.id, self.corpora.skills.get(entry.id, entry.name))
            store.corpus_event(entry.id, "cut", {"into": made.id})
            return made


def _nothing(entry: Entry, conversations: int) -> str:
    if not conversations:
        return f'no user speaks in the traces of "{entry.name}", so there is nothing to cut; add sessions or chats'
    return (
        f'in the {conversations} conversations of "{entry.name}" no user says how an attempt went (by a correction, '
        "thanks, an interruption); label the traces by hand instead"
    )
