"""Label files: JSON map, JSON lines or CSV, told apart by content. Which label counts is not decided here."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from refiner.errors import LabelError
from refiner.jsontext import Row, clean, decode, kind_of, loads, pairs, rows, sample
from refiner.labels._values import Threshold, status_of
from refiner.types import BadRecord, Status

_IDS = ("trace_id", "id", "instance_id", "session_id", "run_id", "task_id")
_VERDICTS = ("outcome", "reward", "resolved", "success", "is_success", "passed", "correct", "is_correct")
_VERDICTS_OF_TOOLS = ("is_resolved", "is_solved", "hard_restriction")
_OUTCOMES = (*_VERDICTS, *_VERDICTS_OF_TOOLS, "status", "score")
"""From the plainest name to those that may mean something else."""
_SHOWN = 80
_REWARDS_WANTED = (
    'a JSON map {"trace_id": true, ...}, JSON lines {"trace_id", "outcome"} or CSV with the header trace_id,outcome'
)
_FEEDBACK_WANTED = (
    'a JSON map {"trace_id": "text", ...}, JSON lines {"trace_id", "feedback"} or CSV with the header trace_id,feedback'
)


@dataclass(frozen=True, slots=True)
class LabelFile:
    """Statuses (with scores, higher is better) and feedback by external id, and the rows that could not be used."""

    statuses: dict[str, tuple[Status, float | None]]
    feedback: dict[str, str] = field(default_factory=dict)
    rejected: tuple[BadRecord, ...] = ()


class _Entry(NamedTuple):
    """One row of a label file; `problem` says why it cannot be used."""

    line: int
    id: str
    outcome: Any = None
    feedback: Any = None
    problem: str = ""


class Once:
    """A map that refuses a second, different value for an id. Values come from places: lines, or files of a folder."""

    def __init__(self, path: Path) -> None:
        self.path, self.values, self.places = path, dict[str, Any](), dict[str, str]()

    def add(self, entry: _Entry, value: Any, words: str) -> None:
        """The value of a row."""
        self.put(entry.id, value, words, f"in line {entry.line}")

    def update(self, given: Mapping[str, Any], words: str, place: str) -> None:
        """All values of a file."""
        for name, value in given.items():
            self.put(name, value, words, f"in {place}")

    def put(self, name: str, value: Any, words: str, place: str = "in one list") -> None:
        """A value. Raises LabelError for a second, different one."""
        known = self.values.setdefault(name, value)
        first = self.places.setdefault(name, place)
        if known != value:
            raise LabelError(
                f'{self.path}: "{name}" is given twice with different {words}, {first} and {place}; keep one of the two'
            )


def load_table(path: Path, *, pass_at: float = 1.0, lower_is_better: bool = False) -> LabelFile:
    """The outcomes of a map, of JSON lines or of a CSV table. Raises LabelError like `load_rewards`."""
    threshold = Threshold(pass_at, lower_is_better)
    text = _read(path, "outcomes", _REWARDS_WANTED)
    statuses, feedback, rejected = Once(path), Once(path), list[BadRecord]()
    strict = _is_map(text)
    for entry in (
        _map_entries(path, text, _REWARDS_WANTED) if strict else _row_entries(path, text, _OUTCOMES, _REWARDS_WANTED)
    ):
        try:
            status = _status(path, entry, threshold, strict)
        except ValueError as error:
            rejected.append(BadRecord(path.name, entry.line, str(error)))
            continue
        statuses.add(entry, status, "outcomes")
        if isinstance(entry.feedback, str) and entry.feedback.strip():
            feedback.add(entry, clean(entry.feedback), "feedback")
    _refuse_empty(path, statuses, rejected, "outcome", _REWARDS_WANTED)
    return LabelFile(statuses.values, feedback.values, tuple(rejected))


def load_feedback(path: Path) -> dict[str, str]:
    """The feedback texts of a file by external id. Raises LabelError like `load_rewards`."""
    text = _read(path, "feedback", _FEEDBACK_WANTED)
    texts, rejected = Once(path), list[BadRecord]()
    is_map = _is_map(text)
    for entry in (
        _map_entries(path, text, _FEEDBACK_WANTED)
        if is_map
        else _row_entries(path, text, ("feedback",), _FEEDBACK_WANTED)
    ):
        given = entry.outcome if is_map else entry.feedback
        if entry.problem:
            rejected.append(BadRecord(path.name, entry.line, entry.problem))
        elif given is not None and (words := _feedback_text(path, entry, given)):
            texts.add(entry, words, "texts")
    _refuse_empty(path, texts, rejected, "feedback", _FEEDBACK_WANTED)
    return texts.values


def looks_like_table(head: bytes) -> bool:
    """Whether a file's first bytes read like a table of labels or another flat map rather than traces."""
    records = sample(head)
    if any(_is_row(record) for record in records):
        return True
    if records:
        return len(records) == 1 and all(not isinstance(value, dict | list) for value in records[0].values())
    header = _header(decode(head).lstrip().split("\n", 1)[0])
    return _column(header, _IDS) is not None and _column(header, (*_OUTCOMES, "feedback")) is not None


def _read(path: Path, what: str, wanted: str) -> str:
    try:
        text = decode(path.read_bytes())
    except FileNotFoundError:
        raise LabelError(f"{path}: there is no such file; {what} are read from {wanted}") from None
    except OSError as error:
        raise LabelError(f"{path}: cannot be read ({error.strerror}); {what} are read from {wanted}") from None
    if not text.strip():
        raise LabelError(f"{path}: the file is empty; {what} are read from {wanted}")
    return text


def _is_row(record: dict[str, Any]) -> bool:
    has_value = any(key in record for key in (*_OUTCOMES, "feedback"))
    return "spans" not in record and any(key in record for key in _IDS) and has_value


def _is_map(text: str) -> bool:
    if not text.lstrip().startswith("{"):
        return False
    return not any(row.record and _is_row(row.record) for row in _rows(text))


def _rows(text: str) -> list[Row]:
    return list(rows(io.BytesIO(text.encode("utf-8", "replace"))))


def _map_entries(path: Path, text: str, wanted: str) -> Iterator[_Entry]:
    try:
        found = list(pairs(text))
    except ValueError as error:
        raise LabelError(f"{path}: not a JSON map: {error}; wanted is {wanted}") from None
    yield from (_Entry(pair.line, pair.key, pair.value) for pair in found)


def _row_entries(path: Path, text: str, columns: tuple[str, ...], wanted: str) -> Iterator[_Entry]:
    found = _rows(text)
    if any(row.record for row in found):
        yield from (_json_entry(row.line, row.record, row.problem) for row in found)
        return
    header, delimiter = _header(text.lstrip().split("\n", 1)[0]), _delimiter(text.lstrip().split("\n", 1)[0])
    places = _column(header, _IDS), _column(header, columns), _column(header, ("feedback",))
    if places[0] is None or places[1] is None:
        raise LabelError(
            f"{path}: {_other(text, header, 'trace' if places[0] is None else columns[0])}; wanted is {wanted}"
        )
    reader = csv.reader(io.StringIO(clean(text), newline=""), delimiter=delimiter)
    try:
        yield from _csv_entries(reader, len(header), places)
    except csv.Error as error:
        raise LabelError(f"{path}: line {reader.line_num}: {error}") from None


def _other(text: str, header: list[str], missing: str) -> str:
    """What a text is that holds no table with the columns it needs."""
    try:
        return f"holds {kind_of(loads(text.strip()))}"
    except ValueError:
        pass
    if len(header) == 1 or not all(name.isprintable() for name in header):
        return "holds something else"
    return f"its first line ({', '.join(header)[:_SHOWN]}) has no column that names the {missing}"


def _json_entry(line: int, record: dict[str, Any] | None, problem: str) -> _Entry:
    if record is None:
        return _Entry(line, "", problem=problem)
    name = next((record[key] for key in _IDS if record.get(key) is not None), None)
    if isinstance(name, bool) or not isinstance(name, str | int | float) or name == "":
        return _Entry(line, "", problem="no trace_id")
    given = [record[key] for key in _OUTCOMES if key in record]
    problem = "" if given or record.get("feedback") is not None else "no outcome"
    return _Entry(line, clean(str(name)).strip(), given[0] if given else None, record.get("feedback"), problem)


def _csv_entries(reader: Any, width: int, places: tuple[int | None, ...]) -> Iterator[_Entry]:
    started = False
    line = 1
    for cells in reader:
        at, line = line, reader.line_num + 1
        if not any(cell.strip() for cell in cells):
            continue
        if not started:
            started = True
            continue
        if len(cells) > width and any(cell.strip() for cell in cells[width:]):
            yield _Entry(at, "", problem=f"{len(cells)} cells where the header has {width}; quote texts with commas")
            continue
        name, outcome, feedback = (
            cells[place].strip() if place is not None and place < len(cells) else "" for place in places
        )
        yield _Entry(at, name, outcome or None, feedback or None, "" if name else "no trace_id")


def _delimiter(header: str) -> str:
    return max(",;\t", key=header.count)


def _header(line: str) -> list[str]:
    return [cell.strip().strip('"').lower() for cell in line.strip().split(_delimiter(line))]


def _column(header: list[str], names: tuple[str, ...]) -> int | None:
    return next((header.index(name) for name in names if name in header), None)


def _status(path: Path, entry: _Entry, threshold: Threshold, strict: bool) -> tuple[Status, float | None]:
    """The status of a row; ValueError rejects the row, LabelError the file (map values, scores out of range)."""
    if entry.problem:
        raise ValueError(entry.problem)
    where = f'{path}: line {entry.line}: the outcome of "{entry.id}"'
    if strict and isinstance(entry.outcome, str | list | dict):
        shown = f'the text "{entry.outcome[:40]}"' if isinstance(entry.outcome, str) else kind_of(entry.outcome)
        raise LabelError(f"{where} is {shown}; it must be true, false, null or a number from 0 to 1, without quotes")
    try:
        return status_of(entry.outcome, threshold)
    except ValueError as error:
        if _is_number(entry.outcome):
            advice = (
                "; divide scores by the highest one there can be" if str(entry.outcome).strip()[:1].isdigit() else ""
            )
            raise LabelError(f"{where} cannot be used: {error}{advice}") from None
        raise


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (ValueError, TypeError):
        return False
    except OverflowError:
        return True
    return True


def _feedback_text(path: Path, entry: _Entry, given: Any) -> str:
    if isinstance(given, list) and all(isinstance(item, str) for item in given):
        given = "\n".join(given)
    if not isinstance(given, str):
        raise LabelError(f'{path}: line {entry.line}: the feedback for "{entry.id}" is {kind_of(given)}, not a text')
    return clean(given) if given.strip() else ""


def _refuse_empty(path: Path, found: Once, rejected: list[BadRecord], what: str, wanted: str) -> None:
    if found.values:
        return
    because = f"; first problem: line {rejected[0].line}: {rejected[0].reason}" if rejected else ""
    raise LabelError(f"{path}: holds no {what} for any trace{because}; wanted is {wanted}")
