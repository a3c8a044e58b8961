"""ATIF trajectories, versions 1.0 to 1.7, as steps. Knows no trial and no outcome.

A file that goes on where another ended repeats what the agent was given again (`is_copied_context`); it is not doubled.
Trajectories of sub-agents, embedded or in files of their own, hang on the call that set them to work.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from refiner.formats._blocks import content_text
from refiner.formats._common import scalar_id, utc_time
from refiner.formats._messages import arguments_text, as_dict, as_list
from refiner.formats._steps import Steps
from refiner.ids import canonical_json
from refiner.types import Span

_SPEAKERS = {"system": "system", "user": "user", "agent": "assistant"}
_PARTS = 100
_DEEPEST = 8
"""Sub-agents of sub-agents; deeper ones are named only."""
Load = Callable[[str], Any]
"""Gives the value of a file by its name; None when it is not there."""
_TOTALS = {
    "input_tokens": ("total_prompt_tokens", "prompt_tokens"),
    "output_tokens": ("total_completion_tokens", "completion_tokens"),
    "cached_tokens": ("total_cached_tokens", "cached_tokens"),
    "cost_usd": ("total_cost_usd", "cost_usd"),
}


def chain(first: dict[str, Any], name: str, load: Load) -> list[dict[str, Any]]:
    """A trajectory and those that continue it. `load` gives the value of a file by its name, `name` is the first's."""
    parts, seen = [first], {name}
    while len(parts) < _PARTS:
        reference = scalar_id(parts[-1].get("continued_trajectory_ref"))
        name = _beside(name, reference) if reference else name
        following = None if name in seen else load(name)
        if not isinstance(following, dict):
            break
        seen.add(name)
        parts.append(following)
    return parts


def _beside(name: str, reference: str) -> str:
    return posixpath.normpath(posixpath.join(posixpath.dirname(name), reference))


def spans(parts: list[dict[str, Any]], name: str, load: Load) -> tuple[Span, ...]:
    """The steps of all parts, each call with its observation and the steps of the sub-agents that it set to work."""
    return _told(parts, _Below(name, load, {name}, 0))


@dataclass(frozen=True, slots=True)
class _Below:
    """Where sub-agents are looked for: beside the file `name`, each once."""

    name: str
    load: Load
    seen: set[str]
    depth: int

    def steps(self, reference: dict[str, Any], part: dict[str, Any]) -> tuple[Span, ...]:
        """The steps of a sub-agent; what its caller asked of it is no user's word. Nothing where it is not there."""
        name, found = self._found(reference, part)
        if found is None or name in self.seen or self.depth >= _DEEPEST:
            return ()
        self.seen.add(name)
        below = replace(self, name=name, depth=self.depth + 1)
        told = _told(chain(found, name, self.load), below)
        return tuple(replace(span, role="system") if span.role == "user" else span for span in told)

    def _found(self, reference: dict[str, Any], part: dict[str, Any]) -> tuple[str, dict[str, Any] | None]:
        """A sub-agent by its id among the embedded ones, else by its file, which may have moved since."""
        wanted, path = (scalar_id(reference.get(key)) for key in ("trajectory_id", "trajectory_path"))
        for one in as_list(part.get("subagent_trajectories")):
            if wanted and scalar_id(as_dict(one).get("trajectory_id")) == wanted:
                return f"{self.name}#{wanted}", as_dict(one)
        for name in (_beside(self.name, path), _beside(self.name, posixpath.basename(path))) if path else ():
            if isinstance(found := self.load(name), dict):
                return name, found
        return "", None


def _told(parts: list[dict[str, Any]], below: _Below) -> tuple[Span, ...]:
    steps, seen = Steps(), set[str]()
    for number, part in enumerate(parts):
        for step in as_list(part.get("steps")):
            if isinstance(step, dict) and not _is_repeated(step, number > 0 or below.depth > 0, seen):
                for place, reference in _add(steps, step):
                    steps.below(place, below.steps(reference, part))
    return steps.spans()


def totals(parts: list[dict[str, Any]]) -> dict[str, str]:
    """Tokens and cost: what each part says of itself, else the sum over its steps."""
    found: dict[str, str] = {}
    for ours, (whole, each) in _TOTALS.items():
        counts = [count for part in parts for count in _counts(part, whole, each)]
        if counts:
            found[ours] = str(round(sum(counts), 6))
    return found


def _counts(part: dict[str, Any], whole: str, each: str) -> Iterator[float]:
    stated = as_dict(part.get("final_metrics")).get(whole)
    steps = [as_dict(as_dict(step).get("metrics")).get(each) for step in as_list(part.get("steps"))]
    for count in steps if stated is None else [stated]:
        if isinstance(count, int | float) and not isinstance(count, bool):
            yield count


def _is_repeated(step: dict[str, Any], continues: bool, seen: set[str]) -> bool:
    """Context that was copied: always where the part before was read, else where the step itself was."""
    told = canonical_json([step.get(key) for key in ("source", "message", "tool_calls")])
    copied = step.get("is_copied_context") is True and (continues or told in seen)
    seen.add(told)
    return copied


def _add(steps: Steps, step: dict[str, Any]) -> list[tuple[int, dict[str, Any]]]:
    """Adds what a step says, calls and sees; returns where it refers to sub-agents."""
    steps.turn += 1
    role = _SPEAKERS.get(scalar_id(step.get("source")), "assistant")
    at = utc_time(step.get("timestamp"))
    steps.say(role, content_text(step.get("message")), at=at)
    for call in as_list(step.get("tool_calls")):
        given = as_dict(call)
        name, call_id = scalar_id(given.get("function_name")), scalar_id(given.get("tool_call_id"))
        steps.call(name, arguments_text(given.get("arguments")), call_id, at)
    below: list[tuple[int, dict[str, Any]]] = []
    for result in as_list(as_dict(step.get("observation")).get("results")):
        seen = as_dict(result)
        place = steps.answer("\n".join(_observed(seen)), scalar_id(seen.get("source_call_id")))
        below += [(place, as_dict(one)) for one in as_list(seen.get("subagent_trajectory_ref"))]
    return below


def _observed(result: dict[str, Any]) -> Iterator[str]:
    if result.get("content") is not None:
        yield content_text(result["content"])
    for reference in as_list(result.get("subagent_trajectory_ref")):
        one = as_dict(reference)
        where = (scalar_id(one.get(key)) for key in ("trajectory_path", "trajectory_id", "session_id"))
        yield f"[sub-agent {next(filter(None, where), 'without a name')}]"
