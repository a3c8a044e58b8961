"""Conversations cut by a model: its word counts as far as the user said it; over http, files, a recording."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from answering import Answerer, Scripted, fields, for_stub
from corpus import refiner
from stub_model import StubModel

from refiner import episodes
from refiner.analysts.model import ModelAnalyst, Settings
from refiner.analysts.model.conversations import cut
from tests.conversations import CORRECTED, INTERRUPTION, ONE, talk


def attempt(first: int, outcome: str = "unknown", reaction: int | None = None, quote: str = "", task: int = 0) -> Any:
    return {
        "first_turn": first,
        "task_turn": task or first,
        "outcome": outcome,
        "reaction_turn": reaction,
        "quote": quote,
    }


def cut_by(trace: Any, *attempts: Any, window: int = 32_000) -> tuple[episodes.Cut, Scripted, ModelAnalyst]:
    transport = Scripted(lambda stage, user: json.dumps({"attempts": attempts}))
    analyst = ModelAnalyst.over(transport, Settings("m", "m", window))
    return cut(analyst.caller, analyst.settings, trace), transport, analyst


GOOD = (
    attempt(1, "fail", 2, "No, use a formula instead"),
    attempt(2, "pass", 3, "Thanks!", task=1),
    attempt(4),
)


def test_attempts_with_quoted_words_are_cut_like_those_read_from_phrases() -> None:
    found, transport, _ = cut_by(CORRECTED, *GOOD)
    by_phrases = episodes.cut(CORRECTED)
    assert found.episodes == by_phrases.episodes
    assert [(one.task, one.reason) for one in found.skipped] == [("What is a pivot table?", "no reaction")]
    assert transport.by_stage() == {"episodes": 1}


def test_the_model_sees_numbered_turns_what_was_called_and_the_last_words() -> None:
    _, transport, _ = cut_by(CORRECTED, *GOOD)
    shown = fields(transport.requests[0].user)["the turns"]
    assert re.findall(r"^## Turn (\d+)$", shown, re.M) == ["1", "2", "3", "4"]
    assert "user: Sum column B\nagent called: write_cell\nagent said last: I wrote the sum 41." in shown
    assert "You edit tables." not in shown


def test_words_that_the_user_did_not_say_decide_nothing() -> None:
    invented = attempt(1, "fail", 2, "This is terrible, the sum is wrong")
    found, _, analyst = cut_by(CORRECTED, invented, *GOOD[1:])
    assert [(one.number, one.status) for one in found.episodes] == [(2, "pass")]
    assert found.skipped[0].reason == "no reaction"
    assert analyst.caller.tally.as_dict()["quotes_dropped"] == 1


@pytest.mark.parametrize(
    "wrong",
    [
        attempt(0, "fail", 2, "No, use a formula"),
        attempt(9, "fail", 2, "No, use a formula"),
        attempt(1, "fail", 1, "Sum column B"),
        attempt(1, "fail", 77, "No, use a formula"),
        attempt(1, "fail", None, "No, use a formula"),
    ],
)
def test_turns_that_are_not_there_decide_nothing_and_lose_nothing(wrong: Any) -> None:
    found, _, _ = cut_by(CORRECTED, wrong)
    kept = {span.ordinal for one in found.skipped for span in one.spans} | {span.ordinal for span in found.rest}
    assert not found.episodes and kept == set(range(len(CORRECTED.spans)))


def test_an_interruption_is_told_by_its_marker_also_when_a_model_reads_it() -> None:
    found, _, _ = cut_by(
        INTERRUPTION, attempt(1, "fail", 2, "Request interrupted by user"), attempt(3, "pass", 4, "great")
    )
    assert [(one.status, one.sign) for one in found.episodes] == [("fail", "interruption"), ("pass", "approval")]


def test_a_long_conversation_is_read_in_parts_that_share_a_turn() -> None:
    steps = [f"{who}: step {n} " + "word " * 300 for n in range(1, 41) for who in ("user", "agent")]
    trace = talk(*steps)

    def answer(stage: str, user: str) -> str:
        turns = [int(one) for one in re.findall(r"^## Turn (\d+)$", user, re.M)]
        return json.dumps({"attempts": [attempt(n, "fail", n + 1, f"step {n + 1} word") for n in turns[:-1]]})

    transport = Scripted(answer)
    analyst = ModelAnalyst.over(transport, Settings("m", "m", 8_000))
    found = cut(analyst.caller, analyst.settings, trace)
    assert len(transport.requests) > 1
    assert [one.number for one in found.episodes] == list(range(1, 40))
    assert all(one.said.startswith(f"step {one.number + 1} ") for one in found.episodes)


def test_nothing_that_may_not_leave_is_sent_and_quotes_of_it_still_count() -> None:
    trace = talk("user: Write to them", "agent: Sent.", "user: wrong, write to ann@example.org instead", "agent: Sent.")
    transport = Scripted()
    analyst = ModelAnalyst.over(transport, Settings("m", "m"))
    shown = analyst.caller.redactor("wrong, write to ann@example.org instead")
    transport.answer = lambda stage, user: json.dumps({"attempts": [attempt(1, "fail", 2, shown)]})
    (episode,) = cut(analyst.caller, analyst.settings, trace).episodes
    assert "ann@example.org" not in transport.sent()
    assert episode.said == "wrong, write to ann@example.org instead"


# --- on the command line -------------------------------------------------------------------------------------------

READ = [
    attempt(1, "fail", 2, "use a formula instead of a number"),
    attempt(2, "pass", 3, "Thanks!", task=1),
    attempt(3, "fail", 4, "read the name back", task=3),
]


def answer(stage: str, user: str) -> str:
    return json.dumps({"attempts": READ}) if stage == "episodes" else Answerer()(stage, user)


def by_prompt(stage: str, user: str) -> str:
    return answer("episodes" if "Cut the conversation into attempts" in user else stage, user)


@pytest.fixture
def stub() -> Iterator[StubModel]:
    with StubModel() as started:
        started.answer = for_stub(by_prompt)
        yield started


def distill(folder: Path, *more: object) -> Any:
    file = folder / "talk.jsonl"
    file.write_text(ONE, encoding="utf-8")
    given = ("--transcript", file, "--name", "tables", "--target", folder / "skills", "--out", folder / "out")
    return refiner("distill", *given, "--analyst", "model", "--model", "m", "--yes", *more)


def test_over_http_a_conversation_is_read_once_for_the_list_and_the_refinement(tmp_path: Path, stub: StubModel) -> None:
    listed = distill(tmp_path, "--base-url", stub.url)
    assert (listed.code, len(stub.chats)) == (3, 1)
    assert "3 attempts in 1 of 1 conversations: 2 failed and 1 passed" in listed.out
    assert "Spent on reading them: 1 call, " in listed.out and "cost unknown." in listed.out
    assert "Spent on reading" not in distill(tmp_path, "--base-url", stub.url).out
    done = distill(tmp_path, "--base-url", stub.url, "--trust-suggested")
    asked = [one for one in stub.chats if "Cut the conversation into attempts" in json.dumps(one.body)]
    assert done.code == 0, done.err
    assert len(asked) == 1 and len(stub.chats) > 1
    assert "judged" in done.out or "undecided" in done.out


def test_by_files_the_same_command_goes_on_once_the_requests_are_answered(tmp_path: Path) -> None:
    hand = tmp_path / "hand"
    waiting = distill(tmp_path, "--transport", "handoff", "--handoff-dir", hand)
    assert (waiting.code, "1 conversation waits for its reply" in waiting.err) == (3, True), waiting.err
    (request,) = [one for one in (hand / "requests").glob("*.md") if one.stem != "INDEX"]
    (hand / "replies").mkdir(exist_ok=True)
    (hand / "replies" / f"{request.stem}.json").write_text(json.dumps({"attempts": READ}))
    listed = distill(tmp_path, "--transport", "handoff", "--handoff-dir", hand)
    assert "3 attempts in 1 of 1 conversations" in listed.out, listed.err


def test_a_recording_answers_without_network(tmp_path: Path, stub: StubModel) -> None:
    distill(tmp_path, "--base-url", stub.url, "--record", tmp_path / "tape")
    again = tmp_path / "again"
    again.mkdir()
    listed = distill(again, "--transport", "replay", "--replay-dir", tmp_path / "tape")
    assert "3 attempts in 1 of 1 conversations" in listed.out, listed.err
