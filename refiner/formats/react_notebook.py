"""ReAct notebooks: episodes printed in the output of a cell, of question answering (FEVER, HotpotQA) and of WebShop.

What the grader answered is the outcome, not a step. Pictures and every other output of a cell are not read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

from refiner.formats import _messages
from refiner.formats._building import build, records
from refiner.formats._common import Item, scalar_id, text_of
from refiner.formats._refusals import refused
from refiner.formats._steps import Steps
from refiner.formats._values import objects
from refiner.labels import status_of
from refiner.ports import Source
from refiner.types import BadRecord, EvaluatorNote, Outcome

_ASKED = re.compile(r"^(\d+) (?:Claim|Question): (.*)$", re.MULTILINE)
_SHOP = re.compile(r"^-{17}\n(\d+)\n(?=Action: reset)", re.MULTILINE)
_STEP = re.compile(r"^(Thought|Action|Observation)(?: \d+)?: ?", re.MULTILINE)
_ACTION = re.compile(r"([\w ]+)\[(.*?)(?:\]\s*)?", re.DOTALL)
"""A thought of a model that was cut off has no closing bracket."""
_RESULT = re.compile(r"^\{'steps': .*\}", re.MULTILINE)
_RUNNING = re.compile(r"\n\d+(?: [\d.]+){2,}\n-{5,}\n*\Z")
"""The averages so far, which are printed after each episode."""
_GRADED = re.compile(r"Episode finished, reward = |Your score \(min 0\.0, max 1\.0\): ([\d.]+)")
_INSTRUCTION = re.compile(r"Instruction:\s*\n(.*?)\s*\n?\[Search\]", re.DOTALL)


class ReactNotebook:
    name = "react-notebook"

    def sniff(self, head: bytes) -> float:
        """The cell with the episodes may lie behind the first bytes: a notebook that imports what they need will do."""
        found = [one for one in objects(head) if isinstance(one.get("cells"), list) and one["cells"]]
        printed = any(_episodes(_printed(cell)) for one in found for cell in one["cells"] if isinstance(cell, dict))
        return 1.0 if printed else 0.0

    def parse(self, stream: BinaryIO, source: Source) -> Iterator[Item]:
        yield from records(stream, source, lambda record, name, line: _items(record, name, line, source))


FORMAT = ReactNotebook()


@dataclass(frozen=True, slots=True)
class _Episode:
    """One question or one purchase: its number in the notebook, what was asked (empty: in its text), its text."""

    number: str
    asked: str
    text: str


def _items(record: dict[str, Any], name: str, line: int, source: Source) -> Iterator[Item]:
    cells = [cell for cell in _messages.as_list(record.get("cells")) if isinstance(cell, dict)]
    episodes = [episode for cell in cells for episode in _episodes(_printed(cell))]
    if not episodes:
        yield BadRecord(source.path, line, "a notebook whose output holds no episodes of thoughts and actions")
    for episode in episodes:
        yield from _told(episode, name, line, source)


def _printed(cell: dict[str, Any]) -> str:
    """All that a cell printed, which is saved in pieces."""
    outputs = [one for one in _messages.as_list(cell.get("outputs")) if isinstance(one, dict)]
    pieces = (one.get("text") for one in outputs if one.get("output_type") == "stream")
    return "".join("".join(map(text_of, piece)) if isinstance(piece, list) else text_of(piece) for piece in pieces)


def _episodes(printed: str) -> list[_Episode]:
    marks = list(_ASKED.finditer(printed)) or list(_SHOP.finditer(printed))
    ends = [*(mark.start() for mark in marks[1:]), len(printed)][: len(marks)]
    texts = [printed[mark.end() : end] for mark, end in zip(marks, ends, strict=True)]
    found = zip(marks, texts, strict=True)
    return [
        _Episode(mark[1], mark[2].strip() if mark.re is _ASKED else "", text)
        for mark, text in found
        if _STEP.search(text)
    ]


def _told(episode: _Episode, name: str, line: int, source: Source) -> Iterator[Item]:
    steps, score, answer = Steps(), None, ""
    result = _messages.as_dict(_messages.parsed(found[0])) if (found := _RESULT.search(episode.text)) else {}
    body = _RUNNING.sub("", episode.text[: found.start()] if found else episode.text)
    steps.say("user", episode.asked)
    marks = list(_STEP.finditer(body))
    for place, mark in enumerate(marks):
        said = body[mark.end() : marks[place + 1].start() if place + 1 < len(marks) else len(body)].strip()
        graded = _GRADED.match(said) if mark[1] == "Observation" else None
        if graded is None:
            answer = _step(steps, mark[1], said) or answer
        elif graded[1]:
            score = _number(graded[1])
    score = result["reward"] if isinstance(result.get("reward"), int | float) else score
    trace = build(source, FORMAT.name, f"{name}:{episode.number}", steps.spans(), place=line)
    yield trace
    status, number = status_of(score) if score is not None and 0 <= score <= 1 else ("unknown", None)
    expected = scalar_id(result.get("gt_answer"))
    feedback = f"Answer is incorrect: expected {expected}, got {answer or 'none'}" if expected else None
    yield Outcome(trace.id, status, score=number, feedback=feedback if status == "fail" else None)
    if expected:
        yield EvaluatorNote(trace.id, "expected", expected)


def _step(steps: Steps, word: str, said: str) -> str:
    """Adds a step; returns what a finishing action answers."""
    if word == "Thought":
        steps.say("assistant", said, name="thought")
        return ""
    if word == "Observation":
        if steps.waiting:
            steps.answer(said, error=refused(said))
        elif not steps.drafts and (asked := _INSTRUCTION.search(said)):
            steps.say("user", asked[1].strip())
        return ""
    action = _ACTION.fullmatch(said)
    name, given = (action[1].strip(), action[2]) if action else (said, "")
    if name == "think":
        steps.say("assistant", given, name="thought")
    elif name != "reset":
        steps.call(name, given)
    return given if name.lower() == "finish" else ""


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
