"""How the command line shows progress, tables and diffs. Text from traces is printed without control characters."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from refiner.engine import Event, Notice, StageEnded, StageProgress, StageStarted, StepFailed

STAGES = {
    "contrast": "contrast",
    "summarise": "summaries",
    "embed": "embeddings",
    "cluster": "clusters",
    "propose": "proposals",
    "recur": "recurrences",
    "fold": "folding",
    "gate": "gate",
    "merge": "changes",
    "audit": "audits",
}


def safe(text: str) -> str:
    """The text without control characters (an escape sequence from a trace must not reach the terminal)."""
    return "".join(char if char.isprintable() or char in "\n\t" else "\ufffd" for char in text)


@dataclass(slots=True)
class Progress:
    """A bar by stage on a terminal, a line by stage elsewhere; both on standard error."""

    bar: Any = None
    reused: dict[str, int] = field(default_factory=dict)

    def __call__(self, event: Event) -> None:
        match event:
            case Notice():
                print(safe(f"Note: {event.words}"), file=sys.stderr)
            case StageStarted():
                self._start(event)
            case StageProgress():
                self.bar.update(event.done - self.bar.n)
            case StepFailed():
                self.bar.write(safe(f"  {event.stage} failed for {event.label}: {event.error}"), file=sys.stderr)
            case StageEnded():
                self._end(event)

    def _start(self, event: StageStarted) -> None:
        from tqdm import tqdm

        name = STAGES.get(event.stage, event.stage)
        self.reused[event.stage] = event.reused
        form = "{desc:<12} {bar:24} {n_fmt}/{total_fmt}  {elapsed}"
        quiet = not sys.stderr.isatty()
        self.bar = tqdm(
            desc=name, total=event.total, initial=event.reused, bar_format=form, leave=False, disable=quiet, delay=0.2
        )

    def _end(self, event: StageEnded) -> None:
        self.bar.close()
        reused = self.reused.get(event.stage, 0)
        kept = f", {reused} kept from before" if reused else ""
        failed = f", {event.failed} FAILED" if event.failed else ""
        name = STAGES.get(event.stage, event.stage)
        print(f"{name:<12} {event.seconds:6.1f} s  {self.bar.total} steps{kept}{failed}", file=sys.stderr)


def table(headers: Sequence[str], rows: Sequence[Sequence[str]], widths: Sequence[int]) -> str:
    """Columns of fixed widths with wrapped cells."""
    lines = [_row(headers, widths), _row(["-" * width for width in widths], widths)]
    return "\n".join([*lines, *(_row([safe(cell) for cell in row], widths) for row in rows)])


def _row(cells: Sequence[str], widths: Sequence[int]) -> str:
    wrapped = [textwrap.wrap(cell, width) or [""] for cell, width in zip(cells, widths, strict=True)]
    height = max(len(lines) for lines in wrapped)
    filled = [lines + [""] * (height - len(lines)) for lines in wrapped]
    return "\n".join(
        "  ".join(lines[number].ljust(width) for lines, width in zip(filled, widths, strict=True)).rstrip()
        for number in range(height)
    )
