"""Stage: the groups of each side. Translates between records and `refiner.clustering`; decides nothing itself."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, cast

from refiner.clustering.params import ClusterParams, Method, SmallN
from refiner.ids import content_key
from refiner.ports import Records, Tools
from refiner.sides import SIDES
from refiner.types import Cluster as Group
from refiner.types import Clustering, Embedding, MapPoint, Side, Step, Summary

if TYPE_CHECKING:
    from refiner.clustering.side import Group as Found


@dataclass(frozen=True, slots=True)
class SideVectors:
    """The traces of one side in external-id order; `vectors` holds one row of float32 each."""

    side: Side
    trace_ids: tuple[str, ...]
    external_ids: tuple[str, ...]
    task_ids: tuple[str, ...]
    vectors: bytes


@dataclass(frozen=True, slots=True)
class Cluster:
    """Yields one `Clustering` for each side with at least `min_side` embedded traces. Clusters carry no label yet."""

    method: Method = "umap_hdbscan"
    min_cluster_size: int = 2
    seed: int = 42
    min_side: int = 4
    n_neighbors: int = 15
    n_components: int = 20
    min_dist: float = 0.1
    small_n: SmallN = "groups"
    name: str = "cluster"
    version: int = 1

    def steps(self, records: Records) -> Iterable[Step]:
        vectors: dict[str, Embedding] = {one.trace_id: one for one in records.produced("embed")}
        sides: dict[str, Side] = {one.trace_id: one.polarity for one in _summaries(records)}
        for side in SIDES:
            traces = [item.trace for item in records.labelled()]
            traces = [one for one in traces if one.id in vectors and sides.get(one.id) == side]
            if len(traces) >= self.min_side:
                payload = SideVectors(
                    side,
                    tuple(one.id for one in traces),
                    tuple(one.external_id for one in traces),
                    tuple(one.task_id or one.external_id for one in traces),
                    b"".join(vectors[one.id].vector for one in traces),
                )
                yield Step(self.name, side, content_key(self.name, self.version, self._params(), payload), payload)

    def run(self, step: Step, tools: Tools) -> tuple[Any, ...]:
        import numpy as np

        from refiner.clustering.side import cluster_side, projected_from

        rows, params = cast(SideVectors, step.payload), self._params()
        vectors = np.frombuffer(rows.vectors, dtype="<f4").reshape(len(rows.trace_ids), -1)
        found = cluster_side(vectors.astype(np.float32), rows.external_ids, rows.task_ids, params)
        warnings = []
        if params.method != "single" and found.distinct < projected_from(params):
            warnings.append(f"{found.distinct} different summaries are too few to project; grouped by similarity alone")
        if not found.groups:
            warnings.append("no two traces are close enough to form a cluster")
        return (
            Clustering(
                side=rows.side,
                params=_words(params),
                clusters=tuple(_record(one, rows) for one in found.groups),
                unclustered=tuple(rows.trace_ids[row] for row in found.unclustered),
                picture=tuple(MapPoint(one, x, y) for one, (x, y) in zip(rows.trace_ids, found.picture, strict=True)),
                warnings=tuple(warnings),
            ),
        )

    def _params(self) -> ClusterParams:
        return ClusterParams(
            method=self.method,
            min_cluster_size=self.min_cluster_size,
            n_neighbors=self.n_neighbors,
            n_components=self.n_components,
            min_dist=self.min_dist,
            seed=self.seed,
            small_n=self.small_n,
        )


def _words(params: ClusterParams) -> dict[str, str]:
    """The settings by name; `small_n` only where it is not the usual one."""
    words = {name: str(value) for name, value in asdict(params).items()}
    return words if params.small_n == "published" else {name: words[name] for name in words if name != "small_n"}


def _summaries(records: Records) -> Iterable[Summary]:
    yield from records.produced("summarise")


def _record(found: Found, rows: SideVectors) -> Group:
    return Group(
        side=rows.side,
        kind="cluster",
        label="",
        members=tuple(rows.trace_ids[row] for row in found.members),
        probabilities=found.probabilities,
        medoid=rows.trace_ids[found.medoid],
        border=tuple(rows.trace_ids[row] for row in found.border),
        tasks=found.tasks,
        persistence=found.persistence,
        stability=found.stability,
        note=found.note,
    )
