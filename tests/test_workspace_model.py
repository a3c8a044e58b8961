"""Refinements with a model at the desk: keys, agreement, estimate, spend, limits, cancel, hand-off. A real endpoint."""

from __future__ import annotations

import io
import json
import threading
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from answering import Answerer, for_stub
from corpus import RULE
from format_samples import packed
from rooms import Clock, fill, opened, refine, upload
from stub_model import DEFAULT, Fault, StubModel, says, status
from test_model_refine import small, stage_of

from refiner.errors import ConfigError, FormatError
from refiner.model_views import Keys
from refiner.reporting.html import html_report
from refiner.workspace import Workspace

KEY = "hush-hush-hush"


def answering() -> Callable[[dict[str, Any]], str]:
    """An endpoint's answers, to the prompt of a connection test too."""
    usual = for_stub()
    return lambda body: DEFAULT if stage_of(body) == "connection_test" else usual(body)


@pytest.fixture
def stub() -> Iterator[StubModel]:
    with StubModel(answer=answering(), key=KEY) as running:
        yield running


@pytest.fixture
def desk(tmp_path: Path, stub: StubModel) -> Iterator[Workspace]:
    made = opened(tmp_path / "refiner.duckdb")
    fill(made, small())
    made.agree([stub.url.split("/")[2]])
    yield made
    made.close()


def settings(stub: StubModel, **more: Any) -> dict[str, Any]:
    return {"analyst": "model", "base_url": stub.url, "model": "m", "holdout": 0.0, **more}


def run(desk: Workspace, stub: StubModel, **more: Any) -> str:
    refinement_id = desk.start("own", settings(stub, **more), Keys(KEY))
    assert desk.wait(60)
    return refinement_id


def by_stage(stub: StubModel) -> Counter[str]:
    return Counter(stage_of(one.body) for one in stub.chats)


def test_a_typed_key_is_used_and_kept_nowhere(desk: Workspace, stub: StubModel, tmp_path: Path) -> None:
    refinement_id = run(desk, stub)
    job = desk.job(refinement_id)
    assert (job.status, job.error) == ("done", None)
    assert {one.headers["authorization"] for one in stub.chats} == {f"Bearer {KEY}"}
    assert RULE in desk.exports(refinement_id).report_html.decode() or desk.report(refinement_id).decided
    shown = repr((job, desk.report(refinement_id), Keys(KEY))) + str(desk.exports(refinement_id))
    desk.close()
    kept = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert KEY.encode() not in kept and KEY not in shown


def test_nothing_is_sent_before_somebody_agreed_to_the_host_and_that_is_asked_once(
    tmp_path: Path, stub: StubModel
) -> None:
    desk = opened(tmp_path / "a.duckdb")
    fill(desk, small())
    host = stub.url.split("/")[2]
    assert desk.estimate("own", settings(stub)).unasked == (host,)
    with pytest.raises(ConfigError, match=f"nothing was sent to {host}"):
        desk.start("own", settings(stub), Keys(KEY))
    assert (stub.calls, desk.refinements("own"), desk.running()) == ([], [], None)
    desk.agree([host])
    desk.close()
    again = opened(tmp_path / "a.duckdb")
    assert again.estimate("own", settings(stub)).unasked == ()
    assert again.job(run(again, stub)).status == "done"


def test_the_estimate_says_calls_tokens_money_and_the_spend_is_compared_with_it(
    desk: Workspace, stub: StubModel
) -> None:
    before = desk.estimate("own", settings(stub, model="gpt-4o-mini"))
    assert before.calls > 24 and before.tokens > 24 * 1_000 and before.money is not None and before.money > 0
    assert (before.currency, len(before.prices_of)) == ("USD", 10)
    assert desk.estimate("own", settings(stub)).money is None
    blocked = desk.estimate("own", settings(stub, max_cost=1.0)).blocked
    assert blocked is not None and "no price is known" in blocked
    assert desk.estimate("own", {}).calls == 0
    usage = desk.job(run(desk, stub, model="gpt-4o-mini")).usage
    assert usage["expected"] == {"calls": before.calls, "tokens": before.tokens, "cost": round(before.money, 4)}
    assert usage["calls"] == len(stub.chats) and usage["cost"] > 0 and usage["error"] is not None


def test_spend_shows_by_stage_while_it_runs(desk: Workspace, stub: StubModel) -> None:
    seen: list[dict[str, Any]] = []
    usual = answering()

    def look(body: dict[str, Any]) -> str:
        if stage_of(body) == "propose" and not seen:
            seen.append(desk.job(str(desk.running())).usage)
        return usual(body)

    stub.answer = look
    usage = desk.job(run(desk, stub)).usage
    assert seen[0]["stages"]["summarise"]["calls"] == 24 and "gate" not in seen[0]["stages"]
    assert {stage: one["calls"] for stage, one in usage["stages"].items()} == dict(by_stage(stub))


def test_a_limit_stops_between_calls_and_a_higher_one_goes_on(desk: Workspace, stub: StubModel) -> None:
    refinement_id = run(desk, stub, max_tokens_total=25_000)
    job = desk.job(refinement_id)
    assert job.asks is not None
    assert (job.status, job.asks.stopped, job.asks.max_tokens) == ("interrupted", "limit", 25_000)
    first = len(stub.chats)
    desk.resume(refinement_id, Keys(KEY))
    assert desk.wait(60) and len(stub.chats) == first, "the old limit still holds"
    desk.resume(refinement_id, Keys(KEY), limits={"max_tokens_total": 2_000_000})
    assert desk.wait(60)
    job = desk.job(refinement_id)
    assert job.asks is not None and (job.status, job.asks.max_tokens) == ("done", 2_000_000)
    assert job.usage["calls"] == len(stub.chats)
    assert by_stage(stub)["summarise"] == 24


def test_a_resume_without_the_key_fails_and_says_so_and_with_it_goes_on(desk: Workspace, stub: StubModel) -> None:
    refinement_id = desk.start("own", settings(stub))
    assert desk.wait(60)
    job = desk.job(refinement_id)
    assert job.status == "failed" and "401" in str(job.error)
    desk.resume(refinement_id, Keys(KEY))
    assert desk.wait(60)
    assert desk.job(refinement_id).status == "done"


# --- cancel


def cancel_in(desk: Workspace, stub: StubModel, stage: str, held: int = 1) -> threading.Event:
    """Cancels when `held` calls of a stage are under way, and answers them after that.

    The first call to an endpoint goes alone, to learn what it can do; it is answered at once.
    """
    usual, cancelled, open_calls = answering(), threading.Event(), Counter[str]()

    async def late(exchange: Any) -> None:
        import asyncio

        while not cancelled.is_set():
            await asyncio.sleep(0.01)
        await says(usual(exchange.call.body))(exchange)

    def answer(body: dict[str, Any]) -> str | Fault:
        if stage_of(body) != stage or len(stub.chats) == 1:
            return usual(body)
        open_calls[stage] += 1
        if open_calls[stage] == held:
            threading.Thread(target=lambda: (desk.cancel(str(desk.running())), cancelled.set())).start()
        return late

    stub.answer = answer
    return cancelled


@pytest.mark.parametrize("stage", ["summarise", "propose", "gate"])
def test_after_a_cancel_nothing_more_is_asked_and_replies_under_way_are_kept(
    desk: Workspace, stub: StubModel, stage: str
) -> None:
    held = 4 if stage == "summarise" else 1
    cancelled = cancel_in(desk, stub, stage, held)
    refinement_id = run(desk, stub, workers=held)
    assert cancelled.is_set()
    job = desk.job(refinement_id)
    assert (job.status, job.error, job.reviewable) == ("cancelled", None, True)
    asked_before = by_stage(stub)
    assert asked_before[stage] == (5 if stage == "summarise" else 1), "those under way, and no other"
    assert job.usage["calls"] == len(stub.chats)
    report = desk.report(refinement_id)
    if stage == "summarise":
        assert len(report.summaries) == 5
    else:
        assert len(report.summaries) == 24
    if stage == "gate":
        assert report.decided, "proposals can be reviewed"
    stub.answer = answering()
    desk.resume(refinement_id, Keys(KEY))
    assert desk.wait(60)
    assert desk.job(refinement_id).status == "done"
    assert desk.report(refinement_id).counts()["supported"] == 1
    assert by_stage(stub)["summarise"] == 24, "nothing is paid for twice"


def test_proposals_without_an_answer_of_the_judge_are_undecided_after_a_cancel(
    desk: Workspace, stub: StubModel
) -> None:
    cancel_in(desk, stub, "gate")
    report = desk.report(run(desk, stub, workers=1))
    assert by_stage(stub)["merge"] == 0
    judged = [one for one in report.verdicts if one.criterion("covered").source == "judged"]
    assert len(judged) == by_stage(stub)["gate"] == 1
    others = [row for row in report.decided if not any(one in judged for one in row.verdicts)]
    assert {row.result for row in others} <= {"undecided", "unsupported"}


def test_a_cancel_does_not_wait_out_a_busy_endpoint(desk: Workspace, stub: StubModel) -> None:
    def busy(body: dict[str, Any]) -> Fault:
        threading.Thread(target=lambda: desk.cancel(str(desk.running()))).start()
        return status(429, "slow down", {"retry-after": "100"})

    stub.answer = busy
    refinement_id = desk.start("own", settings(stub, workers=2), Keys(KEY))
    assert desk.wait(20), "the wish of the server is not waited for"
    assert desk.job(refinement_id).status == "cancelled"
    assert len(stub.chats) <= 2


# --- test of the connection


def test_a_working_endpoint_is_called_so_and_gets_no_trace(desk: Workspace, stub: StubModel) -> None:
    found = desk.test_connection("own", settings(stub, gate_model="judge"), Keys(KEY))
    assert [(one.what, one.part) for one in found] == [("m", ""), ("judge", "")]
    assert "workbook" not in json.dumps([one.body for one in stub.chats]).lower()


def test_the_part_that_does_not_work_is_named(desk: Workspace, stub: StubModel) -> None:
    def part(key: str = KEY, **more: Any) -> tuple[str, ...]:
        found = desk.test_connection("own", settings(stub, **more), Keys(key))
        assert all(KEY not in one.words and "wrong" not in one.words for one in found)
        return tuple(one.part for one in found)

    assert part("wrong-key") == ("key",)
    assert part(base_url=stub.url.replace("/v1", "/v9x/nothing")) in (("url",), ("",))
    assert part(base_url="http://127.0.0.1:9/v1") == ("url",)
    stub.models = {"m"}
    assert part(gate_model="gone") == ("", "model")
    stub.answer = lambda body: "I would rather not."
    stub.refuses = {"schema", "json"}
    assert part() == ("json",)


def test_an_embedding_endpoint_is_tested_too(desk: Workspace, stub: StubModel) -> None:
    more = {"preset": "paper", "embedding_base_url": stub.url}
    assert [one.part for one in desk.test_connection("own", settings(stub, **more), Keys(KEY, KEY))] == ["", ""]
    assert [one.part for one in desk.test_connection("own", settings(stub, **more), Keys(KEY))] == ["", "embedding"]


def test_defaults_come_from_the_environment_without_its_keys(tmp_path: Path) -> None:
    environ = {"LLM_BASE_URL": "http://host/v1", "OPENAI_MODEL": "big", "OPENAI_API_KEY": KEY}
    desk = Workspace.open(tmp_path / "a.duckdb", clock=Clock(), environ=environ)
    found = desk.model_defaults()
    assert (found.base_url, found.model, found.key, found.embedding_key) == ("http://host/v1", "big", True, False)
    assert KEY not in repr(found)
    assert opened(tmp_path / "b.duckdb").model_defaults().base_url == ""


# --- hand-off


def hand_off(desk: Workspace) -> str:
    return refine(desk, "own", analyst="model", transport="handoff", holdout=0.0)


def asked(text: str) -> str:
    """The prompt in the text of a request."""
    marker, _, rest = text.partition("## Prompt\n\n")[2].partition("\n")
    return rest.partition(f"\n{marker}\n")[0]


def replies(packed: bytes, answer: Answerer) -> dict[str, str]:
    with zipfile.ZipFile(io.BytesIO(packed)) as archive:
        names = [name for name in archive.namelist() if name.startswith("requests/") and "INDEX" not in name]
        return {Path(name).stem: answer("", asked(archive.read(name).decode())) for name in names}


def test_a_whole_refinement_by_uploads_takes_at_most_five_waves(desk: Workspace, stub: StubModel) -> None:
    refinement_id, answer, waves = hand_off(desk), Answerer(), 0
    while (job := desk.job(refinement_id)).status == "interrupted":
        waves += 1
        assert waves <= 5 and job.asks is not None and job.asks.stopped == "waiting"
        found = replies(desk.requests(refinement_id), answer)
        assert len(found) == job.asks.waiting
        held = packed({f"some/folder/{name}.json": text for name, text in found.items()})
        assert desk.answer(refinement_id, upload("replies.zip", held)) == len(found)
        desk.resume(refinement_id)
        assert desk.wait(60)
    assert job.error is None
    assert (job.status, stub.chats, desk.report(refinement_id).counts()["supported"]) == ("done", [], 1)
    assert job.asks is not None and job.asks.host == ""


def answered(desk: Workspace, refinement_id: str, answer: Answerer) -> list[set[str]]:
    """Answers what a hand-off waits for until it is through: the ids of each wave."""
    waves = []
    while desk.job(refinement_id).status == "interrupted":
        found = replies(desk.requests(refinement_id), answer)
        waves.append(set(found))
        for name, text in found.items():
            desk.answer(refinement_id, upload(f"{name}.json", text.encode()))
        desk.resume(refinement_id)
        assert desk.wait(60) and len(waves) < 9
    return waves


def test_a_stage_that_is_run_again_by_hand_is_asked_anew(desk: Workspace, stub: StubModel) -> None:
    refinement_id = refine(desk, "own", analyst="model", transport="handoff", contrast="judge", holdout=0.0)
    answer = Answerer(wrong={"": lambda usual, _: {**usual, "behaviour": None} if "theme" in usual else usual})
    first = answered(desk, refinement_id, answer)
    gate, past = len(first[2]), set.union(*first)
    assert gate > 16, "the judge, and sixteen runs to be told apart"
    for _ in range(2):
        desk.rerun(refinement_id, "gate")
        assert desk.wait(60)
        again = answered(desk, refinement_id, answer)
        assert [len(wave) for wave in again] == [gate, *map(len, first[3:])] and not set.union(*again) & past
        past |= set.union(*again)
    desk.resume(refinement_id)
    assert desk.wait(60) and desk.job(refinement_id).status == "done", "what was answered anew is found again"


def test_a_stage_that_is_run_again_asks_the_endpoint_anew(desk: Workspace, stub: StubModel) -> None:
    refinement_id = run(desk, stub)
    before = by_stage(stub)
    desk.rerun(refinement_id, "gate", Keys(KEY))
    assert desk.wait(60) and desk.job(refinement_id).status == "done"
    assert by_stage(stub) - before == {"gate": before["gate"]}
    assert desk.job(refinement_id).usage["calls"] == len(stub.chats)


def test_what_is_no_reply_is_refused_and_names_the_file(desk: Workspace) -> None:
    refinement_id = hand_off(desk)
    for name, data in (("notes.txt", b"hello"), ("broken.zip", b"PK nothing")):
        with pytest.raises(FormatError, match=name):
            desk.answer(refinement_id, upload(name, data))
    with pytest.raises(ConfigError, match="hands nothing off"):
        desk.requests(refine(desk, "own", holdout=0.0))


# --- the report


def test_the_html_report_has_the_ledger_by_stage(desk: Workspace, stub: StubModel) -> None:
    refinement_id = run(desk, stub, model="gpt-4o-mini")
    report = desk.report(refinement_id)
    page = html_report(report, None, report.merged)
    ledger = page.partition("What the model took")[2].partition("</section>")[0]
    for stage, number in by_stage(stub).items():
        assert f'<td>{stage}</td><td class="n">{number}</td>' in ledger
    assert f"{report.usage['cost']:.4f} USD" in ledger and "prices of" in ledger and "against the estimate" in ledger
    offline = desk.report(refine(desk, "own", holdout=0.0))
    assert "What the model took" not in html_report(offline, None, offline.merged)
