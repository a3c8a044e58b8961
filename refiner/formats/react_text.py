"""ReAct logs as text: `Question:`, then numbered thoughts, actions, observations; Reflexion's trials and sections too.

What the grader answered to the last action is the outcome, not a step. A question asked again begins with reflections
on the try before; the last of them is the feedback of that try.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import BinaryIO

from refiner.formats._common import Item, text_of
from refiner.formats._refusals import refused
from refiner.formats._steps import Steps
from refiner.jsontext import decode
from refiner.ports import Source
from refiner.types import BadRecord, EvaluatorNote, Outcome, Status, Trace

_MARK = re.compile(
    r"^(?P<word>Question|Correct answer|(?:Thought|Action|Observation) \d+): ?"
    r"|^BEGIN TRIAL (?P<trial>\d+)|^-{3,} BEGIN (?P<section>[A-Z]+) AGENTS -{3,}|^#{5,}",
    re.MULTILINE,
)
_TOLD = re.compile(r"You have attempted to answer|^Reflections?:", re.MULTILINE)
_ACTION = re.compile(r"([\w ]+)\[(.*)\]\s*$", re.DOTALL)
_GRADED = re.compile(r"Answer is (IN)?CORRECT\b")
_SECTIONS: dict[str, Status] = {"CORRECT": "pass", "INCORRECT": "fail", "HALTED": "fail"}


class ReactText:
    name = "react-text"

    def sniff(self, head: bytes) -> float:
        text = decode(head)
        return float(
            all(re.search(rf"^{word}: ", text, re.MULTILINE) for word in ("Question", "Thought 1", "Action 1"))
        )

    def parse(self, stream: BinaryIO, source: Source) -> Iterator[Item]:
        attempts = list(_attempts(decode(stream.read())))
        for number, attempt in enumerate(attempts):
            yield from _items(attempt, _reflection(attempt, attempts[number + 1 :]), source)
        if not attempts:
            yield BadRecord(source.path, 0, "holds no `Question:` with steps")


FORMAT = ReactText()


@dataclass(slots=True)
class _Attempt:
    """One question of one trial. `number` counts the questions of the trial from 1; `line` is 1-based."""

    line: int
    trial: str
    number: int
    section: str
    question: str
    told: str
    steps: Steps = field(default_factory=Steps)
    verdict: str = ""
    answer: str = ""
    expected: str = ""


def _attempts(text: str) -> Iterator[_Attempt]:
    trial, section, number, line, seen = "1", "", 0, 1, 0
    attempt: _Attempt | None = None
    marks = list(_MARK.finditer(text))
    for place, mark in enumerate(marks):
        line, seen = line + text.count("\n", seen, mark.start()), mark.start()
        body = text[mark.end() : marks[place + 1].start() if place + 1 < len(marks) else len(text)].strip()
        if mark["word"] == "Question":
            yield from _finished(attempt)
            number += 1
            attempt = _Attempt(line, trial, number, section, *_question(body))
        elif mark["word"] and attempt:
            _step(attempt, mark["word"], text_of(body))
        elif mark["section"] or mark["trial"]:
            yield from _finished(attempt)
            attempt, section = None, mark["section"] or ""
            trial, number = (mark["trial"], 0) if mark["trial"] else (trial, number)
    yield from _finished(attempt)


def _finished(attempt: _Attempt | None) -> Iterator[_Attempt]:
    if attempt and (attempt.question or attempt.steps.drafts):
        yield attempt


def _question(body: str) -> tuple[str, str]:
    """The question itself, and what was said of earlier tries."""
    told = _TOLD.search(body)
    at = told.start() if told else len(body)
    return text_of(body[:at].strip()), text_of(body[at:].strip())


def _step(attempt: _Attempt, word: str, body: str) -> None:
    kind = word.split()[0]
    if kind == "Correct":
        attempt.expected = body
    elif kind == "Thought":
        attempt.steps.say("assistant", body, name="thought")
    elif kind == "Action":
        action = _ACTION.fullmatch(body)
        name, given = (action[1].strip(), action[2]) if action else ("action", body)
        attempt.steps.call(name, given)
        attempt.answer = given if name.lower() == "finish" else attempt.answer
    elif graded := _GRADED.match(body):
        attempt.verdict = f"{graded[1] or ''}CORRECT"
    else:
        attempt.steps.answer(body, error=refused(body))


def _reflection(attempt: _Attempt, later: list[_Attempt]) -> str:
    """The last thing that the next try of the same question was told."""
    again = next((one for one in later if one.question == attempt.question and one.trial != attempt.trial), None)
    told = [line.strip()[2:] for line in (again.told if again else "").splitlines() if line.strip().startswith("- ")]
    return told[-1] if told else ""


def _items(attempt: _Attempt, reflection: str, source: Source) -> Iterator[Item]:
    steps = Steps()
    steps.say("user", attempt.question)
    steps.say("user", attempt.told, name="reflections")
    steps.drafts += attempt.steps.drafts
    meta = {"trial": attempt.trial} | ({"ended": "limit"} if attempt.section == "HALTED" else {})
    trace = Trace(
        corpus=source.corpus,
        external_id=f"{source.path}:trial{attempt.trial}-{attempt.number}",
        format=FORMAT.name,
        task=attempt.question,
        task_id="",
        task_id_origin="none",
        spans=steps.spans(),
        source=f"{source.path}:{attempt.line}",
        meta=meta,
    )
    yield trace
    status = _SECTIONS.get(attempt.section) or _SECTIONS.get(attempt.verdict, "unknown")
    yield Outcome(trace.id, status, feedback=_feedback(attempt, reflection) if status == "fail" else None)
    if attempt.expected:
        yield EvaluatorNote(trace.id, "expected", attempt.expected)


def _feedback(attempt: _Attempt, reflection: str) -> str | None:
    if attempt.section == "HALTED":
        graded = "Halted without an answer"
    else:
        expected = f": expected {attempt.expected}, got {attempt.answer}" if attempt.expected else ""
        graded = f"Answer is incorrect{expected}"
    return "\n".join(filter(None, (graded, reflection)))
