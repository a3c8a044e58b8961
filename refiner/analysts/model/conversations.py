"""A conversation cut into attempts by a model. What it says counts as far as the user's words that it quotes are there.

Its outcomes are suggestions like those read from phrases.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from refiner import prompts, reactions
from refiner.analysts.model.budgets import head_and_tail, room, tokens
from refiner.analysts.model.calling import SYSTEM, Caller, Question, together
from refiner.analysts.model.settings import Settings
from refiner.episodes import Cut, Episode, Sign, Skipped, of_pieces
from refiner.episodes.turns import Turn, turns_of
from refiner.rendering import locate
from refiner.types import Status, Trace

PROMPT = "episodes"
_SAID, _ANSWER = 600, 200  # tokens of a turn that are shown: the user's words, the agent's last ones
_CALLS = 12


@dataclass(frozen=True, slots=True)
class _Part:
    """Turns that are shown together; of the last one, where more follow, only the words, as a reaction."""

    first: int
    last: int
    text: str
    closes: bool


@dataclass(frozen=True, slots=True)
class _Said:
    """One attempt as the model tells it, checked: places of turns, from 0. `reaction` None: nobody reacted."""

    first: int
    task: int
    passed: bool
    reaction: int | None


def cut(caller: Caller, settings: Settings, trace: Trace) -> Cut:
    """The attempts of one conversation. Raises BadReply when no usable reply came, and what the transport raises."""
    turns = turns_of(trace)
    parts = _parts(caller, settings, turns)

    def ask(number: int) -> dict[str, Any]:
        part = parts[number]
        label = trace.external_id if len(parts) == 1 else f"{trace.external_id}, part {number + 1} of {len(parts)}"
        values = {"part": f"{number + 1} of {len(parts)}", "conversation": part.text}
        return caller.ask(Question(PROMPT, label, PROMPT, values, settings.model))

    replies = together([lambda number=number: ask(number) for number in range(len(parts))])  # type: ignore[misc]
    told = [one for part, reply in zip(parts, replies, strict=True) for one in _told(caller, turns, part, reply)]
    return of_pieces(trace, list(_pieces(turns, told)))


def size_of(trace: Trace) -> int:
    """About how many tokens of a conversation are sent: words of the user, names of calls, last words of the agent."""
    return sum(_size(turn) for turn in turns_of(trace))


def _size(turn: Turn) -> int:
    names = sum(len(span.name) for span in turn.steps[:_CALLS]) // 4
    return min(len(turn.text) // 4, _SAID) + min(len(turn.answer) // 4, _ANSWER) + names + 10


def _parts(caller: Caller, settings: Settings, turns: Sequence[Turn]) -> list[_Part]:
    """As many turns at a time as the window takes; the last of a part is the first of the next."""
    most = room(settings.window, prompts.load(SYSTEM).text, prompts.load(PROMPT).text)
    shown = [_shown(caller, number, turn) for number, turn in enumerate(turns, 1)]
    parts: list[_Part] = []
    first = 0
    while first < len(turns):
        last, used = first, tokens(shown[first])
        while last + 1 < len(turns) and used + tokens(shown[last + 1]) <= most:
            last += 1
            used += tokens(shown[last])
        closes = last + 1 == len(turns) or last == first
        parts.append(_Part(first, last, "\n\n".join(shown[first : last + 1]), closes))
        first = last + 1 if closes else last
    return parts


def _shown(caller: Caller, number: int, turn: Turn) -> str:
    """One turn as it is sent, redacted before it is trimmed."""
    calls = [span for span in turn.steps if span.kind == "tool_call"]
    names = ", ".join(f"{span.name} (failed)" if span.error else span.name for span in calls[:_CALLS])
    more = f" and {len(calls) - _CALLS} more" if len(calls) > _CALLS else ""
    lines = [f"## Turn {number}", f"user: {head_and_tail(caller.redactor(turn.text), _SAID)}"]
    if calls:
        lines.append(f"agent called: {caller.redactor(names)}{more}")
    if turn.answer:
        lines.append(f"agent said last: {head_and_tail(caller.redactor(turn.answer), _ANSWER)}")
    return "\n".join(lines if turn.steps else [*lines, "(the agent did nothing)"])


def _told(caller: Caller, turns: Sequence[Turn], part: _Part, reply: dict[str, Any]) -> Iterator[_Said]:
    """The attempts of a part that begin in it, in order; one whose quote is not there has no reaction."""
    before = part.first - 1
    end = part.last + 1 if part.closes else part.last
    for one in sorted(reply["attempts"], key=lambda found: int(found["first_turn"])):
        first = int(one["first_turn"]) - 1
        if before < first < end:
            before = first
            task = int(one["task_turn"]) - 1
            reaction = _reaction(caller, turns, one, first)
            caller.tally.add(quotes_verified=int(reaction is not None))
            yield _Said(first, task if 0 <= task <= first else first, one["outcome"] == "pass", reaction)


def _reaction(caller: Caller, turns: Sequence[Turn], one: dict[str, Any], first: int) -> int | None:
    """The turn in which the user says how it went, if the words are there."""
    at = -1 if one["reaction_turn"] is None else int(one["reaction_turn"]) - 1
    if one["outcome"] == "unknown" or not first < at < len(turns):
        return None
    text, quote = caller.redactor(turns[at].text), " ".join(one["quote"].split()).strip("\"'“”")
    found = bool(quote) and (quote in " ".join(text.split()) or locate(quote, text) is not None)
    if not found:
        caller.tally.add(quotes_dropped=1)
    return at if found else None


def _pieces(turns: Sequence[Turn], told: Sequence[_Said]) -> Iterator[Episode | Skipped]:
    """Each attempt up to its reaction or the next one. One that is done again follows the failed one before it."""
    failed: dict[int, int] = {}
    for number, one in enumerate(told, 1):
        following = told[number].first if number < len(told) else len(turns)
        own = turns[one.first : min(following, following if one.reaction is None else one.reaction)]
        spans = tuple(span for turn in own for span in (*turn.said, *turn.steps))
        task = turns[one.task].text
        if not any(turn.steps for turn in own):
            yield Skipped(number, task, "no step", spans)
        elif one.reaction is None:
            yield Skipped(number, task, "no reaction", spans)
        else:
            turn = turns[one.reaction]
            follows = failed.get(one.task, 0)
            status: Status = "pass" if one.passed else "fail"
            yield Episode(number, task, status, _sign(one, turn), turn.text, spans, tuple(turn.said), follows)
            failed.pop(one.task, None)
            if not one.passed:
                failed[one.task] = number


def _sign(one: _Said, turn: Turn) -> Sign:
    if one.passed:
        return "approval"
    return "interruption" if reactions.read(turn.text).kind == "interruption" else "correction"
