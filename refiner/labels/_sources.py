"""Outcomes from whatever holds them: tables and maps, results of evaluations, test reports, folders of these."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from refiner.errors import LabelError
from refiner.jsontext import decode, loads, sample
from refiner.labels import _results, _tests
from refiner.labels._files import LabelFile, Once, load_table, looks_like_table
from refiner.labels._results import Ending
from refiner.ports import HEAD
from refiner.types import BadRecord


def load_rewards(
    path: Path, *, pass_at: float = 1.0, lower_is_better: bool = False, names: Collection[str] = ()
) -> LabelFile:
    """The outcomes of a file, or of every label file of a folder.

    `names`: what traces (or their tasks) are called, for test reports, which say nothing of them: the tests of a report
    are looked for among the names, then its file and its folders. Raises LabelError when the file is missing, empty or
    of another kind; when a JSON map holds anything but true, false, null or a number; for a score outside [0, 1]; and
    for one id with two different outcomes.
    """
    if path.is_dir():
        return _folder(path, pass_at, lower_is_better, names)
    found = _evaluation(path, names)
    if found is None and _is_ungraded(path):
        raise LabelError(f"{path}: holds no outcome for any trace")
    return load_table(path, pass_at=pass_at, lower_is_better=lower_is_better) if found is None else found


def looks_like_labels(head: bytes) -> bool:
    """Whether a file's first bytes read like labels or another flat map rather than traces."""
    return evaluation_kind(head) is not None or looks_like_table(head)


def evaluation_kind(head: bytes) -> str | None:
    """What results of an evaluation or of tests a file holds, in words; None for everything else."""
    if _tests.looks_like_junit(head):
        return "a JUnit test report"
    records = sample(head)
    if len(records) != 1:
        return None
    if _tests.is_ctrf(records[0]):
        return "a CTRF test report"
    shaped = _results.are_lists(records[0]) or _results.are_reports(records[0])
    return "evaluation results" if shaped else None


def _folder(folder: Path, pass_at: float, lower_is_better: bool, names: Collection[str]) -> LabelFile:
    """The label files below a folder as one. Raises LabelError when there is none, or two contradict each other."""
    statuses, feedback, rejected = Once(folder), Once(folder), list[BadRecord]()
    files = list(_label_files(folder))
    if not files:
        raise LabelError(f"{folder}: cannot be read: no file of this folder holds outcomes")
    for path in files:
        one = load_rewards(path, pass_at=pass_at, lower_is_better=lower_is_better, names=names)
        statuses.update(one.statuses, "outcomes", path.relative_to(folder).as_posix())
        feedback.update(one.feedback, "feedback", path.relative_to(folder).as_posix())
        rejected += one.rejected
    return LabelFile(statuses.values, feedback.values, tuple(rejected))


def _label_files(folder: Path) -> Iterator[Path]:
    for parent, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for path in (Path(parent, name) for name in sorted(files) if not name.startswith(".")):
            with path.open("rb") as stream:
                if looks_like_labels(stream.read(HEAD)):
                    yield path


def _evaluation(path: Path, names: Collection[str]) -> LabelFile | None:
    """The outcomes of a file of results; None for other files, missing ones included. Raises LabelError."""
    try:
        with path.open("rb") as stream:
            kind = evaluation_kind(stream.read(HEAD))
        data = path.read_bytes() if kind else b""
    except OSError:
        return None
    if kind is None:
        return None
    if kind == "a JUnit test report":
        try:
            return _reported(path, _tests.junit(data), names)
        except ValueError as error:
            raise LabelError(f"{path}: looks like {kind}, but cannot be read: {error}") from None
    record = _object(path, data, kind)
    if _tests.is_ctrf(record):
        return _reported(path, _tests.ctrf(record), names)
    return _gathered(path, _results.endings(record))


def _is_ungraded(path: Path) -> bool:
    try:
        with path.open("rb") as stream:
            return any(map(_results.holds_patches, sample(stream.read(HEAD))))
    except OSError:
        return False


def _object(path: Path, data: bytes, kind: str) -> dict[str, Any]:
    try:
        record = loads(decode(data).strip())
    except ValueError as error:
        raise LabelError(f"{path}: looks like {kind}, but is no whole JSON: {error}") from None
    if not isinstance(record, dict) or not (
        _tests.is_ctrf(record) or _results.are_lists(record) or _results.are_reports(record)
    ):
        raise LabelError(f"{path}: begins like {kind}, but does not go on like that")
    return record


def _reported(path: Path, report: _tests.Report, names: Collection[str]) -> LabelFile:
    found = [Ending(*one) for one in report.by_trace(names)]
    return _gathered(path, found or [Ending(_tests.owner(path, names), *report.as_one())])


def _gathered(path: Path, endings: Collection[Ending] | Iterator[Ending]) -> LabelFile:
    statuses, feedback = Once(path), Once(path)
    for one in endings:
        statuses.put(one.id, (one.status, None), "outcomes")
        if one.feedback:
            feedback.put(one.id, one.feedback, "feedback")
    if not statuses.values:
        raise LabelError(f"{path}: holds no outcome for any trace")
    return LabelFile(statuses.values, feedback.values)
