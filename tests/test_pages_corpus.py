"""The Corpus page: what it shows in each state, what its controls do, and that no text of a run becomes markup."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from pages._ui import session, text
from pages._ui.startskill import main_of
from refiner.errors import ConfigError, LabelError, StoreBusy
from refiner.views import FileRow, IngestReport
from refiner.workspace.desk import Workspace
from tests.fake_desk import (
    FIXED,
    HOSTILE,
    FakeDesk,
    corpus_view,
    finish,
    label_rows,
    open_app,
    rejected,
    skill_view,
    words,
)


@pytest.fixture
def desk() -> FakeDesk:
    made = FakeDesk()
    made.views["runs"] = corpus_view()
    made.rows["runs"] = label_rows()
    return made


def keys(app: AppTest) -> set[str]:
    return {button.key for button in app.button if button.key}


def labels_of(app: AppTest) -> list[str]:
    """Every label on the page; they are read as markdown."""
    named = (*app.button, *app.expander, *app.text_input, *app.file_uploader)
    return [*(one.label for one in named), *(one.proto.popover.label for one in app.get("popover"))]


def shown_markup(app: AppTest) -> str:
    """Everything that a browser would read as markdown or HTML."""
    bodies = [one.proto.body for one in app.get("html") if not one.proto.body.startswith(FIXED)]
    return "\n".join([*bodies, *labels_of(app), *(one.value for one in app.markdown)])


# --- the first screen ---------------------------------------------------------------------------------------------


def test_the_first_screen_offers_the_sample_and_an_upload(monkeypatch: pytest.MonkeyPatch) -> None:
    app = open_app(monkeypatch, FakeDesk())
    assert not app.exception
    assert "try_sample" in keys(app)
    assert [one.accept_directory for one in app.file_uploader] == [False, True]
    assert any('"trace_id"' in one.value for one in app.code)


def test_one_click_loads_the_sample_starts_it_and_shows_its_stages(monkeypatch: pytest.MonkeyPatch) -> None:
    desk = FakeDesk()
    app = open_app(monkeypatch, desk)
    app.button(key="try_sample").click().run()
    assert desk.commands("load_sample") == [()]
    assert desk.commands("start") == [("sample", {})]
    app.run()
    assert app.query_params["refinement"] == "ref-1"
    assert "Embeddings" in words(app) and "“sample”, scripted runs" in words(app)


def test_the_sample_leads_to_review_when_it_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    desk = FakeDesk()
    app = open_app(monkeypatch, desk)
    app.button(key="try_sample").click().run()
    app.run()
    finish(desk, "sample")
    went: list[tuple[str, str]] = []

    def go(page: str, **params: str) -> None:
        went.append((page, params["refinement"]))

    monkeypatch.setattr(session, "go", go)
    app.run()
    assert went == [("review", "ref-1")]


def test_a_sample_that_cannot_start_says_why_and_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    desk = FakeDesk()
    desk.refusals["start"] = ConfigError("one refinement runs already; wait for it or cancel it")
    app = open_app(monkeypatch, desk)
    app.button(key="try_sample").click().run()
    assert "wait for it or cancel it" in words(app)


def test_the_first_upload_makes_the_corpus(monkeypatch: pytest.MonkeyPatch) -> None:
    desk = FakeDesk()
    app = open_app(monkeypatch, desk)
    app.text_input(key="first_name").set_value("  night   shift ").run()
    app.file_uploader[0].set_value([("runs.jsonl", b"{}", "application/json")]).run()
    assert desk.commands("create_corpus") == [("night shift",)]
    assert desk.commands("ingest") == [("night shift", {"runs.jsonl": b"{}"})]
    assert app.query_params["corpus"] == "night shift"
    assert "The last upload" in [one.value for one in app.subheader]


# --- opening ------------------------------------------------------------------------------------------------------


def test_a_database_held_elsewhere_is_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    def busy(path: str) -> None:
        raise StoreBusy("refiner.duckdb is open in process 17; close it or use --db")

    app = open_app(monkeypatch, FakeDesk())
    monkeypatch.setattr(session, "opened", busy)
    app.run()
    assert not app.exception
    assert "open in process 17; close it or use --db" in words(app)


def test_an_error_nobody_foresaw_shows_an_id_and_no_details(
    monkeypatch: pytest.MonkeyPatch, desk: FakeDesk, caplog: pytest.LogCaptureFixture
) -> None:
    def broken() -> None:
        raise RuntimeError("secret detail")

    monkeypatch.setattr(desk, "corpora", broken)
    app = open_app(monkeypatch, desk)
    assert not app.exception
    shown = words(app)
    name = shown.split("error ")[-1].split(";")[0]
    assert "secret detail" not in shown
    assert f"error {name}" in caplog.text and "secret detail" in caplog.text


def test_a_link_to_a_corpus_that_is_gone_leads_to_one_that_is_there(
    monkeypatch: pytest.MonkeyPatch, desk: FakeDesk
) -> None:
    app = open_app(monkeypatch, desk, corpus="gone")
    assert "There is no corpus “gone” any more. This is “runs” instead." in words(app)
    assert app.query_params["corpus"] == "runs"


def test_the_last_corpus_comes_back_when_the_address_names_none(
    monkeypatch: pytest.MonkeyPatch, desk: FakeDesk
) -> None:
    desk.views["other"] = corpus_view("other")
    app = open_app(monkeypatch, desk, corpus="other")
    app.query_params.clear()
    app.run()
    assert app.query_params["corpus"] == "other"


# --- overview -----------------------------------------------------------------------------------------------------


def test_the_overview_counts_each_bucket_and_repeats_the_warnings(
    monkeypatch: pytest.MonkeyPatch, desk: FakeDesk
) -> None:
    desk.views["runs"] = corpus_view(
        warnings=("No task was tried twice.",), disagreements=("run-4: two outcomes.",), task_origins={"text": 40}
    )
    shown = words(open_app(monkeypatch, desk))
    for number, noun in ((40, "traces"), (18, "passed"), (16, "failed"), (4, "unlabelled"), (2, "infrastructure")):
        assert f"<b>{number}</b><span>{noun}</span>" in shown
    assert "No task was tried twice." in shown
    assert "run-4: two outcomes." in shown
    assert "guessed from the request (40 runs)" in shown


def test_an_empty_corpus_opens_on_the_upload(monkeypatch: pytest.MonkeyPatch, desk: FakeDesk) -> None:
    desk.views["runs"] = corpus_view(traces=0, tasks=0, statuses={}, skill=None)
    app = open_app(monkeypatch, desk)
    assert len(app.file_uploader) == 2
    assert not any(link.proto.label.startswith("Next") for link in app.get("page_link"))


def test_an_opened_result_offers_nothing_that_would_add_to_it(monkeypatch: pytest.MonkeyPatch, desk: FakeDesk) -> None:
    desk.views["runs"] = corpus_view(opened=True)
    app = open_app(monkeypatch, desk, view="traces")
    assert not app.file_uploader and "Tried more than once" in words(app)


def test_nothing_is_added_to_the_sample(monkeypatch: pytest.MonkeyPatch, desk: FakeDesk) -> None:
    desk.views["sample"] = corpus_view("sample", scripted=True)
    app = open_app(monkeypatch, desk, corpus="sample", view="traces")
    assert app.segmented_control(key="corpus_view").options == ["Overview", "Label by hand", "Start skill"]
    assert not app.file_uploader


def test_the_sample_goes_with_one_click_and_other_corpora_stay(monkeypatch: pytest.MonkeyPatch, desk: FakeDesk) -> None:
    desk.views["sample"] = corpus_view("sample", scripted=True)
    app = open_app(monkeypatch, desk, corpus="sample")
    app.button(key="remove_sample").click().run()
    assert desk.commands("remove_corpus") == [("sample",)]
    assert list(desk.views) == ["runs"]
    assert app.query_params["corpus"] == "runs"
    assert "any more" not in words(app)


def test_a_second_corpus_of_one_name_is_refused_with_words(monkeypatch: pytest.MonkeyPatch, desk: FakeDesk) -> None:
    app = open_app(monkeypatch, desk)
    app.text_input(key="new_corpus_name").set_value("runs")
    app.button(key="new_corpus_make").click().run()
    assert "choose another name" in words(app)
    app.text_input(key="new_corpus_name").set_value("more runs")
    app.button(key="new_corpus_make").click().run()
    assert app.query_params["corpus"] == "more runs"
    assert len(app.file_uploader) == 2


def test_choosing_a_corpus_changes_the_address_and_drops_the_refinement(
    monkeypatch: pytest.MonkeyPatch, desk: FakeDesk
) -> None:
    desk.views["other"] = corpus_view("other", traces=7)
    app = open_app(monkeypatch, desk, corpus="runs", refinement="ref-9")
    app.selectbox(key="corpus_choice").set_value("other").run()
    assert app.query_params == {"corpus": "other"}
    assert "<b>7</b><span>traces</span>" in words(app)


# --- what comes in ------------------------------------------------------------------------------------------------


def test_an_upload_is_read_at_once_and_its_bytes_are_let_go(monkeypatch: pytest.MonkeyPatch, desk: FakeDesk) -> None:
    app = open_app(monkeypatch, desk, view="traces")
    first = app.file_uploader[0].key
    app.file_uploader[0].set_value([("a.jsonl", b"1", ""), ("../../b.zip", b"2", "")]).run()
    assert desk.commands("ingest") == [("runs", {"a.jsonl": b"1", "../../b.zip": b"2"})]
    assert app.file_uploader[0].key != first and app.file_uploader[0].value == []


def test_the_report_says_what_was_rejected_where_and_why(monkeypatch: pytest.MonkeyPatch, desk: FakeDesk) -> None:
    desk.uploads["runs"] = IngestReport(
        accepted=3,
        duplicates=2,
        labels=5,
        files=(FileRow("log.eval", "Inspect log, not read yet", 0, 1),),
        rejected=(rejected("the record has no spans", "a.jsonl", 17),),
        conflicts=("run-1 is in two files",),
        warnings=("Two labels match nothing.",),
    )
    app = open_app(monkeypatch, desk, view="traces")
    shown = words(app)
    for part in (
        "<b>3</b><span>new traces",
        "<b>2</b><span>already there",
        "<b>5</b><span>labelled",
        "<b>1</b><span>rej",
    ):
        assert part in shown
    for part in ("Inspect log, not read yet", "a.jsonl", "17", "the record has no spans", "run-1 is in two files"):
        assert part in shown
    assert "Two labels match nothing." in shown
    assert [one.proto.id for one in app.get("download_button") if "ingest_csv" in one.proto.id]


def test_a_large_upload_is_told_by_format_and_by_reason(monkeypatch: pytest.MonkeyPatch, desk: FakeDesk) -> None:
    desk.uploads["runs"] = IngestReport(
        accepted=29,
        conflicts=("one contradicts another",),
        files=(*(FileRow(f"a/b/{at}.jsonl", "codex", 1, 1) for at in range(30)), FileRow("x.json", "unknown", 0, 1)),
        rejected=(*(rejected("broken", f"a/b/{at}.jsonl", 2) for at in range(30)), rejected("unread", "x.json", 0)),
        skipped=(rejected("is a picture", "photo.png", 0),),
    )
    shown = re.sub(r"<[^>]*>", " ", words(open_app(monkeypatch, desk, view="traces")))
    said = " ".join(shown.split())
    assert "30 files in a/b codex 30 30 x.json no known format 0 1 31 files 30 31" in said
    assert "broken 30 a/b/0.jsonl:2, a/b/1.jsonl:2, a/b/2.jsonl:2 and 27 more unread 1 x.json" in said
    assert "is a picture 1 photo.png" in said
    assert "1 contradicting others" in said and "one contradicts another" in said
    assert "The corpus holds 40 traces now" in said


def test_the_same_upload_again_says_that_nothing_is_new(monkeypatch: pytest.MonkeyPatch, desk: FakeDesk) -> None:
    desk.uploads["runs"] = IngestReport(duplicates=7, files=(FileRow("a.jsonl", "codex", 7, 0),))
    assert "Nothing new: 7 traces read, and already there" in words(open_app(monkeypatch, desk, view="traces"))
    desk.uploads["runs"] = IngestReport(duplicates=7, grown=1, files=(FileRow("a.jsonl", "codex", 8, 0),))
    assert "Nothing new" not in words(open_app(monkeypatch, desk, view="traces"))


def test_files_with_nothing_in_them_are_called_that(monkeypatch: pytest.MonkeyPatch, desk: FakeDesk) -> None:
    desk.uploads["runs"] = IngestReport(files=(FileRow("photo.png", "", 0, 1),), rejected=(rejected("empty", "x", 0),))
    assert "Nothing could be taken from these files" in words(open_app(monkeypatch, desk, view="traces"))


def test_labels_are_attached_with_threshold_and_direction(monkeypatch: pytest.MonkeyPatch, desk: FakeDesk) -> None:
    app = open_app(monkeypatch, desk, view="labels")
    app.file_uploader[0].set_value(("labels.csv", b"id,outcome", "text/csv"))
    app.number_input(key="labels_pass_at").set_value(0.5)
    app.toggle(key="labels_lower").set_value(True)
    app.button(key="labels_attach").click().run()
    assert desk.commands("attach_labels") == [("runs", "labels.csv", 0.5, True)]


def test_labels_that_match_nothing_keep_the_page_and_say_so(monkeypatch: pytest.MonkeyPatch, desk: FakeDesk) -> None:
    desk.refusals["attach_labels"] = LabelError("no label matches: labels name a, b, c; traces are x, y, z")
    app = open_app(monkeypatch, desk, view="labels")
    app.button(key="labels_attach").click().run()
    assert "No file was chosen" in words(app)
    app.file_uploader[0].set_value(("labels.csv", b"id,outcome", "text/csv"))
    app.button(key="labels_attach").click().run()
    assert "labels name a, b, c; traces are x, y, z" in words(app)
    assert app.query_params["view"] == "labels"


# --- labelling by hand --------------------------------------------------------------------------------------------


def say(app: AppTest, status: str) -> None:
    """Presses the key of this status for the trace on screen."""
    next(one for one in app.button if one.key.startswith(f"hand_{status}_")).click().run()


def test_each_key_saves_one_label_and_shows_the_next_trace(monkeypatch: pytest.MonkeyPatch, desk: FakeDesk) -> None:
    app = open_app(monkeypatch, desk, view="hand")
    for status in ("pass", "fail", "unknown"):
        say(app, status)
    assert desk.commands("label") == [
        ("runs", "id-1", "pass", None),
        ("runs", "id-2", "fail", None),
        ("runs", "id-3", "unknown", None),
    ]
    assert "Answer 4" in words(app) and "Answer 3" not in words(app)


def test_the_labelling_keys_are_single_letters(monkeypatch: pytest.MonkeyPatch, desk: FakeDesk) -> None:
    app = open_app(monkeypatch, desk, view="hand")
    found = {button.proto.shortcut for button in app.button if button.proto.shortcut}
    assert found == {"p", "f", "u", "n", "j", "k"}


def test_a_note_is_kept_as_a_failure_with_its_words(monkeypatch: pytest.MonkeyPatch, desk: FakeDesk) -> None:
    app = open_app(monkeypatch, desk, view="hand")
    app.button(key="hand_note_open").click().run()
    app.text_input(key="hand_note").set_value("  refunded a delivered order ").run()
    assert desk.commands("label") == [("runs", "id-1", "fail", "refunded a delivered order")]
    assert "Answer 2" in words(app)
    assert not [one for one in app.text_input if one.key == "hand_note"]


def test_next_and_previous_move_without_labelling(monkeypatch: pytest.MonkeyPatch, desk: FakeDesk) -> None:
    app = open_app(monkeypatch, desk, view="hand")
    app.button(key="hand_next").click().run()
    assert app.query_params["trace"] == "id-2" and "Answer 2" in words(app)
    app.button(key="hand_previous").click().run()
    assert "Answer 1" in words(app)
    assert desk.commands("label") == []


def test_the_last_label_ends_on_a_sentence(monkeypatch: pytest.MonkeyPatch, desk: FakeDesk) -> None:
    desk.rows["runs"] = label_rows(1)
    app = open_app(monkeypatch, desk, view="hand")
    say(app, "pass")
    assert "Every trace has an outcome" in words(app)


def test_sixty_one_traces_are_labelled_without_leaving_one_out(monkeypatch: pytest.MonkeyPatch, desk: FakeDesk) -> None:
    desk.rows["runs"] = [replace(row, status="fail", origin="environment") for row in label_rows(61)]
    app = open_app(monkeypatch, desk, view="hand", trace="id-60")
    app.segmented_control(key="hand_filter").set_value("all").run()
    app.query_params["trace"] = "id-60"
    app.run()
    say(app, "pass")
    say(app, "pass")
    assert [call[1] for call in desk.commands("label")] == ["id-60", "id-61"]


def test_a_refused_label_stays_on_its_trace(monkeypatch: pytest.MonkeyPatch, desk: FakeDesk) -> None:
    desk.refusals["label"] = ConfigError("the disk is full; nothing was saved")
    app = open_app(monkeypatch, desk, view="hand")
    say(app, "pass")
    assert "the disk is full" in words(app) and "Answer 1" in words(app)


def test_an_outcome_is_disputed_with_a_reason_only_which_is_not_there_for_the_next(
    monkeypatch: pytest.MonkeyPatch, desk: FakeDesk
) -> None:
    desk.rows["runs"] = label_rows(2, status="fail", origin="environment")
    app = open_app(monkeypatch, desk, view="hand")
    app.segmented_control(key="hand_filter").set_value("fail").run()
    app.button(key="hand_dispute_yes_id-1").click().run()
    assert "A dispute needs a reason" in words(app) and desk.commands("dispute") == []
    app.text_input(key="hand_dispute_reason_id-1").set_value("the checker read the wrong cell")
    desk.rows["runs"] = desk.rows["runs"][1:]
    app.button(key="hand_dispute_yes_id-1").click().run()
    assert desk.commands("dispute") == [("runs", "id-1", "the checker read the wrong cell")]
    assert app.text_input(key="hand_dispute_reason_id-2").value == ""


# --- the start skill ----------------------------------------------------------------------------------------------


def test_a_skill_is_uploaded_pasted_or_left_out(monkeypatch: pytest.MonkeyPatch, desk: FakeDesk) -> None:
    app = open_app(monkeypatch, desk, view="skill")
    app.file_uploader[0].set_value([("AGENTS.md", b"# Agents", "")]).run()
    app.segmented_control(key="skill_way").set_value("paste").run()
    app.text_area(key="skill_text").set_value("# Pasted")
    app.button(key="skill_paste").click().run()
    app.segmented_control(key="skill_way").set_value("none").run()
    app.text_input(key="skill_new_name").set_value("night-shift")
    app.button(key="skill_none").click().run()
    assert desk.commands("set_skill") == [
        ("runs", {"AGENTS.md": b"# Agents"}, "AGENTS.md", None),
        ("runs", {"SKILL.md": b"# Pasted"}, "SKILL.md", None),
        ("runs", None, "SKILL.md", "night-shift"),
    ]
    assert "No start skill" in words(app)


def test_what_breaks_the_specification_is_listed_beside_the_text(
    monkeypatch: pytest.MonkeyPatch, desk: FakeDesk
) -> None:
    desk.views["runs"] = corpus_view(skill=skill_view(problems=("The name has a space.",), text="# Odd"))
    app = open_app(monkeypatch, desk, view="skill")
    assert "The name has a space." in words(app)
    assert [one.value for one in app.code] == ["# Odd"]


def test_files_without_markdown_are_no_skill(monkeypatch: pytest.MonkeyPatch, desk: FakeDesk) -> None:
    app = open_app(monkeypatch, desk, view="skill")
    app.file_uploader[0].set_value([("run.py", b"", "")]).run()
    assert "no markdown file among these" in words(app) and desk.commands("set_skill") == []


@pytest.mark.parametrize(
    ("names", "main"),
    [
        (["references/a.md", "SKILL.md"], "SKILL.md"),
        (["x/skill.md", "a.md"], "x/skill.md"),
        (["b.md", "a.md"], "a.md"),
        (["run.py"], None),
    ],
)
def test_the_main_file_of_a_skill(names: list[str], main: str | None) -> None:
    assert main_of(names) == main


# --- text of runs -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("view", ["overview", "traces", "hand", "skill"])
def test_text_from_runs_is_never_markup(monkeypatch: pytest.MonkeyPatch, desk: FakeDesk, view: str) -> None:
    desk.views = {
        HOSTILE: corpus_view(
            HOSTILE, warnings=(HOSTILE,), disagreements=(HOSTILE,), formats={HOSTILE: 1}, models={HOSTILE: 1},
            skill=skill_view(main=HOSTILE, problems=(HOSTILE,)),
        )
    }  # fmt: skip
    fields = {name: HOSTILE for name in ("external_id", "goal", "last_answer", "last_user", "feedback")}
    desk.rows[HOSTILE] = label_rows(2, **fields)
    desk.uploads[HOSTILE] = IngestReport(
        1, files=(FileRow(HOSTILE, HOSTILE, 1, 1),), rejected=(rejected(HOSTILE, HOSTILE),), warnings=(HOSTILE,)
    )
    desk.name = HOSTILE
    app = open_app(monkeypatch, desk, view=view)
    assert not app.exception
    markup = shown_markup(app)
    assert "&lt;script&gt;" in markup
    assert not re.search(r"(?<!\\)<script", markup)
    assert not re.search(r"(?<!\\)!\[", "\n".join(labels_of(app)))


def test_a_label_escapes_what_markdown_would_read() -> None:
    assert text.label("**a** [b](c) :red[d]") == r"\*\*a\*\* \[b\]\(c\) \:red\[d\]"
    assert text.clean("a\x1b[31mb\u202ec") == "a\ufffd[31mb\ufffdc"


# --- with the real workspace --------------------------------------------------------------------------------------


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    opened = Workspace.open(tmp_path / "refiner.duckdb")
    yield opened
    opened.close()


def run_line(number: int) -> bytes:
    spans = [{"name": "user", "output_text": f"Refund order {number}"}, {"name": "assistant", "output_text": "Done."}]
    return json.dumps({"trace_id": f"run-{number}", "task_id": "t1", "spans": spans}).encode() + b"\n"


def test_uploaded_traces_are_labelled_by_key_and_counted(monkeypatch: pytest.MonkeyPatch, workspace: Workspace) -> None:
    app = open_app(monkeypatch, workspace)
    lines = b"".join(map(run_line, range(1, 4))) + b"not json\n"
    app.file_uploader[0].set_value([("../../runs.jsonl", lines, "")]).run()
    shown = words(app)
    assert "<b>3</b><span>new traces" in shown and "<b>1</b><span>rejected" in shown
    assert "../" not in shown
    app.segmented_control(key="corpus_view").set_value("hand").run()
    say(app, "pass")
    app.button(key="hand_note_open").click().run()
    app.text_input(key="hand_note").set_value("it was delivered already").run()
    app.segmented_control(key="corpus_view").set_value("overview").run()
    assert workspace.corpus("my runs").statuses | {"pass": 1, "fail": 1, "unknown": 1} == (
        workspace.corpus("my runs").statuses
    )
    assert "<b>1</b><span>unlabelled" in words(app)
    failed = workspace.label_rows("my runs", status="fail")
    assert [row.feedback for row in failed] == ["it was delivered already"]


def test_a_file_that_nobody_reads_says_so_and_keeps_what_was_there(
    monkeypatch: pytest.MonkeyPatch, workspace: Workspace
) -> None:
    workspace.create_corpus("runs")
    app = open_app(monkeypatch, workspace, corpus="runs")
    app.file_uploader[0].set_value([("runs.jsonl", run_line(1), "")]).run()
    app.file_uploader[0].set_value([("photo.png", b"\x89PNG\r\n", "image/png")]).run()
    assert "Nothing could be taken from these files" in words(app)
    assert workspace.corpus("runs").traces == 1
