"""What belongs to a report beyond its stages: opened held-out tasks, figures of the gate, nearest counter-examples."""

from __future__ import annotations

from dataclasses import replace

from refiner.ports import Records
from refiner.reporting.neighbours import Neighbours
from refiner.reporting.report import Report
from refiner.types import Embedding
from refiner.workspace.calibrating import with_calibration
from refiner.workspace.seal import with_held_out
from storage import Store


def completed(store: Store, report: Report, records: Records) -> Report:
    """The report as it is written out."""
    report = with_calibration(store, with_held_out(store, report))
    vectors = [one for one in records.produced("embed") if isinstance(one, Embedding)]
    return replace(report, nearest=Neighbours.of(report, vectors).names())
