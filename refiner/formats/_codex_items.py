"""Items of a Codex session (the Responses dialect) as steps. Sessions and files are not known here."""

from __future__ import annotations

import re
from typing import Any

from refiner.formats._blocks import content_text
from refiner.formats._common import failed, scalar_id, without_images
from refiner.formats._messages import ROLES, arguments_text, first, first_line
from refiner.formats._steps import Steps
from refiner.jsontext import loads

_WRAPPERS = (
    *("<user_instructions", "<environment_context", "<permissions", "<turn_aborted", "<user_shell_command"),
    *("<skill", "<collaboration_mode", "<subagent_notification", "<INSTRUCTIONS", "# AGENTS.md instructions"),
)
_EXIT = re.compile(
    r"(?:Exit code: |(?:Chunk ID: \S+\n)?(?:Wall time: [\d.]+ seconds\n)?Process exited with code )(-?\d{1,9})\n"
)
_CALLS = {"function_call", "custom_tool_call", "local_shell_call", "web_search_call"}
_OUTPUTS = {"function_call_output", "custom_tool_call_output", "local_shell_call_output"}


def add_item(steps: Steps, item: dict[str, Any], at: str | None) -> str:
    """Adds an item; returns its text when it is something a person asked. Reasoning and snapshots are no steps."""
    kind = scalar_id(item.get("type"))
    steps.turn += 1
    if kind == "message":
        return _message(steps, item, at)
    if kind in _CALLS:
        name = scalar_id(item.get("name")) or kind.removesuffix("_call")
        arguments = first(item, ("arguments", "input", "action"))
        steps.call(name, arguments_text(arguments), scalar_id(item.get("call_id")), at)
    elif kind in _OUTPUTS:
        text, error = output_text(item.get("output"))
        steps.answer(text, scalar_id(item.get("call_id")), at=at, error=error)
    return ""


def _message(steps: Steps, item: dict[str, Any], at: str | None) -> str:
    text = content_text(item.get("content"))
    role = ROLES.get(scalar_id(item.get("role")).lower(), "assistant")
    if role == "user" and text.lstrip().startswith(_WRAPPERS):
        role = "system"
    steps.say(role, text, scalar_id(item.get("id")), at)
    return text if role == "user" else ""


def output_text(output: Any) -> tuple[str, str | None]:
    """An observation without its wrapping, and what failed. The wrapping is JSON with an exit code, or lines."""
    if isinstance(output, str):
        return _unwrapped(output)
    if isinstance(output, dict) and "content" in output:
        text = content_text(output["content"])
        return text, (first_line(text) or "error") if output.get("success") is False else None
    return content_text(output), None


def _unwrapped(output: str) -> tuple[str, str | None]:
    try:
        inner = loads(output) if output.lstrip().startswith('{"output"') else None
    except ValueError:
        inner = None
    if isinstance(inner, dict) and isinstance(inner.get("output"), str):
        text = content_text(inner["output"])
        metadata = inner.get("metadata")
        return text, exit_error(text, metadata.get("exit_code") if isinstance(metadata, dict) else None)
    text, code = without_images(content_text(output)), _EXIT.match(output)
    return text, exit_error(text.split("Output:\n", 1)[-1], int(code.group(1))) if code else None


def exit_error(text: str, code: Any) -> str | None:
    """The line that names the failure of a command, or its exit code where it printed nothing."""
    if not isinstance(code, int) or code == 0:
        return None
    return failed(text) or first_line(text) or f"exit code {code}"
