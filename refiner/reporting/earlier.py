"""Which of a change's edits touch lines that an earlier refinement brought in, in words. Reads values only."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from refiner.types import Change, SkillVersion

_TOUCHING = ("replace", "delete", "insert_before", "insert_after")


def earlier_words(change: Change, base: SkillVersion, rows: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """A sentence for each stretch of `rows` (path, lines, refinement, rationale) that the change edits or stands at."""
    found = [row for edit_lines in _lines(change, base) for row in rows if _meets(row, *edit_lines)]
    return tuple(dict.fromkeys(map(_said, found)))


def _lines(change: Change, base: SkillVersion) -> Iterable[tuple[str, int, int]]:
    """Path, first and last line (from 1) of what each anchored edit touches in the base."""
    for edit in change.edits:
        if edit.op in _TOUCHING and edit.anchor is not None and edit.path in base.files:
            data, (start, end) = base.files[edit.path], edit.anchor
            yield edit.path, data[:start].count(b"\n") + 1, data[: max(start, end - 1)].count(b"\n") + 1


def _meets(row: Mapping[str, Any], path: str, first: int, last: int) -> bool:
    try:
        return row["path"] == path and int(row["start_line"]) <= last and int(row["end_line"]) >= first
    except (KeyError, TypeError, ValueError):
        return False


def _said(row: Mapping[str, Any]) -> str:
    rationale = str(row.get("rationale") or "")
    why = f": {rationale}" if rationale else "."
    return f"Line {row['start_line']} of {row['path']} came in with refinement {str(row.get('refinement'))[:8]}{why}"
