"""Decisions of one database: written down one after the other, and everything that follows from the log."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from refiner import audits, merge, review
from refiner.errors import DecisionRefused, RefinerError, StoreError
from refiner.ids import content_key
from refiner.reporting.report import Report
from refiner.review import Board, Standing
from refiner.types import Action, Change, Decision, Finding
from refiner.views import Review
from refiner.workspace.reports import Reports
from refiner.workspace.room import Room, iso
from refiner.workspace.seal import opening

Preview = Literal["none", "supported", "automatic"]
EitherWay = tuple[merge.Merged, merge.Merged]
"""The merged skill without and with one change."""
_KEPT = 4


@dataclass(slots=True)
class Desk:
    """One refinement under review: its board, and its log as it is written."""

    board: review.Board
    log: list[Decision]
    now: review.Standing
    auditor: audits.Auditor | None = None
    texts: dict[tuple[int, int | None, Preview], merge.Merged] = field(default_factory=dict)
    pairs: dict[tuple[int, str], EitherWay] = field(default_factory=dict)


@dataclass(slots=True)
class Deciding:
    """Every read and write of decisions; writes take turns."""

    room: Room
    reports: Reports
    desks: dict[str, Desk] = field(default_factory=dict)
    lock: threading.RLock = field(default_factory=threading.RLock)

    def review(self, refinement_id: str) -> Review:
        """The queue as it stands."""
        desk = self._desk(refinement_id)
        return review.review(desk.board, desk.now)

    def decisions(self, refinement_id: str) -> list[Decision]:
        """The log, in order."""
        return list(self._log(refinement_id))

    def standing(self, refinement_id: str) -> tuple[Board, Standing]:
        """What is under review, and what the log comes to."""
        desk = self._desk(refinement_id)
        return desk.board, desk.now

    def last_event(self, refinement_id: str) -> int:
        """The length of the log."""
        return len(self._log(refinement_id))

    def decide(
        self,
        refinement_id: str,
        change_id: str,
        action: Action,
        shown_at: float,
        seen: str,
        reason_code: str = "",
        reason: str = "",
        amended: str | None = None,
    ) -> Review:
        """Writes a decision down unless it says again what counts. Raises DecisionRefused when it does not count."""
        with self.lock:
            desk = self._desk(refinement_id)
            if change_id not in desk.board.rows:
                raise DecisionRefused("this change is not part of the refinement any more; reload the page", "stale")
            draft = Decision(
                change_id=change_id,
                refinement_id=refinement_id,
                base=desk.board.report.base.key,
                action=action,
                reason_code=reason_code,
                reason=reason.strip(),
                reviewer=self.room.reviewer(),
                shown_at=iso(shown_at),
                seen=seen,
            )
            draft = _with_text(desk.board, draft, amended)
            if not review.repeats(desk.now, draft):
                waited = self.room.clock() - shown_at
                ruled = review.ruled(desk.board, desk.now, draft, waited, lambda change: self._audit(desk, change))
                self._write(desk, [ruled])
            return review.review(desk.board, desk.now)

    def undo(self, refinement_id: str) -> Decision | None:
        """Takes the reviewer's own latest act back, a bulk one as a whole; its last decision, None without any."""
        with self.lock:
            desk, me = self._desk(refinement_id), self.room.reviewer()
            acts = review.undoable(desk.now, me)
            if not acts:
                return None
            undone = [
                replace(act, action="undo", amended=(), reason_code="", reason="", override=False, reviewer=me)
                for act in acts
            ]
            after = review.standing([*desk.log, *undone])
            before = review.accepted(desk.board, desk.now)
            if review.clashes(review.accepted(desk.board, after)) and not review.clashes(before):
                raise DecisionRefused("what this would bring back overlaps a change accepted since", "conflict")
            self._write(desk, undone)
            return acts[-1]

    def accept_supported(self, refinement_id: str) -> Review:
        """Accepts every supported change that is open, as one act."""
        with self.lock:
            desk = self._desk(refinement_id)
            chosen = review.bulk(desk.board, desk.now)
            batch = content_key("bulk", refinement_id, len(desk.log))
            base, me = desk.board.report.base.key, self.room.reviewer()
            hashes = {one: review.item_hash(desk.board, desk.now, one) for one in chosen}
            made = [
                Decision(one, refinement_id, base, "accept", reviewer=me, seen=hashes[one], batch=batch)
                for one in chosen
            ]
            self._write(desk, made)
            return review.review(desk.board, desk.now)

    def merged(self, refinement_id: str, upto: int | None, preview: Preview) -> merge.Merged:
        """The skill with what is accepted, now or after the first `upto` events. A preview adds to it, undecided."""
        desk = self._desk(refinement_id)
        now = desk.now  # read once: another thread may decide meanwhile
        key = (now.events, upto, preview)
        if key not in desk.texts:
            made = _merged(desk, now, upto, preview)
            desk.texts[key] = made
            return made
        return desk.texts[key]

    def preview(self, refinement_id: str, change_id: str) -> EitherWay:
        """The skill as it would be exported without and with a change, the others as they are decided now."""
        desk = self._desk(refinement_id)
        now = desk.now
        if change_id not in desk.board.rows:
            raise StoreError("this change is not part of the refinement; choose one of its queue")
        if (now.events, change_id) not in desk.pairs:
            without, with_it = review.either_way(desk.board, now, change_id)
            base = desk.board.report.base
            desk.pairs[now.events, change_id] = merge.export(base, without), merge.export(base, with_it)
        return desk.pairs[now.events, change_id]

    def carry_over(self, earlier_id: str, later_id: str) -> int:
        """Brings decisions on equal changes to a later refinement, as one act of the reviewer; how many."""
        with self.lock:
            earlier, later = review.standing(self._log(earlier_id)), self._desk(later_id)
            drafts = review.carried(later.board, later.now, earlier.latest)
            batch = content_key("carried", earlier_id, later_id, len(later.log))
            me = self.room.reviewer()
            self._write(later, [replace(draft, reviewer=me, batch=batch) for draft in drafts])
            return len(drafts)

    def _write(self, desk: Desk, decisions: Sequence[Decision]) -> None:
        at, unsealed = self.room.now(), self._is_unsealed(desk.board.report)
        written = [replace(one, decided_at=at, after_unseal=unsealed) for one in decisions]
        self.room.store.add_decisions(written)
        desk.log += written
        desk.texts, desk.pairs = {}, {}  # only to forget; the keys tell old from new
        desk.now = review.standing(desk.log)

    def _is_unsealed(self, report: Report) -> bool:
        return report.held_out is not None or opening(self.room.store, report.refinement_id) is not None

    def _log(self, refinement_id: str) -> list[Decision]:
        """The log; what is under review is in memory already, since nobody else can write."""
        desk = self.desks.get(refinement_id)
        return self.room.store.decisions(refinement_id) if desk is None else desk.log

    def _desk(self, refinement_id: str) -> Desk:
        report = self.reports.report(refinement_id)
        with self.lock:
            known = self.desks.get(refinement_id)
            if known is not None and known.board.report is report:
                return known
            log = self.room.store.decisions(refinement_id)
            board = review.lay_out(report, self._rejected_before(refinement_id))
            while len(self.desks) >= _KEPT:
                del self.desks[next(iter(self.desks))]
            self.desks[refinement_id] = Desk(board, log, review.standing(log))
            return self.desks[refinement_id]

    def _rejected_before(self, refinement_id: str) -> Mapping[tuple[str, ...], tuple[str, str]]:
        """What was rejected in the refinement before this one, by what it was about."""
        if self.reports.is_opened(refinement_id):
            return {}
        parent = self.room.store.refinement(refinement_id).parent
        if parent is None or not self.room.store.decisions(parent):
            return {}
        try:
            board = review.lay_out(self.reports.report(parent))
        except RefinerError:
            return {}
        return review.rejected_subjects(board, review.standing(self.room.store.decisions(parent)))

    def _audit(self, desk: Desk, change: Change) -> list[Finding]:
        """What the audits say of an edited text."""
        report = desk.board.report
        if desk.auditor is None:
            desk.auditor = audits.Auditor(report.snapshot.training, report.base)
        return [finding for finding in desk.auditor.check(change) if finding.severity in ("quarantine", "error")]


def _with_text(board: review.Board, draft: Decision, text: str | None) -> Decision:
    """An amendment with its edits; one that changes nothing is an acceptance."""
    if draft.action != "amend":
        return draft
    edits = review.amended(board, draft.change_id, text or "")
    if edits == board.rows[draft.change_id].change.edits:
        return replace(draft, action="accept")
    return replace(draft, amended=edits)


def _merged(desk: Desk, now: review.Standing, upto: int | None, preview: Preview) -> merge.Merged:
    if preview == "automatic":
        taken = {row.change.key: row.change for row in desk.board.report.decided if row.taken}
        return review.merged(desk.board, taken)
    if upto is not None:
        now = review.standing(desk.log[: max(0, upto)])
    changes = review.accepted(desk.board, now)
    if preview == "supported":
        changes |= {one: desk.board.rows[one].change for one in review.bulk(desk.board, now)}
    return review.merged(desk.board, changes)
