"""Single traces, the quotes taken from them, and counter-examples. Held-out traces never come up as neighbours."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from refiner.errors import RefinerError, StoreError
from refiner.ports import Labelled
from refiner.reporting.counted import Counted, counted
from refiner.reporting.report import Decided, Report
from refiner.sides import other, side_of
from refiner.types import Citation, Outcome
from refiner.views import TraceView
from refiner.workspace.corpora import Corpora
from refiner.workspace.reports import Reports

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors = dict[str, NDArray[np.float32]]


@dataclass(slots=True)
class Evidence:
    """Looks into traces of one database."""

    corpora: Corpora
    reports: Reports
    kept: tuple[Report, Vectors] | None = field(default=None)
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
        behind = behind_change(report, row)
        sides = {proposal.side for proposal in row.proposals} or {"failure"}
        wanted = other(sorted(sides)[0])
        opposite = [(key, item.trace) for key, item in report.runs.items() if side_of(item) == wanted]
        tasks = {item.trace.task_id for item in behind}
        near = self._nearness(report, behind)
        first = heapq.nsmallest(
            n, opposite, key=lambda one: (one[1].task_id not in tasks, -near.get(one[0], -2.0), one[1].external_id)
        )
        return [_view(report.runs[key], report) for key, _ in first]

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

    def _nearness(self, report: Report, behind: Sequence[Labelled]) -> dict[str, float]:
        """Cosine similarity of every embedded trace to the middle of those behind a change; empty without vectors."""
        import numpy as np

        vectors = self._vectors(report)
        known = [vectors[item.trace.id] for item in behind if item.trace.id in vectors]
        if not known:
            return {}
        middle = np.mean(np.stack(known), axis=0)
        names = list(vectors)
        scores = np.stack([vectors[name] for name in names]) @ middle
        return dict(zip(names, map(float, scores), strict=True))

    def _vectors(self, report: Report) -> Vectors:
        import numpy as np

        if self.kept is None or self.kept[0] is not report:
            found = self.reports.vectors(report.refinement_id)
            self.kept = report, {one.trace_id: np.frombuffer(one.vector, dtype="<f4") for one in found}
        return self.kept[1]


def _row(report: Report, change_id: str) -> Decided:
    """The change. Raises StoreError when the refinement has none of that id."""
    row = next((one for one in report.decided if one.change.key == change_id), None)
    if row is None:
        raise StoreError(f"refinement {report.refinement_id} has no change {change_id}; go back to its review")
    return row


def behind_change(report: Report, row: Decided) -> list[Labelled]:
    """The traces a change comes from: the members of its clusters, else those that its verdicts and quotes name."""
    groups = {key for proposal in row.proposals for key in proposal.groups}
    members = {
        trace_id
        for clustering in report.clusterings
        for cluster in clustering.clusters
        if cluster.key in groups
        for trace_id in cluster.members
    }
    named = {citation.trace_id for citation in _citations(row)}
    named |= {trace_id for verdict in row.verdicts if verdict.contrast for trace_id in verdict.contrast.holds}
    sides = {proposal.side for proposal in row.proposals}
    chosen = members or named
    return [item for key, item in report.runs.items() if key in chosen and side_of(item) in sides]


def _citations(row: Decided) -> Iterator[Citation]:
    for proposal in row.proposals:
        yield from proposal.citations
    for verdict in row.verdicts:
        for criterion in verdict.criteria:
            yield from criterion.citations


def _view(item: Labelled, report: Report) -> TraceView:
    """A training trace with every verified quote that the changes and summaries of a report take from it."""
    found = [citation for row in report.decided for citation in _citations(row)]
    found += [citation for summary in report.summaries for citation in summary.evidence]
    own = {one for one in found if one.trace_id == item.trace.id and one.verified}
    cited = tuple(sorted(own, key=lambda one: (one.ordinal, one.start, one.end, one.quote)))
    outcome: Outcome = item.outcome
    return TraceView(item.trace, outcome, cited, item.trace.external_id)
