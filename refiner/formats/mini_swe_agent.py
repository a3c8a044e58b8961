"""mini-swe-agent trajectories: with their wrapper (`info`, `messages`, `trajectory_format`), or bare lists of messages.

Actions stand in fenced blocks, in `extra.actions` or in tool calls. No exit status says that a task was solved.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, BinaryIO

from refiner.formats import _messages
from refiner.formats._blocks import content_text
from refiner.formats._building import build, chosen_task, file_id, records
from refiner.formats._codex_items import exit_error
from refiner.formats._common import Item, json_text, scalar_id, text_of, utc_time
from refiner.formats._refusals import refused
from refiner.formats._steps import Steps, opening
from refiner.formats._values import objects
from refiner.ports import Source
from refiner.types import BadRecord, Outcome

_ENDINGS = (".traj.json", ".json")
_BLOCK = re.compile(r"```(?:mswea_bash_command|bash|sh)[ \t]*\n(.*?)\n?```", re.DOTALL)
_CODE = re.compile(r"\A\s*<returncode>(-?\d{1,9})</returncode>\s*(?:<output>\n?)?")
_ISSUE = re.compile(
    r"\A\s*(?:Please solve this issue:|<pr_description>\s*Consider the following PR description:)\s*(.*?)\s*"
    r"(?:^You can execute bash commands and edit files|</pr_description>)",
    re.DOTALL | re.MULTILINE,
)
"""The request in the prompts that come with the agent; rules and advice follow it."""
_TOKENS = {"input_tokens": "prompt_tokens", "output_tokens": "completion_tokens"}
_OWN_ENDINGS = {"", "submitted", "limitsexceeded", "formaterror", "userinterruption", "repeatedformaterror"}
"""Endings that are the agent's or the user's; every other one is the name of an exception of the harness."""
_LIMIT = "limitsexceeded"


class MiniSweAgent:
    name = "mini-swe-agent"

    def sniff(self, head: bytes) -> float:
        found = objects(head)
        return float(any(map(_is_ours, found)) or _is_bare(list(found)))

    def parse(self, stream: BinaryIO, source: Source) -> Iterator[Item]:
        """Messages that stand alone, as in a list that was cut off, are one run."""
        loose: list[dict[str, Any]] = []

        def convert(record: dict[str, Any], name: str, line: int) -> Iterator[Item]:
            if _messages.is_message(record):
                loose.append(record)
            else:
                yield from _items(record, name, line, source)

        yield from records(stream, source, convert, *_ENDINGS, one=_whole)
        if loose:
            yield from _items({"messages": loose}, file_id(source, *_ENDINGS), 1, source)


FORMAT = MiniSweAgent()


def _is_ours(record: dict[str, Any]) -> bool:
    """The mark stands behind the messages, and may be cut off: `info` of this agent is enough."""
    if scalar_id(record.get("trajectory_format")).startswith("mini-swe-agent"):
        return True
    info = _messages.as_dict(record.get("info"))
    return isinstance(record.get("messages"), list) and "mini_version" in info


def _is_bare(messages: list[Any]) -> bool:
    """A list of messages in which a command in a block is answered with its return code."""
    said = [
        (_messages.as_dict(one).get("role"), content_text(_messages.as_dict(one).get("content"))) for one in messages
    ]
    return any(
        (asker, answerer) == ("assistant", "user")
        and _BLOCK.search(words) is not None
        and _CODE.match(seen) is not None
        for (asker, words), (answerer, seen) in pairwise(said)
    )


def _whole(value: Any) -> dict[str, Any] | None:
    """The record that a bare list of messages is."""
    return {"messages": value} if isinstance(value, list) and any(map(_messages.is_message, value)) else None


def _items(record: dict[str, Any], name: str, line: int, source: Source) -> Iterator[Item]:
    info, steps = _messages.as_dict(record.get("info")), Steps(strict=True)
    for message in _messages.as_list(record.get("messages")):
        if isinstance(message, dict) and message.get("role") != "exit":
            _add(steps, message)
    status = scalar_id(info.get("exit_status"))
    broken = status.lower() not in _OWN_ENDINGS
    if broken:
        steps.event("harness", text_of(info.get("traceback")) or status, error=status)
    spans = steps.spans()
    if not spans:
        yield BadRecord(source.path, line, "not one of the `messages` has any words or actions")
        return
    config = _messages.as_dict(_messages.as_dict(info.get("config")).get("model"))
    task = chosen_task(record, source) or scalar_id(record.get("instance_id"))
    meta = {"exit_status": status, "version": info.get("mini_version"), **_stats(info)}
    meta |= _tokens(_messages.as_list(record.get("messages")))
    meta["ended"] = "limit" if status.lower() == _LIMIT else ""
    asked, model = _ISSUE.match(opening(spans)), config.get("model_name")
    goal = asked[1] if asked else ""
    trace = build(source, FORMAT.name, name, spans, place=line, task=goal, task_id=task, model=model, meta=meta)
    yield trace
    if broken:
        yield Outcome(trace.id, "infrastructure")


def _stats(info: dict[str, Any]) -> dict[str, Any]:
    stats = _messages.as_dict(info.get("model_stats"))
    return {"cost_usd": stats.get("instance_cost"), "api_calls": stats.get("api_calls")}


def _tokens(messages: list[Any]) -> dict[str, int]:
    """The tokens of all replies; nothing where one of them does not tell its own, as the sum would say too little."""
    replies = [message for message in messages if _messages.as_dict(message).get("role") == "assistant"]
    told = [_messages.as_dict(_messages.as_dict(reply.get("extra")).get("response")).get("usage") for reply in replies]
    sums: dict[str, int] = {}
    for ours, theirs in _TOKENS.items():
        counts = [count for usage in told if isinstance(count := _messages.as_dict(usage).get(theirs), int)]
        if counts and len(counts) == len(replies):
            sums[ours] = sum(counts)
    return sums


def _add(steps: Steps, message: dict[str, Any]) -> None:
    extra, role = _messages.as_dict(message.get("extra")), _messages.role_of(message)
    at, text = utc_time(extra.get("timestamp")), content_text(message.get("content"))
    if role == "assistant":
        _act(steps, message, extra, text, at)
    elif role == "tool" or (role == "user" and steps.waiting):
        found = _CODE.match(text)
        code = extra.get("returncode") if found is None else int(found.group(1))
        said = text if found is None else text[found.end() :].removesuffix("</output>")
        error = exit_error(said, code) or refused(text)
        steps.answer(text, scalar_id(message.get("tool_call_id")), at=at, error=error)
    else:
        steps.turn += 1
        steps.say(role, text, at=at)


def _act(steps: Steps, message: dict[str, Any], extra: dict[str, Any], text: str, at: str | None) -> None:
    """A reply: its words, and its commands, each named once however often the message tells of it."""
    steps.turn += 1
    told = _messages.as_list(extra.get("actions"))
    actions = [action for action in told if isinstance(action, dict) and scalar_id(action.get("command"))]
    if not _messages.as_list(message.get("tool_calls")):
        actions = actions or [{"command": command} for command in _BLOCK.findall(text)]
        steps.say("assistant", (_BLOCK.sub("", text) if actions else text).strip(), at=at)
        for action in actions:
            command = json_text({"command": scalar_id(action.get("command"))})
            steps.call("bash", command, scalar_id(action.get("tool_call_id")), at)
        return
    steps.say("assistant", text.strip(), at=at)
    for call in _messages.as_list(message.get("tool_calls")):
        _messages.add_call(steps, call, at)
