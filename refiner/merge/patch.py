"""Unified diffs between versions of a skill, in the form that `git apply` and `patch` read. Writes no file."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence

from refiner.merge.algebra import Merged, apply
from refiner.merge.export import export_files
from refiner.merge.overlap import automatic, in_order
from refiner.types import Change, SkillVersion

Files = SkillVersion | Merged | Mapping[str, bytes]


def diff(base: Files, merged: Files) -> str:
    """The patch from `base` to `merged` (paths `a/...`, `b/...`); empty when no file differs.

    Write it as UTF-8 bytes with `surrogateescape`: the text keeps every line ending of the files.
    """
    old, new = _files(base), _files(merged)
    paths = sorted(path for path in old.keys() | new.keys() if old.get(path) != new.get(path))
    return "".join(part for path in paths for part in _file(path, old.get(path), new.get(path)))


def _files(of: Files) -> Mapping[str, bytes]:
    return of if isinstance(of, Mapping) else of.files


def _file(path: str, old: bytes | None, new: bytes | None) -> Iterator[str]:
    before, after = _quoted(f"a/{path}"), _quoted(f"b/{path}")
    yield f"diff --git {before} {after}\n"
    if old is None:
        yield "new file mode 100644\n"
    if new is None:
        yield "deleted file mode 100644\n"
    yield f"--- {'/dev/null' if old is None else _header(before)}\n"
    yield f"+++ {'/dev/null' if new is None else _header(after)}\n"
    hunks = difflib.unified_diff(_lines(old), _lines(new))
    for line in list(hunks)[2:]:
        yield line if line.endswith("\n") else line + "\n\\ No newline at end of file\n"


def _lines(data: bytes | None) -> list[str]:
    text = (data or b"").decode("utf-8", "surrogateescape")
    return [line for line in re.split(r"(?<=\n)", text) if line]


def _quoted(path: str) -> str:
    """A path as git writes it: in C quotes when it holds a quote, a backslash or a control character."""
    if not re.search(r'["\\\x00-\x1f\x7f]', path):
        return path
    return '"' + re.sub(r'["\\\x00-\x1f\x7f]', lambda found: f"\\{ord(found[0]):03o}", path) + '"'


def _header(path: str) -> str:
    return f"{path}\t" if " " in path and not path.startswith('"') else path


def undecided_diff(
    base: SkillVersion, accepted: Sequence[Change], undecided: Sequence[Change], comments: Mapping[str, str]
) -> str:
    """The patch that adds the undecided changes on top of the exported merge of `accepted`; empty when there is none.

    It opens with one line `# ...` a change from `comments` (by change key). A change that cannot be added, because
    another one holds the text or it has no place, stays out of the patch and its line says so.
    """
    if not undecided:
        return ""
    results = {change.key: "supported" for change in accepted}
    chosen, left = automatic([*accepted, *undecided], results, include_undecided=True)
    reasons = {change.key: f" [not in this patch: {reason}]" for change, reason in left}
    waiting = [change for change in in_order(undecided) if change.key not in results]
    head = "".join(f"# {_one_line(change, comments)}{reasons.get(change.key, '')}\n" for change in waiting)
    before, after = apply(base, accepted), apply(base, chosen)
    return head + diff(export_files(before.files, base), export_files(after.files, base))


def _one_line(change: Change, comments: Mapping[str, str]) -> str:
    return " ".join(comments.get(change.key, change.rationale).split())
