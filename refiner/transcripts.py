"""Conversations from files, cut into attempts. No database, no model of its own: how to cut is handed in."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from refiner import episodes, ingest
from refiner.errors import FormatError
from refiner.types import Trace

Cutter = Callable[[Trace], episodes.Cut]

REASONS = {"no reaction": "nobody reacted to", "no step": "the agent did nothing for"}


@dataclass(frozen=True, slots=True)
class Transcripts:
    """`cuts` and `gathered` in the order of the conversations' names. `silent`: traces in which no user speaks."""

    loaded: ingest.Ingest
    cuts: tuple[episodes.Cut, ...]
    gathered: episodes.Gathered
    silent: int

    @property
    def conversations(self) -> int:
        """How many conversations have at least one attempt with a reaction."""
        return sum(bool(one.episodes) for one in self.cuts)

    @property
    def attempts(self) -> tuple[episodes.Episode, ...]:
        """The attempts, in the order of their traces."""
        return tuple(one for cut in self.cuts for one in cut.episodes)

    @property
    def skipped(self) -> dict[str, int]:
        """How many attempts nothing is learned from, by reason."""
        found = Counter(one.reason for cut in self.cuts for one in cut.skipped)
        return dict(sorted(found.items()))

    def left_out(self) -> list[str]:
        """One sentence for each kind of attempt that was skipped."""
        return [f"Left out: {_requests(count)} {REASONS[reason]}." for reason, count in self.skipped.items()]


def load(paths: Sequence[Path], corpus: str, cut: Cutter = episodes.cut, workers: int = 1) -> Transcripts:
    """The conversations of files and folders, so many cut at a time.

    Raises FormatError like `ingest.load`, and when no user speaks.
    """
    loaded = ingest.load(paths, corpus=corpus)
    known = {trace.id: trace for trace in loaded.traces}  # of a session that grew the longest
    talks = [trace for _, trace in sorted(known.items(), key=lambda item: item[1].external_id)]
    spoken = [trace for trace in talks if episodes.is_conversation(trace)]
    if not spoken:
        names = ", ".join(map(str, paths))
        raise FormatError(f"{names}: no conversation, since no user speaks in it; give a session or a chat")
    with ThreadPoolExecutor(workers) as pool:
        cuts = tuple(pool.map(cut, spoken))
    return Transcripts(loaded, cuts, episodes.gather(cuts, corpus), len(talks) - len(spoken))


def _requests(count: int) -> str:
    return "1 request" if count == 1 else f"{count} requests"
