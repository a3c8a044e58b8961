"""One run from its recorded calls of models and tools: histories told once, calls joined. Knows no file format."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Literal

from refiner.formats import _messages
from refiner.formats._common import failed, unique_ids
from refiner.formats._llm_dialects import Message
from refiner.formats._steps import Steps
from refiner.types import Span

Kind = Literal["model", "tool", "other"]

_EMPTY = {"", "{}", "null", "None"}


@dataclass(frozen=True, slots=True)
class Seen:
    """A recorded call. Of a model: `heard` and `said`; of a tool: `name`, `call_id`, `input`, `output`."""

    id: str
    parent: str
    kind: Kind
    name: str = ""
    call_id: str = ""
    input: str = ""
    output: str = ""
    error: str | None = None
    start: str | None = None
    end: str | None = None
    heard: Sequence[Message] = ()
    said: Sequence[Message] = ()

    @property
    def order(self) -> tuple[str, str, str]:
        return (self.start or "").removesuffix("Z"), (self.end or "").removesuffix("Z"), self.id


def telling(seen: Sequence[Seen]) -> list[Seen]:
    """The calls worth telling, in time: of tools around tools see `_standing`; of models around models the one that
    says most, where no tool lies between them."""
    by_id = {one.id: one for one in seen}
    inside: dict[str, list[Seen]] = {one.id: [] for one in seen}
    around = {one.id: [at for at in _ancestors(one, by_id) if at.kind == one.kind] for one in seen}
    for one in seen:
        for outer in around[one.id]:
            inside[outer.id].append(one)
    kept = _standing(seen, around, by_id)
    for leaf in (one for one in seen if one.kind == "model" and not inside[one.id]):
        alone = [one for one in (leaf, *around[leaf.id]) if sum(not inside[inner.id] for inner in inside[one.id]) <= 1]
        kept.add(max(alone, key=lambda one: (_calls(one.said), bool(one.said), len(one.heard), one is leaf)).id)
    return sorted((one for one in seen if one.id in kept), key=lambda one: one.order)


def innermost(seen: Sequence[Seen]) -> set[str]:
    """The ids of the calls of models that count: those around them, with no tool between, count the same again."""
    by_id = {one.id: one for one in seen}
    models = [one for one in seen if one.kind == "model"]
    return {one.id for one in models} - {outer.id for one in models for outer in _ancestors(one, by_id)}


def _standing(seen: Sequence[Seen], around: dict[str, list[Seen]], by_id: dict[str, Seen]) -> set[str]:
    """The ids of the tools that are told. A tool around others is their wrapper and left out, unless it is an agent
    (it holds calls of models) or the one that a model called: then what only it knows of is its own affair."""
    tools = [one for one in seen if one.kind == "tool"]
    if not any(around[one.id] for one in tools):
        return {one.id for one in tools}
    names = called(one for one in seen if one.kind == "model")
    agents = {outer for one in seen if one.kind == "model" for outer in _all_around(one, by_id)}
    left_out: set[str] = set()
    for one in tools:
        for outer in around[one.id]:
            if outer.id in agents:
                continue
            is_own_affair = outer.name in names and one.name not in names
            is_wrapper = outer.name not in names or outer.name == one.name
            left_out |= {one.id} if is_own_affair else {outer.id} if is_wrapper else set()
    return {one.id for one in tools} - left_out


def _ancestors(one: Seen, by_id: dict[str, Seen]) -> list[Seen]:
    """The calls around one; for that of a model up to the tool that it works for."""
    found: list[Seen] = []
    for outer in _all_around(one, by_id):
        if one.kind == "model" and by_id[outer].kind == "tool":
            break
        found.append(by_id[outer])
    return found


def _all_around(one: Seen, by_id: dict[str, Seen]) -> dict[str, None]:
    """The ids of all calls around one, the nearest first."""
    found = {one.id: None}
    while one.parent in by_id and one.parent not in found:
        one = by_id[one.parent]
        found[one.id] = None
    return dict(list(found.items())[1:])


def _calls(messages: Iterable[Message]) -> int:
    return sum(span.kind == "tool_call" for span in _spans(messages))


def called(seen: Iterable[Seen]) -> set[str]:
    """The names of the tools that models called."""
    said = (span for one in seen for span in _spans([*one.heard, *one.said]))
    return {span.name for span in said if span.kind == "tool_call"}


def _spans(messages: Iterable[Message]) -> tuple[Span, ...]:
    steps = Steps(strict=True)
    for message in messages:
        _messages.add(steps, message)
    return steps.spans()


@dataclass(slots=True)
class _Draft:
    span: Span
    told: bool
    """Whether a model told of this call."""
    run: bool = False
    """Whether a tool recorded it."""
    key: tuple[str, str] = ("", "")
    """Of a call: its name and its arguments in one spelling."""


@dataclass(slots=True)
class _History:
    """What a model was given, as far as it was gone through."""

    again: bool
    """Whether it is a prompt that was answered before."""
    counts: Counter[Any] = field(default_factory=Counter)
    reply: int = -1
    """The place in the run of the last reply or call that it holds."""


@dataclass(slots=True)
class Account:
    """The run so far. A history is new only where it holds a thing more often than the run does, where a user says a
    thing behind a later reply than before, and where the same prompt without a history is given after it was answered.
    """

    drafts: list[_Draft] = field(default_factory=list)
    said: dict[tuple[str, str], list[int]] = field(default_factory=dict)
    """The places of messages, by speaker and words."""
    answered: dict[tuple[tuple[str, str], ...], str] = field(default_factory=dict)
    """When the prompts without a history were answered, in words alone: a call of a tool ends no turn."""
    told: dict[tuple[str, str], list[int]] = field(default_factory=dict)
    """The places of the calls that models told of, by what was called."""

    def take(self, one: Seen) -> None:
        if one.kind == "tool":
            self._run(one)
            return
        given, gave = _spans(one.heard), _spans(one.said)
        prompt = tuple((span.role, span.output) for span in given if span.role in ("system", "user"))
        start, end, _ = one.order
        is_prompt = bool(start and end) and len(prompt) == len(given) > 0
        history = _History(is_prompt and self.answered.get(prompt, "~") <= start)
        for span in given:
            self._remember(span, history, one.start)
        for span in gave:
            self._reply(span, one.end or one.start)
        if is_prompt and gave and not one.error and all(span.kind == "message" for span in gave):
            self.answered[prompt] = end
        if one.error:
            self._add(Span(0, one.id, "event", "model_error", output=one.error, error=one.error, started_at=one.end))

    def _remember(self, span: Span, history: _History, at: str | None) -> None:
        """A step of a history: nothing where the run holds it already, save an observation that was missing."""
        span = replace(span, started_at=span.started_at or at)
        if span.kind == "tool_call":
            key = _key(span)
            history.counts[key] += 1
            same = self.told.get(key, [])
            if len(same) < history.counts[key]:
                self._call(span)
            else:
                self._fill(same[history.counts[key] - 1], span)
            history.reply = max(history.reply, self.told[key][history.counts[key] - 1])
        elif span.kind == "message":
            self._hear(span, history)
        else:
            history.counts["observation"] += 1
            self._observe(span, history.counts["observation"])

    def _hear(self, span: Span, history: _History) -> None:
        spoken = (span.role, span.output.strip())
        history.counts[spoken] += 1
        places = self.said.get(spoken, [])
        is_held = history.counts[spoken] <= len(places)
        if span.role == "user":
            is_held = is_held and not history.again and places[-1] > history.reply
        if not is_held:
            self._say(span)
        if span.role == "assistant":
            history.reply = max(history.reply, self.said[spoken][history.counts[spoken] - 1])

    def _say(self, span: Span) -> None:
        self.said.setdefault((span.role, span.output.strip()), []).append(len(self.drafts))
        self._add(span)

    def _reply(self, span: Span, at: str | None) -> None:
        span = replace(span, started_at=span.started_at or at)
        if span.kind == "tool_call":
            self._call(span)
        elif span.kind == "message":
            self._say(span)
        else:
            self._add(span)

    def _call(self, span: Span) -> None:
        """A call that a model tells of; a tool may have recorded it already."""
        key = _key(span)
        untold = (at for at, draft in enumerate(self.drafts) if draft.run and not draft.told and draft.key == key)
        found = next(untold, len(self.drafts))
        self.told.setdefault(key, []).append(found)
        if found == len(self.drafts):
            self.drafts.append(_Draft(span, True, key=key))
            return
        self.drafts[found].told = True
        self._fill(found, span)

    def _run(self, one: Seen) -> None:
        """A call that a tool recorded: it answers the first call it may be, by id, by arguments, by name."""
        span = Span(0, one.call_id or one.id, "tool_call", one.name, input=one.input, output=one.output)
        span = replace(span, error=one.error or failed(one.output), started_at=one.start, ended_at=one.end)
        key = _key(span)
        found = self._asked(one, key)
        if found is None:
            self.drafts.append(_Draft(span, False, True, key))
            return
        told = self.drafts[found].span
        output = told.output if span.output.strip() in _EMPTY and told.output else span.output
        self.drafts[found].span = replace(span, span_id=told.span_id, input=told.input, output=output)
        self.drafts[found].run = True

    def _asked(self, one: Seen, key: tuple[str, str]) -> int | None:
        waiting = [at for at, draft in enumerate(self.drafts) if draft.span.kind == "tool_call" and not draft.run]
        by_id = [at for at in waiting if one.call_id and self.drafts[at].span.span_id == one.call_id]
        alike = [at for at in waiting if self.drafts[at].key == key]
        named = [at for at in waiting if self.drafts[at].span.name == one.name and not one.input.strip("{} ")]
        return next(iter([*by_id, *alike, *named]), None)

    def _fill(self, at: int, span: Span) -> None:
        draft = self.drafts[at]
        if span.output.strip() not in _EMPTY and draft.span.output.strip() in _EMPTY:
            draft.span = replace(draft.span, output=span.output, error=draft.span.error or span.error)

    def _observe(self, span: Span, place: int) -> None:
        """An observation of a history that does not hold its call: it is that of the call in the same place."""
        calls = [at for at, draft in enumerate(self.drafts) if draft.span.kind == "tool_call"]
        if place <= len(calls):
            self._fill(calls[place - 1], span)
        elif span.output.strip() not in _EMPTY:
            self._add(span)

    def _add(self, span: Span) -> None:
        self.drafts.append(_Draft(span, True))

    def spans(self) -> tuple[Span, ...]:
        ids = unique_ids([draft.span.span_id for draft in self.drafts])
        return tuple(replace(draft.span, ordinal=i, span_id=ids[i]) for i, draft in enumerate(self.drafts))


def account(seen: Sequence[Seen]) -> tuple[Span, ...]:
    """The steps of a run from everything that was recorded of it, whatever its order."""
    run = Account()
    for one in telling(seen):
        run.take(one)
    return run.spans()


def _key(span: Span) -> tuple[str, str]:
    return (span.name, _canonical(span.input)) if span.kind == "tool_call" else ("", "")


@lru_cache(maxsize=1024)
def _canonical(arguments: str) -> str:
    """Arguments in one spelling, whatever their spaces and the order of their keys."""
    value = _messages.parsed(arguments)
    return arguments.strip() if value is None else json.dumps(value, sort_keys=True, default=repr)
