"""One refinement as a value: everything its output tree, its table and its last lines are made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from refiner import merge
from refiner.ports import Labelled
from refiner.reporting.earlier import earlier_words
from refiner.snapshot import Snapshot
from refiner.types import (
    BadRecord,
    Calibration,
    Change,
    Clustering,
    ContrastTable,
    Finding,
    HeldOut,
    Proposal,
    Shortfall,
    SkillVersion,
    Summary,
    Verdict,
)
from refiner.types import Result as GateResult

NOT_GATED = "not gated"
BLOCKING = ("quarantine", "error")


@dataclass(frozen=True, slots=True)
class Inputs:
    """What came in: one row a file, and what was rejected, doubled, grown or without a partner."""

    files: tuple[dict[str, Any], ...]
    rejected: tuple[BadRecord, ...]
    copies: int
    warnings: tuple[str, ...]


FOR_A_PERSON = 10**9
"""The first part of the rank of changes that no run asks for: a person decides, and no automatic merge takes them."""


@dataclass(frozen=True, slots=True)
class Decided:
    """A change, what the gate says of it, and whether the automatic merge took it (`why` when it did not)."""

    change: Change
    proposals: tuple[Proposal, ...]
    verdicts: tuple[Verdict, ...]
    findings: tuple[Finding, ...]
    result: str
    taken: bool
    why: str
    earlier: tuple[str, ...] = ()
    """Sentences on the lines it touches that an earlier refinement brought in."""

    @property
    def for_a_person(self) -> bool:
        """Whether no run asks for it: what the start skill's front matter lacks."""
        return self.change.rank[0] == FOR_A_PERSON

    @property
    def rule(self) -> str:
        """The text that the change would add, on one line."""
        texts = [" ".join(edit.new.split()).removeprefix("- ") for edit in self.change.edits if edit.new]
        return " ".join(texts) or "(removes text)"


@dataclass(frozen=True)
class Report:
    """The records of one finished refinement. Properties derive the automatic merge; nothing is stored of it."""

    refinement_id: str
    base: SkillVersion
    snapshot: Snapshot
    inputs: Inputs
    config: dict[str, Any]
    versions: dict[str, str]
    seconds: dict[str, float]
    analyst: str
    include_undecided: bool
    audits_block: bool
    table: ContrastTable
    summaries: tuple[Summary, ...]
    clusterings: tuple[Clustering, ...]
    proposals: tuple[Proposal, ...]
    shortfalls: tuple[Shortfall, ...]
    verdicts: tuple[Verdict, ...]
    changes: tuple[Change, ...]
    findings: tuple[Finding, ...]
    failed: tuple[str, ...] = ()
    """The steps whose last attempt failed, with the reason."""
    usage: dict[str, Any] = field(default_factory=dict)
    """What a model was asked for, by stage; empty when none was."""
    held_out: HeldOut | None = None
    """What the held-out tasks say, once a person has opened them."""
    calibration: Calibration | None = None
    """How steady the gate's verdicts are, once that was measured."""
    nearest: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """By change the external ids of the nearest traces of the other outcome, where they were looked up."""
    before: dict[str, Any] = field(default_factory=dict)
    """What the base's provenance says of earlier refinements: `tried` and `earlier` rows; empty when it has none."""

    @cached_property
    def decided(self) -> tuple[Decided, ...]:
        """Every change in the order supported, undecided, unsupported; within one, as the gate ranked them."""
        selection = merge.automatic(self.changes, self.results, self.include_undecided, self.barred)
        taken = {change.key for change in selection.accepted}
        reasons = {left.change.key: left.reason for left in selection.left_out}
        rows = [self._decided(one, one.key in taken, reasons.get(one.key, "")) for one in self.changes]
        order = (NOT_GATED, "supported", "undecided", "unsupported")
        return tuple(sorted(rows, key=lambda row: order.index(row.result)))

    @cached_property
    def runs(self) -> Mapping[str, Labelled]:
        """The training traces with their outcomes, by trace id, in external-id order."""
        return {item.trace.id: item for item in self.snapshot.training}

    @cached_property
    def decisive(self) -> Mapping[str, int]:
        """The message that the analyst takes for the one that decided a failure, by trace id; by its ordinal."""
        blamed = {one.trace_id: one.decisive_span_id for one in self.summaries if one.polarity == "failure"}
        return {
            key: span.ordinal
            for key, item in self.runs.items()
            for span in item.trace.spans
            if span.span_id == blamed.get(key)
        }

    @cached_property
    def names(self) -> Mapping[str, str]:
        """The external ids of the training traces, by trace id."""
        return {key: item.trace.external_id for key, item in self.runs.items()}

    @cached_property
    def results(self) -> dict[str, GateResult]:
        """The gate's result by change: the best of its proposals; what met no gate counts as supported."""
        return {change.key: self._result(change) for change in self.changes}

    @cached_property
    def barred(self) -> dict[str, str]:
        """Why a change is kept out of the automatic merge, by change: an audit, or it is for a person to decide."""
        found = {one.key: "for a person to decide" for one in self.changes if one.rank[0] == FOR_A_PERSON}
        for one in self.findings if self.audits_block else ():
            if one.severity in BLOCKING:
                found[one.change_id] = f"{one.kind}: {one.words}"
        return found

    @cached_property
    def merged(self) -> merge.Merged:
        """The automatic merge as it is written out: the base with every taken change."""
        taken = [row.change for row in self.decided if row.taken]
        return merge.export(self.base, merge.apply(self.base, taken))

    @property
    def waiting(self) -> tuple[Decided, ...]:
        """Undecided changes that a person may take: not in the merge, placed, and kept out by no audit."""
        rows = (row for row in self.decided if row.result == "undecided" and not row.taken)
        return tuple(row for row in rows if row.change.key not in self.barred and not row.change.unplaced)

    @property
    def skill_text(self) -> str:
        """The refined file. Its bytes may hold what UTF-8 cannot; those characters survive as surrogates."""
        return self.merged.files[self.base.main].decode("utf-8", "surrogateescape")

    def counts(self) -> dict[str, int]:
        """Changes by result, and how many were taken."""
        found = {
            name: sum(row.result == name for row in self.decided) for name in ("supported", "undecided", "unsupported")
        }
        not_gated = sum(row.result == NOT_GATED and not row.for_a_person for row in self.decided)
        return {**found, "not_gated": not_gated, "taken": sum(row.taken for row in self.decided)}

    def _result(self, change: Change) -> GateResult:
        found = {one.result for one in self._verdicts(change)}
        if not found:
            return "undecided" if self._is_open(change) else "supported"
        order: tuple[GateResult, ...] = ("supported", "undecided", "unsupported")
        return next(one for one in order if one in found)

    def _is_open(self, change: Change) -> bool:
        """Whether a change without a verdict should have one: its side is gated, or no proposal asked for it."""
        if change.rank[0] == FOR_A_PERSON:
            return False
        gated = {"both": ("failure", "success"), "failure": ("failure",)}.get(str(self.config.get("gate")), ())
        sides = [one.side for one in self._proposals(change)]
        return not change.proposal_ids or any(side in gated for side in sides)

    @cached_property
    def _named(self) -> tuple[tuple[str, Proposal], ...]:
        """The proposals by key; a key is a hash over all that a proposal holds."""
        return tuple((one.key, one) for one in self.proposals)

    def _proposals(self, change: Change) -> tuple[Proposal, ...]:
        return tuple(one for key, one in self._named if key in change.proposal_ids)

    def _verdicts(self, change: Change) -> tuple[Verdict, ...]:
        return tuple(one for one in self.verdicts if one.proposal_id in change.proposal_ids)

    def _decided(self, change: Change, taken: bool, why: str) -> Decided:
        verdicts = self._verdicts(change)
        return Decided(
            change=change,
            proposals=self._proposals(change),
            verdicts=verdicts,
            findings=tuple(one for one in self.findings if one.change_id == change.key),
            result=self.results[change.key] if verdicts or self._is_open(change) else NOT_GATED,
            taken=taken,
            why=why,
            earlier=earlier_words(change, self.base, self.before.get("earlier", ())),
        )


@dataclass(frozen=True, slots=True)
class Result:
    """What `refiner.refine` returns."""

    skill_text: str
    changes: tuple[Change, ...]
    proposals: tuple[Proposal, ...]
    verdicts: tuple[Verdict, ...]
    refinement_id: str
    out: Path
    report: Report
