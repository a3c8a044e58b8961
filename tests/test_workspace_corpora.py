"""Corpora at the desk: names, counts, warnings, labels by hand, the start skill, the sample."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from corpus import Corpus, call, run, workbook
from rooms import Clock, fill, opened, upload, uploads

from refiner.errors import ConfigError, LabelError, SkillError, StoreBusy
from refiner.workspace import Workspace


@pytest.fixture
def desk(tmp_path: Path) -> Workspace:
    return opened(tmp_path / "refiner.duckdb")


def tiny(count: int = 6, tasks: int = 3, passing: int = 3) -> Corpus:
    traces = [
        run(f"r{number}", f"Do thing {number % tasks}.", [call("look", "seen")], f"t{number % tasks}")
        for number in range(count)
    ]
    return Corpus(tuple(traces), {f"r{number}": number < passing for number in range(count)}, {}, None)


def statuses(desk: Workspace, name: str = "own") -> dict[str, int]:
    return {status: count for status, count in desk.corpus(name).statuses.items() if count}


def test_a_second_desk_on_one_file_is_told_who_has_it(tmp_path: Path) -> None:
    first = opened(tmp_path / "a.duckdb")
    with pytest.raises(StoreBusy, match="this very process"):
        opened(tmp_path / "a.duckdb")
    first.close()


def test_closing_twice_is_fine_and_all_is_there_again(tmp_path: Path) -> None:
    desk = opened(tmp_path / "a.duckdb")
    fill(desk, tiny())
    before = desk.corpus("own")
    desk.close()
    desk.close()
    assert opened(tmp_path / "a.duckdb").corpus("own") == before


def test_names_are_unique_and_usable(desk: Workspace) -> None:
    desk.create_corpus("  own   one ")
    assert [card.name for card in desk.corpora()] == ["own one"]
    for name, words in (("own one", "already"), ("", "1 to 60"), ("a/b", "1 to 60"), ("x" * 61, "1 to 60")):
        with pytest.raises(ConfigError, match=words):
            desk.create_corpus(name)
    with pytest.raises(ConfigError, match='did you mean "own one"'):
        desk.corpus("own onne")


def test_a_removed_corpus_comes_back_empty_under_its_name(desk: Workspace) -> None:
    fill(desk, tiny())
    trace_id = desk.label_rows("own")[0].trace_id
    desk.label("own", trace_id, "fail")
    desk.remove_corpus("own")
    assert desk.corpora() == []
    with pytest.raises(ConfigError, match="there is none"):
        desk.corpus("own")
    desk.create_corpus("own")
    assert desk.corpus("own").traces == 0
    report = desk.ingest("own", uploads(tiny()))
    assert (report.accepted, report.duplicates) == (6, 0)
    assert statuses(desk) == {"pass": 3, "fail": 3}


def test_the_reviewer_is_the_login_name_until_set(desk: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOGNAME", "ada")
    assert desk.reviewer() == "ada"
    desk.set_reviewer("  Grace  Hopper ")
    assert desk.reviewer() == "Grace Hopper"
    with pytest.raises(ConfigError):
        desk.set_reviewer(" ")


def test_the_view_counts_what_counts(desk: Workspace) -> None:
    fill(desk, workbook())
    view, card = desk.corpus("own"), desk.corpora()[0]
    assert (view.traces, view.tasks, view.tried_twice) == (48, 16, 16)
    assert view.statuses == {"pass": 30, "fail": 18, "unknown": 0, "infrastructure": 0}
    assert (view.task_origins, view.formats, view.failures_without_feedback) == ({"file": 48}, {"canonical": 48}, 0)
    assert view.warnings == ()
    assert (card.traces, card.tasks, card.statuses, card.has_skill) == (48, 16, view.statuses, True)


@pytest.mark.parametrize(
    ("corpus", "words"),
    [
        (tiny(passing=0), "There is no passing trace"),
        (tiny(passing=6), "There is no failing trace"),
        (tiny(passing=1), "Only 1 passing trace"),
        (tiny(count=6, tasks=6), "No task was tried twice"),
        (tiny(), "feedback. A sentence for each failure is worth more than any setting"),
    ],
)
def test_a_page_can_say_what_is_missing(desk: Workspace, corpus: Corpus, words: str) -> None:
    fill(desk, corpus)
    assert any(words in warning for warning in desk.corpus("own").warnings)


def test_without_any_label_that_is_the_only_warning(desk: Workspace) -> None:
    desk.create_corpus("own")
    desk.ingest("own", uploads(tiny())[:1])
    (warning,) = desk.corpus("own").warnings
    assert "No trace has an outcome yet" in warning


def test_tasks_are_guessed_over_the_whole_corpus_whatever_the_order_of_uploads(desk: Workspace) -> None:
    """A request that opens more than a quarter of the traces names no task; which do changes with what arrives."""
    first = [run(f"a{number}", "Same request.", [call("look")]) for number in range(2)]
    more = [run(f"b{number}", f"Another {'xyzuvw'[number]} request.", [call("look")]) for number in range(6)]
    desk.create_corpus("own")
    desk.ingest("own", [upload("a.jsonl", "\n".join(map(json.dumps, first)))])
    assert desk.corpus("own").task_origins == {"none": 2}
    desk.ingest("own", [upload("b.jsonl", "\n".join(map(json.dumps, more)))])
    desk.label("own", desk.label_rows("own")[0].trace_id, "pass")
    view = desk.corpus("own")
    assert (view.task_origins, view.tasks) == ({"text": 8}, 7)
    assert any("guessed from the request" in warning for warning in view.warnings)


def test_the_revision_changes_with_every_trace_label_and_skill(desk: Workspace) -> None:
    fill(desk, tiny())
    seen = [desk.corpus("own").revision]
    trace_id = desk.label_rows("own")[0].trace_id
    desk.label("own", trace_id, "fail")
    seen.append(desk.corpus("own").revision)
    desk.dispute("own", trace_id, "the checker is wrong")
    seen.append(desk.corpus("own").revision)
    desk.ingest("own", [upload("more.jsonl", json.dumps(run("new", "New.", [call("look")])))])
    seen.append(desk.corpus("own").revision)
    desk.set_skill("own", None)
    seen.append(desk.corpus("own").revision)
    assert len(set(seen)) == 5
    assert desk.corpus("own").revision == seen[-1]


def test_a_label_by_hand_wins_and_its_note_is_feedback(desk: Workspace) -> None:
    fill(desk, tiny())
    row = desk.label_rows("own", status="pass")[0]
    assert (row.goal, row.last_answer, row.last_user, row.origin) == (
        "Do thing 0.",
        "It is done.",
        "Do thing 0.",
        "environment",
    )
    desk.label("own", row.trace_id, "fail", note=" It forgot the total. ")
    row = next(one for one in desk.label_rows("own") if one.trace_id == row.trace_id)
    assert (row.status, row.origin, row.feedback) == ("fail", "human", "It forgot the total.")
    assert desk.corpus("own").disagreements == (
        f"{row.external_id}: a person says fail, the environment says pass; fail counts.",
    )


def test_a_label_of_unknown_takes_a_trace_out_even_with_a_note(desk: Workspace) -> None:
    fill(desk, tiny())
    trace_id = desk.label_rows("own", status="pass")[0].trace_id
    desk.label("own", trace_id, "unknown", note="cannot tell")
    assert statuses(desk) == {"pass": 2, "fail": 3, "unknown": 1}


def test_saying_the_same_again_is_no_new_label(desk: Workspace) -> None:
    fill(desk, tiny())
    trace_id = desk.label_rows("own")[0].trace_id
    desk.label("own", trace_id, "fail")
    before = desk.corpus("own").revision
    desk.label("own", trace_id, "fail")
    assert desk.corpus("own").revision == before
    desk.label("own", trace_id, "pass")
    desk.label("own", trace_id, "fail")
    assert statuses(desk) == {"pass": 2, "fail": 4}


def test_a_disputed_trace_is_on_neither_side_until_it_is_labelled_again(desk: Workspace) -> None:
    fill(desk, tiny())
    trace_id = desk.label_rows("own", status="fail")[0].trace_id
    with pytest.raises(LabelError, match="needs a reason"):
        desk.dispute("own", trace_id, "  ")
    desk.dispute("own", trace_id, "the gold answer is wrong")
    row = next(one for one in desk.label_rows("own") if one.trace_id == trace_id)
    assert (row.status, row.disputed, row.feedback) == ("unknown", True, "disputed: the gold answer is wrong")
    assert statuses(desk) == {"pass": 3, "fail": 2, "unknown": 1}
    desk.label("own", trace_id, "fail")
    row = next(one for one in desk.label_rows("own") if one.trace_id == trace_id)
    assert (row.status, row.disputed, row.feedback) == ("fail", False, "")


def test_label_rows_come_in_pages_in_a_stable_order(desk: Workspace) -> None:
    fill(desk, workbook())
    names = [row.external_id for row in desk.label_rows("own", limit=100)]
    assert names == sorted(names) and len(names) == 48
    paged = [row.external_id for at in (0, 20, 40) for row in desk.label_rows("own", offset=at, limit=20)]
    assert paged == names
    assert desk.label_rows("own", offset=60) == []


def test_an_unknown_trace_or_word_cannot_be_labelled(desk: Workspace) -> None:
    fill(desk, tiny())
    with pytest.raises(LabelError, match="has no trace"):
        desk.label("own", "nobody", "pass")
    with pytest.raises(LabelError, match="is no outcome"):
        desk.label("own", desk.label_rows("own")[0].trace_id, "good")  # type: ignore[arg-type]


def test_a_start_skill_is_checked_at_once(desk: Workspace) -> None:
    desk.create_corpus("own")
    assert desk.corpus("own").skill is None
    view = desk.set_skill("own", {"SKILL.md": b"# No front matter\n", "references/a.md": b"See.\n"})
    assert (view.main, view.files, view.lines) == ("SKILL.md", ("SKILL.md", "references/a.md"), 1)
    assert any("front matter" in problem for problem in view.problems)
    assert desk.corpus("own").skill == view
    skeleton = desk.set_skill("own", None, skill_name="File taxes")
    assert skeleton.skeleton and "name: file-taxes" in skeleton.text
    other = desk.set_skill("own", {"CLAUDE.md": b"Be brief.\n"}, main="CLAUDE.md")
    assert (other.main, other.problems) == ("CLAUDE.md", ())


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({}, "no SKILL.md; add a SKILL.md"),
        ({"README.md": b"x"}, "name one of README.md"),
        ({"SKILL.md": b" \n"}, "SKILL.md is empty"),
        ({"SKILL.md": b"\xff\xfe#\x00"}, "UTF-16"),
        ({"SKILL.md": b"a\x00b"}, "binary"),
        ({"SKILL.md": b"caf\xe9"}, "not UTF-8"),
    ],
)
def test_files_that_are_no_skill_are_refused_and_the_old_one_stays(
    desk: Workspace, files: dict[str, bytes], words: str
) -> None:
    desk.create_corpus("own")
    before = desk.set_skill("own", None)
    with pytest.raises(SkillError, match=words) as caught:
        desk.set_skill("own", files)
    assert "tmp" not in str(caught.value)
    assert desk.corpus("own").skill == before


def test_hostile_names_inside_a_skill_stay_inside_of_it(desk: Workspace) -> None:
    desk.create_corpus("own")
    view = desk.set_skill("own", {"SKILL.md": b"---\nname: a\n---\n", "../../etc/passwd": b"x", "/srv/y": b"y"})
    assert view.files == ("SKILL.md", "etc/passwd", "srv/y")


def test_the_sample_is_scripted_loaded_once_and_never_mixed(tmp_path: Path) -> None:
    desk = opened(tmp_path / "a.duckdb", Clock())
    name = desk.load_sample()
    view = desk.corpus(name)
    assert (view.scripted, view.traces, view.tasks, view.failures_without_feedback) == (True, 240, 60, 0)
    assert view.skill is not None and "Spreadsheet" in view.skill.text
    assert desk.load_sample() == name and desk.corpus(name) == view
    for act in (lambda: desk.ingest(name, []), lambda: desk.set_skill(name, None)):
        with pytest.raises(ConfigError, match="scripted sample"):
            act()
    desk.remove_corpus(name)
    assert desk.corpora() == []
