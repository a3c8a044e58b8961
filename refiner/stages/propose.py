"""Stage: one proposal a cluster. Clusters over too few tasks get none; noise never does."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from refiner.briefing import Briefing, brief
from refiner.ids import content_key
from refiner.ports import ProposalRequest, Records, Tools
from refiner.sides import Identity, identity_of
from refiner.themes import themes
from refiner.types import Cluster, Clustering, Step


@dataclass(frozen=True, slots=True)
class Propose:
    """Yields a `Proposal`, or a `Shortfall` saying why there is none, for each cluster of `min_tasks` tasks."""

    analyst: Identity
    min_tasks: int = 3
    name: str = "propose"
    version: int = 1

    def steps(self, records: Records) -> Iterable[Step]:
        briefing = brief(records)
        for clustering in records.produced("cluster"):
            for cluster in named(clustering, briefing):
                if cluster.tasks >= self.min_tasks:
                    request = briefing.request(cluster)
                    key = content_key(
                        self.name, self.version, identity_of(self.analyst, cluster.side), briefing.key(request)
                    )
                    yield Step(self.name, f"{cluster.side}: {cluster.label}", key, request)

    def run(self, step: Step, tools: Tools) -> tuple[Any, ...]:
        return (tools.analyst.propose(cast(ProposalRequest, step.payload)),)


def named(clustering: Clustering, briefing: Briefing) -> Sequence[Cluster]:
    """The clusters with their themes as labels."""
    texts = [[briefing.summaries[one].summary for one in cluster.members] for cluster in clustering.clusters]
    labels = themes(texts)
    return [replace(cluster, label=label) for cluster, label in zip(clustering.clusters, labels, strict=True)]
