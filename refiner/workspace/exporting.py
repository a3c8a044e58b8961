"""What a review can be taken away as: the skill, the decisions, the way back to the evidence. Decides nothing."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from refiner import audits, merge, skills
from refiner.codec import to_plain
from refiner.merge import Merged
from refiner.reporting import calibration, fitness
from refiner.reporting.fitness import as_decided
from refiner.reporting.heldout import as_plain
from refiner.reporting.ledger import as_plain as ledger_plain
from refiner.reporting.report import Report
from refiner.reporting.travelling import travelling
from refiner.review.description import TO_WRITE, WORDS
from refiner.review.ledger import Ledger
from refiner.skills.loading import HISTORY, PROVENANCE
from refiner.types import Calibration, Change, Decision, HeldOut, SkillVersion
from refiner.views import Exports, Item, Review, csv_text
from refiner.workspace.deciding import Deciding
from refiner.workspace.evidence import Evidence
from refiner.workspace.gates import Gates
from refiner.workspace.heldout import Seal
from refiner.workspace.ledgers import Ledgers
from refiner.workspace.room import Room

Seen = tuple[int, HeldOut | None, Calibration | None, Ledger]
"""What an export depends on besides the report: the length of the log, held-out estimate, calibration, ledger."""
_EPOCH = (1980, 1, 1, 0, 0, 0)


@dataclass(slots=True)
class Exporting:
    """Exports of one database's reviews; the latest one is remembered until something is decided."""

    room: Room
    deciding: Deciding
    seal: Seal
    ledgers: Ledgers
    gates: Gates
    evidence: Evidence
    kept: dict[str, tuple[Seen, Report, Exports]] = field(default_factory=dict)
    near: tuple[Report, dict[str, tuple[str, ...]]] | None = None

    def exports(self, refinement_id: str) -> Exports:
        """Everything that can be downloaded now."""
        report, events = self.deciding.reports.report(refinement_id), self.deciding.last_event(refinement_id)
        opened, figures = self.seal.found(refinement_id), self.gates.found(refinement_id)
        seen = (events, opened, figures, self.ledgers.ledger(refinement_id))
        known = self.kept.get(refinement_id)
        if known and known[0] == seen and known[1] is report:
            return known[2]
        made = self._made(replace(report, held_out=opened, calibration=figures, nearest=self._nearest(report)), seen[3])
        self.kept = {refinement_id: (seen, report, made)}
        return made

    def _nearest(self, report: Report) -> dict[str, tuple[str, ...]]:
        """Counter-examples by change; they do not depend on what was decided."""
        if self.near is None or self.near[0] is not report:
            self.near = report, self.evidence.neighbours(report.refinement_id).names()
        return self.near[1]

    def _made(self, report: Report, found: Ledger) -> Exports:
        from refiner.reporting.html import html_report

        refinement_id = report.refinement_id
        shown, log = self.deciding.review(refinement_id), self.deciding.decisions(refinement_id)
        merged = merge.export(report.base, self.deciding.merged(refinement_id, None, "none"))
        blocked = tuple(_blocked(report, shown, merged))
        name = skill_name(report.base)
        page = html_report(report, shown, merged, log, found)
        patch = merge.diff(report.base, merged).encode("utf-8", "surrogateescape")
        origin = _json({**_provenance(report, shown, merged), "people": ledger_plain(found)})
        return Exports(
            skill_md=b"" if blocked else merged.files[merged.main],
            zip=b"" if blocked else zipped({**merged.files, f"{HISTORY}/{PROVENANCE}": origin}, name),
            decisions_jsonl=_lines(log),
            provenance_json=origin,
            patch=b"" if blocked else patch,
            report_html=page.encode("utf-8", "replace"),
            blocked=blocked,
            warnings=tuple(_warnings(report, shown, merged)),
            name=name,
            main=merged.main,
            changes_csv=_table(shown).encode("utf-8", "replace"),
        )


def skill_name(skill: SkillVersion) -> str:
    """The folder name of a skill: the name in its front matter, else one made of its main file's name."""
    front = skills.front_matter(skill.files[skill.main])
    given = str(front.values.get("name") or "") if front else ""
    return skills.slug(given or skill.main.rpartition("/")[2].rpartition(".")[0] or "skill")


def zipped(files: Mapping[str, bytes], folder: str) -> bytes:
    """A zip with one folder; equal files give equal bytes."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(files):
            entry = zipfile.ZipInfo(f"{folder}/{name}", _EPOCH)
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            archive.writestr(entry, files[name])
    return out.getvalue()


def _blocked(report: Report, shown: Review, merged: Merged) -> list[str]:
    """Why the skill cannot be exported: what is still to be written, what the merge broke, and what is in quarantine
    without being released.
    """
    if skills.needs_description(merged.version()):
        return [f"{WORDS[:1].upper()}{WORDS[1:]}."]
    if not report.audits_block:
        return []
    found = [one.words for one in audits.check_spec(report.base, merged) if one.severity == "error"]
    held = [item for item in shown.items if item.in_skill and item.blocked and not _released(item)]
    return [*found, *(f"{item.intent} {item.blocked}" for item in held)]


def _released(item: Item) -> bool:
    decision = item.decision
    return bool(decision and (decision.amended or (decision.override and item.releasable)))


def _warnings(report: Report, shown: Review, merged: Merged) -> list[str]:
    together = audits.contradictions(_inside(shown))
    checked = [*audits.check_spec(report.base, merged), *together]
    found = [one.words for one in checked if one.severity == "warning" and one.match != TO_WRITE]
    if not shown.counts["in_skill"]:
        found.insert(0, "No change is accepted, so this is the skill as it was.")
    waiting = shown.counts["open"] + shown.counts["skipped"]
    if waiting:
        changes, are, they = ("change", "is", "it is") if waiting == 1 else ("changes", "are", "they are")
        found.append(f"{waiting} {changes} {are} not decided on; {they} not part of the skill.")
    return list(dict.fromkeys(found))


def _inside(shown: Review) -> list[Change]:
    """The accepted changes as they were decided, in queue order."""
    return [_as_decided(item) for item in _items(shown)]


def _items(shown: Review) -> list[Item]:
    return [item for item in shown.items if item.in_skill]


def _as_decided(item: Item) -> Change:
    return as_decided(item.row.change, item.decision)


def _lines(log: list[Decision]) -> bytes:
    """One decision a line, in order."""
    return "".join(json.dumps({"event": at, **to_plain(one)}) + "\n" for at, one in enumerate(log, start=1)).encode()


def _json(value: Any) -> bytes:
    return (json.dumps(to_plain(value), ensure_ascii=False, indent=2) + "\n").encode("utf-8", "backslashreplace")


def _provenance(report: Report, shown: Review, merged: Merged) -> dict[str, Any]:
    """From lines to changes, proposals, verdicts and quotes, with who decided."""
    proposals = {one.key: one for one in report.proposals}
    verdicts = {one.proposal_id: one for one in report.verdicts}
    decided = {
        item.change_id: {"status": item.status, "decision": to_plain(item.decision)}
        for item in shown.items
        if item.decision is not None
    }
    return {
        "refinement": report.refinement_id,
        "analyst": report.analyst,
        "versions": report.versions,
        **merge.provenance(merged, report.changes, proposals, verdicts, report.names),
        "decisions": decided,
        "counter_examples": report.nearest,
        "audits": fitness.as_plain(report, merged, {item.change_id: _as_decided(item) for item in _items(shown)}),
        "held_out": as_plain(report),
        "calibration": calibration.as_plain(report.calibration),
        **travelling(report, merged, {item.row.change.key: _said(item) for item in shown.items if item.decision}),
    }


def _said(item: Item) -> dict[str, str]:
    """What a person decided on a change, in the words of the provenance: accepted, rejected or open."""
    decision = item.decision
    if decision is None or item.status in ("open", "skipped"):
        return {"status": "open"}
    status = "accepted" if item.in_skill else "rejected"
    who = {"by": decision.reviewer, "at": decision.decided_at}
    return {"status": status, **who, "reason_code": decision.reason_code, "reason": decision.reason}


def _table(shown: Review) -> str:
    header = ("change", "status", "result", "place", "intent", "tasks", "reviewer", "reason_code", "reason", "counts")
    return csv_text(header, [_cells(item) for item in shown.items])


def _cells(item: Item) -> tuple[str, ...]:
    decision = item.decision
    who = (decision.reviewer, decision.reason_code, decision.reason) if decision else ("", "", "")
    counts = " ".join(verdict.words for verdict in item.row.verdicts)
    return item.change_id, item.status, item.row.result, item.place, item.intent, str(item.tasks), *who, counts
