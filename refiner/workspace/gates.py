"""How steady the gate of a refinement is, and asking it again. For a front end; what is measured lives elsewhere."""

from __future__ import annotations

from dataclasses import dataclass

from refiner import codec
from refiner.config import RefineConfig
from refiner.errors import ConfigError, NotReady
from refiner.evidence_views import GateView
from refiner.model_views import NO_KEYS, Keys
from refiner.reporting.calibration import votes_words, words
from refiner.types import Calibration
from refiner.workspace.calibrating import CALIBRATED, Wish, latest, measured
from refiner.workspace.reports import Reports
from refiner.workspace.running import Running
from refiner.workspace.usage import KIND, usage_of


@dataclass(frozen=True, slots=True)
class Gates:
    """The gates of one database's refinements."""

    reports: Reports
    running: Running

    def view(self, refinement_id: str) -> GateView:
        """The latest figures, without reading a trace. Raises NotReady while there is no verdict."""
        store = self.reports.store
        if self.reports.is_opened(refinement_id):
            report = self.reports.report(refinement_id)
            told = words(self.found(refinement_id), offline=report.analyst == "offline")
            return GateView(tuple(told), votes_words(report.usage, int(report.config.get("votes") or 1)), 0)
        if not self.reports.is_reviewable(refinement_id):
            raise NotReady("there are no verdicts yet")
        config, figures = self.reports.start(refinement_id).config, latest(store, refinement_id)
        told, usage = words(figures, offline=config.analyst == "offline"), usage_of(store.events(refinement_id, KIND))
        return GateView(tuple(told), votes_words(usage, config.votes), self._calls(refinement_id, config))

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

    def calibrate(self, refinement_id: str, keys: Keys = NO_KEYS) -> GateView:
        """Asks the gate again and writes down what came of it. Raises ConfigError, WaitingForReplies, AnalystError."""
        if self.reports.is_opened(refinement_id):
            raise ConfigError("this result was opened for reading; `refiner calibrate --out FOLDER` measures its gate")
        report, config = self.reports.report(refinement_id), self.reports.start(refinement_id).config
        tools = self.running.tools(config, keys)
        made = measured(report, config, tools, Wish(), self.reports.corpora.room.now())
        self.reports.store.event(refinement_id, CALIBRATED, codec.to_plain(made))
        return self.view(refinement_id)
