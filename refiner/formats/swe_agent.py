"""SWE-agent `.traj` files: one trace a file, of all versions; files that hold a history alone are demonstrations.

No exit status says that a task was solved, so the only outcome here is trouble with the harness. There are no times.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any, BinaryIO

from refiner.formats import _messages
from refiner.formats._blocks import content_text
from refiner.formats._building import build, chosen_task, records
from refiner.formats._common import Item, json_text, scalar_id, text_of
from refiner.formats._refusals import refused
from refiner.formats._steps import Steps
from refiner.formats._values import objects
from refiner.ports import Source
from refiner.types import BadRecord, Outcome

_ENDINGS = (".traj", ".json")
_HARNESS = ("exit_environment_error", "exit_api", "exit_error", "early_exit")
_LIMITS = ("exit_cost", "exit_context", "exit_total_execution_time")
_HAND_IN = "submit"
_STATS = {
    "cost_usd": "instance_cost",
    "input_tokens": "tokens_sent",
    "output_tokens": "tokens_received",
    "api_calls": "api_calls",
}


class SweAgent:
    name = "swe-agent"

    def sniff(self, head: bytes) -> float:
        return max((float(_is_ours(record)) for record in objects(head)), default=0.0)

    def parse(self, stream: BinaryIO, source: Source) -> Iterator[Item]:
        yield from records(stream, source, lambda record, name, line: _items(record, name, line, source), *_ENDINGS)


FORMAT = SweAgent()


def _is_ours(record: dict[str, Any]) -> bool:
    steps = _messages.as_list(record.get("trajectory"))
    if any(isinstance(step, dict) and "action" in step and "response" in step for step in steps):
        return True
    said = [turn for turn in _messages.as_list(record.get("history")) if isinstance(turn, dict)]
    return any("role" in turn and ("agent" in turn or "message_type" in turn) for turn in said)


def _items(record: dict[str, Any], name: str, line: int, source: Source) -> Iterator[Item]:
    history = [turn for turn in _messages.as_list(record.get("history")) if isinstance(turn, dict)]
    steps_taken = [step for step in _messages.as_list(record.get("trajectory")) if isinstance(step, dict)]
    info, steps = _messages.as_dict(record.get("info")), Steps()
    if steps_taken:
        _run(steps, history, steps_taken)
    else:
        _demonstration(steps, history)
    status = scalar_id(info.get("exit_status"))
    if status.startswith(_HARNESS):
        steps.event("harness", status, error=status)
    spans = steps.spans()
    if not spans:
        yield BadRecord(source.path, line, "a trajectory without any words or actions")
        return
    task = chosen_task(record, source) or scalar_id(record.get("instance_id"))
    if not task and source.path.endswith(_ENDINGS[0]):
        task = PurePosixPath(source.path).stem
    meta = {"exit_status": status, "environment": record.get("environment"), **_stats(info)}
    meta["ended"] = "limit" if any(limit in status for limit in _LIMITS) else ""
    trace = build(source, FORMAT.name, name, spans, place=line, task_id=task, model=_model(record, info), meta=meta)
    yield trace
    if status.startswith(_HARNESS):
        yield Outcome(trace.id, "infrastructure")


def _run(steps: Steps, history: list[dict[str, Any]], taken: list[dict[str, Any]]) -> None:
    """What the agent was told before it began (demonstrations left out), then what it did, step by step."""
    for turn in history:
        if turn.get("role") == "assistant" and turn.get("is_demo") is not True:
            break
        if turn.get("is_demo") is not True:
            _messages.add(steps, turn)
    said = deque(turn for turn in history if turn.get("role") == "assistant" and turn.get("is_demo") is not True)
    has_tools = any(_messages.as_list(turn.get("tool_calls")) for turn in said)
    for step in taken:
        called = _called(said, text_of(step.get("action")).strip(), has_tools)
        _step(steps, step, called)


def _called(said: deque[dict[str, Any]], action: str, has_tools: bool) -> list[Any]:
    """The tool calls of the reply that took this action; without any, the action is a line for the shell.

    The reply that hands the work in is often left out of the history; among tools, handing in is one too.
    """
    if said and text_of(said[0].get("action")).strip() == action:
        return _messages.as_list(said.popleft().get("tool_calls"))
    return [{"function": {"name": _HAND_IN, "arguments": {}}}] if has_tools and action == _HAND_IN else []


def _step(steps: Steps, step: dict[str, Any], calls: list[Any]) -> None:
    steps.turn += 1
    action = text_of(step.get("action")).strip()
    thought = text_of(step.get("thought")).strip()
    steps.say("assistant", thought if action else thought or text_of(step.get("response")))
    observation = content_text(step.get("observation"))
    if not action:
        steps.say("user", observation)
        return
    waiting = len(steps.waiting)
    for call in calls:
        _messages.add_call(steps, call)
    if len(steps.waiting) == waiting:
        steps.call("bash", json_text({"command": action}))
    steps.answer(observation, error=refused(observation))


def _demonstration(steps: Steps, history: list[dict[str, Any]]) -> None:
    """A history alone: messages, of which the agent's have their action in a field or in the text."""
    for turn in history:
        if turn.get("is_demo") is True:
            continue
        action = text_of(turn.get("action")).strip() if turn.get("role") == "assistant" else ""
        if action and not _messages.as_list(turn.get("tool_calls")):
            steps.turn += 1
            steps.say("assistant", text_of(turn.get("thought")).strip())
            steps.call("bash", json_text({"command": action}))
        elif turn.get("role") == "user" and steps.waiting:
            observation = content_text(turn.get("content"))
            steps.answer(observation, error=refused(observation))
        else:
            _messages.add(steps, _with_id(turn))


def _with_id(turn: dict[str, Any]) -> dict[str, Any]:
    """An observation with the id of the call that it answers, which stands in a list, and whether it is a refusal."""
    ids = _messages.as_list(turn.get("tool_call_ids"))
    return {**turn, "tool_call_id": ids[0], "error": refused(content_text(turn.get("content")))} if ids else turn


def _stats(info: dict[str, Any]) -> dict[str, Any]:
    stats = _messages.as_dict(info.get("model_stats"))
    return {ours: stats.get(theirs) for ours, theirs in _STATS.items() if stats.get(theirs)}


def _model(record: dict[str, Any], info: dict[str, Any]) -> Any:
    """The model where the file tells how to replay it, as an object or as its JSON."""
    told = record.get("replay_config")
    config = _messages.parsed(told) if isinstance(told, str) else told
    agent = _messages.as_dict(_messages.as_dict(config).get("agent"))
    return _messages.as_dict(agent.get("model")).get("name") or info.get("model_name")
