"""Conversations written for the tests, with the attempts that they hold."""

from __future__ import annotations

from pathlib import Path

from refiner import ingest
from refiner.formats._steps import Steps, opening
from refiner.types import Trace

INTERRUPTED = "[Request interrupted by user for tool use]"


def talk(*steps: str, name: str = "talk", corpus: str = "corpus") -> Trace:
    """A trace from lines `user: ...`, `agent: ...`, `system: ...` and `tool NAME: OUTPUT` (`!OUTPUT` = an error)."""
    made = Steps()
    for step in steps:
        who, _, text = step.partition(": ")
        if who.startswith("tool "):
            made.call(who.removeprefix("tool "), '{"n": 1}')
            made.answer(text.removeprefix("!"), error=text.removeprefix("!") if text.startswith("!") else None)
        else:
            made.say({"agent": "assistant"}.get(who, who), text)
    spans = made.spans()
    return Trace(corpus, name, "chat", opening(spans), "", "none", spans)


def read(folder: Path) -> list[Trace]:
    """The traces of real files."""
    return list(ingest.load([folder], corpus="corpus").traces)


CORRECTED = talk(
    "system: You edit tables.",
    "user: Sum column B",
    "tool write_cell: ok",
    "agent: I wrote the sum 41.",
    "user: No, use a formula instead of a number.",
    "tool write_cell: ok",
    "agent: Now B9 holds a formula.",
    "user: Thanks!",
    "agent: You're welcome.",
    "user: What is a pivot table?",
    "agent: A summary of a table.",
)
TWICE_WRONG = talk(
    "user: Rename the sheet to Totals",
    "tool rename: ok",
    "agent: Done.",
    "user: That's not right, the name is still the old one.",
    "tool rename: ok",
    "agent: Done now.",
    "user: it still doesn't work",
    "tool rename: ok",
    "tool list_sheets: Totals",
    "agent: It is renamed.",
    "user: perfect, now add a chart",
    "tool add_chart: ok",
    "agent: Added.",
)
INTERRUPTION = talk(
    "user: Clean up the project",
    "tool delete: removed 3 files",
    f"user: {INTERRUPTED}",
    "user: only look in the build folder",
    "tool delete: removed 1 file",
    "agent: Done.",
    "user: great",
)
