"""The seal on held-out tasks in a database: whether it was opened, by whom, and what lies under it then.

The only reader of held-out runs; nothing here is asked by a stage.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

from refiner.errors import ConfigError, RefinerError, StoreError
from refiner.gate.heldout import estimate
from refiner.ports import Labelled
from refiner.reporting.heldout import faults_of, why_none
from refiner.reporting.report import Report
from refiner.reporting.tree import write_tree
from refiner.snapshot import Snapshot
from refiner.types import HeldOut
from storage import Event, Store

OPENED = "held_out_opened"


def opening(store: Store, refinement_id: str) -> Event | None:
    """The act of opening, if there was one."""
    return next(iter(store.events(refinement_id, OPENED)), None)


def mark_open(store: Store, refinement_id: str, who: str, at: str) -> None:
    """Writes the opening down; only the first counts."""
    store.event(refinement_id, OPENED, {"reviewer": who, "at": at})


def sealed_items(store: Store, snapshot: Snapshot) -> list[Labelled]:
    """The held-out runs that passed or failed. Raises StoreError when one has grown or gone since."""
    wanted = [(one.outcome.trace_id, one.revision) for one in snapshot.sealed]
    traces = {trace.id: trace for trace in store.revisions(wanted)}
    gone = len(snapshot.sealed) - len(traces)
    if gone:
        raise StoreError(f"{gone} held-out traces have grown or gone since this refinement; refine again to open them")
    return [Labelled(traces[one.outcome.trace_id], one.outcome) for one in snapshot.sealed]


def read_open(store: Store, report: Report, inside: Collection[str]) -> HeldOut | None:
    """What the opened tasks say of every change, and of those inside together; None while they are sealed."""
    event = opening(store, report.refinement_id)
    if event is None:
        return None
    singles, together = estimate(faults_of(report), inside, sealed_items(store, report.snapshot))
    size = (report.snapshot.held_out_tasks, report.snapshot.held_out_traces)
    return HeldOut(event.body["reviewer"], event.body["at"], *size, singles, together)


def with_held_out(store: Store, report: Report) -> Report:
    """The report with what its held-out tasks say of the automatic merge, if they were opened."""
    taken = [row.change.key for row in report.decided if row.taken]
    found = read_open(store, report, taken)
    return report if found is None else replace(report, held_out=found)


def unseal(database: Path, out: Path | None, refinement_id: str | None, *, open_: bool, who: str, at: str) -> Report:
    """The held-out tasks of a stored refinement (the latest when none is named); `open_` breaks the seal.

    An output folder is written anew with what they say. Raises StoreError, or ConfigError when nothing was held out.
    """
    with Store.open(existing(database)) as store:
        report = recalled(store, refinement_id)
        is_new = open_ and report.held_out is None
        if is_new:
            report = _opened(store, report, who, at)
    if is_new and out is not None:
        write_tree(report, out)
    return report


def existing(database: Path) -> Path:
    """The path of a database that is there. Raises StoreError when it is not."""
    if not database.exists():
        raise StoreError(f"{database}: there is no such database; name the --out of a `refiner refine`, or --db FILE")
    return database


def _opened(store: Store, report: Report, who: str, at: str) -> Report:
    if not report.snapshot.held_out_tasks:
        raise ConfigError(why_none(report)[0])
    sealed_items(store, report.snapshot)  # whatever is missing shows before the opening is written down
    mark_open(store, report.refinement_id, who, at)
    return with_held_out(store, report)


def recalled(store: Store, refinement_id: str | None) -> Report:
    """The report of the refinement, or of the latest one that is finished."""
    from refiner.workspace import recall

    if refinement_id is not None:
        return recall(store, refinement_id)
    problem: RefinerError = StoreError("this database holds no finished refinement; run `refiner refine` first")
    for corpus, _ in store.corpora():
        for made in reversed(store.refinements(corpus)):
            try:
                return recall(store, made.key)
            except RefinerError as error:
                problem = error
    raise problem
