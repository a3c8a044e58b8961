"""Traces of any format as the three canonical files. Streams: only labels and places of lines are in memory."""

from __future__ import annotations

import io
import json
import os
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO, get_args

from refiner import ingest, intake, labels
from refiner.errors import FormatError, OutputError
from refiner.formats import canonical
from refiner.growth import BEGINS, grows
from refiner.parts import together
from refiner.ports import Source
from refiner.types import BadRecord, Outcome, Status, Trace, trace_key

TRACES = "traces.jsonl"
REWARDS = "binary_rewards.json"
FEEDBACK = "feedback.json"
FILES = (TRACES, REWARDS, FEEDBACK)
_CORPUS = "corpus"
_DRAFT = ".converting"
_LINES = "lines"


@dataclass(frozen=True, slots=True)
class Labelling:
    """Label files beside the traces, the score of the traces that says how they ended, and when a score passes."""

    rewards: Path | None = None
    feedback: Path | None = None
    score: str | None = None
    threshold: labels.Threshold = field(default_factory=labels.Threshold)


@dataclass(frozen=True, slots=True)
class Converted:
    """What was written and what was not. `statuses` counts the traces by the outcome that counts.

    Only passed and failed traces are in the rewards; infrastructure stands in the trace's own record. A conflict is
    (external id, source that was written, source that was not). `skipped`: files of a folder that are no traces.
    `copies`: sessions that were copied under another id, as (that id, the id that was written).
    """

    statuses: dict[Status, int]
    feedback: int
    duplicates: int
    notes_left_out: int
    copies: tuple[tuple[str, str], ...]
    conflicts: tuple[tuple[str, str, str], ...]
    rejected: tuple[BadRecord, ...]
    skipped: tuple[BadRecord, ...]
    warnings: tuple[str, ...]

    @property
    def traces(self) -> int:
        return sum(self.statuses.values())


@dataclass(slots=True)
class _Place:
    """Where the line of a trace begins in the draft, its revision, the task its file names, its source and format."""

    at: int
    revision: str
    task_id: str
    source: str
    format: str


@dataclass(slots=True)
class _Draft:
    """Traces as lines of a file, in the order in which they came; of a run that grew the longest one counts.

    `begun`: the traces by the first line of their session. `copies`: ids of copied sessions, with that of the original.
    """

    stream: BinaryIO
    places: dict[str, _Place] = field(default_factory=dict)
    duplicates: int = 0
    conflicts: list[tuple[str, str, str]] = field(default_factory=list)
    begun: dict[str, list[str]] = field(default_factory=dict)
    copies: dict[str, str] = field(default_factory=dict)

    def take(self, trace: Trace) -> None:
        trace = trace if trace.external_id in self.places else self._under_its_name(trace)
        known, revision = self.places.get(trace.external_id), trace.revision
        if known is None:
            self._write(trace, revision)
        elif known.revision == revision or grows(trace, before := self._read(known)):
            self.duplicates += 1
        elif grows(before, trace):
            self.duplicates += 1
            self._write(trace, revision)
        elif (whole := together(before, trace)) is not None:
            self._write(whole, whole.revision)
        else:
            self.conflicts.append((trace.external_id, known.source, trace.source))

    def _under_its_name(self, trace: Trace) -> Trace:
        """A session that was copied under another id, as the trace that it is already."""
        for name in self.begun.get(trace.meta.get(BEGINS, ""), ()):
            kept = self._read(self.places[name])
            if grows(kept, trace) or grows(trace, kept):
                self.copies[trace.external_id] = name
                return replace(trace, external_id=name)
        return trace

    def lines(self) -> Iterator[tuple[str, bytes]]:
        """External id and line of every trace that counts."""
        for name, place in sorted(self.places.items(), key=lambda item: item[1].at):
            yield name, self._line(place)

    def _write(self, trace: Trace, revision: str) -> None:
        at = self.stream.seek(0, os.SEEK_END)
        if BEGINS in trace.meta and trace.external_id not in self.places:
            self.begun.setdefault(trace.meta[BEGINS], []).append(trace.external_id)
        self.places[trace.external_id] = _Place(at, revision, trace.task_id, trace.source, trace.format)
        self.stream.write(json.dumps(canonical.record_of(trace)).encode() + b"\n")

    def _read(self, place: _Place) -> Trace:
        items = canonical.FORMAT.parse(io.BytesIO(self._line(place)), Source(_CORPUS, TRACES))
        return next(replace(item, format=place.format) for item in items if isinstance(item, Trace))

    def _line(self, place: _Place) -> bytes:
        self.stream.seek(place.at)
        return self.stream.readline()


@dataclass(slots=True)
class _Seen:
    """What is said about the traces, while they stream by."""

    threshold: labels.Threshold
    stated: list[Outcome] = field(default_factory=list)
    scores: dict[str, dict[str, Any]] = field(default_factory=dict)
    notes: int = 0
    rejected: list[BadRecord] = field(default_factory=list)
    skipped: list[BadRecord] = field(default_factory=list)

    def take(self, record: ingest.FileRecord) -> None:
        item = record.item
        if isinstance(item, Outcome):
            self.stated.append(labels.rescored(item, self.threshold))
        elif isinstance(item, BadRecord):
            (self.rejected if record.format else self.skipped).append(item)
        else:
            self.notes += 1


def convert(
    paths: Sequence[Path],
    out: Path,
    labelling: Labelling | None = None,
    *,
    task_key: str | None = None,
    columns: Mapping[str, str] | None = None,
    overwrite: bool = False,
) -> Converted:
    """Writes `traces.jsonl`, `binary_rewards.json` and `feedback.json` into `out`; reading them gives equal traces.

    Nothing is in place before all three are complete. Raises FormatError when there are no traces, LabelError for the
    label files, and OutputError when `out` cannot be written or has one of the three and `overwrite` is false.
    """
    labelling = labelling or Labelling()
    taken = [name for name in FILES if (out / name).exists()]
    if taken and not overwrite:
        raise OutputError(f"{out} holds {' and '.join(taken)} already; choose another folder, or add --overwrite")
    draft = out / _DRAFT
    try:
        shutil.rmtree(draft, ignore_errors=True)
        draft.mkdir(parents=True)
        with (draft / _LINES).open("w+b") as stream:
            done = _converted(paths, _Draft(stream), draft, labelling, task_key, columns)
        for name in FILES:
            os.replace(draft / name, out / name)
    except OSError as error:
        raise OutputError(f"{out} cannot be written ({error.strerror}); choose another folder") from error
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return done


def _converted(
    paths: Sequence[Path],
    draft: _Draft,
    folder: Path,
    labelling: Labelling,
    task_key: str | None,
    columns: Mapping[str, str] | None,
) -> Converted:
    seen = _Seen(labelling.threshold)
    for record in ingest.read(paths, corpus=_CORPUS, task_key=task_key, columns=columns):
        if isinstance(record.item, Trace):
            draft.take(record.item)
            seen.scores[record.item.id] = labels.scores_of(record.item.meta) if labelling.score else {}
        else:
            seen.take(record)
    if not draft.places:
        raise FormatError(f"no traces in {', '.join(map(str, paths))}")
    effective, warnings = _judged(draft, seen, labelling)
    texts = {name: outcome.feedback for name, outcome in effective.items() if outcome.feedback}
    _write_traces(draft, effective, folder / TRACES)
    _write_json(
        {name: one.status == "pass" for name, one in effective.items() if one.status in _SIDES}, folder / REWARDS
    )
    _write_json(texts, folder / FEEDBACK)
    counts = Counter(outcome.status for outcome in effective.values())
    return Converted(
        statuses={status: counts[status] for status in get_args(Status)},
        feedback=len(texts),
        duplicates=draft.duplicates,
        notes_left_out=seen.notes,
        copies=tuple(sorted(draft.copies.items())),
        conflicts=tuple(draft.conflicts),
        rejected=tuple(seen.rejected),
        skipped=tuple(seen.skipped),
        warnings=warnings,
    )


_SIDES = ("pass", "fail")


def _judged(draft: _Draft, seen: _Seen, labelling: Labelling) -> tuple[dict[str, Outcome], tuple[str, ...]]:
    """The outcome that counts of every trace, by external id, and what a person should know about the label files."""
    tasks = {name: place.task_id for name, place in draft.places.items()}
    chosen = labels.by_score(seen.scores, labelling.score, labelling.threshold) if labelling.score else []
    names = {trace_key(_CORPUS, copy): trace_key(_CORPUS, name) for copy, name in draft.copies.items()}
    own = [replace(one, trace_id=names.get(one.trace_id, one.trace_id)) for one in (*seen.stated, *chosen)]
    outcomes, warnings = intake.side_files(
        _CORPUS, tasks, labelling.rewards, labelling.feedback, labelling.threshold, copies=draft.copies, own=own
    )
    stated = intake.by_trace([*own, *outcomes])
    return {name: labels.effective(stated.get(trace_key(_CORPUS, name), ())) for name in draft.places}, warnings


def _write_traces(draft: _Draft, effective: dict[str, Outcome], path: Path) -> None:
    """The lines that count. That infrastructure failed, which no boolean can say, is said in the record itself."""
    with path.open("wb") as file:
        for name, line in draft.lines():
            if effective[name].status == "infrastructure":
                line = json.dumps({**json.loads(line), "outcome": "infrastructure"}).encode() + b"\n"
            file.write(line)


def _write_json(value: dict[str, Any], path: Path) -> None:
    path.write_text(json.dumps(value, indent=1, sort_keys=True) + "\n", encoding="utf-8")
