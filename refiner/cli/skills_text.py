"""What `refiner skills` prints, as text or JSON. Every string of a skill is made safe for a terminal."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from refiner.cli.console import safe, table
from refiner.installs.records import WORDS

if TYPE_CHECKING:
    from refiner.installs.foreign import Imported
    from refiner.installs.installing import Installed, Status
    from refiner.installs.joining import Joined
    from refiner.installs.listing import Listed, Listing
    from refiner.installs.records import Version
    from refiner.installs.threeway import Hunk


def as_json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=True)


def listing(found: Listing) -> str:
    """A row a skill, then the places without one."""
    rows = [(one.found.shown, _version(one), one.state, str(one.found.place.folder)) for one in found.skills]
    parts = [table(("skill", "version", "state", "in"), rows, (26, 8, 34, 48))] if rows else []
    empty = [f"  {place.key or '-':<8} {place.folder}  ({place.words})" for place in found.empty]
    parts += (
        ["\n".join([f"{'Other places' if rows else 'No skill is installed. Looked in'}:", *empty])] if empty else []
    )
    return safe("\n\n".join(parts))


def _version(one: Listed) -> str:
    return str(one.status.head.number) if one.status.head else "-"


def plain_listing(found: Listing) -> dict[str, Any]:
    return {
        "skills": [
            {
                "name": one.found.name or one.found.folder.name,
                "place": one.found.place.key,
                **plain_status(one.found.folder, one.status),
                "state": one.state,
            }
            for one in found.skills
        ],
        "places": [{"key": one.key, "folder": str(one.folder), "words": one.words} for one in found.places],
    }


def log(versions: Sequence[Version]) -> str:
    """A row a version, newest first."""
    if not versions:
        return "No version was kept yet: the first install, rollback or merge keeps what lies there as version 1."
    numbers = {one.id: one.number for one in versions}
    rows = [
        (
            str(one.number),
            one.at,
            WORDS[one.source],
            ", ".join(str(numbers.get(parent, "?")) for parent in one.parents) or "-",
            " ".join(filter(None, (one.note, _override(one)))),
        )
        for one in reversed(versions)
    ]
    return table(("version", "time (UTC)", "what happened", "after", "note"), rows, (7, 25, 25, 6, 60))


def _override(version: Version) -> str:
    reason = version.more.get("override")
    return f"[against the held-out tasks: {reason}]" if reason else ""


def status(folder: Path, found: Status) -> str:
    """The newest version and the edits since."""
    if found.head is None:
        return safe(f"{folder}: no version was kept yet; the first install keeps what lies there as version 1.")
    head = f"{folder}: version {found.head.number}, {WORDS[found.head.source]}, {found.head.at}"
    if not found.edited:
        return safe(f"{head}. Nothing was edited since.")
    kinds = (("edited", found.changed), ("added", found.added), ("removed", found.removed))
    rows = [f"  {kind:<8} {path}" for kind, paths in kinds for path in paths]
    return safe(
        "\n".join([f"{head}. Edited by hand since (the next install or rollback keeps it as a version):", *rows])
    )


def plain_status(folder: Path, found: Status) -> dict[str, Any]:
    return {
        "folder": str(folder),
        "version": found.head.number if found.head else None,
        "id": found.head.id if found.head else None,
        "edited": list(found.changed),
        "added": list(found.added),
        "removed": list(found.removed),
    }


def written(folder: Path, done: Installed, unchanged: str) -> str:
    """What a writing command did."""
    kept = [f"Kept what lay there as version {one.number} ({WORDS[one.source]})." for one in done.kept]
    if not done.new:
        nothing = f"Nothing {'else ' * bool(kept)}was written."
        return safe("\n".join([*kept, f"{folder} {unchanged}: version {done.version.number}. {nothing}"]))
    return safe("\n".join([*kept, f"{folder}: version {done.version.number}, {WORDS[done.version.source]}."]))


def joined(source: Path, destination: Path, done: Joined) -> str:
    """What a merge of two skills did, contradictions first."""
    found = done.folded
    lines = [f"Against each other (both lines are in {destination.name} now; decide by hand):"] * bool(
        found.contradictions
    )
    lines += [line for one in found.contradictions for line in (f"  {one.destination}", f"  {one.source}", "")]
    lines += ["Said by both, kept once:"] * bool(found.folded)
    lines += [f"  {one.score:.2f}  {one.source}  =  {one.destination}" for one in found.folded]
    lines += ["Added:"] * bool(found.added) + [f"  {words}" for words in found.added]
    lines += [f"Renamed: {old} -> {new}" for old, new in sorted(found.renamed.items())]
    lines += [f"Not taken from its front matter: {', '.join(found.left)}"] * bool(found.left)
    lines.append(written(destination, done.installed, "says all of it already"))
    lines.append(f"{source} was removed; its versions are in the log." if done.deleted else f"{source} stays as it is.")
    return safe("\n".join(lines))


def imported(folder: Path, done: Imported) -> str:
    """What an import brought in, and what it could not use."""
    lines = [f"Not used: {words}" for words in done.skipped]
    if done.gaps:
        lines.append(f"Numbers that are missing in it: {', '.join(map(str, done.gaps))}.")
    if done.installed is None:
        return safe("\n".join([*lines, f"{folder}: every version of it is in the log already. Nothing was written."]))
    head = done.installed.version.number
    lines.append(
        f"{folder}: {done.versions} version{'s' * (done.versions != 1)} taken in; the newest is version {head}."
    )
    return safe("\n".join(lines))


def hunks(found: Sequence[Hunk]) -> str:
    """Each place that both sides changed, with both texts."""
    return safe("\n".join(line for hunk in found for line in _hunk(hunk)))


def _hunk(hunk: Hunk) -> list[str]:
    sides = (("mine, as it lies there", hunk.mine), ("theirs, to be installed", hunk.theirs))
    lines = [f"Place {hunk.number}: {hunk.path}, line {hunk.line}"]
    for words, data in sides:
        shown = ["(no such file)"] if data is None else data.decode("utf-8", "replace").splitlines() or ["(nothing)"]
        lines += [f"  {words}:", *(f"    {line}" for line in shown)]
    return [*lines, ""]
