"""Predicates: what each atom means on a run, three-valued truth, witnesses, canonical text, phrases."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from refiner import behaviours
from refiner.errors import RefinerError
from refiner.types import Span, Trace


def call(tool: str, arguments: Any = None, result: str = "ok", error: str | None = None) -> Span:
    given_input = arguments if isinstance(arguments, str) else json.dumps(arguments or {})
    return Span(0, "", "tool_call", tool, input=given_input, output=result, error=error)


def say(text: str, role: str = "assistant") -> Span:
    return Span(0, "", "message", role, role=role, output=text)


def run(*spans: Span, name: str = "r1", task: str = "t1", **meta: str) -> Trace:
    numbered = tuple(
        Span(i, f"s{i}", one.kind, one.name, one.role, one.input, one.output, one.error) for i, one in enumerate(spans)
    )
    return Trace("c", name, "test", "request", task, "file", numbered, meta=meta)


def holds(text: str, trace: Trace) -> bool | None:
    return behaviours.parse(text).holds(trace)


def witness(text: str, trace: Trace) -> int | None:
    return behaviours.parse(text).witness(trace)


WRITE = call("write_range", {"cells": [{"value": "=A1"}, {"value": 7}]}, "wrote B2:B14, data ends at row 12")
SAVE, READ = call("save_workbook"), call("read_range", {"range": "A1:B3"}, '[["x", 1]]')


def test_atoms_of_calls_and_results() -> None:
    trace = run(say("go", "user"), WRITE, SAVE, READ, say("done"))
    true = [
        "called(write_range)",
        "called(write_range, cells: list more)",
        "called(write_range, cells[].value: formula)",
        "called(write_range, cells[].value: number)",
        "called(read_range, range: range)",
        "result(write_range, text: word ends)",
        "result(write_range, text: range)",
        "result(write_range, text: number)",
        "result(read_range, text: list 1)",
        "result(read_range, text[][]: number)",
        "sequence(save_workbook, read_range)",
        "ended(answer)",
    ]
    assert {text: holds(text, trace) for text in true} == dict.fromkeys(true, True)
    false = ["called(delete)", "called(write_range, cells[].value: date)", "result(save_workbook, text: empty)"]
    assert {text: holds(text, trace) for text in false} == dict.fromkeys(false, False)


@pytest.mark.parametrize(
    ("calls", "sequence", "absent"),
    [
        ([READ, SAVE], False, True),
        ([SAVE, READ], True, False),
        ([SAVE, READ, SAVE], True, True),  # the last save is not read back
        ([READ], None, None),
    ],
)
def test_order_is_three_valued(calls: list[Span], sequence: bool | None, absent: bool | None) -> None:
    trace = run(*calls)
    assert holds("sequence(save_workbook, read_range)", trace) is sequence
    assert holds("absent(read_range after save_workbook)", trace) is absent
    assert holds("not(absent(read_range after save_workbook))", trace) is (None if absent is None else not absent)


def test_joined_predicates_follow_three_valued_logic() -> None:
    trace = run(READ)  # save_workbook never occurs: its order does not apply
    unknown = "absent(read_range after save_workbook)"
    assert holds(f"all(called(read_range); {unknown})", trace) is None
    assert holds(f"all(called(other); {unknown})", trace) is False
    assert holds(f"any(called(read_range); {unknown})", trace) is True
    assert holds(f"any(called(other); {unknown})", trace) is None


def test_witnesses() -> None:
    trace = run(say("go", "user"), SAVE, READ, SAVE, READ, SAVE, say("done"))
    assert witness("called(save_workbook)", trace) == 1
    assert witness("sequence(save_workbook, read_range)", trace) == 2
    assert witness("absent(read_range after save_workbook)", trace) == 5
    assert witness("repeated_call(2)", trace) == 3
    assert witness("repeated_call(3)", trace) == 5
    assert witness("ended(answer)", trace) == 6
    assert witness("not(called(other))", trace) == 6
    assert witness("called(other)", trace) is None
    assert witness("all(called(save_workbook); called(read_range))", trace) == 2
    assert witness("any(called(read_range); called(save_workbook))", trace) == 1


def test_repeated_calls_compare_arguments_as_values() -> None:
    same = run(call("get", '{"a": 1, "b": 2}'), call("get", '{"b":2,"a":1}'))
    other = run(call("get", {"a": 1}), call("get", {"a": 2}))
    assert holds("repeated_call(2)", same) is True
    assert holds("repeated_call(2)", other) is False


def test_errors_by_their_typed_signature() -> None:
    one = run(call("open", error='Error: no sheet named "Q1 totals"\n  at line 3'))
    two = run(call("open", error="Error: no sheet named 'Budget'"))
    assert holds("error(Error: no sheet named <str>)", one) is True
    assert holds("error(Error: no sheet named <str>)", two) is True
    assert holds("error(Error: no sheet named <str>)", run(call("open"))) is False


FAILED = call("save_workbook", error="Error: disk full")


@pytest.mark.parametrize(
    ("trace", "how"),
    [
        (run(SAVE, say("done")), "answer"),
        (run(say("hello", "user"), say("hello")), "answer"),
        (run(SAVE), "tool call"),
        (run(SAVE, say("thanks", "user")), "tool call"),
        (run(FAILED), "error"),
        (run(FAILED, say("it failed")), "answer"),
        (run(call("transfer_to_human_agents"), say("bye")), "hand-over"),
        (run(call("transfer_to_human_agents"), SAVE), "tool call"),
        (run(SAVE, say("done"), ended="limit"), "limit"),
    ],
)
def test_how_a_run_ended(trace: Trace, how: str) -> None:
    ways = ["answer", "tool call", "error", "limit", "hand-over"]
    assert [way for way in ways if holds(f"ended({way})", trace)] == [how]


@pytest.mark.parametrize(
    ("command", "names"),
    [
        ("git commit -m 'a; b'", ["git commit"]),
        ("cd /repo && git -C sub add -A && git commit -m x", ["git add", "git commit"]),
        ("FOO=1 sudo /usr/bin/python3 -m pytest tests | tail -3", ["python -m pytest"]),
        ("./run_all.sh --fast", ["run_all.sh"]),
        ("cat > a.py <<EOF\nimport os; rm -rf\nEOF", ["cat"]),
        ("ls; ls -la", ["ls"]),
    ],
)
def test_shell_calls_are_named_by_program(command: str, names: list[str]) -> None:
    trace = run(call("Bash", {"command": command}))
    found = [atom for atom in behaviours.vocabulary([trace]) if atom.startswith("called(") and ", " not in atom]
    assert sorted(found) == sorted(f"called(Bash:{name})" for name in names)


def test_shell_lines_keep_the_order_of_their_programs() -> None:
    trace = run(call("bash", {"cmd": ["bash", "-lc", "git add . && git commit -m x"]}))
    assert holds("sequence(bash:git add, bash:git commit)", trace) is True
    assert holds("absent(bash:git commit after bash:git add)", trace) is False


def test_tool_names_cannot_break_the_grammar() -> None:
    trace = run(call("odd(name), really; yes", {"a(b": 1}))
    assert holds("called(odd_name__ really_ yes, a_b: number)", trace) is True
    for atom in behaviours.vocabulary([trace]):
        assert str(behaviours.parse(atom)) == atom


def test_predicates_read_nothing_but_spans() -> None:
    trace = run(WRITE, SAVE)
    other = Trace("c", "r9", "x", "other request", "t9", "text", trace.spans, model="m", meta={"reward": "1"})
    atoms = behaviours.vocabulary([trace])
    assert atoms == behaviours.vocabulary([other])


def test_words_count_only_when_common_to_a_quarter_of_the_tasks() -> None:
    traces = [
        run(call("say", {"t": "common" + (" ordinary" if n < 2 else "") + (" rare" if n == 0 else "")}),
            name=f"r{n}", task=f"t{n}")
        for n in range(8)
    ]  # fmt: skip
    traces += [run(call("say", {"t": "common rare"}), name=f"again{n}", task="t0") for n in range(20)]
    found = {atom for atom in behaviours.vocabulary(traces) if "word" in atom}
    assert found == {"called(say, t: word common)", "called(say, t: word ordinary)"}


def test_vocabulary_leaves_out_orders_that_never_vary() -> None:
    always = [run(SAVE, READ, name="a"), run(SAVE, READ, name="b")]
    assert "absent(read_range after save_workbook)" not in behaviours.vocabulary(always)
    varied = [*always, run(SAVE, name="c")]
    assert "absent(read_range after save_workbook)" in behaviours.vocabulary(varied)


def test_table_agrees_with_every_single_predicate() -> None:
    traces = [run(WRITE, SAVE, READ, name="a"), run(READ, FAILED, name="b"), run(say("hi"), name="c")]
    atoms = [*behaviours.vocabulary(traces), "all(called(read_range); not(called(write_range)))"]
    shown, applies = behaviours.table(traces, atoms)
    assert shown.dtype == applies.dtype == np.bool_
    for row, trace in enumerate(traces):
        for column, atom in enumerate(atoms):
            value = holds(atom, trace)
            assert (bool(shown[row, column]), bool(applies[row, column])) == (value is True, value is not None), atom


names = st.from_regex(r"[A-Za-z_][A-Za-z0-9_:-]{0,12}", fullmatch=True)
types = st.sampled_from(
    ["number", "date", "id", "path .xlsx", "path test", "true", "list 0", "list more", "empty", "word past"]
)
atoms = st.one_of(
    st.builds("called({})".format, names),
    st.builds("called({}, {}.b[]: {})".format, names, names.filter(lambda name: ":" not in name), types),
    st.builds("result({}, text: {})".format, names, types),
    st.builds("sequence({}, {})".format, names, names),
    st.tuples(names, names)
    .filter(lambda pair: pair[0] != pair[1])
    .map(lambda pair: "absent({} after {})".format(*pair)),
    st.sampled_from(["repeated_call(2)", "error(Error: no sheet named <str>, again)", "ended(hand-over)"]),
)
predicates = st.one_of(
    atoms,
    atoms.map("not({})".format),
    st.builds("all({}; not({}))".format, atoms, atoms),
    st.builds("any({}; all({}; {}))".format, atoms, atoms, atoms),
)


@given(predicates)
def test_canonical_text_survives_parsing(text: str) -> None:
    predicate = behaviours.parse(text)
    assert str(predicate) == text
    assert behaviours.parse(str(predicate)) == predicate
    assert behaviours.negate(behaviours.negate(text)) == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "called",
        "called()",
        "called(a, b)",
        "called(a, b: integer)",
        "result(a)",
        "sequence(a)",
        "absent(a after a)",
        "repeated_call(1)",
        "ended(badly)",
        "all(called(a))",
        "all(called(a); called(b); called(c); called(d))",
        "__import__('os')",
    ],
)
def test_texts_outside_of_the_vocabulary_are_refused(text: str) -> None:
    with pytest.raises(RefinerError):
        behaviours.parse(text)


@pytest.mark.parametrize(
    ("text", "side", "rule"),
    [
        ("absent(read_range after save_workbook)", "failure",
         "After `save_workbook`, call `read_range` before finishing."),
        ("called(write_cell, value: number)", "failure", "Do not give `write_cell` a number as `value`."),
        ("called(write_cell, value: formula)", "success",
         "When you call `write_cell`, give it a formula as `value`."),
        ("result(write_range, text: word past)", "failure",
         'When the result of `write_range` mentions "past", correct it before going on.'),
        ("not(called(T))", "failure", "Call `T` before finishing."),
        ("called(T)", "success", "Call `T` before finishing."),
        ("not(called(T))", "success", "Do not call `T`."),
        ("sequence(a, b)", "failure", "Do not call `b` after `a`."),
        ("repeated_call(3)", "failure",
         "Do not repeat a call with the same arguments; read its result and change something first."),
        ("ended(hand-over)", "failure", "Do not hand the task over while it can still be completed."),
        ("all(called(a); absent(c after b))", "failure",
         "In a run that called `a`: after `b`, call `c` before finishing."),
    ],
)  # fmt: skip
def test_rules_in_words(text: str, side: Any, rule: str) -> None:
    assert behaviours.phrase(text, side=side).rule == rule


def test_phrases_name_what_happened_and_where_to_look() -> None:
    phrase = behaviours.phrase("absent(read_range after saveWorkbook)")
    assert phrase.occurs == "called `saveWorkbook` and did not call `read_range` after it"
    assert phrase.terms == {"read", "range", "read_range", "save", "workbook", "saveworkbook"}
    assert phrase.negated
    assert not behaviours.phrase("called(T)").negated
    assert behaviours.phrase("result(write_range, text: word past)").terms == {"write", "range", "write_range", "past"}


@given(predicates, st.sampled_from(["failure", "success"]))
def test_every_predicate_has_a_rule_that_is_a_sentence(text: str, side: Any) -> None:
    phrase = behaviours.phrase(text, side=side)
    assert phrase.rule[0].isupper() and phrase.rule.endswith(".") and phrase.occurs


def test_a_tool_name_brings_no_control_character_into_a_rule() -> None:
    hostile = run(call("save\x1b[2J`rm -rf`\u202ebook"))
    (name,) = {atom for atom in behaviours.vocabulary([hostile]) if atom.startswith("called(")}
    rule = behaviours.phrase(name).rule
    assert all(char.isprintable() for char in rule)
    assert rule.count("`") == 2
