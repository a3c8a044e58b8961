"""The provenance that travels beside a skill, through edits by hand, merges and rollbacks. Pure; JSON bytes in and out.

It names line ranges, the changes they come from, and every change that was ever proposed with what became of it
(`tried`). Ranges follow their lines; `tried` only ever grows. `skill` holds the sums of the files that it speaks of.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher
from hashlib import sha256
from typing import Any

from refiner.errors import SkillError
from refiner.skills.loading import PROVENANCE

Files = Mapping[str, bytes]


def read_origin(data: bytes | None) -> dict[str, Any]:
    """A provenance as a mapping; empty for none. Raises SkillError when it is no JSON object."""
    try:
        found = json.loads(data) if data else {}
    except ValueError as error:
        raise SkillError(f"{PROVENANCE} is not JSON ({error}); remove it to go on without") from error
    if not isinstance(found, dict):
        raise SkillError(f"{PROVENANCE} is not a JSON object; remove it to go on without")
    return found


def encoded(data: bytes) -> Any:
    """Bytes for JSON: a string, or `{"base64": ...}` for what is not UTF-8."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode()}


def decoded(held: Any) -> bytes:
    """What `encoded` made. Raises SkillError for anything else."""
    if isinstance(held, str):
        return held.encode("utf-8")
    try:
        return base64.b64decode(held["base64"], validate=True)
    except (KeyError, TypeError, ValueError) as error:
        raise SkillError(f"{PROVENANCE}: a file of the base is neither text nor base64") from error


def sums(files: Files) -> dict[str, str]:
    """SHA-256 by path, in the order of paths."""
    return {path: sha256(files[path]).hexdigest() for path in sorted(files)}


def before(origin: bytes | None, base: Files) -> dict[str, Any]:
    """What a refinement of `base` takes over from its provenance: `{"tried": rows, "earlier": rows}`; empty for none.

    Of files that were edited since, no lines are named: it is not known which they are. Raises SkillError.
    """
    found = read_origin(origin)
    if not found:
        return {}
    spoken = found.get("skill")
    known = spoken if isinstance(spoken, dict) else {}
    same = {path: base[path] for path, key in sums(base).items() if known.get(path) == key}
    return {"tried": rows_of(found, "tried"), "earlier": earlier_lines(found, same, same, None)}


def rows_of(found: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    """The rows of a list in a provenance; what is no row is left out."""
    rows = found.get(name)
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []


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
            found[name] = [one for row in rows_of(found, name) for one in followed(row, before, after)]
    return written({**found, "skill": sums(after)})


def followed(row: Mapping[str, Any], before: Files, after: Files) -> list[dict[str, Any]]:
    """A row of lines of `before` as rows of the same lines in `after`; none when they are gone."""
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
    earlier = [*earlier_lines(read_origin(old), old_files, files, found.get("refinement")), *rows_of(found, "earlier")]
    seen = {json.dumps(row, sort_keys=True): row for row in earlier}
    return written({**found, "earlier": list(seen.values())} if earlier else found)


def earlier_lines(
    origin: Mapping[str, Any], before: Files, after: Files, refinement: str | None
) -> list[dict[str, Any]]:
    """Which lines of `after` an earlier refinement brought in: path, lines, change, refinement and its rationale."""
    changes, own = origin.get("changes"), origin.get("refinement")
    found = []
    for row in rows_of(origin, "ranges") if own != refinement else []:
        change = changes.get(row.get("change")) if isinstance(changes, dict) else None
        said = change.get("rationale", "") if isinstance(change, dict) else ""
        found += [{**one, "refinement": own, "rationale": said} for one in followed(row, before, after)]
    further = [
        one
        for row in rows_of(origin, "earlier")
        if row.get("refinement") != refinement
        for one in followed(row, before, after)
    ]
    return [*found, *further]


def together(
    mine: bytes | None, mine_files: Files, theirs: bytes | None, their_files: Files, files: Files
) -> bytes | None:
    """The provenance of a merge of two skills: the first one's, with the lines and the trials of the second."""
    if theirs is None:
        return moved(mine, mine_files, files)
    found = read_origin(remembering(moved(mine, mine_files, files) or written({}), theirs))
    earlier = [*rows_of(found, "earlier"), *earlier_lines(read_origin(theirs), their_files, files, None)]
    return written({**found, "earlier": earlier} if earlier else found)


def remembering(origin: bytes | None, other: bytes | None) -> bytes | None:
    """A provenance with everything that another one says was tried."""
    if other is None:
        return origin
    mine = read_origin(origin)
    rows = latest([*rows_of(read_origin(other), "tried"), *rows_of(mine, "tried")])
    return written({**mine, "tried": rows}) if rows else origin


def latest(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The last row of each change of each refinement."""
    return [dict(row) for row in {json.dumps([row.get("refinement"), row.get("change")]): row for row in rows}.values()]


def written(found: Mapping[str, Any]) -> bytes:
    """A provenance as a file."""
    return (json.dumps(found, ensure_ascii=False, indent=2) + "\n").encode("utf-8", "backslashreplace")
