"""The text that a change would add to a skill. Judges nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator

from refiner.types import Change, Edit, SkillVersion


def added_lines(change: Change, base: SkillVersion) -> Iterator[tuple[Edit, str]]:
    """Every non-blank added line with its edit, without lines that the file has already; then names of new files."""
    for edit in change.edits:
        known = {line.strip() for line in _text(base.files.get(edit.path, b"")).splitlines()}
        for line in re.split(r"\r\n?|\n", edit.new):
            if line.strip() and line.strip() not in known:
                yield edit, line
        if edit.op == "create_file":
            yield edit, edit.path


def written_lines(change: Change) -> Iterator[tuple[Edit, str]]:
    """Every non-blank line that an edit writes and did not find there, whether or not the file has it elsewhere."""
    for edit in change.edits:
        kept = {line.strip() for line in edit.old.splitlines()}
        for line in re.split(r"\r\n?|\n", edit.new):
            if line.strip() and line.strip() not in kept:
                yield edit, line


def prose_lines(change: Change) -> Iterator[tuple[Edit, str]]:
    """The written lines that are prose: no code, no tables."""
    fenced = False
    for edit, line in written_lines(change):
        if re.match(r"\s*(?:`{3,}|~{3,})", line):
            fenced = not fenced
        elif not fenced and not line.lstrip().startswith("|"):
            yield edit, line


def skill_text(base: SkillVersion) -> str:
    """All text of a skill: every file that is UTF-8, one after the other."""
    return "\n".join(_text(base.files[path]) for path in sorted(base.files))


def _text(data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return ""
