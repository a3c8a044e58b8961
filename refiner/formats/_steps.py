"""Collects the steps of one trace and joins each call with its observation. Knows no format."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from refiner.formats._common import failed, unique_ids
from refiner.types import Span

_CONTEXT = re.compile(
    r"\s*<(session_context|environment_context|user_instructions|system-reminder)>.*</\1>\s*", re.DOTALL
)


@dataclass(slots=True)
class Steps:
    """Drafts in the order of the file. `strict`: an observation with an id answers no call with another one."""

    strict: bool = False
    drafts: list[Span] = field(default_factory=list)
    turn: int = 0
    waiting: list[tuple[int, int]] = field(default_factory=list)
    """Calls without an observation: the turn they were made in, and their place among the drafts."""
    above: dict[int, int] = field(default_factory=dict)
    """Of each step of a sub-agent, the place of the step that it hangs on."""

    def say(self, role: str, text: str, span_id: str = "", at: str | None = None, name: str = "") -> None:
        """A message; one without any words is left out. `name`: which of several that have the role."""
        if text.strip():
            self.drafts.append(Span(0, span_id, "message", name or role, role=role, output=text, started_at=at))

    def event(self, name: str, text: str, span_id: str = "", at: str | None = None, error: str | None = None) -> None:
        """Something that happened to the run and is neither said nor called."""
        self.drafts.append(Span(0, span_id, "event", name, output=text, error=error, started_at=at))

    def call(self, name: str, arguments: str, call_id: str = "", at: str | None = None) -> None:
        """A tool call that waits for its observation."""
        self.waiting.append((self.turn, len(self.drafts)))
        self.drafts.append(Span(0, call_id, "tool_call", name or "unnamed", input=arguments, started_at=at))

    def answer(
        self, text: str, call_id: str = "", name: str = "", at: str | None = None, error: str | None = None
    ) -> int:
        """An observation: joined with the call it answers, else a step of its own. Returns the place of that step."""
        error = error or failed(text)
        chosen = self._asked(call_id, name)
        if chosen is None:
            self.drafts.append(Span(0, "", "tool_result", name or "unnamed", output=text, error=error, started_at=at))
            return len(self.drafts) - 1
        self.waiting.remove(chosen)
        self.drafts[chosen[1]] = replace(self.drafts[chosen[1]], output=text, error=error, ended_at=at)
        return chosen[1]

    def below(self, place: int, spans: Iterable[Span]) -> None:
        """The steps of a sub-agent, hung on the step that set it to work."""
        places: dict[str | None, int] = {}
        for span in spans:
            places[span.span_id] = len(self.drafts)
            self.above[len(self.drafts)] = places.get(span.parent, place)
            self.drafts.append(span)

    def _asked(self, call_id: str, name: str) -> tuple[int, int] | None:
        """The same id first (ids repeat: the latest turn wins), then the same name, then in order."""
        open_calls = self.waiting
        if self.strict and call_id:
            open_calls = [call for call in self.waiting if self.drafts[call[1]].span_id == call_id]
        return min(open_calls, key=lambda call: self._distance(call, call_id, name), default=None)

    def _distance(self, call: tuple[int, int], call_id: str, name: str) -> tuple[bool, bool, int, int]:
        draft = self.drafts[call[1]]
        return not call_id or draft.span_id != call_id, not name or draft.name != name, -call[0], call[1]

    def spans(self) -> tuple[Span, ...]:
        """The steps with their ordinals and with ids that are unique."""
        ids = unique_ids([draft.span_id for draft in self.drafts])
        above = {place: ids[at] for place, at in self.above.items()}
        return tuple(
            replace(draft, ordinal=i, span_id=ids[i], parent=above.get(i)) for i, draft in enumerate(self.drafts)
        )


def opening(spans: tuple[Span, ...]) -> str:
    """The first thing a user says, other than context that a program put there for them; or nothing."""
    said = [span.output for span in spans if span.kind == "message" and span.role == "user"]
    return next((words for words in said if not _CONTEXT.fullmatch(words)), next(iter(said), ""))
