"""Uploads as they come: good ones, mixed ones, hostile ones. Always a report, never a traceback, nothing outside."""

from __future__ import annotations

import csv
import gzip
import io
import json
import stat
import tempfile
import zipfile
from pathlib import Path

import pytest
from corpus import call, lines, run, workbook
from format_samples import claude_line, inspect_sample, inspect_zip, packed, trajectory
from rooms import fill, opened, upload, uploads

from refiner.errors import LabelError, SkillError
from refiner.safe_names import safe_name
from refiner.unpacking import Limits, Unpacked
from refiner.views import BadRecord, IngestReport
from refiner.workspace import Workspace

TRACES = lines([run(f"r{number}", f"Do {'abc'[number]}.", [call("look", "seen")]) for number in range(3)])


@pytest.fixture
def desk(tmp_path: Path) -> Workspace:
    desk = opened(tmp_path / "refiner.duckdb")
    desk.create_corpus("own")
    return desk


def reasons(report: IngestReport) -> dict[str, str]:
    return {bad.path: bad.reason for bad in (*report.rejected, *report.skipped)}


def test_traces_labels_and_feedback_in_one_go_each_told_by_content(desk: Workspace) -> None:
    report = desk.ingest("own", uploads(workbook()))
    assert (report.accepted, report.duplicates, report.labels, report.rejected) == (48, 0, 48, ())
    assert [(file.path, file.format, file.traces) for file in report.files] == [
        ("traces.jsonl", "canonical", 48),
        ("rewards.json", "labels", 0),
        ("feedback.json", "labels", 0),
    ]
    assert desk.last_upload("own") == report


def test_the_same_again_is_counted_as_copies_and_a_longer_trace_as_growth(desk: Workspace) -> None:
    desk.ingest("own", [upload("a.jsonl", TRACES)])
    assert desk.ingest("own", [upload("b.jsonl", TRACES)]).duplicates == 3
    grown = json.loads(TRACES.splitlines()[0])
    grown["spans"].append(call("save", "saved"))
    other = json.loads(TRACES.splitlines()[1])
    other["spans"][1] = call("quite another tool", "other")
    report = desk.ingest("own", [upload("a.jsonl", lines([grown, other]))])
    assert (report.accepted, report.grown, report.duplicates) == (0, 1, 0)
    assert report.conflicts == (
        "r1: the trace in a.jsonl:2 contradicts the one in a.jsonl:2, which stays. "
        "If these are two runs, they need an id each, or a file name each.",
    )


def test_a_bad_line_is_named_and_the_others_are_taken(desk: Workspace) -> None:
    data = TRACES + b"{broken\n" + b'{"trace_id": "x"}\n'
    report = desk.ingest("own", [upload("a.jsonl", data)])
    assert report.accepted == 3
    assert [(bad.path, bad.line) for bad in report.rejected] == [("a.jsonl", 4), ("a.jsonl", 5)]
    assert report.files[0].rejected == 2


def test_a_zip_is_unpacked_with_its_folders(desk: Workspace) -> None:
    labels = json.dumps({"r0": True, "r1": False}).encode()
    report = desk.ingest("own", [upload("all.zip", packed({"run/a.jsonl": TRACES, "run/labels.json": labels}))])
    assert (report.accepted, report.labels) == (3, 2)
    assert [file.path for file in report.files] == ["run/a.jsonl", "run/labels.json"]
    assert report.warnings == ("1 trace has no label and is not learned from, for example r2.",)


@pytest.mark.parametrize(
    "name", ["../../../escaped.jsonl", "/tmp/escaped.jsonl", "C:\\x\\escaped.jsonl", "a\x00b/escaped.jsonl"]
)
@pytest.mark.parametrize("zipped", [False, True])
def test_hostile_names_stay_inside_a_folder_that_is_gone_afterwards(
    desk: Workspace, name: str, zipped: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inside = tmp_path / "temporary" / "deep" / "er"
    inside.mkdir(parents=True)
    monkeypatch.setattr(tempfile, "tempdir", str(inside))
    given = upload("all.zip", packed({name: TRACES})) if zipped else upload(name, TRACES)
    report = desk.ingest("own", [given])
    assert report.accepted == 3
    assert not report.files[0].path.startswith("/") and ".." not in report.files[0].path
    left = [path for path in (tmp_path / "temporary").rglob("*") if path.is_file()]
    assert left == []


def test_one_name_twice_is_kept_apart(desk: Workspace) -> None:
    other = TRACES.replace(b'"r', b'"s')
    report = desk.ingest("own", [upload("../a.jsonl", TRACES), upload("A.jsonl", other)])
    assert report.accepted == 6
    assert [file.path for file in report.files] == ["a.jsonl", "A (2).jsonl"]


def test_a_zip_bomb_is_refused_with_words_and_the_rest_is_taken(desk: Workspace) -> None:
    bomb = packed({"bomb.jsonl": b"0" * 30_000_000, "a.jsonl": TRACES})
    report = desk.ingest("own", [upload("bomb.zip", bomb)])
    assert report.accepted == 3
    assert "more than 200 times its size" in reasons(report)["bomb.zip/bomb.jsonl"]


def test_totals_and_counts_are_limited_whatever_the_headers_say(tmp_path: Path) -> None:
    def refused(limits: Limits, data: bytes) -> str:
        folder = tmp_path / str(len(list(tmp_path.iterdir())))
        folder.mkdir()
        return Unpacked(folder, limits).take([upload("a.zip", data)]).rejected[0].reason

    many = packed({f"{number}.jsonl": b"{}" for number in range(5)})
    assert "5 files; at most 4" in refused(Limits(files=4), many)
    assert "unpacks to more than 1 MB" in refused(Limits(total=1_000_000), packed({"a": b"0" * 2_000_000}))
    honest = packed({"a.jsonl": b"0" * 200_000})
    lying = honest.replace((200_000).to_bytes(4, "little"), (100).to_bytes(4, "little"))
    assert lying != honest
    assert refused(Limits(ratio=1, ratio_from=1000), lying)


def test_what_cannot_be_unpacked_says_why(desk: Workspace) -> None:
    link = zipfile.ZipInfo("link.jsonl")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr(link, "/etc/passwd")
        archive.writestr("inner.zip", packed({"a.jsonl": TRACES}))
        archive.writestr("locked.jsonl", TRACES)
    locked = bytearray(out.getvalue())
    for sign, offset in ((b"PK\x01\x02", 8), (b"PK\x03\x04", 6)):
        at = locked.rindex(sign)
        locked[at + offset] |= 1
    found = reasons(
        desk.ingest("own", [upload("odd.zip", bytes(locked)), upload("cut.zip", packed({"a": TRACES})[:40])])
    )
    assert "links are not followed" in found["odd.zip/link.jsonl"]
    assert "zip inside a zip" in found["odd.zip/inner.zip"]
    assert "encrypted" in found["odd.zip/locked.jsonl"]
    assert "damaged" in found["cut.zip"]


def test_wrong_files_are_named_and_nothing_else_is_lost(desk: Workspace) -> None:
    unread = json.dumps({"info": {"trace_id": "x"}, "data": {"spans": []}})
    given = [
        upload("empty.jsonl", b""),
        upload("photo.png", b"\x89PNG\r\n\x1a\n" + bytes(100)),
        upload("notes.md", "# Notes\n"),
        upload("log.json", unread),
        upload("good.jsonl", TRACES),
    ]
    report = desk.ingest("own", given)
    found = reasons(report)
    assert report.accepted == 3
    assert "empty" in found["empty.jsonl"]
    assert "is a picture" in found["photo.png"] and "known format" in found["notes.md"]
    assert "an MLflow trace, which is not read" in found["log.json"]


def test_a_log_that_is_a_zip_itself_is_read_inside_of_a_zip(desk: Workspace) -> None:
    log = inspect_zip(inspect_sample("a", 1, "C"), inspect_sample("b", 1, "I"))
    report = desk.ingest("own", [upload("all.zip", packed({"logs/one.eval": log, "a.jsonl": TRACES}))])
    assert (report.accepted, report.rejected) == (5, ())
    assert {file.path: file.format for file in report.files} == {"logs/one.eval": "inspect-ai", "a.jsonl": "canonical"}


def test_what_is_no_trace_file_is_left_out_and_what_is_lost_is_rejected(desk: Workspace) -> None:
    odd = packed({"runs/README.md": b"# Runs\n", "runs/empty.jsonl": b"", "runs/other.json": b'[{"a": {"b": [1]}}]'})
    given = [
        upload("odd.zip", odd),
        upload("zero.jsonl", b""),
        upload("cut.zip", b"PK\x03\x04"),
        upload("a.jsonl", TRACES),
    ]
    report = desk.ingest("own", given)
    assert {bad.path for bad in report.skipped} == {"runs/README.md", "runs/empty.jsonl", "zero.jsonl"}
    assert {bad.path for bad in report.rejected} == {"runs/other.json", "cut.zip"}
    assert {file.path: (file.format, file.rejected) for file in report.files} == {
        "a.jsonl": ("canonical", 0),
        "runs/other.json": ("unknown", 1),
        "cut.zip": ("", 1),
    }


def test_a_trace_is_called_unlabelled_only_after_every_label_file(desk: Workspace) -> None:
    report = {"total_instances": 1, "submitted_ids": ["r1"], "resolved_ids": ["r1"], "unresolved_ids": []}
    files = {
        "a.jsonl": TRACES,
        "one/labels.csv": b"trace_id,outcome\nr0,pass\n",
        "two/report.json": json.dumps(report).encode(),
    }
    told = desk.ingest("own", [upload("all.zip", packed(files))])
    assert told.labels == 2
    assert told.warnings == ("1 trace has no label and is not learned from, for example r2.",)
    own = lines([run("s1", "Do d.", [call("look", "seen")], outcome="pass")])
    told = desk.ingest("own", [upload("b.jsonl", own), upload("c.csv", b"trace_id,outcome\nr2,fail\n")])
    assert told.warnings == (), "what its own file says about a trace counts"


def test_what_is_packed_with_gzip_is_read_as_what_it_holds(desk: Workspace) -> None:
    inside = packed({"b.jsonl.gz": gzip.compress(TRACES.replace(b'"r', b'"s'))})
    report = desk.ingest("own", [upload("a.jsonl.gz", gzip.compress(TRACES)), upload("all.zip", inside)])
    assert [(file.path, file.traces) for file in report.files] == [("a.jsonl", 3), ("b.jsonl", 3)]
    assert report.rejected == ()


def test_half_a_packed_file_is_refused_and_none_of_it_is_read(desk: Workspace) -> None:
    numbered = [run(f"r{number}", f"Do {number * 7919 % 1000}.", []) for number in range(3000)]
    cut = gzip.compress(lines(numbered))[:-2000]
    damaged = bytearray(packed({"b.jsonl": lines(numbered), "good.jsonl": TRACES}))
    damaged[2000:2040] = bytes(40)
    report = desk.ingest("own", [upload("a.jsonl.gz", cut), upload("all.zip", bytes(damaged))])
    assert report.accepted == 3
    assert "gzip file is damaged" in reasons(report)["a.jsonl.gz"]
    assert "cannot be unpacked" in reasons(report)["all.zip/b.jsonl"]


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"%PDF-1.7\n", "is a PDF document, which is not read"),
        ("\ufeff{}".encode("utf-16-le"), "is UTF-16 text, which is not read; save it as UTF-8"),
        (packed({"[Content_Types].xml": b"<a/>", "xl/workbook.xml": b"<a/>"}), "an Office document"),
        (packed({}), "there is no file in it"),
        (b"\xfd7zXZ\x00\x00", "unpack it, or pack it as a zip"),
    ],
    ids=["pdf", "utf-16", "workbook", "empty zip", "xz"],
)
def test_what_is_no_trace_file_is_called_by_its_name(desk: Workspace, data: bytes, says: str) -> None:
    report = desk.ingest("own", [upload("runs.jsonl", data), upload("good.jsonl", TRACES)])
    assert report.accepted == 3
    assert says in reasons(report)["runs.jsonl"]


def test_long_lines_and_odd_texts_are_read_like_any_other(desk: Workspace) -> None:
    huge = run("huge", "<script>alert(1)</script> ![x](http://e.invalid/a.png)", [call("look", "x" * 1_100_000)])
    odd = run("odd", "\ud800 \u0000 \u202e", [call("=cmd()", "\ud800")])
    text = "\n".join(json.dumps(record) for record in (huge, odd))
    assert desk.ingest("own", [upload("a.jsonl", text)]).accepted == 2
    rows = {row.external_id: row for row in desk.label_rows("own")}
    assert rows["huge"].goal == "<script>alert(1)</script> ![x](http://e.invalid/a.png)"
    assert len(desk.trace(rows["huge"].trace_id).trace.spans[1].output) == 1_100_000


def test_no_upload_at_all_is_an_empty_report(desk: Workspace) -> None:
    assert desk.ingest("own", []) == IngestReport()


def test_labels_that_match_nothing_show_ids_of_both_kinds(desk: Workspace) -> None:
    desk.ingest("own", [upload("a.jsonl", TRACES)])
    stranger = json.dumps({f"x{number}": True for number in range(5)})
    with pytest.raises(LabelError, match=r"labels name x0, x1, x2, \.\.\.; traces are called r0, r1, r2"):
        desk.attach_labels("own", upload("labels.json", stranger))
    found = reasons(desk.ingest("own", [upload("labels.json", stranger)]))
    assert "not one of the 5 labels" in found["labels.json"]


def test_labels_before_any_trace_say_what_to_do_first(desk: Workspace) -> None:
    with pytest.raises(LabelError, match="add the traces first"):
        desk.attach_labels("own", upload("labels.json", '{"r0": true}'))


def test_scores_are_judged_by_threshold_and_direction(desk: Workspace) -> None:
    desk.ingest("own", [upload("a.jsonl", TRACES)])
    scores = "trace_id,reward\nr0,0.2\nr1,0.6\nr2,0.9\n"
    desk.attach_labels("own", upload("scores.csv", scores), pass_at=0.5)
    assert [row.status for row in desk.label_rows("own")] == ["fail", "pass", "pass"]
    report = desk.attach_labels("own", upload("scores.csv", scores), pass_at=0.5, lower_is_better=True)
    assert report.labels == 3
    assert [row.status for row in desk.label_rows("own")] == ["pass", "fail", "fail"]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "empty"),
        (b'{"r0": "pass"}', "without quotes"),
        (b"not a table", "holds something else"),
        (b'{"r0": 7}', "0 to 1"),
        (b'{"instance_id": "r1", "model_patch": "diff"}', "predictions for SWE-bench.*give the report of the grader"),
    ],
)
def test_a_label_file_that_cannot_be_read_says_why_without_a_path(desk: Workspace, data: bytes, words: str) -> None:
    desk.ingest("own", [upload("a.jsonl", TRACES)])
    before = desk.corpus("own").revision
    with pytest.raises(LabelError, match=words) as caught:
        desk.attach_labels("own", upload("../labels.json", data))
    assert "/" not in str(caught.value).split(":")[0]
    assert desk.corpus("own").revision == before


def test_feedback_alone_reaches_traces_that_have_an_outcome(desk: Workspace) -> None:
    desk.ingest("own", [upload("a.jsonl", TRACES)])
    desk.attach_labels("own", upload("labels.json", '{"r0": false}'))
    report = desk.attach_labels("own", upload("feedback.json", '{"r0": "The total is missing."}'))
    assert "feedback.json holds feedback alone: it says of no trace how it ended." in report.warnings
    row = desk.label_rows("own", status="fail")[0]
    assert (row.external_id, row.feedback) == ("r0", "The total is missing.")


def test_the_report_as_a_table_is_harmless_in_a_spreadsheet() -> None:
    bad = tuple(BadRecord(name, 1, "x") for name in ("=cmd()", "+1", "-1", "@a", "\tb", "\rc", "fine"))
    rows = list(csv.reader(io.StringIO(IngestReport(rejected=bad, warnings=("=1",)).csv(), newline="")))
    assert [row[1] for row in rows[1:8]] == ["'=cmd()", "'+1", "'-1", "'@a", "'\tb", "'\rc", "fine"]
    assert rows[8][-1] == "'=1"


def test_a_skill_can_come_as_a_file_a_folder_or_a_zip(desk: Workspace) -> None:
    skill = {"SKILL.md": b"---\nname: a\ndescription: b\n---\n", "references/x.md": b"x"}
    below = {f"my-skill/{name}": data for name, data in skill.items()}
    assert desk.read_skill([upload("skill.zip", packed(below))]) == skill
    assert desk.read_skill([upload(name, data) for name, data in below.items()]) == skill
    assert desk.read_skill([upload("SKILL.md", b"text")]) == {"SKILL.md": b"text"}
    with pytest.raises(SkillError, match="the file is empty"):
        desk.read_skill([upload("SKILL.md", b"")])


@pytest.mark.parametrize(
    ("given", "safe"),
    [
        ("a/b.jsonl", "a/b.jsonl"),
        ("..", "file"),
        ("a/../../b", "a/b"),
        ("\\\\server\\share\\x", "server/share/x"),
        ("x" * 300 + ".jsonl", "x" * 114 + ".jsonl"),
        ("\ud800.json", "_.json"),
        (". /..  /x", "x"),
    ],
)
def test_safe_names(given: str, safe: str) -> None:
    assert safe_name(given) == safe


def test_a_file_that_is_a_folder_elsewhere_in_the_upload_is_a_row_not_a_crash(desk: Workspace) -> None:
    report = desk.ingest("own", [upload("a", TRACES), upload("a/b.jsonl", TRACES.replace(b'"r', b'"s'))])
    assert report.accepted == 3
    assert "cannot be kept" in reasons(report)["a/b.jsonl"]


def test_an_upload_reaches_only_its_own_corpus(desk: Workspace) -> None:
    fill(desk, workbook(), "other")
    desk.ingest("own", [upload("a.jsonl", TRACES)])
    assert (desk.corpus("own").traces, desk.corpus("other").traces) == (3, 48)


def test_the_files_of_a_trial_stay_together_with_its_test_report(desk: Workspace) -> None:
    result = {"task_name": "t", "trial_name": "t__1", "verifier_result": {"rewards": {"reward": 0}}}
    report = {"results": {"tool": {"name": "x"}, "tests": [{"name": "test_a", "status": "failed"}]}}
    files = {"result.json": result, "agent/trajectory.json": trajectory("s"), "verifier/ctrf.json": report}
    zipped = packed({f"job/t__1/{name}": json.dumps(value).encode() for name, value in files.items()})
    taken = desk.ingest("own", [upload("job.zip", zipped)])
    assert (taken.accepted, taken.rejected) == (1, ())
    assert [(file.format, file.traces) for file in taken.files if file.traces] == [("harbor", 1)]
    (row,) = desk.label_rows("own")
    assert row.status == "fail" and "test_a" in row.feedback


def session(name: str, *words: str) -> bytes:
    """A session of these turns; one that was copied has other ids for the session, but not for its lines."""
    roles = ("user", "assistant")
    return lines([claude_line(n, roles[n % 2 == 0], said, sessionId=name) for n, said in enumerate(words, start=1)])


def test_a_session_copied_under_another_id_is_one_trace_and_takes_the_labels_of_both_ids(desk: Workspace) -> None:
    desk.ingest("own", [upload("old.jsonl", session("s1", "Count the files", "Three."))])
    copy = upload("new.jsonl", session("s2", "Count the files", "Three.", "Are you sure?"))
    report = desk.ingest("own", [copy, upload("labels.json", b'{"s2": false}')])
    assert (report.accepted, report.grown, report.labels, report.copies) == (0, 1, 1, (("s2", "s1"),))
    assert [words for words in report.warnings if "1 trace is a copy" in words and "s2 is s1" in words]
    assert desk.last_upload("own") == report
    assert desk.attach_labels("own", upload("feedback.json", b'{"s2": "It was four."}')).labels == 1
    only = desk.trace(desk.label_rows("own")[0].trace_id)
    assert (only.external_id, only.outcome.status, only.outcome.feedback) == ("s1", "fail", "It was four.")


def test_what_is_said_of_the_trace_that_stays_wins_over_what_is_said_of_its_copy(desk: Workspace) -> None:
    both = [upload("a.jsonl", session("s1", "Hi", "Yes.")), upload("b.jsonl", session("s2", "Hi", "Yes."))]
    report = desk.ingest("own", [*both, upload("labels.csv", b"trace_id,outcome\ns1,pass\ns2,fail\n")])
    assert (report.accepted, report.labels) == (1, 1)
    assert desk.trace(desk.label_rows("own")[0].trace_id).outcome.status == "pass"
