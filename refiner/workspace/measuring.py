"""Calibrations as jobs: starting, watching, stopping. What is measured lives elsewhere."""

from __future__ import annotations

import logging
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from refiner import codec
from refiner.config import RefineConfig
from refiner.errors import ConfigError, RefinerError, StoreError, WaitingForReplies
from refiner.evidence_views import GateJob
from refiner.jobs import Shift, Stopped, Ticket, Worker
from refiner.model_views import NO_KEYS, Asks, Keys
from refiner.ports import Tools
from refiner.reporting.report import Report
from refiner.transports.base import halt
from refiner.workspace.calibrating import CALIBRATED, Wish, measured
from refiner.workspace.reports import Reports
from refiner.workspace.running import UNEXPECTED, Running

log = logging.getLogger(__name__)
STARTED, ENDED = "calibration_started", "calibration_ended"
BUSY = "a gate is being asked again, and only one is at a time; wait for it, or cancel it"
CUT_OFF = "The app was closed while the gate was asked again. Nothing of it counts; ask again."


@dataclass(slots=True)
class AtWork:
    """A calibration at work: `done` of `total` questions are answered."""

    report: Report
    config: RefineConfig
    tools: Tools
    ticket: Ticket | None = None
    done: int = 0
    total: int = 0

    def heard(self, more: int, done: int) -> None:
        """Counts, and stops when a person has asked for it."""
        self.total, self.done = self.total + more, self.done + done
        if self.ticket is not None:
            self.ticket.check()

    def halt(self) -> None:
        """Lets no further call start."""
        halt(getattr(getattr(self.tools.analyst, "caller", None), "transport", None))


@dataclass(frozen=True, slots=True)
class Measuring:
    """The calibrations of one database, one at a time, beside whatever is being refined."""

    reports: Reports
    running: Running
    shift: Shift[AtWork] = field(default_factory=lambda: Shift(Worker(busy=BUSY)))

    def start(self, refinement_id: str, keys: Keys = NO_KEYS, *, planted: bool = False) -> None:
        """Asks the gate of a refinement again. Raises ConfigError, JobRunning, or NotReady without verdicts."""
        if self.reports.is_opened(refinement_id):
            raise ConfigError("this result was opened for reading; `refiner calibrate` measures its gate")
        report, config = self.reports.report(refinement_id), self.reports.start(refinement_id).config
        with self.shift.worker.claim() as go:
            case = AtWork(report, config, self.running.tools(config, keys))
            self.reports.store.event(refinement_id, STARTED, {})
            self.shift.launch(go, refinement_id, case, partial(self._work, wish=Wish(planted=planted)))

    def cancel(self, refinement_id: str) -> None:
        """Stops it; nothing of it counts. Nothing happens when it is not at work."""
        self.shift.cancel(refinement_id)

    def job(self, refinement_id: str) -> GateJob | None:
        """How the latest one stands; None when there was none, or when it is through."""
        case = self.shift.at_work.get(refinement_id)
        if case is not None:
            stopping = self.shift.worker.is_cancelled(refinement_id)
            return GateJob("cancelling" if stopping else "running", case.done, case.total)
        events = [one for one in self.reports.store.events(refinement_id) if one.kind in (STARTED, ENDED)]
        if not events:
            return None
        if events[-1].kind == STARTED:
            return GateJob("interrupted", words=CUT_OFF)
        body = events[-1].body
        if body["status"] == "done":
            return None
        return GateJob(body["status"], words=body["words"], asks=self._waiting(refinement_id, body))

    def _waiting(self, refinement_id: str, body: dict[str, Any]) -> Asks | None:
        if body["status"] != "waiting":
            return None
        config = self.reports.start(refinement_id).config
        return self.running.asking.asks(config, "waiting", body["waiting"])

    def _work(self, case: AtWork, ticket: Ticket, wish: Wish) -> None:
        """A whole calibration, to its end in words."""
        case.ticket = ticket
        body = self._ended(case, ticket, wish)
        with suppress(StoreError):
            self.reports.store.event(case.report.refinement_id, ENDED, body)

    def _ended(self, case: AtWork, ticket: Ticket, wish: Wish) -> dict[str, Any]:
        """Measures, writes the figures down, and says how it ended."""
        store, name = self.reports.store, case.report.refinement_id
        try:
            made = measured(case.report, case.config, case.tools, wish, self.reports.corpora.room.now(), case.heard)
            ticket.check()
            store.event(name, CALIBRATED, codec.to_plain(made))
        except Stopped as stop:
            return {"status": "cancelled" if stop.why == "cancel" else "interrupted", "words": _stopped(case, stop)}
        except WaitingForReplies as stop:
            return {"status": "waiting", "words": str(stop), "waiting": stop.count}
        except RefinerError as failure:
            if ticket.why is not None:
                return {"status": "cancelled", "words": _stopped(case, Stopped(ticket.why))}
            return {"status": "failed", "words": str(failure)}
        except Exception as failure:
            log.exception("calibration of %s failed", name)
            return {"status": "failed", "words": f"{UNEXPECTED} ({type(failure).__name__}: {failure})"}
        return {"status": "done", "words": ""}


def _stopped(case: AtWork, stop: Stopped) -> str:
    if stop.why == "close":
        return CUT_OFF
    return f"Cancelled after {case.done} of {case.total} questions. Nothing of it counts."
