"""The Corpus page's mapping step: which column of a table is what, tried on its first runs. The desk is a real one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from rooms import holding, upload

from refiner.workspace.desk import Workspace
from tests.fake_desk import open_app, words

ODD = b"nr,ask,said,verdict\na,Add <b>it</b>,three,pass\nb,Halve,two,fail\nc,Double,four,pass\nd,Cube,eight,pass\n"


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Workspace]:
    with holding(tmp_path, "own") as workspace:
        yield workspace


def test_a_table_that_says_nothing_by_its_names_is_mapped_and_added(
    desk: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    report = desk.ingest("own", [upload("odd.csv", ODD)])
    assert report.accepted == 0 and "cannot be told from the names nr, ask, said, verdict" in report.rejected[0].reason
    app = open_app(monkeypatch, desk, corpus="own", view="traces")
    app.file_uploader(key="table_file_0").set_value([("odd.csv", ODD, "text/csv")]).run()
    assert not app.exception
    boxes = {one.key.split("_")[1]: one for one in app.selectbox if one.key and one.key.startswith("table_")}
    assert "table_add" not in {one.key for one in app.button}
    assert "Choose the column with the answers" in words(app)
    for field, column in (("trace", "nr"), ("input", "ask"), ("output", "said"), ("outcome", "verdict")):
        app.selectbox(key=boxes[field].key).set_value(column)
    app.run()
    shown = words(app)
    assert "The first 3 runs as this reads:" in shown and "Add &lt;b&gt;it" in shown and "assistant: four" in shown
    app.button(key="table_add").click().run()
    assert not app.exception and "The table was read" in words(app)
    assert desk.corpus("own").statuses == {"pass": 3, "fail": 1, "unknown": 0, "infrastructure": 0}


def test_a_guess_can_be_looked_at_and_nothing_is_asked_without_a_table(
    desk: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = open_app(monkeypatch, desk, corpus="own", view="traces")
    assert [one.key for one in app.file_uploader] == ["upload_files_0", "upload_folder_0"]
    desk.ingest("own", [upload("usual.csv", b"id,prompt,response\na,Add,3\n")])
    view = desk.look_at_table(upload("usual.csv", b"id,prompt,response\na,Add,3\n"))
    assert view.mapping == {"trace": "id", "input": "prompt", "output": "response"} and len(view.samples) == 1
    app = open_app(monkeypatch, desk, corpus="own", view="traces")
    assert "table_file_0" in {one.key for one in app.file_uploader}


@pytest.mark.parametrize("data", [b"", b"PAR1 broken", b"\xff\xfe\x00", b"one\ntwo\n"])
def test_what_is_no_table_is_said_in_words(desk: Workspace, data: bytes) -> None:
    view = desk.look_at_table(upload("x.csv", data))
    assert view.problem and view.columns == () and view.samples == ()
