"""What is asked of a model and what comes back, as plain records. No network, no files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from refiner.ids import content_key

HALTED = "stopped on request: no further call is made"


@dataclass(frozen=True, slots=True)
class Request:
    """One prompt. `id` = content key of everything but `label`, which only tells a person what it is about.

    `vote` counts from 0 and sets apart requests that are asked several times in the same words.
    """

    id: str
    stage: str
    label: str
    system: str
    user: str
    schema: dict[str, Any]
    model: str
    max_tokens: int
    temperature: float = 0.0
    vote: int = 0

    @classmethod
    def of(
        cls,
        stage: str,
        label: str,
        system: str,
        user: str,
        schema: dict[str, Any],
        model: str,
        max_tokens: int,
        temperature: float = 0.0,
        vote: int = 0,
    ) -> Request:
        """The request with its id."""
        votes = [vote] if vote else []
        key = content_key("request", stage, system, user, schema, model, max_tokens, temperature, *votes)
        return cls(key, stage, label, system, user, schema, model, max_tokens, temperature, vote)


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back, as it came. `model` is what the answerer calls itself; token counts are None where not told.

    `refusal`: the words of a refusal, else None. A reply made of one tool call has that call's arguments as `text`.
    """

    text: str
    model: str
    finish_reason: str
    prompt_tokens: int | None
    completion_tokens: int | None
    seconds: float = 0.0
    refusal: str | None = None


def halt(transport: object) -> None:
    """Lets a transport start no further call, where it can; calls under way end by themselves."""
    stop = getattr(transport, "halt", None)
    if stop is not None:
        stop()


def forget(transport: object, request_id: str) -> None:
    """Tells a transport that remembers replies that one of them cannot be used."""
    drop = getattr(transport, "forget", None)
    if drop is not None:
        drop(request_id)


def again(transport: object, rounds: Mapping[str, str]) -> None:
    """Tells a transport whose replies lie where it finds them that requests of these stages are asked anew.

    `rounds`: by stage, the name of the round; replies of the same round are found again.
    """
    ask_anew = getattr(transport, "again", None)
    if ask_anew is not None:
        ask_anew(rounds)


class Transport(Protocol):
    """`complete` may be called from many threads. It raises AnalystError; Waiting means that the reply comes later."""

    @property
    def name(self) -> str: ...
    def complete(self, request: Request) -> Reply: ...
