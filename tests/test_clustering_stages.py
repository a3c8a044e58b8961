"""The stages that embed and cluster: which steps there are, what their keys depend on, which records come out."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from refiner.ports import Labelled, Tools
from refiner.stages.cluster import Cluster
from refiner.stages.embed import BATCH, Embed, text_of
from refiner.types import Clustering, Embedding, Outcome, Side, Step, Summary, Trace, trace_key

THEMES = ("read back", "wrong sheet", "as text")


class Words:
    """An embedder of three dimensions: how often each theme occurs, and a little of its own for each text."""

    name = identity = "words"

    def embed(self, texts: Sequence[str]) -> Any:
        rows = np.array([[text.count(theme) + 0.001 * (len(text) % 7) for theme in THEMES] for text in texts])
        return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


class Memory:
    """What one refinement has produced so far, in memory."""

    def __init__(self, sides: Sequence[Side], *, same_task: bool = False) -> None:
        self._labelled = [labelled(row, side, same_task) for row, side in enumerate(sides)]
        self.records: dict[str, list[Any]] = {"summarise": [summary(row, side) for row, side in enumerate(sides)]}

    def labelled(self) -> Sequence[Labelled]:
        return self._labelled

    def produced(self, stage: str) -> Sequence[Any]:
        return self.records[stage]

    def skill(self) -> Any:
        raise AssertionError("no skill is needed here")


def labelled(row: int, side: Side, same_task: bool = False) -> Labelled:
    trace = Trace("c", f"t{row:04d}", "canonical", "do it", "one" if same_task else f"task {row}", "file", ())
    return Labelled(trace, Outcome(trace.id, "fail" if side == "failure" else "pass"))


def summary(row: int, side: Side) -> Summary:
    return Summary(trace_key("c", f"t{row:04d}"), "r", side, f"{THEMES[row % 3]}, run {'x' * row}", ("a", "b"))


def run(stage: Embed | Cluster, records: Memory) -> list[Any]:
    tools = Tools(analyst=None, embedder=Words())  # type: ignore[arg-type]
    return [record for step in steps(stage, records) for record in stage.run(pickle.loads(pickle.dumps(step)), tools)]


def steps(stage: Embed | Cluster, records: Memory) -> list[Step]:
    return list(stage.steps(records))  # type: ignore[arg-type]


def clusterings(records: Memory, stage: Cluster | None = None) -> list[Clustering]:
    records.records["embed"] = run(Embed("words"), records)
    return run(stage or Cluster(), records)


def test_text_is_the_summary_and_its_observations_below() -> None:
    assert text_of(Summary("t", "r", "failure", "It failed.", ("no check", "late save"))) == (
        "It failed.\nno check; late save"
    )


def test_embed_makes_one_step_a_side_and_64_summaries() -> None:
    records = Memory(["failure"] * (BATCH + 10) + ["success"] * 5)
    made = steps(Embed("words"), records)
    assert [(step.label, len(step.payload)) for step in made] == [  # type: ignore[arg-type]
        ("failure: 1 to 64", 64),
        ("failure: 65 to 74", 10),
        ("success: 1 to 5", 5),
    ]
    assert len({step.key for step in made}) == 3


def test_embed_yields_little_endian_rows_in_external_id_order_whatever_the_order_of_the_summaries() -> None:
    records = Memory(["failure", "success"] * 4)
    straight, keys = run(Embed("words"), records), [step.key for step in steps(Embed("words"), records)]
    records.records["summarise"].reverse()
    assert run(Embed("words"), records) == straight
    assert [step.key for step in steps(Embed("words"), records)] == keys
    assert [one.trace_id for one in straight] == [trace_key("c", f"t{row:04d}") for row in (0, 2, 4, 6, 1, 3, 5, 7)]
    assert (
        np.frombuffer(straight[0].vector, "<f4").tolist() == Words().embed([text_of(summary(0, "failure"))])[0].tolist()
    )


def test_embed_keys_depend_on_embedder_text_and_trace() -> None:
    records = Memory(["failure"] * 4)
    key = steps(Embed("words"), records)[0].key
    assert steps(Embed("words"), Memory(["failure"] * 4))[0].key == key
    assert steps(Embed("other"), records)[0].key != key
    for change in ({"summary": "else"}, {"observations": ("a",)}):
        records.records["summarise"][1] = replace(summary(1, "failure"), **change)
        assert steps(Embed("words"), records)[0].key != key


def test_trace_whose_summary_failed_is_left_out() -> None:
    records = Memory(["failure"] * 9)
    del records.records["summarise"][3]
    only = clusterings(records)[0]
    assert len(only.picture) == 8
    assert trace_key("c", "t0003") not in {point.trace_id for point in only.picture}


def test_cluster_yields_a_clustering_a_side_and_skips_a_side_that_is_too_small() -> None:
    both = clusterings(Memory(["failure"] * 6 + ["success"] * 4))
    assert [one.side for one in both] == ["failure", "success"]
    assert [one.side for one in clusterings(Memory(["failure"] * 6 + ["success"] * 3))] == ["failure"]
    assert clusterings(Memory(["failure"] * 3)) == []
    assert len(clusterings(Memory(["failure"] * 3), Cluster(min_side=3))) == 1


def test_clusters_hold_the_traces_of_one_theme_with_all_that_is_kept() -> None:
    found = clusterings(Memory(["failure"] * 6))[0]
    ids = [trace_key("c", f"t{row:04d}") for row in range(6)]
    assert [one.members for one in found.clusters] == [tuple(ids[theme::3]) for theme in range(3)]
    first = found.clusters[0]
    assert (first.side, first.kind, first.label, first.tasks) == ("failure", "cluster", "", 2)
    assert (first.probabilities, {first.medoid, *first.border}) == ((1.0, 1.0), {ids[0], ids[3]})
    assert [point.trace_id for point in found.picture] == ids
    assert found.unclustered == ()
    assert found.params["min_cluster_size"] == "2"
    assert found.warnings == ("6 different summaries are too few to project; grouped by similarity alone",)


def test_clusters_of_many_traces_are_projected_and_count_tasks() -> None:
    found = clusterings(Memory(["success"] * 30, same_task=True))[0]
    ids = {trace_key("c", f"t{row:04d}") for row in range(30)}
    assert sum(len(one.members) for one in found.clusters) + len(found.unclustered) == 30
    assert {one for cluster in found.clusters for one in cluster.members} | {*found.unclustered} == ids
    assert all(one.tasks == 1 and one.stability is not None for one in found.clusters)
    assert found.warnings == ()


def test_side_of_which_nothing_is_alike_says_so() -> None:
    records = Memory(["failure"] * 4)
    records.records["embed"] = [
        Embedding(item.trace.id, row.astype("<f4").tobytes())
        for item, row in zip(records.labelled(), np.eye(4), strict=True)
    ]
    found = run(Cluster(), records)[0]
    assert (found.clusters, len(found.unclustered)) == ((), 4)
    assert "no two traces are close enough to form a cluster" in found.warnings


def test_clustering_that_is_off_makes_one_cluster_of_all() -> None:
    found = clusterings(Memory(["failure"] * 6), Cluster(method="single"))[0]
    assert [len(one.members) for one in found.clusters] == [6]
    assert "clustering is off" in found.clusters[0].note


def test_cluster_keys_depend_on_params_vectors_and_tasks() -> None:
    records = Memory(["failure"] * 6)
    records.records["embed"] = run(Embed("words"), records)
    key = steps(Cluster(), records)[0].key
    assert steps(Cluster(), records)[0].key == key
    assert steps(Cluster(seed=1), records)[0].key != key
    assert steps(Cluster(min_cluster_size=3), records)[0].key != key
    others = Memory(["failure"] * 6, same_task=True)
    others.records["embed"] = records.records["embed"]
    assert steps(Cluster(), others)[0].key != key
    records.records["embed"][0] = replace(records.records["embed"][0], vector=records.records["embed"][1].vector)
    assert steps(Cluster(), records)[0].key != key
