"""What stays the same while a refinement is reviewed: the queue in order, what excludes what, words for each change.

Computed once from a report. Decisions are not known here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final

from refiner.ids import content_key
from refiner.merge.overlap import changes_overlap
from refiner.reporting.report import Decided, Report
from refiner.review.description import INTENT, WORDS, is_description
from refiner.review.mending import is_mending
from refiner.tried import reads_alike
from refiner.types import Change, Finding

Subject = tuple[str, ...]
TEXT: Final = "text: "
"""How a subject begins that is the text of a change without a behaviour or feedback class; with one, `KNOWN`."""
KNOWN: Final = "text beside a behaviour: "
_VERBS = {"replace": "Replace", "delete": "Remove", "create_file": "New file"}
_LONGEST = 160
_GROUPS = {"undecided": 1, "unsupported": 2}


@dataclass(frozen=True, slots=True)
class Block:
    """Why a change cannot be accepted as it is; `releasable`: a person may let it go with a reason."""

    words: str
    releasable: bool


@dataclass(frozen=True, slots=True)
class Board:
    """The changes of a report by id, in queue order, and what is known of each.

    `subjects`: what a change is about, as (behaviour, feedback class or text, section). `bringers`: by edit key the
    changes that hold it. `rejected_before`: by subject the (change id, intent) of what was rejected in earlier
    refinements.
    """

    report: Report
    rows: dict[str, Decided]
    overlaps: dict[str, tuple[str, ...]]
    blocked: dict[str, Block]
    bringers: dict[str, frozenset[str]]
    hashes: dict[str, str]
    places: dict[str, str]
    intents: dict[str, str]
    subjects: dict[str, tuple[Subject, ...]]
    rejected_before: Mapping[Subject, tuple[str, str]]


def lay_out(report: Report, rejected_before: Mapping[Subject, tuple[str, str]] | None = None) -> Board:
    """The board of a report."""
    rows = {row.change.key: row for row in sorted(report.decided, key=_order)}
    bringers: dict[str, set[str]] = {}
    for change_id, row in rows.items():
        for edit in row.change.edits:
            bringers.setdefault(edit.key, set()).add(change_id)
    blocks = {change_id: block(report, row.change, row.findings) for change_id, row in rows.items()}
    return Board(
        report=report,
        rows=rows,
        overlaps=_overlaps([row.change for row in rows.values()]),
        blocked={change_id: found for change_id, found in blocks.items() if found},
        bringers={key: frozenset(ids) for key, ids in bringers.items()},
        hashes={change_id: _hash(row) for change_id, row in rows.items()},
        places={change_id: place(row.change, report.base.main) for change_id, row in rows.items()},
        intents={change_id: intent(row) for change_id, row in rows.items()},
        subjects={change_id: subjects(row) for change_id, row in rows.items()},
        rejected_before=rejected_before or {},
    )


def _order(row: Decided) -> tuple[object, ...]:
    """Easiest first: supported by strength of contrast, undecided by tasks, unsupported, what no run asks for."""
    group = 3 if row.for_a_person else _GROUPS.get(row.result, 0)
    measured = [verdict.contrast.p for verdict in row.verdicts if verdict.contrast and verdict.contrast.p is not None]
    strength = min(measured, default=1.0) if group == 0 else 0.0
    tasks = max((verdict.tasks for verdict in row.verdicts), default=0)
    return group, strength, -tasks, row.change.rank, row.change.key


def _overlaps(changes: Sequence[Change]) -> dict[str, tuple[str, ...]]:
    """By change id the changes that edit the same text."""
    placed = [change for change in changes if change.unplaced is None]
    found: dict[str, list[str]] = {}
    for one, other in combinations(placed, 2):
        if changes_overlap(one, other):
            found.setdefault(one.key, []).append(other.key)
            found.setdefault(other.key, []).append(one.key)
    return {key: tuple(sorted(others)) for key, others in found.items()}


def block(report: Report, change: Change, findings: Sequence[Finding]) -> Block | None:
    """What keeps a change out: no place first, then what the specification forbids, then a quarantine."""
    if is_description(change):
        return Block(f"{WORDS[:1].upper()}{WORDS[1:]}", False)
    if change.unplaced:
        return Block(f"This change has no place in the skill: {change.unplaced}", False)
    if not report.audits_block:
        return None
    for severity, words in (("error", "It would break the skill"), ("quarantine", "It is in quarantine")):
        found = [finding for finding in findings if finding.severity == severity]
        if found:
            return Block(f"{words}: {'; '.join(finding.words for finding in found)}", severity == "quarantine")
    return None


def _hash(row: Decided) -> str:
    parts = ([one.key for one in row.proposals], [one.key for one in row.verdicts], [one.key for one in row.findings])
    return content_key("item", row.change.key, row.result, *parts)


def place(change: Change, main: str) -> str:
    """Where a change lies, as a path of headings; the file first when it is not the main one."""
    if not change.edits:
        return main
    edit = change.edits[0]
    path = ["front matter" if part == "---" else part for part in edit.section]
    return " › ".join([*([edit.path] if edit.path != main else []), *path]) or "before the first heading"


def intent(row: Decided) -> str:
    """What a change does, in one line."""
    if is_description(row.change):
        return INTENT
    if not row.change.edits or is_mending(row.change):
        return row.change.rationale[:1].upper() + row.change.rationale[1:_LONGEST]
    ops = {edit.op for edit in row.change.edits}
    verb = _VERBS.get(next(iter(sorted(ops))), "Add") if len(ops) == 1 else "Change"
    words = row.rule if any(edit.new for edit in row.change.edits) else " ".join(row.change.edits[0].old.split())
    text = f"{verb}: {words}"
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def subjects(row: Decided) -> tuple[Subject, ...]:
    """What a change is about, for finding similar ones: behaviours or feedback classes, and its text by section."""
    found = {(one.behaviour or one.feedback_class or "", *one.section) for one in row.proposals}
    known = sorted(subject for subject in found if subject[0])
    kind = KNOWN if known else TEXT
    return (*known, *sorted({(f"{kind}{row.rule}", *edit.section) for edit in row.change.edits if row.rule}))


def alike(one: Subject, other: Subject) -> bool:
    """Whether two subjects are texts of one section that say nearly the same; behaviours decide where both have one."""
    kinds = [next((kind for kind in (TEXT, KNOWN) if subject[0].startswith(kind)), "") for subject in (one, other)]
    if not all(kinds) or TEXT not in kinds or one[1:] != other[1:]:
        return False
    return reads_alike(*(subject[0].removeprefix(kind) for subject, kind in zip((one, other), kinds, strict=True)))
