"""Refinements and their steps: commits, resuming, failures, links, events, and what the screens ask."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from refiner.errors import StoreError
from refiner.ports import Done
from refiner.types import BadRecord, Change, Cluster, Edit, Embedding, MapPoint, Refinement, SkillVersion, Step, Summary
from storage import Job, Store, views

REFINEMENT = Refinement("corpus", "snapshot", "base", {"seed": "1"}, {"numpy": "2"})

# Every reference between tables (there are no foreign keys): the rows that point to nothing.
DANGLING = {
    "output of no finished step": "SELECT step_key FROM step_output WHERE step_key NOT IN"
    " (SELECT key FROM step WHERE status = 'done')",
    "output of no record": "SELECT record_key FROM step_output o WHERE NOT EXISTS"
    " (SELECT 1 FROM record r WHERE r.record_key = o.record_key AND r.kind = o.kind)",
    "record of no output": "SELECT record_key FROM record WHERE record_key NOT IN (SELECT record_key FROM step_output)",
    "step of no refinement": "SELECT key FROM step WHERE refinement_id NOT IN (SELECT refinement_id FROM refinement)",
    "link of no refinement": "SELECT seq FROM stage_link WHERE refinement_id NOT IN"
    " (SELECT refinement_id FROM refinement)",
    "job of no refinement": "SELECT refinement_id FROM job WHERE refinement_id NOT IN"
    " (SELECT refinement_id FROM refinement)",
    "event of no refinement": "SELECT seq FROM event WHERE refinement_id NOT IN (SELECT refinement_id FROM refinement)",
    "gap in the outputs of a step": "SELECT step_key FROM step_output GROUP BY 1 HAVING max(ordinal) + 1 <> count(*)",
    "attempt after success": "SELECT s.key FROM step s JOIN step d USING (key)"
    " WHERE d.status = 'done' AND s.attempt > d.attempt",
    "current revision of no trace": "SELECT trace_id FROM trace_current c WHERE NOT EXISTS"
    " (SELECT 1 FROM trace t WHERE t.trace_id = c.trace_id AND t.revision = c.revision)",
    "trace without a current revision": "SELECT trace_id FROM trace WHERE trace_id NOT IN"
    " (SELECT trace_id FROM trace_current)",
}


def dangling(store: Store) -> dict[str, list[Any]]:
    with store.database.read() as cursor:
        found = {name: cursor.execute(sql).fetchall() for name, sql in DANGLING.items()}
    return {name: rows for name, rows in found.items() if rows}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "refiner.duckdb") as opened:
        yield opened
        assert dangling(opened) == {}


@pytest.fixture
def refinement(store: Store) -> str:
    return store.start_refinement(REFINEMENT)


def _summary(name: str) -> Summary:
    return Summary(name, "r", "failure", f"about {name}", ("one", "two"))


def _done(key: str, *records: Any, error: str | None = None, stage: str = "summarise", seconds: float = 0.5) -> Done:
    return Done(Step(stage, f"label of {key}", key, object()), records, error, seconds)


def test_outputs_follow_the_asked_order_of_steps_and_then_the_order_within(store: Store, refinement: str) -> None:
    a, b, c = _summary("a"), _summary("b"), Embedding("c", bytes(range(256)))
    store.commit(refinement, [_done("k1", b, a), _done("k2", c)])
    store.commit(refinement, [_done("k3")])
    assert store.outputs(["k3", "k2", "missing", "k1"]) == [c, b, a]
    assert store.outputs(["k1", "k1"]) == [b, a, b, a]
    assert store.outputs([]) == [] and store.finished([]) == set() and store.failures([]) == []
    assert store.finished(["k3", "k1", "missing"]) == {"k1", "k3"}


def test_a_failed_step_can_be_retried_and_its_success_counts(store: Store, refinement: str) -> None:
    nasty = "line \x00 \udc80\nsecond"
    store.commit(refinement, [_done("k1", _summary("half"), error="first"), _done("k2", _summary("b"))])
    store.commit(refinement, [_done("k1", error=nasty)])
    assert store.finished(["k1", "k2"]) == {"k2"}
    assert store.failures(["k2", "k1"]) == [("k1", "label of k1", nasty)]
    assert store.outputs(["k1"]) == []
    store.commit(refinement, [_done("k1", _summary("a"))])
    assert store.failures(["k1"]) == []
    assert store.outputs(["k1", "k2"]) == [_summary("a"), _summary("b")]


def test_failures_come_in_the_order_of_the_keys(store: Store, refinement: str) -> None:
    store.commit(refinement, [_done(key, error=f"why {key}") for key in "abc"])
    assert [error for _, _, error in store.failures(["c", "a", "b"])] == ["why c", "why a", "why b"]


def test_a_finished_step_keeps_its_first_result(store: Store, refinement: str) -> None:
    store.commit(refinement, [_done("k1", _summary("first")), _done("k1", _summary("in the same batch"))])
    store.commit(refinement, [_done("k1", _summary("second"), _summary("third"))])
    store.commit(refinement, [_done("k1", error="too late")])
    assert store.outputs(["k1"]) == [_summary("first")]
    assert store.failures(["k1"]) == []


def test_records_with_one_key_and_different_content_do_not_shadow_each_other(store: Store, refinement: str) -> None:
    cluster = Cluster("failure", "cluster", "one", ("a", "b"), (0.5, 1.0), "a", (), 2)
    relabelled = replace(cluster, label="two", probabilities=(1.0, 0.25))
    edit = Edit("SKILL.md", "append_to_section", ("Checks",), new="- x", anchor=(3, 4))
    change, reworded = Change((edit,), ("p1",), "why"), Change((replace(edit, anchor=None),), ("p2",), "other")
    assert cluster.key == relabelled.key and change.key == reworded.key
    store.commit(refinement, [_done("k1", cluster, change), _done("k2", relabelled, cluster)])
    store.commit(refinement, [_done("k3", reworded, cluster)])
    assert store.outputs(["k1", "k2", "k3"]) == [cluster, change, relabelled, cluster, reworded, cluster]


def test_records_without_a_key_are_stored_too(store: Store, refinement: str) -> None:
    plain = (BadRecord("a.jsonl", 3, "no spans"), MapPoint("t1", 0.5, -1.0))
    store.commit(refinement, [_done("k1", *plain)])
    assert tuple(store.outputs(["k1"])) == plain


def test_a_commit_with_something_that_is_no_record_stores_nothing(store: Store, refinement: str) -> None:
    with pytest.raises(StoreError, match="'label of k2' of stage summarise made a PosixPath, which cannot be stored"):
        store.commit(refinement, [_done("k1", _summary("a")), _done("k2", Path("x"))])
    assert store.finished(["k1", "k2"]) == set()


def test_a_transaction_that_fails_half_way_leaves_nothing(store: Store) -> None:
    with pytest.raises(KeyboardInterrupt), store.database.write() as cursor:
        cursor.execute("INSERT INTO skill VALUES ('k', '{}', 'now')")
        raise KeyboardInterrupt
    with store.database.read() as cursor:
        assert cursor.execute("SELECT count(*) FROM skill").fetchall() == [(0,)]
    assert store.put_skill(SkillVersion({})) == SkillVersion({}).key


def test_a_refinement_starts_once_and_is_found_again(store: Store) -> None:
    key = store.start_refinement(REFINEMENT)
    later = replace(REFINEMENT, versions={"numpy": "3"})
    assert store.start_refinement(later) == key == REFINEMENT.key
    assert store.refinement(key) == REFINEMENT
    second = replace(REFINEMENT, config={"seed": "\ud83d"}, parent=key)
    store.start_refinement(second)
    store.start_refinement(replace(REFINEMENT, corpus="other"))
    assert store.refinements("corpus") == [REFINEMENT, second]
    with pytest.raises(StoreError, match="there is no refinement nowhere"):
        store.refinement("nowhere")


def test_a_skill_comes_back_byte_for_byte(store: Store) -> None:
    skill = SkillVersion({"SKILL.md": b"# A\r\n\xff\x00", "références/é.md": "é".encode()}, parent_ids=("p",))
    assert store.put_skill(skill) == store.put_skill(skill) == skill.key
    assert store.skill(skill.key) == skill
    with pytest.raises(StoreError, match="there is no skill version"):
        store.skill("nowhere")


def test_a_job_is_written_in_place(store: Store, refinement: str) -> None:
    assert store.job(refinement) is None
    store.set_job(refinement, "running", "embed", 1, 9)
    store.set_job(refinement, "cancelled", "embed", 2, 9)
    job = store.job(refinement)
    assert job is not None
    assert job == Job(refinement, "cancelled", "embed", 2, 9, job.updated_at)


def test_the_latest_link_of_a_stage_counts(store: Store, refinement: str) -> None:
    assert store.stage_keys(refinement, "embed") == []
    keys = [f"k{n}" for n in range(500, 0, -1)]
    store.link_steps(refinement, "embed", keys)
    store.link_steps(refinement, "cluster", ["c"])
    assert store.stage_keys(refinement, "embed") == keys
    store.link_steps(refinement, "embed", ["k2", "k1"])
    assert store.stage_keys(refinement, "embed") == ["k2", "k1"]
    store.link_steps(refinement, "embed", [])
    assert store.stage_keys(refinement, "embed") == []
    assert store.stage_keys("another", "cluster") == []


def test_linking_the_same_again_adds_nothing(store: Store, refinement: str) -> None:
    for _ in range(2):
        store.link_steps(refinement, "embed", ["k1", "k2"])
    with store.database.read() as cursor:
        assert cursor.execute("SELECT count(*) FROM stage_link").fetchall() == [(1,)]


def test_events_come_back_in_order_with_their_bodies(tmp_path: Path) -> None:
    now = ["2026-01-01T00:00:00Z"]
    with Store.open(tmp_path / "other.duckdb", clock=lambda: now[0]) as store:
        refinement = store.start_refinement(REFINEMENT)
        store.event(refinement, "step", {"text": "\x00\ud800", "n": 1, "nested": [None, {"x": 0.5}]})
        store.event("someone else", "step", {})
        now[0] = "2026-01-01T00:00:09Z"
        store.event(refinement, "end", {})
        found = [(event.kind, event.body, event.at) for event in store.events(refinement)]
        assert found == [
            ("step", {"text": "\x00\ud800", "n": 1, "nested": [None, {"x": 0.5}]}, "2026-01-01T00:00:00Z"),
            ("end", {}, "2026-01-01T00:00:09Z"),
        ]
        with pytest.raises(StoreError, match="the event 'bad' cannot be stored"):
            store.event(refinement, "bad", {"x": object()})


def test_replies_are_kept_word_for_word_until_they_are_dropped(tmp_path: Path) -> None:
    path = tmp_path / "a.duckdb"
    with Store.open(path) as store:
        for name, text in (("one", "first"), ("two", "caf\u00e9 \ud83d \x00"), ("one", "later")):
            store.keep_reply("r", name, text)
        store.keep_reply("other", "one", "untouched")
    with Store.open(path) as store:
        assert store.kept_replies("r") == {"one": "later", "two": "caf\u00e9 \ud83d \x00"}
        store.drop_replies("r", "one")
        assert list(store.kept_replies("r")) == ["two"]
        store.drop_replies("r")
        assert (store.kept_replies("r"), store.kept_replies("other")) == ({}, {"one": "untouched"})


def test_the_overview_of_a_refinement(store: Store, refinement: str) -> None:
    store.commit(refinement, [_done("s1", error="no", seconds=4.0), _done("s2", _summary("b"), _summary("c"))])
    store.commit(refinement, [_done("s1", _summary("a"), MapPoint("a", 0.0, 0.0), seconds=0.25)])
    store.commit(refinement, [_done("e1", error="no", stage="embed", seconds=2.0), _done("elsewhere", _summary("z"))])
    store.link_steps(refinement, "summarise", ["s1", "s2"])
    store.link_steps(refinement, "embed", ["e1", "e2"])
    store.link_steps(refinement, "cluster", [])
    store.link_steps(refinement, "summarise", ["s2", "s1"])
    store.finish_stage(refinement, "summarise", 1.5)
    assert views.refinement_overview(store, refinement) == (
        views.StageOverview("summarise", 2, 2, 0, 0, 0.75, 1.5, {"MapPoint": 1, "Summary": 3}),
        views.StageOverview("embed", 2, 0, 1, 1, 2.0, None, {}),
        views.StageOverview("cluster", 0, 0, 0, 0, 0.0, None, {}),
    )
    assert views.refinement_overview(store, "nowhere") == ()


def test_eight_threads_commit_and_nothing_is_lost(store: Store, refinement: str) -> None:
    faults: list[BaseException] = []
    together = threading.Barrier(8)

    def work(name: int) -> None:
        try:
            together.wait(30)
            for n in range(5):
                shared = _done(f"shared.{n}", _summary(f"shared {n}"))
                store.commit(refinement, [_done(f"{name}.{n}", _summary(f"{name} {n}")), shared])
                store.set_job(refinement, "running", "summarise", n, 5)
                store.event(refinement, "step", {"from": name, "n": n})
                assert store.outputs([f"{name}.{n}", f"shared.{n}"]) == [
                    _summary(f"{name} {n}"),
                    _summary(f"shared {n}"),
                ]
        except BaseException as fault:
            faults.append(fault)

    threads = [threading.Thread(target=work, args=(name,)) for name in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert faults == []
    keys = [f"{name}.{n}" for name in [*range(8), "shared"] for n in range(5)]
    assert store.finished(keys) == set(keys)
    assert store.outputs(keys) == [_summary(f"{name} {n}") for name in [*range(8), "shared"] for n in range(5)]
    events = [(event.body["from"], event.body["n"]) for event in store.events(refinement)]
    assert sorted(events) == [(name, n) for name in range(8) for n in range(5)]
    assert [n for who, n in events if who == 3] == list(range(5))
