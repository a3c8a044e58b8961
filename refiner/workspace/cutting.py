"""Conversations cut by a model as jobs: what that would take, starting, watching, stopping, going on.

How a conversation is cut, and what becomes of the attempts, lives elsewhere.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from refiner import codec, episodes
from refiner.config import RefineConfig, plain
from refiner.conversation_views import CutJob, CutReport
from refiner.errors import AnalystError, BudgetSpent, ConfigError, RefinerError, StoreError, WaitingForReplies
from refiner.jobs import Shift, Stopped, Ticket, Worker
from refiner.model_views import NO_KEYS, Asks, Keys, Stop
from refiner.types import Trace
from refiner.views import Estimate
from refiner.workspace import stored_config, tools_for
from refiner.workspace.asked import SHELF, Asked
from refiner.workspace.conversations import Conversations
from refiner.workspace.corpora import Entry
from refiner.workspace.expecting import reading_of
from refiner.workspace.plan import SECONDS_CALL, Planner
from refiner.workspace.running import UNEXPECTED
from refiner.workspace.usage import Meter, meter_of, metered, usage_of

if TYPE_CHECKING:
    from storage import Event

log = logging.getLogger(__name__)
STARTED, ENDED = "cutting_started", "cutting_ended"
CUT_OFF = "The app was closed while the conversations were read. What was read is kept: start it again."
READING = "other conversations are being read; wait for that, or stop it"


@dataclass(slots=True)
class AtWork:
    """A cut at work: so many of `total` conversations are read. `failed`: those without a usable reply."""

    entry: Entry
    config: RefineConfig
    asked: Asked
    meter: Meter
    done: int = 0
    total: int = 0
    failed: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        return _books(self.entry)

    def halt(self) -> None:
        """Lets no further call start."""
        self.meter.halt()

    def read(self, ticket: Ticket, trace: Trace) -> episodes.Cut:
        """One conversation; one whose reply cannot be used is left whole and named."""
        ticket.check()
        try:
            return self.asked(trace)
        except AnalystError as error:
            if error.systemic or ticket.why is not None:
                raise
            self.failed.append(f"{trace.external_id}: {error}")
            return episodes.of_pieces(trace, ())
        finally:
            self.done += 1


@dataclass(frozen=True, slots=True)
class Cutting:
    """The cuts by a model in one database, one at a time, beside whatever is being refined."""

    planner: Planner
    conversations: Conversations
    shift: Shift[AtWork] = field(default_factory=lambda: Shift(Worker(busy=READING)))

    def estimate(self, entry: Entry, given: Mapping[str, Any]) -> Estimate:
        """What reading the conversations would take; `steps` counts them. Never raises for what a person can mend."""
        try:
            chosen = self._settings(entry, given)
            talks = self.conversations.of(entry)
        except RefinerError as error:
            return Estimate(0, 0, 0, 0, 0.0, 0, 0, 0.0, (), str(error))
        found = reading_of(chosen, _sizes(talks))
        return Estimate(
            failing=0,
            passing=0,
            held_out_tasks=0,
            steps=len(talks),
            seconds=round(SECONDS_CALL * found["calls"] / chosen.workers, 1),
            calls=found["calls"],
            tokens=found["tokens"],
            money=found["cost"],
            warnings=(),
            blocked=None if talks else f'No user speaks in the traces of "{entry.name}", so there is nothing to cut.',
            currency=found["currency"],
            prices_of=found["prices_of"],
            unasked=self.planner.asking.unasked(chosen),
        )

    def start(self, entry: Entry, given: Mapping[str, Any], keys: Keys = NO_KEYS) -> None:
        """Starts reading; what was read before is not asked again. Raises ConfigError or JobRunning."""
        self._start(entry, self._settings(entry, given), keys)

    def _start(self, entry: Entry, chosen: RefineConfig, keys: Keys) -> None:
        with self.shift.worker.claim() as go:
            self.planner.asking.refuse_unasked(chosen)
            room = self.planner.asking.room
            tools = tools_for(chosen, self.planner.asking.environ(keys), folder=room.folder)
            meter = meter_of(tools)
            if meter is None or meter.analyst is None:
                raise ConfigError("analyst: only a model is asked to cut conversations")
            case = AtWork(entry, chosen, Asked(meter.analyst), meter)
            room.store.corpus_event(entry.id, STARTED, {"config": codec.to_plain(plain(chosen))})
            self.shift.launch(go, entry.id, case, self._work)

    def cancel(self, entry: Entry) -> None:
        """Stops after the conversations at work; their replies are kept. Nothing happens when it is not at work."""
        self.shift.cancel(entry.id)

    def job(self, entry: Entry) -> CutJob | None:
        """How the latest cut by a model stands; None when there was none."""
        store, case = self.planner.asking.room.store, self.shift.at_work.get(entry.id)
        if case is not None:
            stopping = self.shift.worker.is_cancelled(entry.id)
            usage = usage_of(store.events(case.name), None if case.meter.closed else case.meter.body())
            asks = self.planner.asking.asks(case.config)
            return CutJob("cancelling" if stopping else "running", case.done, case.total, asks=asks, usage=usage)
        events = store.corpus_events(entry.id, STARTED, ENDED)
        return self._ended(entry, events) if events else None

    def _ended(self, entry: Entry, events: Sequence[Event]) -> CutJob:
        usage = usage_of(self.planner.asking.room.store.events(_books(entry)))
        asks = self._asks(events)
        if events[-1].kind == STARTED:
            return CutJob("interrupted", words=CUT_OFF, asks=asks, usage=usage)
        body = events[-1].body
        report = codec.from_plain(CutReport, body["report"]) if body["report"] else None
        return CutJob(
            body["status"], words=body["words"], asks=asks, usage=usage, report=report, failed=tuple(body["failed"])
        )

    def _asks(self, events: Sequence[Event]) -> Asks | None:
        """How it asked, and why it stopped where it can go on."""
        body = events[-1].body if events[-1].kind == ENDED else {}
        stopped: Stop = body["status"] if body.get("status") in ("waiting", "limit") else ""
        return self.planner.asking.asks(_config_of(events), stopped, body.get("waiting", 0))

    def requests(self, entry: Entry) -> bytes:
        """The requests that wait for a reply, as a zip file. Raises ConfigError when nothing is handed off."""
        return self.planner.asking.requests(self._last(entry))

    def answer(self, entry: Entry, name: str, data: bytes) -> int:
        """Takes in replies; how many. Raises FormatError for anything else."""
        return self.planner.asking.answer(self._last(entry), name, data)

    def resume(self, entry: Entry, keys: Keys = NO_KEYS) -> None:
        """Goes on with the settings of the latest cut. Raises ConfigError or JobRunning."""
        self._start(entry, self._last(entry), keys)

    def _last(self, entry: Entry) -> RefineConfig:
        events = self.planner.asking.room.store.corpus_events(entry.id, STARTED)
        if not events:
            raise ConfigError(f'no model was asked to cut "{entry.name}" yet')
        return _config_of(events)

    def _settings(self, entry: Entry, given: Mapping[str, Any]) -> RefineConfig:
        own = {"handoff_dir": self.planner.asking.folder(f"{entry.id}-{SHELF}")}
        return self.planner.settings(entry, {**(own if given.get("transport") == "handoff" else {}), **given})

    def _work(self, case: AtWork, ticket: Ticket) -> None:
        """A whole cut, to its end in words."""
        body = self._told(case, ticket)
        with suppress(StoreError):
            self.planner.asking.room.store.corpus_event(case.entry.id, ENDED, body)

    def _told(self, case: AtWork, ticket: Ticket) -> dict[str, Any]:
        body: dict[str, Any] = {"status": "done", "words": "", "waiting": 0, "report": None, "failed": []}
        try:
            report = self._cut(case, ticket)
            return {**body, "report": codec.to_plain(report), "failed": sorted(case.failed)}
        except WaitingForReplies as stop:
            return {**body, "status": "waiting", "words": str(stop), "waiting": stop.count}
        except BudgetSpent as stop:
            return {**body, "status": "limit", "words": str(stop)}
        except Stopped:
            return {**body, "status": "cancelled"}
        except RefinerError as error:
            return {**body, "status": "cancelled" if ticket.why else "failed", "words": str(error)}
        except Exception as error:
            log.error("cutting of %s failed", case.entry.id, exc_info=error)
            return {**body, "status": "failed", "words": UNEXPECTED}

    def _cut(self, case: AtWork, ticket: Ticket) -> CutReport:
        talks = self.conversations.of(case.entry)
        case.total = len(talks)
        store = self.planner.asking.room.store
        with metered(store, case.name, case.meter), ThreadPoolExecutor(case.config.workers) as pool:
            cuts = list(pool.map(lambda trace: case.read(ticket, trace), talks))
        case.asked.refuse_waiting()
        return self.conversations.keep(case.entry, cuts)


def _sizes(talks: Sequence[Trace]) -> list[int]:
    from refiner.analysts.model.conversations import size_of

    return [size_of(trace) for trace in talks]


def _books(entry: Entry) -> str:
    """What the replies and charges of a corpus's cuts are kept under."""
    return f"{SHELF}:{entry.id}"


def _config_of(events: Sequence[Event]) -> RefineConfig:
    return stored_config(next(event.body["config"] for event in reversed(events) if event.kind == STARTED))
