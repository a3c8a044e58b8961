"""The seal on the held-out tasks: opened once, by an explicit act that is written down. For a front end."""

from __future__ import annotations

from dataclasses import dataclass, field

from refiner.errors import ConfigError
from refiner.evidence_views import HeldOutView
from refiner.reporting.heldout import ONCE, SEALED, opened_words, why_none
from refiner.types import HeldOut
from refiner.workspace.deciding import Deciding
from refiner.workspace.seal import mark_open, opening, read_open, sealed_items
from storage import Store

_SEEN_BEFORE = "Held-out tasks of this corpus were opened in another refinement before: they are not unseen any more."


@dataclass(slots=True)
class Seal:
    """The held-out tasks of one database's refinements. `kept`: the latest estimate, until something is decided."""

    deciding: Deciding
    kept: dict[str, tuple[int, HeldOut]] = field(default_factory=dict)

    @property
    def store(self) -> Store:
        return self.deciding.room.store

    def view(self, refinement_id: str) -> HeldOutView:
        """Where they stand. Raises NotReady while there is nothing to review."""
        report = self.deciding.reports.report(refinement_id)
        snapshot = report.snapshot
        size = (snapshot.held_out_tasks, snapshot.held_out_traces)
        if not snapshot.held_out_tasks:
            return HeldOutView("none", tuple(why_none(report)), *size)
        found = self.found(refinement_id)
        if found is not None:
            return HeldOutView("opened", (*opened_words(found), *self._before(refinement_id)), *size, found)
        if source := self.deciding.reports.opened_from(refinement_id):
            words = (
                f"They are sealed in the database of that folder; `refiner holdout --out {source} --open` opens them. "
                "Open the folder again after that to see what they say."
            )
            return HeldOutView("elsewhere", (SEALED, words), *size)
        return HeldOutView("sealed", (SEALED, ONCE, *self._before(refinement_id)), *size)

    def open(self, refinement_id: str) -> HeldOutView:
        """Opens them, as the reviewer; twice is as once. Raises ConfigError when there is nothing to open."""
        view = self.view(refinement_id)
        if view.state == "elsewhere" or view.state == "none":
            raise ConfigError(view.words[-1] if view.state == "elsewhere" else view.words[0])
        if view.state == "sealed":
            sealed_items(self.store, self.deciding.reports.report(refinement_id).snapshot)  # before it is written down
            mark_open(self.store, refinement_id, self.deciding.room.reviewer(), self.deciding.room.now())
        return self.view(refinement_id)

    def found(self, refinement_id: str) -> HeldOut | None:
        """What they say of the changes accepted now; None while they are sealed."""
        report, events = self.deciding.reports.report(refinement_id), self.deciding.last_event(refinement_id)
        if report.held_out is not None:
            return report.held_out
        known = self.kept.get(refinement_id)
        if known and known[0] == events:
            return known[1]
        inside = [item.change_id for item in self.deciding.review(refinement_id).items if item.in_skill]
        found = read_open(self.store, report, inside)
        if found is not None:
            self.kept = {refinement_id: (events, found)}
        return found

    def _before(self, refinement_id: str) -> tuple[str, ...]:
        """That the same tasks were opened in an earlier refinement of the corpus, if so."""
        corpus = self.deciding.reports.corpus(refinement_id)
        earlier = [one.key for one in self.store.refinements(corpus) if one.key != refinement_id]
        if not any(opening(self.store, one) for one in earlier):
            return ()
        return (_SEEN_BEFORE,)
