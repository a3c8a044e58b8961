"""What a tau-bench checker would have said in words: gold actions against those taken. Reads spans, writes text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from refiner.formats._common import scalar_id
from refiner.ids import canonical_json
from refiner.jsontext import clean, loads
from refiner.types import Span

_READ_ONLY = re.compile(r"get_|search_|list_|find_|calculate|think")
_FREE_TEXT = {"transfer_to_human_agents"}
"""Actions whose arguments are prose that no checker compares."""


@dataclass(frozen=True, slots=True)
class Action:
    """One call that changes the world. `plain` = what is compared: its arguments as canonical JSON."""

    name: str
    arguments: dict[str, Any] = field(compare=False)
    plain: dict[str, str]

    def __str__(self) -> str:
        return f"{self.name}({', '.join(f'{key}={_shown(value)}' for key, value in self.arguments.items())})"

    def differing(self, other: Action) -> list[str]:
        """The names of arguments in which the two differ, own order first."""
        names = dict.fromkeys((*self.plain, *other.plain))
        return [name for name in names if self.plain.get(name) != other.plain.get(name)]


def diff(info: dict[str, Any], spans: tuple[Span, ...]) -> str | None:
    """One line for each difference between what the checker expects and what was done; None when there is none."""
    task = info.get("task")
    if not isinstance(task, dict):
        return None
    gold = [_action(item.get("name"), item.get("kwargs")) for item in _list(task, "actions") if isinstance(item, dict)]
    done = (span for span in spans if span.kind == "tool_call" and not span.error)
    taken = [_action(span.name, _arguments(span.input)) for span in done]
    lines = [*_compare(_writes(gold), _writes(taken)), *_missing_outputs(info, task, spans)]
    return "\n".join(lines) or None


def _arguments(text: str) -> Any:
    try:
        return loads(text)
    except ValueError:
        return None


def _action(name: Any, arguments: Any) -> Action:
    given = {clean(key): value for key, value in arguments.items()} if isinstance(arguments, dict) else {}
    compared = {} if scalar_id(name) in _FREE_TEXT else given
    return Action(scalar_id(name), given, {key: canonical_json(_folded(value)) for key, value in compared.items()})


def _folded(value: Any) -> Any:
    """250.0 and 250 are one amount."""
    if isinstance(value, dict):
        return {key: _folded(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_folded(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _writes(actions: list[Action]) -> list[Action]:
    return [action for action in actions if action.name and not _READ_ONLY.match(action.name)]


def _compare(gold: list[Action], taken: list[Action]) -> Iterator[str]:
    """Equal pairs first, then pairs of one name with the fewest differing arguments, then what is left over."""
    gold, taken = list(gold), list(taken)
    for action in tuple(gold):
        if action in taken:
            gold.remove(action)
            taken.remove(action)
    wrong: list[tuple[Action, Action]] = []
    while close := list(_namesakes(gold, taken)):
        _, i, j = min(close)
        wrong.append((gold.pop(i), taken.pop(j)))
    yield from (f"Missing action: {action}" for action in gold)
    yield from (f"Unexpected action: {action}" for action in taken)
    for expected, got in wrong:
        for name in expected.differing(got):
            yield f"Wrong argument: {expected.name}.{name}: expected {_value(expected, name)}, got {_value(got, name)}"


def _namesakes(gold: list[Action], taken: list[Action]) -> Iterator[tuple[int, int, int]]:
    for i, expected in enumerate(gold):
        for j, got in enumerate(taken):
            if expected.name == got.name:
                yield len(expected.differing(got)), i, j


def _value(action: Action, name: str) -> str:
    return _shown(action.arguments[name]) if name in action.arguments else "nothing"


def _shown(value: Any) -> str:
    return clean(json.dumps(value, ensure_ascii=False))


def _missing_outputs(info: dict[str, Any], task: dict[str, Any], spans: tuple[Span, ...]) -> Iterator[str]:
    """The checker's own finding where it is recorded, else its rule: the text, commas aside, in something said."""
    found = _recorded(info)
    said = [span.output.lower().replace(",", "") for span in spans if span.role == "assistant"]
    for output in _list(task, "outputs"):
        text = output if isinstance(output, str) else _shown(output)
        if not found.get(text, any(text.lower() in words for words in said)):
            yield f"Expected output not given: {_shown(text)}"


def _list(record: dict[str, Any], key: str) -> list[Any]:
    value = record.get(key)
    return value if isinstance(value, list) else []


def _recorded(info: dict[str, Any]) -> dict[str, Any]:
    value: Any = info
    for key in ("reward_info", "info", "outputs"):
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}
