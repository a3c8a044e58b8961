"""Input as it is found: what cannot be used is named with its place and the way out, and what can be used is used."""

from __future__ import annotations

import difflib
import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from corpus import RULE, SKILL, Corpus, Said, call, lines, read, refiner, run, skill_of, tree, workbook

HOLD = "import duckdb, sys; held = duckdb.connect(sys.argv[1]); print('held', flush=True); sys.stdin.read()"


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The result of the usual corpus without anything bad in it."""
    folder = tmp_path_factory.mktemp("clean")
    refine(workbook(), folder)
    return folder / "out"


def refine(corpus: Corpus, folder: Path, *more: object) -> Said:
    return refiner("refine", *corpus.write(folder), "--out", folder / "out", *more)


def same_skill_and_changes(out: Path, clean: Path) -> bool:
    names = ("combined/proposed_skill.md", "combined/changes.json", "combined/contrast.json")
    return all((out / name).read_bytes() == (clean / name).read_bytes() for name in names)


def refused(said: Said, *words: str) -> None:
    """The last line on standard error holds all the words, nothing on standard output, exit code 1."""
    assert (said.code, said.out) == (1, "")
    line = said.err.splitlines()[-1]
    assert line.startswith("refiner: ")
    assert [word for word in words if word not in line] == []


def flat(said: Said) -> str:
    return " ".join(said.out.split())


# Labels.


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("", ["rewards.json: the file is empty", '{"trace_id": true, ...}']),
        ("  \n", ["the file is empty"]),
        ("{}", ["holds no outcome for any trace"]),
        ("[true, false]", ["rewards.json: ", "wanted is a JSON map"]),
        ('"pass"', ["wanted is a JSON map"]),
        ('{\n"task00-run0": "true"}', ["line 2", '"task00-run0"', 'the text "true"', "without quotes"]),
        ('{"task00-run0": {"pass": 1}}', ["line 1", "an object", "true, false, null or a number from 0 to 1"]),
        ('{"task00-run0": 7}', ["line 1", "7 is not a number from 0 to 1"]),
        ('{"task00-run0": NaN}', ["line 1", "NaN is not a number from 0 to 1"]),
        ('{"task00-run0": true, "task00-run0": false}', ["given twice with different outcomes"]),
        ('{"task00-run0": true', ["not a JSON map", "line 1"]),
        ('{"some-run": true, "another": false}', ["not one of the 2 labels belongs to one of the 48 traces",
                                                  "labels name another, some-run", "task00-run0"]),
    ],
)  # fmt: skip
def test_rewards_that_cannot_be_used_stop_it_before_anything_is_written(
    tmp_path: Path, content: str, says: list[str]
) -> None:
    given = workbook().write(tmp_path)
    (tmp_path / "rewards.json").write_text(content)
    refused(refiner("refine", *given, "--out", tmp_path / "out"), *says)
    assert not (tmp_path / "out").exists()


def test_missing_rewards_are_asked_for(tmp_path: Path) -> None:
    traces, out = workbook().write(tmp_path)[:2], ["--out", tmp_path / "out"]
    refused(refiner("refine", *traces, *out), "the traces carry no outcomes", "add --rewards FILE")
    refused(refiner("refine", *traces, "--rewards", tmp_path / "no.json", *out), "no.json: there is no such file")
    refused(refiner("refine", *traces, "--feedback", tmp_path / "feedback.json", *out), "48 unknown", "--rewards FILE")


def test_labels_and_traces_without_a_partner_are_counted_and_the_rest_is_used(clean: Path, tmp_path: Path) -> None:
    corpus = workbook()
    more = run("unlabelled", "Set the total of sheet 99.", [call("open_workbook")], "t99")
    rewards = {**corpus.rewards, "stranger-1": True, "stranger-2": False}
    said = refine(replace(corpus, traces=(*corpus.traces, more), rewards=rewards), tmp_path)
    assert said.code == 0
    assert "2 labels belong to no trace, for example stranger-1, stranger-2." in said.out
    assert "1 trace has no label and is not learned from, for example unlabelled." in said.out
    assert read(tmp_path / "out", "run.json")["traces"] == {"fail": 18, "pass": 30, "unknown": 1}
    assert same_skill_and_changes(tmp_path / "out", clean)


def test_nothing_but_unknown_outcomes_is_said(tmp_path: Path) -> None:
    refused(
        refine(replace(workbook(), rewards={"task00-run0": None}, feedback={}), tmp_path), "no trace passed or failed"
    )


def test_scores_pass_from_the_threshold_on(clean: Path, tmp_path: Path) -> None:
    rewards = {name: 0.8 if passed else 0.3 for name, passed in workbook().rewards.items()}
    assert refine(replace(workbook(), rewards=rewards), tmp_path, "--pass-at", "0.8").code == 0
    assert same_skill_and_changes(tmp_path / "out", clean)


# Traces with the same id, or the same content.


def test_a_repeated_trace_counts_once(clean: Path, tmp_path: Path) -> None:
    corpus = workbook()
    assert refine(replace(corpus, traces=(*corpus.traces, *corpus.traces[:5])), tmp_path).code == 0
    assert same_skill_and_changes(tmp_path / "out", clean)
    assert read(tmp_path / "out", "run.json")["inputs"]["copies"] == 5


def test_a_session_that_was_copied_under_another_id_counts_once_and_is_named(clean: Path, tmp_path: Path) -> None:
    corpus = workbook()
    first = {**corpus.traces[0], "meta": {"begins_with": "u1"}}
    copied = replace(corpus, traces=(first, {**first, "trace_id": "zz-copy"}, *corpus.traces[1:]))
    assert refine(copied, tmp_path).code == 0
    assert same_skill_and_changes(tmp_path / "out", clean)
    warnings = read(tmp_path / "out", "run.json")["inputs"]["warnings"]
    assert [words for words in warnings if f"zz-copy is {first['trace_id']}" in words]


def test_a_grown_trace_replaces_what_it_grew_from(clean: Path, tmp_path: Path) -> None:
    corpus = workbook()
    begun = tuple({**one, "spans": one["spans"][:2]} for one in corpus.traces[3:9])
    assert refine(replace(corpus, traces=(*corpus.traces[:9], *begun, *corpus.traces[9:])), tmp_path).code == 0
    assert same_skill_and_changes(tmp_path / "out", clean)
    assert read(tmp_path / "out", "run.json")["inputs"]["copies"] == 0


def test_traces_that_grow_between_two_runs_are_refined_as_they_are_now(clean: Path, tmp_path: Path) -> None:
    corpus = workbook()
    begun = tuple({**one, "spans": one["spans"][:2]} for one in corpus.traces)
    assert refine(replace(corpus, traces=begun), tmp_path).code == 0
    assert RULE not in skill_of(tmp_path / "out")
    assert refine(corpus, tmp_path).code == 0
    assert same_skill_and_changes(tmp_path / "out", clean)


OTHER = run("task03-run1", "Sing a song of sixpence, all of it, please.", [call("sing", "la")] * 9, "t03")


@pytest.mark.parametrize("at", [0, 99])
def test_a_contradicting_trace_is_refused_with_its_outcome_and_both_places_are_named(
    clean: Path, tmp_path: Path, at: int
) -> None:
    corpus = workbook()
    ends = {True: "pass", False: "fail"}
    known = {name: ends[passed] for name, passed in corpus.rewards.items()}
    told = [{**one, "outcome": known[one["trace_id"]]} for one in corpus.traces]
    told.insert(at, {**OTHER, "outcome": "fail" if known["task03-run1"] == "pass" else "pass"})
    corpus = replace(corpus, traces=tuple(told), rewards={"task00-run0": corpus.rewards["task00-run0"]})
    said = refine(corpus, tmp_path)
    assert said.code == 0
    places = [n + 1 for n, one in enumerate(told) if one["trace_id"] == "task03-run1"]
    stays, left_out = places if at else places[::-1]
    expected = f"task03-run1: the trace in traces.jsonl:{left_out} contradicts the one in traces.jsonl:{stays}, which"
    assert expected in said.out
    assert same_skill_and_changes(tmp_path / "out", clean)
    assert refine(corpus, tmp_path).out == said.out


def test_a_different_run_of_another_file_is_kept_with_its_own_outcome_and_labels_of_their_id_are_neithers(
    tmp_path: Path,
) -> None:
    given = workbook().write(tmp_path)
    (tmp_path / "more.jsonl").write_bytes(lines([{**OTHER, "outcome": "pass"}]))
    said = refiner("refine", "--traces", tmp_path / "more.jsonl", *given, "--out", tmp_path / "out")
    assert said.code == 0
    assert read(tmp_path / "out", "run.json")["inputs"]["warnings"] == [
        "1 trace has no label and is not learned from, for example task03-run1@traces.jsonl.",
        "1 label names a task or an id that several traces have, so none of them gets one, for example task03-run1.",
        "1 trace has the id of a different run in another file and is kept under that id with the name of their file: "
        "for example, task03-run1 is task03-run1@traces.jsonl.",
    ]
    again = refiner("refine", *given, "--traces", tmp_path / "more.jsonl", "--out", tmp_path / "out")
    assert again.out == said.out


def test_equal_runs_with_different_outcomes_teach_nothing(tmp_path: Path) -> None:
    traces = [run(f"r{n:02}", "Do the same.", [call("tool", "ok")], f"t{n % 4}") for n in range(16)]
    said = refine(Corpus(tuple(traces), {one["trace_id"]: n % 8 < 4 for n, one in enumerate(traces)}), tmp_path)
    assert said.code == 0
    assert "No change is proposed. Nothing recurs among 8 failing and 8 passing traces of 4 tasks." in flat(said)
    assert skill_of(tmp_path / "out") == SKILL
    assert [len(one["picture"]) for side in ("failure", "success")
            for one in read(tmp_path / "out", f"{side}/manifest.json")["clusterings"]] == [8, 8]  # fmt: skip


# Files with rubbish in them.


def dirty(corpus: Corpus) -> bytes:
    """The traces with a byte order mark, CRLF, blank lines, rubbish between them and a last line that is cut off."""
    good = lines(corpus.traces).splitlines()
    odd = {"trace_id": "odd", "task_id": "odd", "score": float("nan"), "spans": [
        {"name": "user", "output_text": "nul \x00 and half \ud800 a pair"},
        {"name": "list_sheets", "input_text": "{}", "output_text": "x" * 1_000_000},
    ]}  # fmt: skip
    rubbish = [
        b"",
        b"   ",
        b"[1, 2]",
        b'"text"',
        b"NaN",
        b"{not json}",
        b'{"trace_id": "empty", "spans": []}',
        b"\xff\xfe\xfa",
    ]
    rows = [*good[:20], *rubbish, *good[20:], json.dumps(odd).encode(), b'{"trace_id": "cut", "spans": [{"name": "us']
    return b"\xef\xbb\xbf" + b"\r\n".join(rows)


def test_rubbish_in_a_file_is_listed_and_changes_nothing(clean: Path, tmp_path: Path) -> None:
    given = workbook().write(tmp_path)
    (tmp_path / "traces.jsonl").write_bytes(dirty(workbook()))
    said = refiner("refine", *given, "--out", tmp_path / "out")
    assert said.code == 0
    assert "7 records were rejected (run.json lists each with file, line and reason)." in said.out
    found = read(tmp_path / "out", "run.json")["inputs"]["rejected"]
    assert [(one["path"], one["line"]) for one in found] == [
        ("traces.jsonl", line) for line in (23, 24, 25, 26, 27, 28, 58)
    ]
    reasons = [one["reason"] for one in found]
    assert reasons[:2] == ["not an object but a list", "not an object but a text"]
    assert reasons[4] == "`spans` is empty" and reasons[6] == "cut off: the file ends inside this record"
    assert same_skill_and_changes(tmp_path / "out", clean)
    assert "1 trace has no label" in said.out  # the odd one, whose 1 MB line was read


def test_rubbish_in_a_labelled_trace_passes_through_every_stage(tmp_path: Path) -> None:
    bad = "half \ud800 nul \x00 esc \x1b[0m right-to-left \u202e"
    text = json.dumps([workbook().traces, workbook().feedback]).replace("saved in", json.dumps(bad)[1:-1] + " in")
    traces, feedback = json.loads(text.replace("expected the number", json.dumps(bad)[1:-1] + " expected the number"))
    given = replace(workbook(), feedback=feedback).write(tmp_path)
    (tmp_path / "traces.jsonl").write_text("\n".join(json.dumps(one) for one in traces))
    said = refiner("refine", *given, "--out", tmp_path / "out")
    assert said.code == 0
    assert RULE in skill_of(tmp_path / "out")
    for content in tree(tmp_path / "out").values():
        content.decode("utf-8")


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", ["traces.jsonl: the file is empty", "looked for JSON lines with `trace_id` and `spans`"]),
        (b"hello\n", ["holds no traces of a known format"]),
        (b'{"a": true, "b": false}', ["holds labels, feedback or other single values, not traces"]),
        (b'{"trace_id": "a", "spans": [{"name": "x", "input_text": ""}]}', ["not one record can be used", "line 1"]),
    ],
)
def test_a_file_without_a_usable_trace_is_named(tmp_path: Path, content: bytes, says: list[str]) -> None:
    given = workbook().write(tmp_path)
    (tmp_path / "traces.jsonl").write_bytes(content)
    refused(refiner("refine", *given, "--out", tmp_path / "out"), str(tmp_path / "traces.jsonl"), *says)


def test_paths_that_are_not_there_are_named(tmp_path: Path) -> None:
    given = workbook().write(tmp_path)
    out = ["--out", tmp_path / "out"]
    nowhere = tmp_path / "nowhere"
    refused(refiner("refine", "--traces", nowhere, *given[2:], *out), f"{nowhere}: there is no such file or folder")
    refused(refiner("refine", *given[:-1], nowhere, *out), f"skill {nowhere}: no such file or folder", "leave it out")
    refused(refiner("inspect", nowhere), f"{nowhere}: there is no such file or folder")


# Too little to learn from.


@pytest.mark.parametrize("count", [1, 2, 3, 5])
def test_a_handful_of_traces_ends_in_words_not_in_an_error(tmp_path: Path, count: int) -> None:
    said = refine(workbook().some(workbook().ids()[:count]), tmp_path)
    assert said.code == 0
    failing = {1: 0, 2: 1, 3: 1, 5: 2}[count]
    assert f"The failure side has {failing} of the 4 traces it takes to learn from it." in said.out
    assert f"Nothing recurs among {failing} failing and {count - failing} passing traces" in flat(said)
    assert "The proposed skill equals the base." in said.out
    assert skill_of(tmp_path / "out") == SKILL


@pytest.mark.parametrize("passed", [True, False], ids=["only passing", "only failing"])
def test_one_side_empty_is_said_and_supports_nothing(tmp_path: Path, passed: bool) -> None:
    said = refine(workbook().some(workbook().ids(passed)), tmp_path)
    assert said.code == 0
    missing = "failure" if passed else "success"
    assert f"The {missing} side has 0 of the 4 traces it takes to learn from it." in said.out
    assert "0 tasks have both outcomes, it takes 3" in said.err or "no task was tried twice" in said.err
    counts = read(tmp_path / "out", "run.json")["counts"]
    assert (counts["supported"], counts["undecided"]) == ((0, 0) if passed else (0, 3))
    assert skill_of(tmp_path / "out") == SKILL


def test_a_side_of_three_is_not_learned_from(tmp_path: Path) -> None:
    corpus = workbook()
    said = refine(corpus.some([*corpus.ids(True), *corpus.ids(False)[:3]]), tmp_path)
    assert said.code == 0
    assert "The failure side has 3 of the 4 traces it takes to learn from it." in said.out
    assert [one["rule"] for one in read(tmp_path / "out", "combined/changes.json")
            for proposal in one["proposals"] if proposal["side"] == "failure"] == []  # fmt: skip


def test_nothing_but_noise_is_listed_and_never_proposed(tmp_path: Path) -> None:
    names = ["anchor", "basket", "candle", "dagger", "engine", "falcon", "garden", "hammer", "island", "jungle"]
    traces = [run(one, f"The {one} of {one}s.", [call(one, one * 9, **{one: one})], one) for one in names]
    said = refine(Corpus(tuple(traces), {one: place % 2 == 0 for place, one in enumerate(names)}), tmp_path)
    assert said.code == 0
    for side in ("failure", "success"):
        (clustering,) = read(tmp_path / "out", f"{side}/manifest.json")["clusterings"]
        assert clustering["clusters"] == [] and len(clustering["unclustered"]) == 5
    assert read(tmp_path / "out", "combined/changes.json") == []


def test_without_task_ids_nothing_is_supported(tmp_path: Path) -> None:
    traces = tuple({key: value for key, value in one.items() if key != "task_id"} for one in workbook().traces)
    said = refine(replace(workbook(), traces=traces), tmp_path)
    assert said.code == 0
    counts = read(tmp_path / "out", "run.json")["counts"]
    assert counts["supported"] == 0 and counts["undecided"] >= 3
    assert "no task was tried twice" in said.out and "no task was tried twice" in said.err
    assert read(tmp_path / "out", "run.json")["task_id_origins"] == {"none": 48}


def test_the_field_that_names_the_task_can_be_chosen(clean: Path, tmp_path: Path) -> None:
    traces = tuple(
        {**{key: value for key, value in one.items() if key != "task_id"}, "meta": {"case": one["task_id"]}}
        for one in workbook().traces
    )
    assert refine(replace(workbook(), traces=traces), tmp_path, "--task-key", "case").code == 0
    assert skill_of(tmp_path / "out") == skill_of(clean)


# Skills.

SKILLS = {
    "no front matter": SKILL.split("---\n\n", 1)[1],
    "broken YAML": SKILL.replace("name: workbook", "name: [workbook\n  : :"),
    "front matter never closed": SKILL.replace("---\n\n", "\n", 1),
    "CRLF": SKILL.replace("\n", "\r\n"),
    "byte order mark": "\ufeff" + SKILL,
    "not ASCII": SKILL.replace("# Workbook", "# Größentabelle 表 📒").replace("Save with", "Später: save with"),
    "repeated headings": SKILL + "\n## Saving\n\n- Close the book.\n\n## Saving\n",
    "headings in fences": SKILL.replace("## Saving", "```sh\n# not a heading\n## Saving\n```\n\n## Saving"),
    "a fence never closed": SKILL + "\n```\n# open\n",
    "one line": "Save with `save_workbook`.",
    "empty": "",
    "blank": "\n\n  \n",
}


def only_adds(base: str, text: str) -> bool:
    """Whether `text` is `base` with further lines; ending an unfinished last line counts as no change of it."""
    old, new = base.splitlines(), text.splitlines()
    return all(kind in ("equal", "insert") for kind, *_ in difflib.SequenceMatcher(None, old, new, False).get_opcodes())


@pytest.mark.parametrize("skill", SKILLS.values(), ids=SKILLS)
def test_any_skill_keeps_its_text_and_gets_the_rule(tmp_path: Path, skill: str) -> None:
    said = refine(replace(workbook(), skill=skill), tmp_path)
    assert said.code == 0
    text = skill_of(tmp_path / "out")
    assert text.count(RULE) == 1
    assert only_adds(skill, text)
    assert ("\r\n" in skill) == ("\r\n" in text) and text.count("\r") == (text.count("\n") if "\r\n" in skill else 0)
    assert "```sh\n# not a heading\n## Saving\n```" in text or "not a heading" not in skill


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"\xff\xfe#\x00", ["the file is UTF-16. Save it as UTF-8"]),
        (b"# Skill \xe9", ["byte 8 is not UTF-8. Save it as UTF-8"]),
        (b"PK\x00\x03", ["this is a binary file. Give a markdown file or a folder with a SKILL.md"]),
    ],
)
def test_a_skill_that_is_no_text_is_refused(tmp_path: Path, content: bytes, says: list[str]) -> None:
    given = workbook().write(tmp_path)
    (tmp_path / "SKILL.md").write_bytes(content)
    refused(refiner("refine", *given, "--out", tmp_path / "out"), f"skill {tmp_path / 'SKILL.md'}", *says)


def test_a_folder_of_a_skill_keeps_its_other_files(tmp_path: Path) -> None:
    folder = tmp_path / "workbook"
    (folder / "scripts").mkdir(parents=True)
    (folder / "SKILL.md").write_text(SKILL + "\nSee [more](more.md).\n")
    (folder / "more.md").write_text("# More\n")
    (folder / "scripts" / "run.sh").write_bytes(b"#!/bin/sh\n\xff\x00")
    said = refiner(
        "refine", *replace(workbook(), skill=None).write(tmp_path), "--skill", folder, "--out", tmp_path / "out"
    )
    assert said.code == 0
    kept = tree(tmp_path / "out" / "combined" / "skill")
    assert kept["scripts/run.sh"] == b"#!/bin/sh\n\xff\x00" and kept["more.md"] == b"# More\n"
    assert kept["SKILL.md"].decode() == skill_of(tmp_path / "out") and RULE in skill_of(tmp_path / "out")


def test_a_folder_without_a_skill_names_what_it_could_be(tmp_path: Path) -> None:
    given = replace(workbook(), skill=None).write(tmp_path / "in")
    (tmp_path / "notes.md").write_text("# Notes\n")
    said = refiner("refine", *given, "--skill", tmp_path, "--out", tmp_path / "out")
    refused(said, "the folder has no SKILL.md. Give one of its markdown files instead (notes.md)")


# Where the result goes.


def holding(name: str, content: str) -> Callable[[Path], None]:
    def fill(out: Path) -> None:
        out.mkdir()
        (out / name).write_text(content)

    return fill


OCCUPIED: dict[str, tuple[Callable[[Path], Any], str]] = {
    "a document": (holding("thesis.txt", "mine"), "holds other files, so nothing was written"),
    "another tool's run.json": (holding("run.json", '{"id": 1}'), "holds other files, so nothing was written"),
    "a run.json that is none": (holding("run.json", "mine"), "holds other files, so nothing was written"),
    "a hidden file": (holding(".gitignore", "*"), "holds other files, so nothing was written"),
    "a file": (lambda out: out.write_text("mine"), "is a file; --out needs a folder"),
    "below a file": (lambda out: None, "cannot be used (Not a directory)"),
}


@pytest.mark.parametrize(("occupy", "says"), OCCUPIED.values(), ids=OCCUPIED)
def test_a_folder_with_something_else_is_left_alone(tmp_path: Path, occupy: Callable[[Path], Any], says: str) -> None:
    given = workbook().write(tmp_path / "in")
    out = tmp_path / "out" if says != "cannot be used (Not a directory)" else tmp_path / "in" / "SKILL.md" / "out"
    occupy(out)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    refused(refiner("refine", *given, "--out", out), str(out), says, "--out")
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_an_empty_folder_is_taken(clean: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    assert refine(workbook(), tmp_path).code == 0
    assert tree(tmp_path / "out") == tree(clean)


def test_a_database_held_by_another_process_names_it_and_the_ways_out(tmp_path: Path) -> None:
    given = workbook().write(tmp_path)
    database = tmp_path / "held.duckdb"
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(database)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None and holder.stdout.readline() == b"held\n"
        said = refiner("refine", *given, "--out", tmp_path / "out", "--db", database)
        holder.communicate()
    refused(said, f"{database} is in use by process {holder.pid}", "wait until it ends", "--out", "--db")
    assert refiner("refine", *given, "--out", tmp_path / "out", "--db", database).code == 0


def test_a_database_of_something_else_is_left_as_it_was(tmp_path: Path) -> None:
    given = workbook().write(tmp_path)
    (tmp_path / "notes.db").write_bytes(b"these are my notes\n" * 900)
    said = refiner("refine", *given, "--out", tmp_path / "out", "--db", tmp_path / "notes.db")
    refused(said, "notes.db cannot be read as a database of Skill Refiner, and was left as it is", "--db")
    assert (tmp_path / "notes.db").read_bytes() == b"these are my notes\n" * 900
