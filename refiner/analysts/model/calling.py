"""One question to a model: the prompt filled in, redacted and fenced, the reply read, one repair when it cannot be.

What is asked, and what an answer means, is decided elsewhere. Nothing is sent here but through a transport.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, TypeVar

from refiner import prompts
from refiner.analysts.model.budgets import REPLY_TOKENS, head_and_tail
from refiner.analysts.model.redaction import Redactor
from refiner.analysts.model.replies import Refused, read
from refiner.errors import BadReply, Waiting
from refiner.transports.base import Reply, Request, Transport, forget

SYSTEM, REPAIR = "system", "repair"
_SHOWN_AGAIN = 1_500  # tokens of a bad reply that its repair is shown

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Tally:
    """What happened on the way, by name: quotes verified and dropped, repairs, models that answered."""

    counts: Counter[str] = field(default_factory=Counter)
    lock: Lock = field(default_factory=Lock, repr=False)

    def add(self, **more: int) -> None:
        with self.lock:
            self.counts.update({name: number for name, number in more.items() if number})

    def answered(self, model: str) -> None:
        with self.lock:
            self.counts[f"model {model}"] += 1

    def as_dict(self) -> dict[str, int]:
        with self.lock:
            return dict(sorted(self.counts.items()))


@dataclass(frozen=True, slots=True)
class Question:
    """One prompt to be answered. `values`: its inputs but the fence; they are redacted before they are put in."""

    stage: str
    label: str
    prompt: str
    values: Mapping[str, str]
    model: str
    temperature: float = 0.0
    max_tokens: int = REPLY_TOKENS
    vote: int = 0


@dataclass(frozen=True, slots=True)
class Caller:
    """`ask` may be called from many threads."""

    transport: Transport
    redactor: Redactor
    tally: Tally = field(default_factory=Tally)

    def ask(self, question: Question) -> dict[str, Any]:
        """The reply as an object that fits the prompt's schema.

        Raises BadReply when it cannot be used, not even after it was asked for once more with the reason, and whatever
        else the transport raises.
        """
        prompt = prompts.load(question.prompt)
        request = self.request(question)
        reply = self._complete(request)
        try:
            return read(reply, prompt.reply)
        except Refused as refusal:
            forget(self.transport, request.id)
            raise BadReply(f"{request.label}: {refusal}") from None
        except BadReply as problem:
            self.tally.add(repairs=1)
            again = self._repair(request, reply, str(problem))
        try:
            return read(self._complete(again), prompt.reply)
        except BadReply as problem:
            forget(self.transport, request.id)
            forget(self.transport, again.id)
            raise BadReply(f"{request.label}: no usable reply, asked twice: {problem}") from None

    def request(self, question: Question) -> Request:
        """The question as it is sent."""
        prompt = prompts.load(question.prompt)
        values = {name: self.redactor(value) for name, value in question.values.items()}
        fence = prompts.fence_for(*values.values())
        return Request.of(
            stage=question.stage,
            label=self.redactor(" ".join(question.label.split())),
            system=prompts.load(SYSTEM).render(fence=fence),
            user=prompt.render(fence=fence, **values),
            schema=dict(prompt.reply),
            model=question.model,
            max_tokens=question.max_tokens,
            temperature=question.temperature,
            vote=question.vote,
        )

    def _complete(self, request: Request) -> Reply:
        reply = self.transport.complete(request)
        self.tally.answered(reply.model)
        return reply

    def _repair(self, request: Request, reply: Reply, problem: str) -> Request:
        shown = self.redactor(head_and_tail(reply.text, _SHOWN_AGAIN)) or "(empty)"
        fence = prompts.fence_for(request.user, shown, problem)
        repair = prompts.load(REPAIR).render(fence=fence, reply=shown, problem=self.redactor(problem))
        return Request.of(
            stage=request.stage,
            label=f"{request.label} (again)",
            system=request.system,
            user=f"{request.user}\n{repair}",
            schema=request.schema,
            model=request.model,
            max_tokens=request.max_tokens,
            temperature=request.temperature,
            vote=request.vote,
        )


def together(calls: Sequence[Callable[[], T]]) -> list[T]:
    """The results of several calls of one step. All are asked before a Waiting of one of them is raised."""
    results: list[T] = []
    waiting: Waiting | None = None
    for call in calls:
        try:
            results.append(call())
        except Waiting as later:
            waiting = waiting or later
    if waiting is not None:
        raise waiting
    return results
