"""In-memory stand-ins for the ports, and short ways to make traces."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from refiner.ports import Done, Labelled, Tools
from refiner.types import Outcome, SkillVersion, Span, Status, Trace


@dataclass
class MemoryLedger:
    """A `Ledger` that forgets everything with the process. `commits` counts transactions."""

    rows: dict[str, Done] = field(default_factory=dict)
    links: dict[tuple[str, str], list[str]] = field(default_factory=dict)
    commits: int = 0

    def link_steps(self, refinement_id: str, stage: str, step_keys: Sequence[str]) -> None:
        self.links[refinement_id, stage] = list(step_keys)

    def finished(self, keys: Sequence[str]) -> set[str]:
        return {key for key in keys if key in self.rows and self.rows[key].error is None}

    def commit(self, refinement_id: str, done: Sequence[Done]) -> None:
        self.commits += 1
        self.rows.update({one.step.key: one for one in done})

    def outputs(self, step_keys: Sequence[str]) -> list[Any]:
        return [record for key in step_keys if key in self.finished(step_keys) for record in self.rows[key].records]


@dataclass
class MemoryRecords:
    """A `Records` view whose produced records are given."""

    items: Sequence[Labelled]
    base: SkillVersion
    made: dict[str, list[Any]] = field(default_factory=dict)

    def labelled(self) -> Sequence[Labelled]:
        return self.items

    def skill(self) -> SkillVersion:
        return self.base

    def produced(self, stage: str) -> Sequence[Any]:
        return self.made.get(stage, [])


def skill(
    text: str = "---\nname: demo\ndescription: A demo.\n---\n\n# Demo\n\n## Steps\n\n- Open it.\n",
) -> SkillVersion:
    return SkillVersion({"SKILL.md": text.encode()})


def call(name: str, output: str = "ok", error: str | None = None, **arguments: Any) -> tuple[str, str, str, str | None]:
    """One tool call as (name, arguments, observation, error)."""
    return name, json.dumps(arguments), output, error


def trace(
    external_id: str, calls: Sequence[tuple[str, str, str, str | None]], task: str = "t", request: str = "Do it"
) -> Trace:
    """A trace: the user's request, the calls, a final answer."""
    spans = [Span(0, "s0", "message", "user", role="user", output=request)]
    for name, given, output, error in calls:
        ordinal = len(spans)
        spans.append(Span(ordinal, f"s{ordinal}", "tool_call", name, input=given, output=output, error=error))
    spans.append(Span(len(spans), f"s{len(spans)}", "message", "assistant", role="assistant", output="Done."))
    return Trace("corpus", external_id, "canonical", request, task, "file", tuple(spans))


def labelled(
    external_id: str,
    calls: Sequence[tuple[str, str, str, str | None]],
    status: Status,
    task: str = "t",
    feedback: str | None = None,
    request: str = "Do it",
) -> Labelled:
    made = trace(external_id, calls, task, request)
    return Labelled(made, Outcome(made.id, status, feedback=feedback))


NO_TOOLS = Tools(analyst=None, embedder=None)  # type: ignore[arg-type]
