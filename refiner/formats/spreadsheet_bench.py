"""SpreadsheetBench transcripts, a line a task; the results of the official grader from the file beside them.

`conv_X.jsonl` goes with `eval_X.json` of the same folder; one of each go together whatever their names. All test cases
must hold. What the grader first found different is the feedback, where the results keep it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any, BinaryIO, ClassVar

from refiner.formats._building import build, chosen_task, records
from refiner.formats._common import Item, scalar_id, text_of
from refiner.formats._messages import as_list, first_line
from refiner.formats._steps import Steps
from refiner.formats._values import objects
from refiner.jsontext import decode, loads
from refiner.ports import Source
from refiner.types import BadRecord, Outcome, Span, Status, Trace

_CODE = re.compile(r"```[\w+-]*\n(.*?)```", re.DOTALL)
_INSTRUCTION = re.compile(r"^#+ *instruction[ :]*\n(.*?)(?=^#+ |\Z)", re.DOTALL | re.MULTILINE | re.IGNORECASE)
_TRANSCRIPTS, _RESULTS = r"conv_.*\.jsonl", r"eval_.*\.json"
_PASSED = re.compile(r"^Test case \d+: PASS\b")


class SpreadsheetBench:
    name = "spreadsheet-bench"
    leads: ClassVar = {_TRANSCRIPTS: re.compile(_RESULTS)}

    def sniff(self, head: bytes) -> float:
        return float(any(_is_transcript(record) for record in objects(head)))

    def parse(self, stream: BinaryIO, source: Source) -> Iterator[Item]:
        chosen, others = _results(source)
        graded = _graded(source, chosen)
        if others:
            yield BadRecord(source.path, 0, _unattached(source, others))
        yield from records(stream, source, lambda record, _, line: _convert(record, line, source, graded))


FORMAT = SpreadsheetBench()


def _is_transcript(record: dict[str, Any]) -> bool:
    return "instruction_type" in record and isinstance(record.get("conversation"), list | str)


def _convert(record: dict[str, Any], line: int, source: Source, graded: dict[str, dict[str, Any]]) -> Iterator[Item]:
    said = [text_of(one) for one in as_list(record.get("conversation"))]
    name = scalar_id(record.get("id"))
    if not name or not any(text.strip() for text in said):
        reason = "the `conversation` is empty" if name else "no `id`"
        yield BadRecord(source.path, line, reason)
        return
    trace = build(
        source,
        FORMAT.name,
        f"{PurePosixPath(source.path).stem}:{name}",
        _spans(said),
        place=line,
        task=_instruction(said[0]),
        task_id=chosen_task(record, source) or name,
        meta={"instruction_type": record.get("instruction_type")},
    )
    yield trace
    result = graded.get(name)
    if result is not None:
        yield _outcome(trace, result)


def _instruction(prompt: str) -> str:
    """What the user asks for, out of the prompt around it."""
    found = _INSTRUCTION.search(prompt)
    return found[1].strip() if found else ""


def _spans(said: list[str]) -> tuple[Span, ...]:
    """The prompt, then by turns what the model said and what its code gave."""
    steps = Steps()
    steps.say("user", said[0])
    for place, text in enumerate(said[1:]):
        if place % 2 == 0:
            steps.say("assistant", text)
            continue
        code = "\n".join(_CODE.findall(said[place])).strip() or said[place]
        steps.call("python", code)
        steps.answer(text, error=first_line(text.strip().split("\n")[-1]) if "Traceback (most recent" in text else None)
    return steps.spans()


def _own_results(source: Source) -> str:
    return f"eval_{PurePosixPath(source.path).stem.removeprefix('conv_')}.json"


def _unattached(source: Source, others: list[str]) -> str:
    found = ", ".join(others)
    return f"outcomes are not attached: none of {found} is named like it; call its own {_own_results(source)}"


def _results(source: Source) -> tuple[str, list[str]]:
    """The name of the results that go with the transcripts; where it cannot be told, those that are there."""
    names = source.beside.names() if source.beside else ()
    found = [name for name in names if re.fullmatch(_RESULTS, name)]
    own = _own_results(source)
    if own in found:
        return own, []
    alone = len(found) == 1 and sum(1 for name in names if re.fullmatch(_TRANSCRIPTS, name)) == 1
    return (found[0], []) if alone else ("", found)


def _graded(source: Source, name: str) -> dict[str, dict[str, Any]]:
    """The grader's results by task."""
    data = source.beside.read(name) if source.beside and name else None
    try:
        found = as_list(loads(decode(data or b"[]")))
    except ValueError:
        found = []
    return {scalar_id(one.get("id")): one for one in found if isinstance(one, dict)}


def _outcome(trace: Trace, result: dict[str, Any]) -> Outcome:
    hard = next((result[key] for key in ("hard_restriction", "result") if result.get(key) is not None), None)
    status: Status = "unknown" if hard not in (0, 1) else "pass" if hard else "fail"
    soft = result.get("soft_restriction", hard)
    score = float(soft) if isinstance(soft, int | float) and 0 <= soft <= 1 else None
    return Outcome(trace.id, status, score=score, feedback=_feedback(result) if status == "fail" else None)


def _feedback(result: dict[str, Any]) -> str | None:
    """The first difference that the grader found; else which of the test cases failed."""
    messages = [text_of(one) for one in as_list(result.get("messages"))] or [text_of(result.get("error_msg"))]
    found = next((" ".join(text.split()) for text in messages if text.strip() and not _PASSED.match(text)), "")
    cases = as_list(result.get("test_case_results"))
    failed = [str(number) for number, passed in enumerate(cases, 1) if passed in (0, False)]
    return found or (f"Test cases failed: {', '.join(failed)} of {len(cases)}" if failed else None)
