"""Events of OpenHands, of all its ages, as steps. Files and outcomes are not known here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from refiner.formats import _messages
from refiner.formats._blocks import content_text
from refiner.formats._codex_items import exit_error
from refiner.formats._common import json_text, scalar_id, text_of, utc_time, without_images
from refiner.formats._refusals import refused
from refiner.formats._steps import Steps

_SILENT = {"null", "agent_state_changed", "change_agent_state", "recall", "pause", "resume", "start_hook"}
_TOOLS = {"run": "execute_bash", "run_ipython": "execute_ipython_cell"}
"""What OpenHands calls the tools of these actions where it names tools."""
_ENDS = {"finish", "reject"}
_AROUND = {
    *("action", "observation", "id", "timestamp", "source", "message", "cause", "timeout", "tool_call_metadata"),
    *("thought", "action_risk", "security_risk", "is_confirmed", "confirmation_state", "keep_prompt", "hidden"),
    *("blocking", "kernel_init_code", "llm_metrics", "args"),
}
"""What stands around the arguments of an action in the files of one age or another."""
_RUNNING = -1


def events_of(history: Any) -> list[dict[str, Any]]:
    """The events of a history; the pairs of action and observation of the first files taken apart."""
    flat = (part for event in _messages.as_list(history) for part in (event if isinstance(event, list) else [event]))
    return [event for event in flat if isinstance(event, dict)]


def is_event(record: dict[str, Any]) -> bool:
    """Whether a record is an event: an action or an observation with what belongs to it."""
    if isinstance(record.get("action"), str):
        return any(key in record for key in ("args", "source", "thought", "content", "is_confirmed"))
    return isinstance(record.get("observation"), str) and ("extras" in record or "content" in record)


def add_events(steps: Steps, events: Iterable[dict[str, Any]]) -> None:
    """Adds what was said, called and observed; what the platform tells itself is no step."""
    calls: dict[str, str] = {}
    for event in events:
        steps.turn += 1
        kind = scalar_id(event.get("action")) or scalar_id(event.get("observation"))
        if kind in _SILENT:
            continue
        if scalar_id(event.get("action")):
            _act(steps, event, kind, calls)
        else:
            _observe(steps, event, kind, calls)


def broken_off(events: Iterable[dict[str, Any]]) -> str:
    """Why the agent ended in the state of an error; empty where it did not, or nothing says why."""
    states = [event for event in events if scalar_id(event.get("observation")) == "agent_state_changed"]
    last = _messages.as_dict(states[-1].get("extras")) if states else {}
    return text_of(last.get("reason")).strip() if last.get("agent_state") == "error" else ""


def model_of(events: Iterable[dict[str, Any]]) -> str:
    """The model that answered first."""
    return next((name for event in events if (name := scalar_id(response(event).get("model")))), "")


def _act(steps: Steps, event: dict[str, Any], kind: str, calls: dict[str, str]) -> None:
    args, at = _messages.as_dict(event.get("args")) or event, utc_time(event.get("timestamp"))
    thought = text_of(args.get("thought")).strip()
    if kind in ("message", "system"):
        steps.say(_speaker(steps, event, kind), _said(args), at=at)
    elif kind in _ENDS:
        steps.say("assistant", text_of(args.get("final_thought")) or thought or text_of(event.get("message")), at=at)
    elif kind == "condensation":
        steps.event("compaction", text_of(args.get("summary")), at=at)
    else:
        if kind != "think":
            steps.say("assistant", thought, at=at)
        call_id = scalar_id(_told(event).get("tool_call_id")) or scalar_id(event.get("id"))
        calls[scalar_id(event.get("id"))] = call_id
        name = scalar_id(_told(event).get("function_name")) or _TOOLS.get(kind, kind)
        steps.call(name, _arguments(event, args, kind), call_id, at)


def _speaker(steps: Steps, event: dict[str, Any], kind: str) -> str:
    """Who speaks; where no event says so, the first one is the user."""
    source = scalar_id(event.get("source"))
    if kind == "system" or source == "environment":
        return "system"
    return "user" if source == "user" or (not source and not steps.drafts) else "assistant"


def _said(args: dict[str, Any]) -> str:
    links = _messages.as_list(args.get("image_urls")) or _messages.as_list(args.get("images_urls"))
    pictures = [{"type": "image_url", "image_url": {"url": link}} for link in links]
    return content_text([{"type": "text", "text": text_of(args.get("content"))}, *pictures])


def _arguments(event: dict[str, Any], args: dict[str, Any], kind: str) -> str:
    """What the model asked for where the event holds its reply, else what the platform made of it."""
    wanted = scalar_id(_told(event).get("tool_call_id"))
    given = next((call for call in _asked(event) if scalar_id(call.get("id")) == wanted), None)
    if given is not None:
        return _messages.arguments_text(_messages.as_dict(given.get("function")).get("arguments"))
    around = _AROUND - {"thought"} if kind == "think" else _AROUND
    return without_images(json_text({key: value for key, value in args.items() if key not in around}))


def _observe(steps: Steps, event: dict[str, Any], kind: str, calls: dict[str, str]) -> None:
    extras, at = _messages.as_dict(event.get("extras")), utc_time(event.get("timestamp"))
    text, cause = content_text(event.get("content")), scalar_id(event.get("cause"))
    code = _messages.as_dict(extras.get("metadata")).get("exit_code", extras.get("exit_code", event.get("exit_code")))
    error = exit_error(text, code) if code != _RUNNING else None
    if kind == "error" or extras.get("error") is True or (event.get("success") is False and code != _RUNNING):
        error = error or text_of(extras.get("last_browser_action_error")) or _messages.first_line(text) or "error"
    error = error or refused(text)
    if not text.strip() and extras.get("outputs"):
        text = without_images(json_text(extras["outputs"]))
    call_id = scalar_id(_told(event).get("tool_call_id")) or calls.get(cause, "")
    if steps.waiting and (call_id or not cause):
        steps.answer(text, call_id, at=at, error=error)
    elif error:
        steps.event("error", text, at=at, error=error)
    elif cause not in calls and text.strip():
        steps.answer(text, name=_TOOLS.get(kind, kind), at=at)


def _told(event: dict[str, Any]) -> dict[str, Any]:
    return _messages.as_dict(event.get("tool_call_metadata"))


def response(event: dict[str, Any]) -> dict[str, Any]:
    """The model's reply that an event comes from, where the event holds it."""
    return _messages.as_dict(_told(event).get("model_response"))


def _asked(event: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for choice in _messages.as_list(response(event).get("choices")):
        message = _messages.as_dict(_messages.as_dict(choice).get("message"))
        yield from (call for call in _messages.as_list(message.get("tool_calls")) if isinstance(call, dict))
