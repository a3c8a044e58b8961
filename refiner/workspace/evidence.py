"""Single traces, the quotes taken from them, and counter-examples. Held-out traces never come up as neighbours."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from refiner.errors import RefinerError, StoreError
from refiner.ports import Labelled
from refiner.reporting.counted import Counted, counted
from refiner.reporting.neighbours import Neighbours, citations
from refiner.reporting.report import Decided, Report
from refiner.types import Outcome
from refiner.views import TraceView
from refiner.workspace.corpora import Corpora
from refiner.workspace.reports import Reports


@dataclass(slots=True)
class Evidence:
    """Looks into traces of one database."""

    corpora: Corpora
    reports: Reports
    kept: Neighbours | None = field(default=None)
    runs: tuple[Report, str, dict[str, tuple[Counted, ...]]] | None = field(default=None)

    def trace(self, trace_id: str, refinement_id: str | None) -> TraceView:
        """A trace as a refinement saw it (without one: as it is now, and the latest refinement that quotes it)."""
        for report in self._candidates(trace_id, refinement_id):
            item = report.runs.get(trace_id)
            if item is not None:
                return _view(item, report)
        trace = self.reports.store.trace(trace_id)
        if trace is None:
            raise StoreError(f"there is no trace {trace_id} here; it may belong to another database, or was removed")
        digest = self.corpora.digests.of(self.corpora.by_id(trace.corpus).id)
        return TraceView(trace, digest.outcome(trace_id), (), trace.external_id)

    def nearest_opposite(self, refinement_id: str, change_id: str, n: int) -> list[TraceView]:
        """The training traces of the other outcome that are nearest to those behind a change: same tasks first."""
        report = self.reports.report(refinement_id)
        row = _row(report, change_id)
        return [_view(item, report) for item in self.neighbours(refinement_id).opposite(row, n)]

    def neighbours(self, refinement_id: str) -> Neighbours:
        """What lies near what in a refinement; remembered for one."""
        report = self.reports.report(refinement_id)
        kept = self.kept
        if kept is None or kept.report is not report:
            kept = self.kept = Neighbours.of(report, self.reports.vectors(refinement_id))
        return kept

    def counted(self, refinement_id: str, change_id: str) -> dict[str, tuple[Counted, ...]]:
        """The counted runs of a change by group; empty when its behaviour was not counted."""
        report = self.reports.report(refinement_id)
        known = self.runs
        if known is not None and known[0] is report and known[1] == change_id:
            return known[2]
        row = _row(report, change_id)
        contrast = next((verdict.contrast for verdict in row.verdicts if verdict.contrast), None)
        found = counted(contrast, report.snapshot.training) if contrast else {}
        self.runs = report, change_id, found
        return found

    def _candidates(self, trace_id: str, refinement_id: str | None) -> Iterator[Report]:
        """Reports that may hold the trace, as far as they can be read."""
        wanted = [refinement_id] if refinement_id else self._latest(trace_id)
        for one in wanted:
            try:
                yield self.reports.report(one)
            except RefinerError:
                continue

    def _latest(self, trace_id: str) -> list[str]:
        trace = self.reports.store.trace(trace_id)
        if trace is None:
            return [one.refinement_id for one in self.reports.store.results()]
        made = (one.key for one in reversed(self.reports.store.refinements(trace.corpus)))
        return [next((one for one in made if self.reports.is_reviewable(one)), "")]


def _row(report: Report, change_id: str) -> Decided:
    """The change. Raises StoreError when the refinement has none of that id."""
    row = next((one for one in report.decided if one.change.key == change_id), None)
    if row is None:
        raise StoreError(f"refinement {report.refinement_id} has no change {change_id}; go back to its review")
    return row


def _view(item: Labelled, report: Report) -> TraceView:
    """A training trace with every verified quote that the changes and summaries of a report take from it."""
    found = [citation for row in report.decided for citation in citations(row)]
    found += [citation for summary in report.summaries for citation in summary.evidence]
    own = {one for one in found if one.trace_id == item.trace.id and one.verified}
    cited = tuple(sorted(own, key=lambda one: (one.ordinal, one.start, one.end, one.quote)))
    outcome: Outcome = item.outcome
    decisive = report.decisive.get(item.trace.id)
    return TraceView(item.trace, outcome, cited, item.trace.external_id, decisive, report.analyst)
