"""Conversations written for the tests, with the attempts that they hold."""

from __future__ import annotations

import json
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


def chat_line(name: str, *turns: str) -> str:
    """One line of a chat file from lines as `talk` takes them."""
    messages: list[dict[str, object]] = []
    for number, turn in enumerate(turns):
        who, _, text = turn.partition(": ")
        if who.startswith("tool "):
            function = {"name": who.removeprefix("tool "), "arguments": json.dumps({"n": number})}
            call = {"id": f"c{number}", "type": "function", "function": function}
            messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
            messages.append({"role": "tool", "tool_call_id": f"c{number}", "content": text})
        else:
            messages.append({"role": "assistant" if who == "agent" else who, "content": text})
    return json.dumps({"id": name, "messages": messages}) + "\n"


ONE = chat_line(
    "talk",
    "user: Sum column B",
    "tool write_cell: ok",
    "agent: I wrote the sum.",
    "user: No, use a formula instead of a number.",
    "tool write_formula: ok",
    "agent: Now it is a formula.",
    "user: Thanks! Now name the sheet after the month",
    "agent: Done: I renamed the file.",
    "user: wrong, read the name back before you say it is done.",
    "tool rename_sheet: ok",
    "agent: Renamed.",
)
REQUESTS = [
    *("Sum the sales", "List the customers", "Mark the late orders", "Sort the prices", "Draw the revenue"),
    *("Merge the addresses", "Count the visits", "Split the names", "Round the taxes", "Hide the drafts"),
    *("Freeze the header", "Translate the titles", "Check the stock", "Rank the teams", "Print the labels"),
]


def many() -> str:
    """A chat file: in every conversation the user complains that nothing was saved, and accepts it once it is."""
    complaint = "user: No, you did not save the workbook before you finished."
    return "".join(
        chat_line(
            f"c{number:02}",
            f"user: {request}",
            "tool open_workbook: ok",
            "tool write_cell: ok",
            "agent: Done.",
            complaint,
            "tool write_cell: ok",
            "tool save_workbook: saved",
            "agent: Saved.",
            "user: Perfect, thanks.",
        )
        for number, request in enumerate(REQUESTS)
    )
