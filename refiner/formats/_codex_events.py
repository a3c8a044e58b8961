"""Events of `codex exec --json` as steps. An item is told of when it starts, changes and ends."""

from __future__ import annotations

from typing import Any

from refiner.formats._blocks import content_text
from refiner.formats._codex_items import exit_error
from refiner.formats._common import json_text, scalar_id, text_of, without_images
from refiner.formats._messages import arguments_text, as_dict, first_line
from refiner.formats._steps import Steps

TYPES = {
    *("turn.started", "turn.completed", "turn.failed", "error"),
    *("item.started", "item.updated", "item.completed"),
}
_PROSE = {"agent_message": "assistant", "assistant_message": "assistant", "user_message": "user"}
_SILENT = {"reasoning"}
_CALLS = {"command_execution", "mcp_tool_call"}


def add_event(steps: Steps, record: dict[str, Any], begun: set[str]) -> None:
    """Adds what an item tells. A call stands where it began, so one that never ended is told; `begun`: its ids."""
    item, event = record.get("item"), record.get("type")
    if not isinstance(item, dict) or event not in ("item.started", "item.completed"):
        return
    kind, item_id = scalar_id(item.get("type")) or scalar_id(item.get("item_type")), scalar_id(item.get("id"))
    if kind in _CALLS and item_id not in begun:
        steps.turn += 1
        _begin(steps, kind, item_id, item)
        begun.add(item_id)
    if event == "item.started":
        return
    begun.discard(item_id)
    if kind in _CALLS:
        _answer(steps, kind, item_id, item)
        return
    steps.turn += 1
    if kind in _PROSE:
        steps.say(_PROSE[kind], text_of(item.get("text")), item_id)
    elif kind == "error":
        text = text_of(item.get("message"))
        steps.event("error", text, item_id, error=first_line(text) or "error")
    elif kind not in _SILENT:
        _other(steps, kind, item_id, item)


def _begin(steps: Steps, kind: str, item_id: str, item: dict[str, Any]) -> None:
    if kind == "command_execution":
        steps.call("shell", json_text({"command": item.get("command")}), item_id)
    else:
        steps.call(scalar_id(item.get("tool")), arguments_text(item.get("arguments")), item_id)


def _answer(steps: Steps, kind: str, item_id: str, item: dict[str, Any]) -> None:
    if kind == "command_execution":
        output = text_of(item.get("aggregated_output"))
        steps.answer(output, item_id, error=exit_error(output, item.get("exit_code")))
        return
    error = content_text(as_dict(item.get("error")).get("message"))
    steps.answer(error or _result(item.get("result")), item_id, error=error or None)


def _other(steps: Steps, kind: str, item_id: str, item: dict[str, Any]) -> None:
    """A call of another kind, which tells nothing before its end."""
    known = {key: value for key, value in item.items() if key not in ("id", "type", "item_type", "status")}
    steps.call(kind or "item", without_images(json_text(known)), item_id)
    steps.answer("", item_id, error=kind if item.get("status") == "failed" else None)


def _result(result: Any) -> str:
    return content_text(result["content"] if isinstance(result, dict) and "content" in result else result)
