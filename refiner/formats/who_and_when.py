"""Who&When: failed runs of several agents, one a file, with the step that a person found decisive.

A span's id is the step's place in `history`. What the person found is feedback; its step and agent are kept as facts of
the trace (`mistake_step`, `mistake_agent`), which no analyst reads.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, BinaryIO

from refiner.formats import _messages
from refiner.formats._blocks import content_text
from refiner.formats._common import Item, Unusable, items, lookup, scalar_id, text_of
from refiner.formats._steps import Steps, opening
from refiner.formats._values import objects
from refiner.ids import content_key
from refiner.ports import Source
from refiner.types import EvaluatorNote, Outcome, Span, SpanKind, Status, Trace

_CODE = re.compile(r"```[\w+-]*\n(.*?)```", re.DOTALL)
_EXIT = re.compile(r"exitcode: (-?\d+)")
_TERMINAL = "Computer_terminal"
_FACTS = ("mistake_step", "mistake_agent", "level")


class WhoAndWhen:
    name = "who-and-when"

    def sniff(self, head: bytes) -> float:
        return float(any(_is_record(record) for record in objects(head)))

    def parse(self, stream: BinaryIO, source: Source) -> Iterator[Item]:
        return items(stream, source, lambda record, place: _convert(record, place, source))


FORMAT = WhoAndWhen()


def _is_record(record: dict[str, Any]) -> bool:
    """A long history may fill the beginning of a file: the question's id and answer before it are as telling."""
    given = ("question_ID", "ground_truth"), ("mistake_agent", "mistake_step")
    return any(all(key in record for key in keys) for keys in given)


def _convert(record: dict[str, Any], place: str, source: Source) -> Iterator[Item]:
    if not isinstance(record.get("history"), list):
        raise Unusable("no `history`")
    steps = Steps()
    _instructions(steps, record.get("system_prompt"))
    told = len(steps.drafts)
    _steps(steps, record["history"])
    spans = steps.spans()
    if len(spans) == told:
        raise Unusable("`history` holds no messages")
    question = scalar_id(record.get("question_ID"))
    task_id = (scalar_id(lookup(record, source.task_key)) if source.task_key else "") or question
    trace = Trace(
        corpus=source.corpus,
        external_id=_external_id(record, question),
        format=FORMAT.name,
        task=text_of(record.get("question")) or opening(spans),
        task_id=task_id,
        task_id_origin="file" if task_id else "none",
        spans=spans,
        source=place,
        meta={key: found for key in _FACTS if (found := scalar_id(record.get(key)))},
    )
    yield trace
    yield Outcome(trace.id, _status(record), feedback=text_of(record.get("mistake_reason")).strip() or None)
    expected = text_of(record.get("ground_truth")).strip()
    if expected:
        yield EvaluatorNote(trace.id, "expected", expected)


def _external_id(record: dict[str, Any], question: str) -> str:
    """The question's id; both halves of the collection ask the same questions, so that of hand-made teams says so."""
    if not question:
        return f"who-and-when-{content_key(record)}"
    return f"{question}/hand-crafted" if "is_corrected" in record else question


def _status(record: dict[str, Any]) -> Status:
    """The two halves name the verdict differently; both say whether the answer was right."""
    right = next((record[key] for key in ("is_correct", "is_corrected") if isinstance(record.get(key), bool)), None)
    return "unknown" if right is None else "pass" if right else "fail"


def _instructions(steps: Steps, prompts: Any) -> None:
    """What each agent was told, by its name."""
    for name, prompt in _messages.as_dict(prompts).items():
        steps.say("system", text_of(prompt), f"system:{text_of(name)}")


def _steps(steps: Steps, history: list[Any]) -> None:
    code = ""
    for place, message in enumerate(history):
        if not isinstance(message, dict):
            continue
        role = scalar_id(message.get("role"))
        name, text = scalar_id(message.get("name")) or role, content_text(message.get("content"))
        if name == _TERMINAL:
            _run(steps, code, text, str(place))
        else:
            speaker = "user" if role.lower() == "human" else "assistant"
            steps.say(speaker, text, str(place), name=name)
        code = "\n".join(_CODE.findall(text)).strip()


def _run(steps: Steps, code: str, text: str, span_id: str) -> None:
    """What the terminal answered: the observation of the code in the message before it, where there was any."""
    exited = _EXIT.match(text)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    error = None if not lines or not exited or exited[1] == "0" else lines[-1 if "Traceback" in text else 0]
    kind: SpanKind = "tool_call" if code else "tool_result"
    steps.drafts.append(Span(0, span_id, kind, _TERMINAL, input=text_of(code), output=text, error=error))
