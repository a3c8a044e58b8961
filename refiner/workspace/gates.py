"""How steady the gate of a refinement is, and asking it again. For a front end; what is measured lives elsewhere."""

from __future__ import annotations

from dataclasses import dataclass

from refiner.config import RefineConfig
from refiner.errors import NotReady
from refiner.evidence_views import GateView
from refiner.reporting.calibration import votes_words, words
from refiner.types import Calibration
from refiner.workspace.calibrating import Wish, claims, latest
from refiner.workspace.measuring import Measuring
from refiner.workspace.reports import Reports
from refiner.workspace.usage import KIND, usage_of


@dataclass(frozen=True, slots=True)
class Gates:
    """The gates of one database's refinements."""

    reports: Reports
    measuring: Measuring

    def view(self, refinement_id: str) -> GateView:
        """The latest figures, without reading a trace. Raises NotReady while there is no verdict."""
        store = self.reports.store
        if source := self.reports.opened_from(refinement_id):
            report = self.reports.report(refinement_id)
            told = words(self.found(refinement_id), offline=report.analyst == "offline")
            elsewhere = f"`refiner calibrate --out {source}` measures it; open the folder again to see the figures."
            return GateView((*told, elsewhere), votes_words(report.usage, int(report.config.get("votes") or 1)), 0)
        if not self.reports.is_reviewable(refinement_id):
            raise NotReady("there are no verdicts yet")
        config, figures = self.reports.start(refinement_id).config, latest(store, refinement_id)
        told, usage = words(figures, offline=config.analyst == "offline"), usage_of(store.events(refinement_id, KIND))
        calls, votes = self._calls(refinement_id, config), votes_words(usage, config.votes)
        return GateView(tuple(told), votes, calls, claims(), self.measuring.job(refinement_id))

    def _calls(self, refinement_id: str, config: RefineConfig) -> int:
        """What asking again takes: each judged proposal once in the same words, once with its runs turned round."""
        if config.analyst == "offline":
            return 0
        verdicts = self.reports.store.outputs(self.reports.store.stage_keys(refinement_id, "gate"))
        judged = sum(any(part.source == "judged" for part in one.criteria) for one in verdicts)
        return 2 * min(Wish().most, judged) * config.votes

    def found(self, refinement_id: str) -> Calibration | None:
        """The latest calibration of a refinement, as it was opened or in this database."""
        known = latest(self.reports.store, refinement_id)
        return known or self.reports.report(refinement_id).calibration
