"""Conversations of the app cut by a model: as a job: agreement, limits, spend, a stop, by hand. A real endpoint."""

from __future__ import annotations

import io
import json
import threading
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from answering import for_stub
from stub_model import StubModel
from test_model_conversations import READ, by_prompt

from refiner.conversation_views import CutJob
from refiner.errors import ConfigError, JobRunning
from refiner.model_views import Keys
from refiner.workspace import Workspace
from refiner.workspace.cutting import STARTED
from storage import Store
from tests.conversations import ONE, chat_line
from tests.rooms import holding, opened, upload

KEY = "hush-hush-hush"
NEXT = chat_line("next", "user: Sort it", "tool sort: ok", "user: no, newest first", "tool sort: ok", "user: thanks")


@pytest.fixture
def stub() -> Iterator[StubModel]:
    with StubModel(key=KEY) as started:
        started.answer = for_stub(by_prompt)
        yield started


@pytest.fixture
def desk(tmp_path: Path, stub: StubModel) -> Iterator[Workspace]:
    with holding(tmp_path, "talks", upload("talk.jsonl", ONE)) as workspace:
        yield workspace


def settings(stub: StubModel, **more: Any) -> dict[str, Any]:
    return {"analyst": "model", "base_url": stub.url, "model": "m", **more}


def ended(desk: Workspace, name: str = "talks") -> CutJob:
    assert desk.wait(60)
    job = desk.cut_job(name)
    assert job is not None and not job.at_work
    return job


def read(desk: Workspace, stub: StubModel, **more: Any) -> CutJob:
    desk.agree([stub.url.split("/")[2]])
    desk.start_cut("talks", settings(stub, **more), Keys(KEY))
    return ended(desk)


def test_a_model_cuts_into_suggestions_that_count_for_nothing_and_its_spend_is_kept(
    desk: Workspace, stub: StubModel
) -> None:
    assert desk.cut_job("talks") is None
    expected = desk.estimate_cut("talks", settings(stub))
    assert (expected.steps, expected.calls, expected.blocked, len(expected.unasked)) == (1, 1, None, 1)
    job = read(desk, stub)
    assert job.status == "done" and job.report is not None
    assert (job.report.corpus, job.report.failing, job.report.passing, job.report.added) == ("talks episodes", 2, 1, 3)
    assert len(desk.suggestions("talks episodes")) == 3
    assert desk.corpus("talks episodes").statuses["unknown"] == 3
    assert job.usage["calls"] == 1 and list(job.usage["stages"]) == ["episodes"]
    assert 0.3 < expected.tokens / (job.usage["prompt_tokens"] + job.usage["completion_tokens"]) < 3


def test_what_was_read_is_not_asked_again_and_what_is_new_is(desk: Workspace, stub: StubModel) -> None:
    read(desk, stub)
    again = read(desk, stub)
    assert (again.status, len(stub.chats), again.usage["calls"]) == ("done", 1, 1)
    desk.ingest("talks", [upload("next.jsonl", NEXT)])
    assert (read(desk, stub).usage["calls"], len(stub.chats)) == (2, 2)


def test_nothing_is_sent_before_somebody_agreed(desk: Workspace, stub: StubModel) -> None:
    with pytest.raises(ConfigError, match="agree to that first"):
        desk.start_cut("talks", settings(stub), Keys(KEY))
    assert stub.chats == [] and desk.cut_job("talks") is None


def test_a_limit_stops_before_the_call_and_a_higher_one_goes_on(desk: Workspace, stub: StubModel) -> None:
    stopped = read(desk, stub, max_tokens_total=1_000)
    assert stopped.status == "limit" and stopped.asks is not None and stopped.asks.max_tokens == 1_000
    assert stub.chats == [] and "limit" in stopped.words
    assert read(desk, stub).status == "done"


def test_a_wrong_key_is_said_and_kept_nowhere(desk: Workspace, stub: StubModel, tmp_path: Path) -> None:
    desk.agree([stub.url.split("/")[2]])
    desk.start_cut("talks", settings(stub), Keys("wrong-wrong-wrong"))
    job = ended(desk)
    assert job.status == "failed" and "key" in job.words and "wrong-wrong" not in repr(job)
    desk.close()
    assert b"wrong-wrong" not in b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())


def test_it_can_be_stopped_and_one_runs_at_a_time(desk: Workspace, stub: StubModel) -> None:
    usual, asked, go = stub.answer, threading.Event(), threading.Event()

    def slow(body: dict[str, Any]) -> str:
        asked.set()
        assert go.wait(30)
        return usual(body)

    stub.answer = slow
    desk.ingest("talks", [upload("next.jsonl", NEXT)])
    desk.agree([stub.url.split("/")[2]])
    desk.start_cut("talks", settings(stub, workers=1), Keys(KEY))
    assert asked.wait(30)
    with pytest.raises(JobRunning, match="are being read"):
        desk.start_cut("talks", settings(stub), Keys(KEY))
    with pytest.raises(ConfigError, match="stop that first"):
        desk.remove_corpus("talks")
    running = desk.cut_job("talks")
    assert running is not None and (running.status, running.done, running.total) == ("running", 0, 2)
    desk.cancel_cut("talks")
    go.set()
    assert (ended(desk).status, len(stub.chats)) == ("cancelled", 1)
    assert "talks episodes" not in [card.name for card in desk.corpora()]
    stub.answer = usual
    assert (read(desk, stub).status, len(stub.chats)) == ("done", 2)


def test_a_reply_of_no_use_leaves_one_conversation_out_by_name(desk: Workspace, stub: StubModel) -> None:
    usual = stub.answer
    stub.answer = lambda body: "no idea" if "Sort it" in json.dumps(body) else usual(body)
    desk.ingest("talks", [upload("next.jsonl", NEXT)])
    job = read(desk, stub)
    assert job.status == "done" and job.report is not None and job.report.added == 3
    assert len(job.failed) == 1 and job.failed[0].startswith("next")


def test_by_hand_the_requests_are_taken_away_and_the_replies_brought_back(desk: Workspace) -> None:
    desk.start_cut("talks", {"analyst": "model", "transport": "handoff"})
    waiting = ended(desk)
    assert waiting.status == "waiting" and waiting.asks is not None and waiting.asks.waiting == 1
    names = zipfile.ZipFile(io.BytesIO(desk.cut_requests("talks"))).namelist()
    (request,) = [
        Path(name).stem for name in names if name.endswith(".md") and "INDEX" not in name and "requests" in name
    ]

    assert desk.answer_cut("talks", upload(f"{request}.json", json.dumps({"attempts": READ}))) == 1
    desk.resume_cut("talks")
    done = ended(desk)
    assert done.status == "done" and done.report is not None and done.report.added == 3


def test_one_that_the_app_was_closed_under_says_so(desk: Workspace, stub: StubModel, tmp_path: Path) -> None:
    read(desk, stub)
    corpus = desk._corpora.own("talks").id
    desk.close()
    with Store.open(tmp_path / "refiner.duckdb") as store:
        store.corpus_event(corpus, STARTED, store.corpus_events(corpus, STARTED)[-1].body)
    again = opened(tmp_path / "refiner.duckdb")
    job = again.cut_job("talks")
    again.close()
    assert job is not None and job.status == "interrupted" and "start it again" in job.words
