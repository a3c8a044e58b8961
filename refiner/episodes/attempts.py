"""A conversation cut into attempts by how the user took each. Suggestions: phrases are read, nothing is understood."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from refiner import reactions
from refiner.episodes.turns import Turn, turns_of
from refiner.reactions import Reaction
from refiner.types import Span, Status, Trace

Sign = Literal["correction", "interruption", "approval", "redo"]
"""Why an attempt is taken as failed (correction, interruption) or passed (approval; redo = done again after a
correction, and nobody complained)."""


@dataclass(frozen=True, slots=True)
class Episode:
    """One attempt with a reaction. `number` counts the attempts of the conversation, skipped ones included, from 1.

    `task`: the request it answers, of which a corrected attempt and the next are two tries. `spans` are the source's
    own, the request first; `reaction`: the source's spans with the user's words `said` about it. `follows`: the number
    of the attempt whose correction it is, 0 for the first at its request.
    """

    number: int
    task: str
    status: Status
    sign: Sign
    said: str
    spans: tuple[Span, ...]
    reaction: tuple[Span, ...] = ()
    follows: int = 0


@dataclass(frozen=True, slots=True)
class Skipped:
    """An attempt that nothing is learned from, and why."""

    number: int
    task: str
    reason: Literal["no reaction", "no step"]
    spans: tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class Cut:
    """One conversation in pieces. `rest`: the spans of no attempt and no reaction, such as a system message."""

    source: Trace
    episodes: tuple[Episode, ...]
    skipped: tuple[Skipped, ...]
    rest: tuple[Span, ...]


@dataclass(slots=True)
class _Attempt:
    """An attempt that goes on. `follows`: the attempt that was corrected before. `stopped`: the user's interruption."""

    number: int
    task: str
    turns: list[Turn]
    follows: int = 0
    stopped: list[Span] = field(default_factory=list)

    @property
    def spans(self) -> tuple[Span, ...]:
        return tuple(span for turn in self.turns for span in (*turn.said, *turn.steps))

    @property
    def is_done(self) -> bool:
        """Whether the agent did anything."""
        return any(turn.steps for turn in self.turns)

    @property
    def answer(self) -> str:
        return next((turn.answer for turn in reversed(self.turns) if turn.answer), "")


def cut(trace: Trace) -> Cut:
    """The attempts of one conversation in order. Every span is in one attempt or in `rest`, or only a reaction."""
    return of_pieces(trace, list(_pieces(turns_of(trace))))


def of_pieces(trace: Trace, pieces: Sequence[Episode | Skipped]) -> Cut:
    """The cut that consists of these attempts, and of what is in none."""
    episodes = tuple(piece for piece in pieces if isinstance(piece, Episode))
    skipped = tuple(piece for piece in pieces if isinstance(piece, Skipped))
    used = {span.ordinal for piece in pieces for span in piece.spans}
    used |= {span.ordinal for episode in episodes for span in episode.reaction}
    return Cut(trace, episodes, skipped, tuple(span for span in trace.spans if span.ordinal not in used))


def _pieces(turns: Sequence[Turn]) -> Iterator[Episode | Skipped]:
    current: _Attempt | None = None
    number = 0
    for turn in turns:
        reaction = reactions.read(turn.text, answers=current.answer if current else "")
        if current is not None and _stays(current, turn, reaction):
            continue
        again = False
        if current is not None:
            again = current.is_done and _rejects(current, reaction)
            yield _closed(current, turn, reaction)
        if again or _asks(turn, reaction):
            number += 1
            before = current if again else None
            task = before.task if before else turn.text
            current = _Attempt(number, task, [turn], before.number if before else 0)
        else:
            current = None
    if current is not None:
        yield _left(current)


def _stays(current: _Attempt, turn: Turn, reaction: Reaction) -> bool:
    """Whether a turn belongs to the attempt that goes on, which then holds it."""
    if reaction.kind == "interruption":
        current.stopped += turn.said
        current.turns.append(Turn(steps=turn.steps))
        return True
    if reaction.kind == "continuation":
        current.stopped.clear()
        current.turns.append(turn)
        return True
    return False


def _rejects(current: _Attempt, reaction: Reaction) -> bool:
    return reaction.kind == "correction" or (bool(current.stopped) and reaction.kind != "approval")


def _asks(turn: Turn, reaction: Reaction) -> bool:
    """Whether a turn begins an attempt: thanks alone and an interruption of nothing do not."""
    if reaction.kind == "interruption":
        return False
    return reaction.kind != "approval" or bool(reaction.rest) or turn.acts


def _closed(current: _Attempt, turn: Turn, reaction: Reaction) -> Episode | Skipped:
    """The attempt, ended by a turn that goes on to something else, or takes it one way or the other."""
    if not current.is_done:
        return Skipped(current.number, current.task, "no step", (*current.spans, *current.stopped))
    if current.stopped and reaction.kind != "approval":
        return _episode(current, "fail", "interruption", turn.text, (*current.stopped, *turn.said))
    if reaction.kind == "correction":
        return _episode(current, "fail", "correction", turn.text, tuple(turn.said))
    if reaction.kind == "approval":
        return _episode(current, "pass", "approval", turn.text, tuple(turn.said))
    return _left(current)


def _left(current: _Attempt) -> Episode | Skipped:
    """The attempt after which the user said nothing about it."""
    if not current.is_done:
        return Skipped(current.number, current.task, "no step", (*current.spans, *current.stopped))
    if current.stopped:
        return _episode(current, "fail", "interruption", "", tuple(current.stopped))
    if current.follows and not current.spans[-1].error:
        return _episode(current, "pass", "redo", "", ())
    return Skipped(current.number, current.task, "no reaction", current.spans)


def _episode(current: _Attempt, status: Status, sign: Sign, said: str, reaction: tuple[Span, ...]) -> Episode:
    return Episode(current.number, current.task, status, sign, said, current.spans, reaction, current.follows)
