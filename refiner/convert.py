"""Traces of any format as the three canonical files. Streams: only labels and places of lines are in memory."""

from __future__ import annotations

import json
import os
import shutil
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, get_args

from refiner import intake, labels, reading
from refiner.drafting import CORPUS, LINES, Draft
from refiner.errors import FormatError, OutputError
from refiner.types import BadRecord, Outcome, Status, Trace, trace_key

TRACES = "traces.jsonl"
REWARDS = "binary_rewards.json"
FEEDBACK = "feedback.json"
FILES = (TRACES, REWARDS, FEEDBACK)
_SIDES = ("pass", "fail")
_DRAFT = ".converting"


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
    `copies`: sessions that were copied under another id, as (that id, the id that was written). `namesakes`: traces
    whose id a different run of another file has, as (that id, source, the id that was written).
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
    namesakes: tuple[tuple[str, str, str], ...] = ()

    @property
    def traces(self) -> int:
        return sum(self.statuses.values())


@dataclass(slots=True)
class _Seen:
    """What is said about the traces, while they stream by."""

    threshold: labels.Threshold
    stated: list[tuple[str, Outcome]] = field(default_factory=list)
    """Outcomes, each with the place of the trace that it is about."""
    scores: list[tuple[str, str, dict[str, Any]]] = field(default_factory=list)
    """By place and id of the trace."""
    notes: int = 0
    rejected: list[BadRecord] = field(default_factory=list)
    skipped: list[BadRecord] = field(default_factory=list)

    def take(self, record: reading.FileRecord) -> None:
        item = record.item
        if isinstance(item, Outcome):
            self.stated.append((record.of, labels.rescored(item, self.threshold)))
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
        with (draft / LINES).open("w+b") as stream:
            done = _converted(paths, Draft(stream), draft, labelling, task_key, columns)
        for name in FILES:
            os.replace(draft / name, out / name)
    except OSError as error:
        raise OutputError(f"{out} cannot be written ({error.strerror}); choose another folder") from error
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return done


def _converted(
    paths: Sequence[Path],
    draft: Draft,
    folder: Path,
    labelling: Labelling,
    task_key: str | None,
    columns: Mapping[str, str] | None,
) -> Converted:
    seen = _Seen(labelling.threshold)
    for record in reading.read(paths, corpus=CORPUS, task_key=task_key, columns=columns):
        if isinstance(record.item, Trace):
            draft.take(record.item)
            if labelling.score:
                seen.scores.append((record.item.source, record.item.id, labels.scores_of(record.item.meta)))
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
        namesakes=tuple(draft.namesakes),
    )


def _judged(draft: Draft, seen: _Seen, labelling: Labelling) -> tuple[dict[str, Outcome], tuple[str, ...]]:
    """The outcome that counts of every trace, by external id, and what a person should know about the label files."""
    tasks = {name: place.task_id for name, place in draft.places.items()}
    stated = ((draft.called(one.trace_id, of), one) for of, one in seen.stated)
    own = [replace(one, trace_id=name) for name, one in stated if name is not None]
    scored = ((draft.called(trace_id, of), scores) for of, trace_id, scores in seen.scores)
    scores = {name: one for name, one in scored if name is not None}
    own += labels.by_score(scores, labelling.score, labelling.threshold) if labelling.score else []
    outcomes, warnings = intake.side_files(
        CORPUS,
        tasks,
        labelling.rewards,
        labelling.feedback,
        labelling.threshold,
        copies=draft.copies,
        own=own,
        namesakes=draft.shared,
    )
    by_trace = intake.by_trace([*own, *outcomes])
    return {name: labels.effective(by_trace.get(trace_key(CORPUS, name), ())) for name in draft.places}, warnings


def _write_traces(draft: Draft, effective: dict[str, Outcome], path: Path) -> None:
    """The lines that count. That infrastructure failed, which no boolean can say, is said in the record itself."""
    with path.open("wb") as file:
        for name, line in draft.lines():
            if effective[name].status == "infrastructure":
                line = json.dumps({**json.loads(line), "outcome": "infrastructure"}).encode() + b"\n"
            file.write(line)


def _write_json(value: dict[str, Any], path: Path) -> None:
    path.write_text(json.dumps(value, indent=1, sort_keys=True) + "\n", encoding="utf-8")
