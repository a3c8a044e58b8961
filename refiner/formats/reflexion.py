"""Reflexion programming logs: a line a task, with the last solution, whether it passed, and what came before it.

The attempts between are not in these files; the reflections on them are. Those of a run that never passed are also its
feedback. Tests and model solutions are the evaluator's.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, BinaryIO

from refiner.formats._common import Item, Unusable, items, lookup, scalar_id, text_of
from refiner.formats._messages import as_list
from refiner.formats._steps import Steps
from refiner.formats._values import objects
from refiner.ids import content_key
from refiner.ports import Source
from refiner.types import EvaluatorNote, NoteKind, Outcome, Status, Trace

_IDS = ("name", "task_id")
_HIDDEN: tuple[tuple[NoteKind, str], ...] = (
    ("expected", "test"),
    ("gold", "cannonical_solution"),
    ("gold", "canonical_solution"),
)


class Reflexion:
    name = "reflexion"

    def sniff(self, head: bytes) -> float:
        return float(any("is_solved" in one and ("solution" in one or "reflections" in one) for one in objects(head)))

    def parse(self, stream: BinaryIO, source: Source) -> Iterator[Item]:
        return items(stream, source, lambda record, place: _convert(record, place, source))


FORMAT = Reflexion()


def _convert(record: dict[str, Any], place: str, source: Source) -> Iterator[Item]:
    prompt, solution = text_of(record.get("prompt")), text_of(record.get("solution"))
    thoughts = [text for one in as_list(record.get("reflections")) if (text := text_of(one).strip())]
    if not prompt and not solution and not thoughts:
        raise Unusable("neither `prompt` nor `solution`")
    name = next((found for key in _IDS if (found := scalar_id(record.get(key)))), "")
    task_id = (scalar_id(lookup(record, source.task_key)) if source.task_key else "") or name
    steps = Steps()
    steps.say("user", prompt)
    for thought in thoughts:
        steps.say("assistant", thought, name="reflection")
    steps.say("assistant", solution, name="solution")
    trace = Trace(
        corpus=source.corpus,
        external_id=f"{source.path}:{name or content_key(record)}",
        format=FORMAT.name,
        task=prompt,
        task_id=task_id,
        task_id_origin="file" if task_id else "none",
        spans=steps.spans(),
        source=place,
        meta={"language": language} if (language := scalar_id(record.get("language"))) else {},
    )
    yield trace
    status = _status(record.get("is_solved"))
    yield Outcome(trace.id, status, feedback=None if status == "pass" else "\n".join(thoughts) or None)
    texts = ((kind, text_of(record.get(key)).strip()) for kind, key in _HIDDEN)
    yield from (EvaluatorNote(trace.id, kind, text) for kind, text in texts if text)


def _status(solved: Any) -> Status:
    return "unknown" if not isinstance(solved, bool) else "pass" if solved else "fail"
