"""What the screens show, as plain values: frozen, importable without a database. No rule and no query lives here."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import BinaryIO, Literal

from refiner.reporting.report import Decided
from refiner.types import BadRecord, Citation, Decision, Outcome, Status, Trace

ItemStatus = Literal["open", "accepted", "rejected", "skipped", "carried"]
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


@dataclass(frozen=True, slots=True)
class CorpusCard:
    """A corpus on one line. `statuses` counts traces by effective outcome (pass, fail, unknown, infrastructure).

    `scripted`: the sample, which no model made. `opened`: a result folder opened for reading; nothing can be added.
    """

    name: str
    traces: int
    tasks: int
    statuses: dict[str, int]
    scripted: bool
    has_skill: bool
    refinements: int
    opened: bool = False


@dataclass(frozen=True, slots=True)
class SkillView:
    """The start skill of a corpus. `problems` are sentences; `lines` and `tokens` measure the body of `main`."""

    key: str
    main: str
    text: str
    files: tuple[str, ...]
    problems: tuple[str, ...]
    lines: int
    tokens: int
    skeleton: bool = False


@dataclass(frozen=True, slots=True)
class CorpusView:
    """Everything the corpus page says. Dictionaries count traces. `tried_twice` counts tasks with two labelled traces.

    `warnings` and `disagreements` are sentences. `revision` changes with every trace, label and skill that arrives.
    """

    name: str
    traces: int
    tasks: int
    statuses: dict[str, int]
    task_origins: dict[str, int]
    tried_twice: int
    failures_without_feedback: int
    formats: dict[str, int]
    models: dict[str, int]
    scripted: bool
    skill: SkillView | None
    warnings: tuple[str, ...]
    disagreements: tuple[str, ...]
    revision: str
    opened: bool = False


@dataclass(frozen=True, slots=True)
class Upload:
    """A file as it arrives. `name` may be hostile; `data` is read in chunks and never closed."""

    name: str
    data: BinaryIO


@dataclass(frozen=True, slots=True)
class FileRow:
    """What one file gave. `format` is "labels" for a label file and empty for what nobody reads."""

    path: str
    format: str
    traces: int
    rejected: int


@dataclass(frozen=True, slots=True)
class IngestReport:
    """What became of an upload. `labels` counts traces that a label or feedback reached; the rest are sentences."""

    accepted: int = 0
    duplicates: int = 0
    grown: int = 0
    labels: int = 0
    files: tuple[FileRow, ...] = ()
    rejected: tuple[BadRecord, ...] = ()
    conflicts: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    copies: tuple[tuple[str, str], ...] = ()
    """Traces that were copies of others: the id they had, and the id of the trace that they are."""
    skipped: tuple[BadRecord, ...] = ()
    """Files that are no trace files, each with the reason; nothing of a trace is lost with them."""

    def csv(self) -> str:
        """The report as a table for spreadsheets: one row a file, then one a rejected record, conflict and warning."""
        return csv_text(("kind", "file", "line", "format", "traces", "rejected", "words"), list(self._rows()))

    def _rows(self) -> Iterator[tuple[str, ...]]:
        for file in self.files:
            yield "file", file.path, "", file.format, str(file.traces), str(file.rejected), ""
        for bad in self.rejected:
            yield "rejected", bad.path, str(bad.line or ""), "", "", "", bad.reason
        for bad in self.skipped:
            yield "not read", bad.path, "", "", "", "", bad.reason
        for kind, sentences in (("conflict", self.conflicts), ("warning", self.warnings)):
            for words in sentences:
                yield kind, "", "", "", "", "", words


@dataclass(frozen=True, slots=True)
class SuggestionRow:
    """An outcome that a sign in a trace suggests. `reason` quotes the sign; nothing counts before it is accepted."""

    trace_id: str
    external_id: str
    goal: str
    status: Status
    kind: str
    reason: str
    last_answer: str = ""


@dataclass(frozen=True, slots=True)
class TableView:
    """A table before it is taken in: its columns, what they are taken for, and the first runs that this gives.

    `problem`: why it cannot be read like that, in words; None when it can.
    """

    columns: tuple[str, ...]
    mapping: dict[str, str]
    samples: tuple[Trace, ...] = ()
    problem: str | None = None


def csv_text(header: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    """A CSV text that no spreadsheet runs: a cell that starts like a formula gets a leading apostrophe."""
    import csv
    import io

    out = io.StringIO()
    writer = csv.writer(out)  # ends lines with CR LF, so that either inside a cell is quoted
    writer.writerow(header)
    writer.writerows([_harmless(cell) for cell in row] for row in rows)
    return out.getvalue()


def _harmless(cell: str) -> str:
    return f"'{cell}" if cell.startswith(_FORMULA) else cell


@dataclass(frozen=True, slots=True)
class LabelRow:
    """A trace to be labelled by hand. `goal` is the request, `origin` who said the status (empty: nobody)."""

    trace_id: str
    external_id: str
    goal: str
    last_answer: str
    last_user: str
    status: str
    origin: str
    feedback: str
    disputed: bool


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a refinement would take. `blocked` says why it cannot start, with what to do. `money` None: no known price.

    `unasked`: the hosts that would receive text of traces, and nobody has agreed to that yet.
    """

    failing: int
    passing: int
    held_out_tasks: int
    steps: int
    seconds: float
    calls: int
    tokens: int
    money: float | None
    warnings: tuple[str, ...]
    blocked: str | None
    currency: str = ""
    prices_of: str = ""
    unasked: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Item:
    """A change in the review queue.

    `hash` names what is shown now: hand it back as `seen` when deciding. `in_skill`: part of the merged skill (also
    when the status is `carried`). `conflicts`: changes that cannot be accepted together with this one. `text`: what
    an edit starts from. `similar`: a sentence when a change of the same behaviour and section was rejected before.
    `blocked`: a sentence when it cannot be accepted as it is; `releasable`: a reason with the code `released` helps.
    `seen`: somebody has acted on it before, even if that was undone. `place`: where in the skill; `intent`: one line.
    `to_write`: no run asks for it, a person has to write its text: the description of a skill that has none.
    `mends`: no run asks for it, it mends the front matter of the start skill.
    """

    change_id: str
    row: Decided
    status: ItemStatus
    in_skill: bool
    decision: Decision | None
    conflicts: tuple[str, ...]
    similar: str | None
    seen: bool
    tasks: int
    place: str
    intent: str
    text: str
    hash: str
    blocked: str | None
    releasable: bool
    to_write: bool = False
    mends: bool = False


@dataclass(frozen=True, slots=True)
class Review:
    """The queue of one refinement, easiest first. `counts`: items by status, and `in_skill`.

    `last_event` is the length of the decision log. `median_seconds`: time from shown to decided, of single decisions.
    """

    refinement_id: str
    items: tuple[Item, ...]
    counts: dict[str, int]
    last_event: int
    median_seconds: float | None

    def item(self, change_id: str) -> Item | None:
        """The item of that change, or None when the refinement has no such change."""
        return next((item for item in self.items if item.change_id == change_id), None)


@dataclass(frozen=True, slots=True)
class TraceView:
    """One trace with the outcome that counts and the quotes that the refinement took from it.

    `decisive`: the message of a failing trace that `analyst` takes for the one that decided it, by its ordinal.
    """

    trace: Trace
    outcome: Outcome
    cited: tuple[Citation, ...]
    external_id: str
    decisive: int | None = None
    analyst: str = ""


@dataclass(frozen=True, slots=True)
class Exports:
    """What can be downloaded. While `blocked` has sentences, `skill_md`, `zip` and `patch` are empty.

    `name` is the folder name of the skill (the zip holds one folder of that name), `main` the name of its main file.
    """

    skill_md: bytes
    zip: bytes
    decisions_jsonl: bytes
    provenance_json: bytes
    patch: bytes
    report_html: bytes
    blocked: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    name: str = ""
    main: str = "SKILL.md"
    changes_csv: bytes = field(default=b"", repr=False)
