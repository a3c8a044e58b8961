"""Counter-examples by nearness: the training traces of the other outcome that lie closest to those behind a change."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from refiner.ports import Labelled
from refiner.reporting.report import Decided, Report
from refiner.sides import other, side_of
from refiner.types import Citation, Embedding

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

NEAREST = 5


def citations(row: Decided) -> Iterator[Citation]:
    """Everything that the proposals and verdicts of a change quote."""
    for proposal in row.proposals:
        yield from proposal.citations
    for verdict in row.verdicts:
        for criterion in verdict.criteria:
            yield from criterion.citations


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
    named = {citation.trace_id for citation in citations(row)}
    named |= {trace_id for verdict in row.verdicts if verdict.contrast for trace_id in verdict.contrast.holds}
    sides = {proposal.side for proposal in row.proposals}
    chosen = members or named
    return [item for key, item in report.runs.items() if key in chosen and side_of(item) in sides]


@dataclass(frozen=True, slots=True)
class Neighbours:
    """The traces of a report in external-id order. `vectors` (n, d) float32, zero where there is none."""

    report: Report
    ids: tuple[str, ...]
    vectors: NDArray[np.float32]
    embedded: NDArray[np.bool_]
    tasks: NDArray[np.int64]
    failing: NDArray[np.bool_]

    @classmethod
    def of(cls, report: Report, embeddings: Iterable[Embedding]) -> Neighbours:
        """Made once for a report; without vectors only tasks and names order the traces."""
        import numpy as np

        ids = tuple(report.runs)
        known = {one.trace_id: np.frombuffer(one.vector, dtype="<f4") for one in embeddings}
        width = len(next(iter(known.values()), ()))
        blank = np.zeros(width, dtype=np.float32)
        rows = [known.get(one, blank) for one in ids]
        codes: dict[str, int] = {}
        tasks = [codes.setdefault(item.trace.task_id, len(codes)) for item in report.runs.values()]
        return cls(
            report,
            ids,
            np.stack(rows).astype(np.float32) if rows else np.zeros((0, width), dtype=np.float32),
            np.array([one in known for one in ids], dtype=bool),
            np.array(tasks, dtype=np.int64),
            np.array([side_of(item) == "failure" for item in report.runs.values()], dtype=bool),
        )

    def opposite(self, row: Decided, n: int = NEAREST) -> list[Labelled]:
        """The `n` nearest traces of the other outcome: those of the same tasks first, then by cosine similarity."""
        import numpy as np

        sides = {proposal.side for proposal in row.proposals} or {"failure"}
        wanted = np.flatnonzero(self.failing == (other(sorted(sides)[0]) == "failure"))
        names = {item.trace.id for item in behind_change(self.report, row)}
        behind = np.array([one in names for one in self.ids], dtype=bool)
        near = np.full(len(self.ids), -2.0)
        if (known := behind & self.embedded).any():
            scores = self.vectors @ self.vectors[known].mean(axis=0)
            near[self.embedded] = scores[self.embedded]
        elsewhere = ~np.isin(self.tasks, self.tasks[behind])
        order = np.lexsort((wanted, -near[wanted], elsewhere[wanted]))[:n]
        return [self.report.runs[self.ids[at]] for at in wanted[order]]

    def names(self) -> dict[str, tuple[str, ...]]:
        """By change the external ids of its nearest counter-examples."""
        return {
            row.change.key: tuple(item.trace.external_id for item in self.opposite(row)) for row in self.report.decided
        }
