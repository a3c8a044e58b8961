"""ToolBench answers: a search in a tree, one query a file, read as its longest path.

The path is that of the messages which were kept for training; a search that came to no end kept none, and is read from
its tree. The user speaks once: what is said in that role later is the search asking for another try.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, BinaryIO

from refiner.formats import _messages
from refiner.formats._blocks import content_text
from refiner.formats._building import build, chosen_task, records
from refiner.formats._common import Item, text_of
from refiner.formats._steps import Steps
from refiner.formats._values import objects
from refiner.ports import Source
from refiner.types import BadRecord, Outcome, Status

_FACTS = {"finish_type": "finish_type", "query_count": "api_calls", "total_tokens": "total_tokens"}


class ToolBench:
    name = "toolbench"

    def sniff(self, head: bytes) -> float:
        return float(any(_is_answer(record) for record in objects(head)))

    def parse(self, stream: BinaryIO, source: Source) -> Iterator[Item]:
        yield from records(stream, source, lambda record, name, line: _items(record, name, line, source), ".json")


FORMAT = ToolBench()


def _is_answer(record: dict[str, Any]) -> bool:
    """The tree may fill the beginning of a file: the outcome before it is enough."""
    return isinstance(record.get("tree"), dict) and ("win" in record or "answer_generation" in record)


def _items(record: dict[str, Any], name: str, line: int, source: Source) -> Iterator[Item]:
    given, steps = _messages.as_dict(record.get("answer_generation")), Steps()
    query = text_of(given.get("query")).strip()
    kept = [one for one in _messages.as_list(given.get("train_messages")) if isinstance(one, list) and one]
    if kept:
        _told(steps, max(reversed(kept), key=len))
    else:
        steps.say("user", query)
        _searched(steps, _messages.as_dict(_messages.as_dict(record.get("tree")).get("tree")))
    spans = steps.spans()
    if all(span.role in ("system", "user") for span in spans):
        yield BadRecord(source.path, line, "neither its `train_messages` nor its `tree` has a step of the agent")
        return
    facts = {ours: given.get(theirs) for theirs, ours in _FACTS.items()}
    task = chosen_task(record, source)
    trace = build(source, FORMAT.name, name, spans, place=line, task=query, task_id=task, meta=facts)
    yield trace
    win = record.get("win")
    status: Status = "unknown" if not isinstance(win, bool) else "pass" if win else "fail"
    yield Outcome(trace.id, status)


def _told(steps: Steps, messages: list[Any]) -> None:
    """The steps of a list of messages."""
    asked = False
    for message in messages:
        role = _messages.role_of(message) if isinstance(message, dict) else ""
        if role == "user" and asked:
            steps.say("system", content_text(message.get("content")), name="search")
        elif role:
            _messages.add(steps, message)
            asked = asked or role == "user"


def _searched(steps: Steps, root: dict[str, Any]) -> None:
    """The steps of the longest path of a tree, in which a call is two nodes: its name, then its arguments."""
    action = ""
    for node in _longest(root):
        kind, text = node.get("node_type"), text_of(node.get("description"))
        if kind == "Thought":
            steps.say("assistant", text)
        elif kind == "Action":
            action = text.strip()
        elif kind == "Action Input" and action:
            steps.call(action, text)
            steps.answer(text_of(node.get("observation")), name=action)
            action = ""


def _longest(root: dict[str, Any]) -> list[dict[str, Any]]:
    """The nodes from the root to the deepest leaf, of several the first."""
    paths, longest = [[root]], [root]
    while paths:
        path = paths.pop()
        longest = path if len(path) > len(longest) else longest
        children = [one for one in _messages.as_list(path[-1].get("children")) if isinstance(one, dict)]
        paths += [[*path, child] for child in reversed(children)]
    return longest
