"""The provenance that lies beside a skill, through hand edits, merges and rollbacks. Pure; bytes of JSON in and out.

A skill's provenance names line ranges, the changes they come from, and every change that was ever proposed with what
became of it (`tried`). Ranges follow their lines; `tried` only ever grows.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher
from typing import Any

from refiner.installs.package import read_origin
from refiner.installs.records import Files


def exposed(provenance: Mapping[str, Any]) -> str | None:
    """Why the held-out tasks speak against a skill: what its changes warn of was seen in passing tasks only.

    None when it was not, when the estimate was never opened, or when nothing was held out.
    """
    held = provenance.get("held_out")
    if not isinstance(held, dict) or held.get("state") != "opened" or not held.get("exposure_without_coverage"):
        return None
    found = held.get("accepted")
    counted = found if isinstance(found, dict) else {}
    failing, shown, passing = (counted.get(name, "?") for name in ("failing", "exposed", "passing"))
    return (
        f"on the held-out tasks its changes meet none of {failing} failing and {shown} of {passing} passing ones "
        "(exposure without coverage)"
    )


def moved(origin: bytes | None, before: Files, after: Files) -> bytes | None:
    """The provenance of `before` for `after`: line ranges follow their lines, a line that changed loses its range."""
    if origin is None:
        return None
    found = read_origin(origin)
    for name in ("ranges", "earlier"):
        if isinstance(found.get(name), list):
            found[name] = [one for row in found[name] for one in _followed(row, before, after)]
    return written(found)


def _followed(row: Mapping[str, Any], before: Files, after: Files) -> list[dict[str, Any]]:
    path = str(row.get("path"))
    if path not in before or path not in after:
        return []
    try:
        lines = range(int(row["start_line"]), int(row["end_line"]) + 1)
    except (KeyError, TypeError, ValueError):
        return []
    places = _places(before[path], after[path])
    kept = [places[line] for line in lines if line in places]
    return [{**row, "start_line": first, "end_line": last} for first, last in _runs(kept)]


def _places(before: bytes, after: bytes) -> dict[int, int]:
    """Line number -> line number of the same line, both from 1."""
    old, new = ([line.strip() for line in data.splitlines()] for data in (before, after))
    blocks = SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks()
    return {block.a + at + 1: block.b + at + 1 for block in blocks for at in range(block.size)}


def _runs(lines: Sequence[int]) -> list[tuple[int, int]]:
    runs: list[tuple[int, int]] = []
    for line in lines:
        if runs and line == runs[-1][1] + 1:
            runs[-1] = (runs[-1][0], line)
        else:
            runs.append((line, line))
    return runs


def joined(old: bytes | None, old_files: Files, new: bytes | None, new_files: Files, files: Files) -> bytes | None:
    """The provenance of an installation: that of the package, which also knows what came before it.

    `old_files` and `new_files` are what the two provenances speak of, `files` what is installed in the end.
    """
    if new is None:
        return moved(old, old_files, files)
    found = read_origin(remembering(moved(new, new_files, files), old))
    earlier = [*earlier_lines(read_origin(old), old_files, files, found.get("refinement")), *_own_earlier(found)]
    seen = {json.dumps(row, sort_keys=True): row for row in earlier}
    return written({**found, "earlier": list(seen.values())} if earlier else found)


def _own_earlier(found: Mapping[str, Any]) -> list[dict[str, Any]]:
    rows = found.get("earlier")
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []


def earlier_lines(
    origin: Mapping[str, Any], before: Files, after: Files, refinement: str | None
) -> list[dict[str, Any]]:
    """Which lines of `after` an earlier refinement brought in: path, lines, change, refinement and its rationale."""
    changes, ranges = origin.get("changes"), origin.get("ranges")
    own = origin.get("refinement")
    rows = ranges if isinstance(ranges, list) and isinstance(changes, dict) and own != refinement else []
    found = []
    for row in rows:
        change = changes.get(row.get("change")) if isinstance(changes, dict) else None
        said = change.get("rationale", "") if isinstance(change, dict) else ""
        found += [{**one, "refinement": own, "rationale": said} for one in _followed(row, before, after)]
    further = [
        one
        for row in _own_earlier(origin)
        if row.get("refinement") != refinement
        for one in _followed(row, before, after)
    ]
    return [*found, *further]


def together(
    mine: bytes | None, mine_files: Files, theirs: bytes | None, their_files: Files, files: Files
) -> bytes | None:
    """The provenance of a merge of two skills: the first one's, with the lines and the trials of the second."""
    if theirs is None:
        return moved(mine, mine_files, files)
    found = read_origin(remembering(moved(mine, mine_files, files) or written({}), theirs))
    earlier = [*_own_earlier(found), *earlier_lines(read_origin(theirs), their_files, files, None)]
    return written({**found, "earlier": earlier} if earlier else found)


def remembering(origin: bytes | None, other: bytes | None) -> bytes | None:
    """A provenance with everything that another one says was tried."""
    if other is None:
        return origin
    mine, tried = read_origin(origin), read_origin(other).get("tried")
    own = mine.get("tried")
    rows = [row for part in (tried, own) if isinstance(part, list) for row in part if isinstance(row, dict)]
    latest = {json.dumps([row.get("refinement"), row.get("change")]): row for row in rows}
    return written({**mine, "tried": list(latest.values())}) if rows else origin


def written(found: Mapping[str, Any]) -> bytes:
    """A provenance as a file."""
    return (json.dumps(found, ensure_ascii=False, indent=2) + "\n").encode("utf-8", "backslashreplace")
