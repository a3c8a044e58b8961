"""The settings of one clustering. Numbers only, no heavy imports."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Method = Literal["umap_hdbscan", "single"]
SmallN = Literal["groups", "published"]


@dataclass(frozen=True, slots=True)
class ClusterParams:
    """The published configuration of record is the default. `single` puts a whole side into one group (an ablation).

    `small_n`: with `groups`, fewer than eight distinct points are linked by similarity; `published` projects from three
    on. `further_seeds`: how many more fits tell whether a group holds together (500 distinct points or fewer).
    """

    method: Method = "umap_hdbscan"
    min_cluster_size: int = 2
    n_neighbors: int = 15
    n_components: int = 20
    min_dist: float = 0.1
    seed: int = 42
    further_seeds: int = 3
    small_n: SmallN = "groups"
