"""The audit set as records: planted and clean edits written without sight of the audits, and what the audits find."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from refiner import audits, merge
from refiner.audits.spellings import unmasked
from refiner.ports import Labelled
from refiner.types import Change, Edit, EvaluatorNote, Finding, Outcome, SkillVersion, Span, Trace

FOLDER = Path(__file__).parent / "audit_sets"
CLEAN = "clean"
BLOCKING = ("quarantine", "error")


@dataclass(frozen=True)
class Case:
    """One file of the set. `kind` is its folder's name; `planted` what must be found, empty for a clean edit."""

    name: str
    kind: str
    about: str
    planted: str
    base: SkillVersion
    items: tuple[Labelled, ...]
    changes: tuple[Change, ...]

    @property
    def wanted(self) -> str:
        """The kind of finding that the planted text must meet."""
        return self.kind.split("_")[0]

    def findings(self) -> list[Finding]:
        """Everything the audits say of the changes, alone and together."""
        auditor = audits.Auditor(self.items, self.base)
        alone = [finding for change in self.changes for finding in auditor.check(change)]
        return [*alone, *audits.contradictions(self.changes)]

    def is_found(self, findings: Sequence[Finding]) -> bool:
        """Whether a finding of the wanted kind meets the planted text; a change without a place stays out anyway."""
        if any(change.unplaced for change in self.changes):
            return True
        hits = [one for one in findings if one.kind == self.wanted]
        if self.wanted == "spec":
            return any(one.source == "merge" for one in hits)
        return any(_meets(one, self.planted) or self.planted in one.words for one in hits)


def _meets(finding: Finding, planted: str) -> bool:
    texts = (finding.match, unmasked(planted), finding.line)
    match, wanted, line = (" ".join(re.findall(r"\w+", one.casefold())) for one in texts)
    return match in wanted or wanted in match or (wanted in line and len(match) >= 3)


def cases(kind: str | None = None) -> list[Case]:
    """Every case of the set, by folder and name; those of one folder."""
    paths = sorted(FOLDER.glob(f"{kind or '*'}/*.json"), key=lambda path: (path.parent.name, path.name))
    return [_case(path) for path in paths]


def kinds() -> list[str]:
    """The planted kinds, by name."""
    return sorted(path.name for path in FOLDER.iterdir() if path.is_dir() and path.name != CLEAN)


def _case(path: Path) -> Case:
    body = json.loads(path.read_text(encoding="utf-8"))
    files = {name: text.encode() for name, text in body["skill"].items()}
    main = "SKILL.md" if "SKILL.md" in files else next(iter(files))
    base = SkillVersion(files, main)
    drafts = [
        Change(tuple(map(_edit, one["edits"])), (f"p{at}",), "", (0, -at)) for at, one in enumerate(body["changes"])
    ]
    items = tuple(_item(one) for one in body["traces"])
    name = f"{path.parent.name}/{path.stem}"
    changes = tuple(merge.settle(base, drafts))
    return Case(name, path.parent.name, body["about"], body["planted"], base, items, changes)


def _edit(one: dict[str, Any]) -> Edit:
    return Edit(one["path"], one["op"], tuple(one["section"]), one.get("old", ""), one.get("new", ""))


def _item(one: dict[str, Any]) -> Labelled:
    spans = tuple(_span(at, span) for at, span in enumerate(one["spans"]))
    trace = Trace("audit", one["id"], "set", one.get("task", ""), one["task_id"], "file", spans)
    outcome = Outcome(trace.id, one["outcome"], feedback=one.get("feedback") or None)
    notes = tuple(EvaluatorNote(trace.id, note["kind"], note["text"]) for note in one.get("notes", ()))
    return Labelled(trace, outcome, notes)


def _span(at: int, span: dict[str, Any]) -> Span:
    role = span["name"] if span["kind"] == "message" else ""
    return Span(at, f"s{at}", span["kind"], span["name"], role, span.get("input", ""), span.get("output", ""))


def table() -> list[dict[str, Any]]:
    """Rows for a bench: by kind how many of the planted were found; of the clean ones how many blocked or flagged."""
    rows: list[dict[str, Any]] = []
    for kind in kinds():
        found = [case.is_found(case.findings()) for case in cases(kind)]
        rows.append({"name": kind, "value": sum(found), "unit": f"of {len(found)} found"})
    clean = [[one.severity for one in case.findings()] for case in cases(CLEAN)]
    blocked = sum(any(one in BLOCKING for one in severities) for severities in clean)
    flagged = sum(bool(severities) and not any(one in BLOCKING for one in severities) for severities in clean)
    rows.append({"name": "clean edits blocked", "value": blocked, "unit": f"of {len(clean)}"})
    rows.append({"name": "clean edits only flagged", "value": flagged, "unit": f"of {len(clean)}"})
    return rows
