"""Traces, outcomes and notes: what counts as new, what contradicts, and that every text comes back."""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from refiner.errors import StoreError
from refiner.growth import BEGINS
from refiner.namesakes import GIVEN
from refiner.types import EvaluatorNote, Outcome, Span, Trace, trace_key
from storage import AddReport, Store, views

UUID = "00000000-0000-4000-8000-0123456789ab"
NASTY = 'nul \x00, lone \ud800 and \udfff, \u2028, é, 漢, 😀, "quotes" \\ backslash\n'


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "refiner.duckdb") as opened:
        yield opened


def _spans(text: str) -> tuple[Span, ...]:
    return tuple(Span(n, f"s{n}", "message", "user", "user", output=letter) for n, letter in enumerate(text))


def _trace(external_id: str, text: str = "ab", source: str = "a.jsonl", task: str = "task") -> Trace:
    return Trace("corpus", external_id, "generic", task, f"id of {task}", "file", _spans(text), source=source)


def test_the_same_trace_again_is_a_duplicate(store: Store) -> None:
    assert store.add_traces("corpus", [_trace("t1"), _trace("t2")]) == AddReport(added=2)
    assert store.add_traces("corpus", [_trace("t1", source="b.jsonl"), _trace("t3")]) == AddReport(1, 1)
    assert list(store.traces("corpus")) == [_trace("t1"), _trace("t2"), _trace("t3")]


def test_a_longer_trace_replaces_its_own_beginning(store: Store) -> None:
    store.add_traces("corpus", [_trace("t1", "ab")])
    assert store.add_traces("corpus", [_trace("t1", "abc", "b.jsonl")]) == AddReport(grown=1)
    assert list(store.traces("corpus")) == [_trace("t1", "abc", "b.jsonl")]
    assert store.add_traces("corpus", [_trace("t1", "ab")]) == AddReport(duplicates=1)
    assert list(store.traces("corpus")) == [_trace("t1", "abc", "b.jsonl")]


def test_the_beginning_of_a_stored_trace_adds_nothing(store: Store) -> None:
    store.add_traces("corpus", [_trace("t1", "abc")])
    assert store.add_traces("corpus", [_trace("t1", "ab", "b.jsonl")]) == AddReport(duplicates=1)
    assert list(store.traces("corpus")) == [_trace("t1", "abc")]


def test_growth_inside_one_batch_is_seen_in_any_order(store: Store) -> None:
    batch = [_trace(f"t{n}", text) for n in range(12) for text in ("abc", "a", "ab")]
    assert store.add_traces("corpus", batch) == AddReport(added=12, grown=24)
    assert {len(trace.spans) for trace in store.traces("corpus")} == {3}


@pytest.mark.parametrize(
    ("name", "first", "second"), [(UUID, "a.jsonl:1", "b.jsonl:1"), ("t1", "a.jsonl:1", "a.jsonl:2")]
)
def test_a_contradicting_trace_is_rejected_and_both_places_are_named(
    store: Store, name: str, first: str, second: str
) -> None:
    """An id that was made to be the only one, or one file: these are no two runs."""
    store.add_traces("corpus", [_trace(name, "ab", first)])
    report = store.add_traces("corpus", [_trace(name, "aXc", second), _trace("zz")])
    assert report == AddReport(added=1, conflicts=((name, first, second),))
    assert report.named("corpus") == {(trace_key("corpus", name), second): None}
    assert list(store.traces("corpus")) == [_trace(name, "ab", first), _trace("zz")]


def test_runs_of_different_files_with_one_id_are_all_kept_and_named_by_their_files(store: Store) -> None:
    def files(*words: str) -> list[Trace]:
        return [_trace("0", text, f"run{n}/all.jsonl:7") for n, text in enumerate(words)]

    for batch in (files("abc", "xy", "z"), files("abc", "xy", "z")[::-1]):
        with Store.open(store.database.path.with_name(f"{batch[0].source[3]}.duckdb")) as other:
            report = other.add_traces("corpus", batch)
            assert (report.added, report.conflicts) == (3, ())
            assert report.named("corpus") == {
                (batch[0].id, "run1/all.jsonl:7"): "0@run1/all.jsonl",
                (batch[0].id, "run2/all.jsonl:7"): "0@run2/all.jsonl",
            }
            found = {trace.external_id: (len(trace.spans), trace.meta) for trace in other.traces("corpus")}
            assert found == {
                "0": (3, {}),
                "0@run1/all.jsonl": (2, {GIVEN: "0"}),
                "0@run2/all.jsonl": (1, {GIVEN: "0"}),
            }
            again = other.add_traces("corpus", batch)
            assert (again.added, again.duplicates, again.namesakes) == (0, 3, report.namesakes)
            grown = other.add_traces("corpus", files("abc", "xyz", "z"))
            assert (grown.added, grown.grown, grown.duplicates) == (0, 1, 2)
            changed = other.add_traces("corpus", files("abc", "q", "z"))
            assert changed.conflicts == (("0@run1/all.jsonl", "run1/all.jsonl:7", "run1/all.jsonl:7"),)
            assert changed.named("corpus")[batch[0].id, "run1/all.jsonl:7"] is None


def test_a_prefix_must_agree_in_every_field(store: Store) -> None:
    first = _trace("t1", "ab")
    longer = _trace("t1", "abc", "b.jsonl")
    late = replace(longer, spans=(replace(longer.spans[0], ended_at="2026-01-01T00:00:00Z"), *longer.spans[1:]))
    store.add_traces("corpus", [first])
    assert store.add_traces("corpus", [late]).conflicts == (("t1", "a.jsonl", "b.jsonl"),)  # one run, told twice


def _call(output: str = "", error: str | None = None, ended: str | None = None) -> Span:
    return Span(1, "c1", "tool_call", "ls", input="{}", output=output, error=error, ended_at=ended)


def _session(*spans: Span, name: str = "t1", begins: str = "") -> Trace:
    meta = {BEGINS: begins} if begins else {}
    return replace(_trace(name), spans=(_spans("a")[0], *spans), meta=meta)


def test_a_call_that_waited_for_its_observation_has_grown_when_it_came(store: Store) -> None:
    waiting, answered = _session(_call()), _session(_call("a.py", None, "2026-01-01T00:00:00Z"))
    store.add_traces("corpus", [waiting])
    assert store.add_traces("corpus", [answered]) == AddReport(grown=1)
    assert store.add_traces("corpus", [waiting]) == AddReport(duplicates=1)
    assert list(store.traces("corpus")) == [answered]


def test_both_states_of_a_call_in_one_batch_come_in_their_order(store: Store) -> None:
    states = [_session(_call(f"{n}"), name=f"t{n}") for n in range(9)]
    batch = [*states, *(_session(_call(), name=f"t{n}") for n in range(9))]
    assert store.add_traces("corpus", batch) == AddReport(added=9, grown=9)
    assert list(store.traces("corpus")) == states


def test_an_observation_that_changes_is_no_growth(store: Store) -> None:
    store.add_traces("corpus", [_session(_call("a.py"))])
    assert len(store.add_traces("corpus", [_session(_call("b.py"))]).conflicts) == 1
    other = replace(_call("a.py"), input='{"x": 1}')
    assert len(store.add_traces("corpus", [_session(other)]).conflicts) == 1


def test_an_earlier_state_that_was_never_seen_holds_nothing_new(store: Store) -> None:
    store.add_traces("corpus", [_trace("t1", "abc")])
    assert store.add_traces("corpus", [_trace("t1", "ab")]) == AddReport(duplicates=1)


def test_a_copied_session_under_another_id_is_the_trace_that_it_continues(store: Store) -> None:
    first = _session(_call("a.py"), begins="u1")
    more = Span(2, "s2", "message", "user", "user", output="go on")
    copy = _session(_call("a.py"), more, name="t2", begins="u1")
    other = _session(Span(1, "x", "message", "user", "user", output="no"), name="t3", begins="u1")
    store.add_traces("corpus", [first, _session(_call("a.py"), name="t4", begins="u2")])
    report = store.add_traces("corpus", [copy, other])
    assert report == AddReport(added=1, grown=1, renamed=((copy.id, first.id),))
    held = {trace.external_id: trace.spans for trace in store.traces("corpus")}
    assert sorted(held) == ["t1", "t3", "t4"] and held["t1"] == copy.spans
    assert store.add_traces("corpus", [copy]).duplicates == 1
    assert len(list(store.traces("corpus"))) == 3


def test_the_original_of_a_copy_that_came_first_holds_nothing_new(store: Store) -> None:
    more = Span(2, "s2", "message", "user", "user", output="go on")
    copy = _session(_call("a.py"), more, name="t2", begins="u1")
    first = _session(_call("a.py"), begins="u1")
    store.add_traces("corpus", [copy])
    assert store.add_traces("corpus", [first]) == AddReport(duplicates=1, renamed=((first.id, copy.id),))
    assert [trace.external_id for trace in store.traces("corpus")] == ["t2"]


def test_equal_beginnings_in_other_corpora_are_other_traces(store: Store) -> None:
    first = _session(_call("a.py"), begins="u1")
    store.add_traces("other", [replace(first, corpus="other")])
    assert store.add_traces("corpus", [replace(first, external_id="t2")]).added == 1


def test_a_trace_whose_task_id_changes_and_changes_back_follows(store: Store) -> None:
    one, other = _trace("t1", task="one"), _trace("t1", task="other")
    for trace in (one, other, one):
        store.add_traces("corpus", [trace])
        assert list(store.traces("corpus")) == [trace]


def test_traces_of_equal_content_and_different_ids_are_two(store: Store) -> None:
    assert store.add_traces("corpus", [_trace("t1"), _trace("t2")]).added == 2
    other = replace(_trace("t1"), corpus="other")
    assert store.add_traces("other", [other]).added == 1
    assert len(list(store.traces("corpus"))) == 2 and list(store.traces("other")) == [other]


def test_a_trace_of_another_corpus_is_refused_by_name(store: Store) -> None:
    with pytest.raises(StoreError, match=r"'t1' of a\.jsonl belongs to the corpus 'corpus', not to 'other'"):
        store.add_traces("other", [_trace("t1")])


_batches = st.lists(
    st.builds(_trace, st.sampled_from("xy"), st.text("ab", max_size=4), st.sampled_from(["f", "g"])), max_size=8
)


def test_the_order_within_a_batch_changes_nothing(store: Store) -> None:
    corpora = map(str, itertools.count())

    @settings(max_examples=20, deadline=None)
    @given(_batches.flatmap(lambda batch: st.tuples(st.just(batch), st.permutations(batch))))
    def check(orders: tuple[list[Trace], list[Trace]]) -> None:
        results = []
        for order in orders:
            corpus = next(corpora)
            report = store.add_traces(corpus, [replace(trace, corpus=corpus) for trace in order])
            results.append((report, [replace(trace, corpus="corpus") for trace in store.traces(corpus)]))
            assert report.added + report.grown + report.duplicates + len(report.conflicts) == len(order)
        assert results[0] == results[1]

    check()


def test_traces_come_in_the_order_of_their_external_ids_as_python_sorts_them(store: Store) -> None:
    ids = ["b", "B", "é", "z", "10", "9", "\uffff", "😀", "\ud800", "\x00", 'q"', "q\\", "q#"]
    store.add_traces("corpus", [_trace(external_id) for external_id in ids])
    assert [trace.external_id for trace in store.traces("corpus")] == sorted(ids)


def test_nasty_texts_come_back_everywhere(store: Store) -> None:
    spans = (Span(0, NASTY, "tool_call", NASTY, NASTY, NASTY, NASTY, NASTY, parent=NASTY),)
    trace = Trace(NASTY, NASTY, "generic", NASTY, NASTY, "text", spans, NASTY, NASTY, {NASTY: NASTY})
    outcome = Outcome(trace.id, "fail", "human", 0.25, NASTY, "2026-01-01T00:00:00Z")
    note = EvaluatorNote(trace.id, "gold", NASTY)
    store.add_traces(NASTY, [trace])
    store.add_outcomes([outcome])
    store.add_notes([note])
    assert list(store.traces(NASTY)) == [trace]
    assert store.outcomes(NASTY) == {trace.id: (outcome,)}
    assert store.notes(NASTY) == {trace.id: (note,)}
    assert views.corpus_counts(store, NASTY).traces == 1
    clash = replace(trace, task="x", spans=(replace(spans[0], output="other"),), source=f"second\n{NASTY}:1")
    assert store.add_traces(NASTY, [clash]).namesakes == ((NASTY, clash.source, f"{NASTY}@second\n{NASTY}"),)
    assert store.add_traces(NASTY, [replace(clash, source=trace.source)]).conflicts == ((NASTY, NASTY, NASTY),)


def test_reading_goes_on_while_another_reads_and_writes(store: Store) -> None:
    store.add_traces("corpus", [_trace(f"t{n:03}") for n in range(600)])
    reading = store.traces("corpus")
    assert next(reading).external_id == "t000"
    store.add_traces("corpus", [_trace("t0005")])
    assert len(list(store.traces("corpus"))) == 601
    assert [trace.external_id for trace in reading] == [f"t{n:03}" for n in range(1, 600)]


def test_outcomes_are_events_in_order_and_a_repeated_load_adds_none(store: Store) -> None:
    store.add_traces("corpus", [_trace("t1"), _trace("t2")])
    one, two = _trace("t1").id, _trace("t2").id
    load = [Outcome(one, "fail"), Outcome(one, "pass", "judge"), Outcome(one, "pass"), Outcome(two, "unknown")]
    assert store.add_outcomes(load) == 4
    assert store.add_outcomes(load) == 0
    assert store.add_outcomes([Outcome(one, "fail", "human")]) == 1
    assert store.add_outcomes(load) == 0
    found = store.outcomes("corpus")
    by_origin = {origin: [o.status for o in found[one] if o.origin == origin] for origin in ("environment", "human")}
    assert by_origin == {"environment": ["fail", "pass"], "human": ["fail"]}
    assert found[one][-1].origin == "human" and found[two] == (Outcome(two, "unknown"),)


def test_going_back_to_an_earlier_outcome_is_seen(store: Store) -> None:
    store.add_traces("corpus", [_trace("t1")])
    trace_id = _trace("t1").id
    for status in ("fail", "pass", "fail"):
        store.add_outcomes([Outcome(trace_id, status)])
    assert [outcome.status for outcome in store.outcomes("corpus")[trace_id]] == ["fail", "pass", "fail"]


def test_labels_may_come_before_their_trace(store: Store) -> None:
    early = Outcome(_trace("t1").id, "pass", score=1.0)
    store.add_outcomes([early])
    assert store.outcomes("corpus") == {}
    store.add_traces("corpus", [_trace("t1")])
    assert store.outcomes("corpus") == {early.trace_id: (early,)}


def test_notes_are_kept_once_in_the_order_they_came(store: Store) -> None:
    store.add_traces("corpus", [_trace("t1")])
    trace_id = _trace("t1").id
    goal, gold = EvaluatorNote(trace_id, "goal", "z"), EvaluatorNote(trace_id, "gold", "a")
    store.add_notes([goal, gold, goal])
    store.add_notes([gold, goal])
    assert store.notes("corpus") == {trace_id: (goal, gold)}


def test_counts_of_a_corpus_see_current_revisions_only(store: Store) -> None:
    nameless = Trace("corpus", "t3", "generic", "", "", "none", ())
    store.add_traces("corpus", [_trace("t1", "ab", task="one"), _trace("t2", "ab", task="two"), nameless])
    store.add_traces("corpus", [_trace("t1", "abcd", task="one"), _trace("t2", "abc", task="one")])
    store.add_outcomes([Outcome(_trace("t1").id, "fail"), Outcome(_trace("t1").id, "pass", "human")])
    store.add_outcomes([Outcome("not a trace of ours", "fail")])
    store.add_notes([EvaluatorNote(_trace("t2").id, "gold", "x")])
    assert views.corpus_counts(store, "corpus") == views.CorpusCounts(
        traces=3,
        spans=7,
        tasks=1,
        traces_without_task=1,
        task_id_origins={"file": 2, "none": 1},
        labelled_traces=1,
        outcomes={("environment", "fail"): 1, ("human", "pass"): 1},
        notes={"gold": 1},
    )
    assert views.corpus_counts(store, "nobody") == views.CorpusCounts(0, 0, 0, 0, {}, 0, {}, {})


def test_two_thousand_traces_of_twenty_spans_load_in_seconds(store: Store) -> None:
    output = json.dumps({"text": "word " * 40})
    spans = tuple(Span(n, f"s{n}", "tool_call", "read", input='{"a": 1}', output=output) for n in range(20))
    many = [Trace("corpus", f"t{n}", "generic", f"task {n}", f"task {n % 50}", "file", spans) for n in range(2000)]
    started = time.process_time()
    assert store.add_traces("corpus", many).added == 2000
    assert time.process_time() - started < 10
    assert sum(len(trace.spans) for trace in store.traces("corpus")) == 40_000


def test_a_checkpoint_rewrites_a_bounded_part_of_what_is_there(tmp_path: Path) -> None:
    path, rows = tmp_path / "x.duckdb", 5000
    with Store.open(path) as store, store.bulk():
        for first in range(0, rows, 1000):
            store.add_traces("corpus", [_trace(f"t{number}") for number in range(first, first + 1000)])
    with duckdb.connect(str(path)) as connection:
        sizes = connection.execute(
            "SELECT max(count) FROM pragma_storage_info('trace') WHERE column_name = 'body' GROUP BY row_group_id"
        ).fetchall()
    assert len(sizes) >= 3 and max(size for (size,) in sizes) <= 2048


def test_what_is_written_together_is_kept_together_or_not_at_all(store: Store) -> None:
    trace = _trace("t1")
    with pytest.raises(KeyboardInterrupt), store.together():
        store.add_traces("corpus", [trace])
        store.add_outcomes([Outcome(trace.id, "fail")])
        raise KeyboardInterrupt
    assert list(store.traces("corpus")) == []
    with store.together():
        store.add_traces("corpus", [trace])
        store.add_outcomes([Outcome(trace.id, "fail")])
    assert store.outcomes("corpus").keys() == {trace.id}
