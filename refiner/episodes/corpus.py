"""Episodes as traces of a corpus: ids that lead back, tasks, and outcomes that are suggestions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from refiner import reactions
from refiner.episodes.attempts import Cut, Episode
from refiner.ids import text_key
from refiner.labels import Suggestion
from refiner.tasks import COMMON, CONVERSATION, folded
from refiner.types import Outcome, Span, Trace

SIGN, ATTEMPT = "sign", "attempt"
"""Keys of a trace's `meta`: why its outcome is suggested, and which attempt of its conversation it is."""

_ATTEMPT_MARK = ":e"


@dataclass(frozen=True, slots=True)
class Gathered:
    """Episodes as traces, with one outcome each of origin heuristic, in the order of the conversations."""

    traces: tuple[Trace, ...]
    outcomes: tuple[Outcome, ...]


def is_conversation(trace: Trace) -> bool:
    """Whether a user says anything in it."""
    return any(reactions.is_said(span) for span in trace.spans)


def conversation_of(external_id: str) -> str:
    """The external id of the conversation that an episode of that id is a piece of."""
    return external_id.rpartition(_ATTEMPT_MARK)[0]


def gather(cuts: Iterable[Cut], corpus: str) -> Gathered:
    """The episodes as traces of `corpus`, named `CONVERSATION:eN`, their spans with the ids of the source.

    A corrected attempt leaves things as they are, and the next starts from there: its trace holds the steps of both, so
    that only what was added, never what need not be done again, can go with success.
    Two attempts at one request are one task, and so are equal requests of several conversations, unless a request
    opens more than a quarter of them; then each conversation's is its own. An interrupted attempt is no try of its
    task: what it did not do it might have done yet, so it is compared with no other.
    """
    cuts = list(cuts)
    common = _common(cuts)
    traces = [_trace(one, episode, corpus, common) for one in cuts for episode in one.episodes]
    outcomes = [
        Suggestion(trace.id, episode.sign, episode.status, episode.said, 0).outcome()
        for trace, episode in zip(traces, (episode for one in cuts for episode in one.episodes), strict=True)
    ]
    return Gathered(tuple(traces), tuple(outcomes))


def _common(cuts: Sequence[Cut]) -> frozenset[str]:
    """The folded requests that open more than a quarter of the conversations."""
    seen = {one.source.external_id: {folded(episode.task) for episode in one.episodes} for one in cuts}
    counts = Counter(request for requests in seen.values() for request in requests)
    return frozenset(request for request, count in counts.items() if count * COMMON > len(seen))


def _trace(cut: Cut, episode: Episode, corpus: str, common: frozenset[str]) -> Trace:
    source, request = cut.source, folded(episode.task)
    parts = (source.external_id, request) if request in common else (request,)
    stopped = ("interrupted",) if episode.sign == "interruption" else ()
    return Trace(
        corpus=corpus,
        external_id=f"{source.external_id}{_ATTEMPT_MARK}{episode.number}",
        format=source.format,
        task=episode.task,
        task_id=text_key("task", *parts, *stopped),
        task_id_origin="text",
        spans=tuple(replace(span, ordinal=place) for place, span in enumerate(_steps(cut, episode))),
        model=source.model,
        source=source.source,
        meta={CONVERSATION: source.external_id, ATTEMPT: str(episode.number), SIGN: episode.sign},
    )


def _steps(cut: Cut, episode: Episode) -> tuple[Span, ...]:
    """The spans of an attempt behind those of the attempts that it mends."""
    by_number = {one.number: one for one in cut.episodes}
    before = by_number.get(episode.follows)
    return (*(_steps(cut, before) if before else ()), *episode.spans)
