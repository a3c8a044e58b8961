"""A conversation as turns: what a user said, and what the agent did until the user spoke again. Judges nothing."""

from __future__ import annotations

from dataclasses import dataclass, field

from refiner import reactions
from refiner.types import Span, Trace


@dataclass(slots=True)
class Turn:
    """`said`: the user's messages, without a step of the agent between them. `steps`: what the agent did then."""

    said: list[Span] = field(default_factory=list)
    steps: list[Span] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The user's words, without commands to the tool and pictures beside them."""
        texts = [span.output for span in self.said]
        return "\n".join([text for text in texts if not reactions.says_nothing(text)] or texts)

    @property
    def answer(self) -> str:
        """The agent's last words of the turn."""
        return next((span.output for span in reversed(self.steps) if span.role == "assistant"), "")

    @property
    def acts(self) -> bool:
        """Whether the agent did more than speak."""
        return any(span.kind in ("tool_call", "tool_result") for span in self.steps)


def turns_of(trace: Trace) -> list[Turn]:
    """The turns in order; what stands before the first words of a user is in none. An interruption is a turn."""
    turns: list[Turn] = []
    interrupted = False
    for span in trace.spans:
        if not reactions.is_said(span):
            if turns and span.role != "system":
                turns[-1].steps.append(span)
            continue
        stops = reactions.is_interruption(span.output)
        if not turns or turns[-1].steps or stops or interrupted:
            turns.append(Turn())
        turns[-1].said.append(span)
        interrupted = stops
    return turns
