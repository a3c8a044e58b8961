"""What was made of traces on each side: summaries, vectors, clusters, the picture. No behaviour beyond identity."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from refiner.ids import content_key, text_key
from refiner.types.traces import Citation
from refiner.types.words import Side


@dataclass(frozen=True, slots=True)
class Summary:
    trace_id: str
    revision: str
    polarity: Side
    summary: str
    observations: tuple[str, ...]
    decisive_span_id: str | None = None
    evidence: tuple[Citation, ...] = ()

    @property
    def key(self) -> str:
        return content_key("summary", self)


@dataclass(frozen=True, slots=True)
class Embedding:
    """One text's vector: `vector` = little-endian float32 bytes of unit norm."""

    trace_id: str
    vector: bytes

    @property
    def key(self) -> str:
        return content_key("embedding", self)


@dataclass(frozen=True, slots=True)
class Cluster:
    """A group of traces of one side. `members` and `probabilities` run in parallel, sorted by external id."""

    side: Side
    kind: Literal["cluster", "recurrence"]
    label: str
    members: tuple[str, ...]
    probabilities: tuple[float, ...]
    medoid: str
    border: tuple[str, ...]
    tasks: int
    persistence: float | None = None
    stability: float | None = None
    note: str = ""

    @property
    def key(self) -> str:
        return text_key("cluster", self.side, *sorted(self.members))


@dataclass(frozen=True, slots=True)
class MapPoint:
    trace_id: str
    x: float
    y: float


@dataclass(frozen=True, slots=True)
class Clustering:
    """One side's clusters. `unclustered` lists noise; it is never a cluster. `picture` has one point a trace."""

    side: Side
    params: dict[str, str]
    clusters: tuple[Cluster, ...]
    unclustered: tuple[str, ...]
    picture: tuple[MapPoint, ...]
    warnings: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        return content_key("clustering", self)
