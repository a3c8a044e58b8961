"""Recording and replay: what came once comes again without network; an unseen prompt shows what differs."""

from __future__ import annotations

import socket
from dataclasses import dataclass, field, fields, replace
from pathlib import Path

import pytest
from transport_help import SCHEMA, request

from refiner.errors import BadReply, ConfigError, NotRecorded
from refiner.transports import Reply, Request
from refiner.transports.record import Recorder
from refiner.transports.replay import ReplayTransport

REPLY = Reply('<think>\nhm\u2028</think>{"ok": tr', "model-x", "length", 12, None, 1.5, "no \U0001f600")


@dataclass
class Scripted:
    """A transport that says what it is told to."""

    reply: Reply | Exception = REPLY
    name: str = "scripted"
    asked: list[Request] = field(default_factory=list)

    def complete(self, request: Request) -> Reply:
        self.asked.append(request)
        if isinstance(self.reply, Exception):
            raise self.reply
        return self.reply


def record(folder: Path, *requests: Request, reply: Reply = REPLY) -> None:
    recorder = Recorder(Scripted(reply), folder)
    for one in requests:
        assert recorder.complete(one) == reply


def test_the_id_depends_on_everything_but_the_label() -> None:
    one = request()
    assert request(label="another").id == one.id
    changes = {
        "stage": "x",
        "system": "x",
        "user": "x",
        "schema": {},
        "model": "x",
        "max_tokens": 1,
        "temperature": 0.5,
        "vote": 1,
    }
    assert set(changes) == {field.name for field in fields(Request)} - {"id", "label"}
    again = [
        Request.of(**{name: getattr(one, name) for name in (*changes, "label")} | {key: changes[key]})
        for key in changes
    ]
    assert len({one.id, *(other.id for other in again)}) == 1 + len(changes)


def test_a_recorded_reply_comes_again_exactly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = request("Zwei\nZeilen\r\n und \ud7ff")
    record(tmp_path, one)
    monkeypatch.setattr(socket, "socket", None)
    replay = ReplayTransport(tmp_path)
    assert replay.complete(one) == REPLY
    assert replay.complete(replace(one, label="another label")) == REPLY
    assert replay.name == "replay"
    assert Recorder(Scripted(), tmp_path).name == "scripted"


def test_a_call_that_fails_leaves_no_recording(tmp_path: Path) -> None:
    with pytest.raises(BadReply):
        Recorder(Scripted(BadReply("no")), tmp_path).complete(request())
    with pytest.raises(ConfigError, match="holds no recorded replies; record some with `--record"):
        ReplayTransport(tmp_path)
    with pytest.raises(ConfigError):
        ReplayTransport(tmp_path / "missing")


def test_an_unseen_prompt_shows_the_difference_to_the_nearest_of_its_stage(tmp_path: Path) -> None:
    shared = "\n".join(f"line {number}" for number in range(30))
    record(
        tmp_path,
        request(f"{shared}\nthe order was late", label="trace 1"),
        request("something else entirely", label="trace 2"),
        request(f"{shared}\nthe order was lost", stage="judge"),
    )
    with pytest.raises(NotRecorded) as caught:
        ReplayTransport(tmp_path).complete(request(f"{shared}\nthe order was lost", label="trace 9"))
    message = str(caught.value)
    assert caught.value.systemic
    assert "(stage summarise, trace 9, id " in message
    assert "nearest recorded one is" in message
    assert "(trace 1); what differs:" in message
    assert "\n-the order was late\n+the order was lost" in message
    assert "something else" not in message
    assert len(message.splitlines()) < 12


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"model": "m2"}, "model: recorded 'm', asked 'm2'"),
        ({"max_tokens": 5}, "max_tokens: recorded 100, asked 5"),
        ({"temperature": 0.7}, "temperature: recorded 0.0, asked 0.7"),
        ({"system": "Be long."}, "-Be brief.\n+Be long."),
        ({"schema": SCHEMA | {"title": "T"}}, '+ "title": "T"'),
    ],
)
def test_a_changed_setting_is_named(tmp_path: Path, change: dict[str, object], words: str) -> None:
    record(tmp_path, request())
    with pytest.raises(NotRecorded) as caught:
        ReplayTransport(tmp_path).complete(request(**change))
    assert words in str(caught.value)


def test_a_long_difference_is_cut(tmp_path: Path) -> None:
    record(tmp_path, request("a\n" * 500))
    with pytest.raises(NotRecorded, match=r"… and \d+ more lines$"):
        ReplayTransport(tmp_path).complete(request("b\n" * 500))


def test_a_stage_without_recording_asks_for_one(tmp_path: Path) -> None:
    record(tmp_path, request())
    with pytest.raises(NotRecorded, match="no prompt of this stage is recorded: record it with `--record`"):
        ReplayTransport(tmp_path).complete(request(stage="merge"))


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"request": {}, "reply": {}}'])
def test_a_damaged_recording_is_said_and_disturbs_no_other(tmp_path: Path, content: str) -> None:
    one, two = request("1"), request("2")
    record(tmp_path, one, two)
    (tmp_path / "summarise" / f"{one.id}.json").write_text(content)
    replay = ReplayTransport(tmp_path)
    with pytest.raises(NotRecorded, match=r"cannot be read .* record this stage again"):
        replay.complete(one)
    assert replay.complete(two) == REPLY
    with pytest.raises(NotRecorded, match="nearest"):
        replay.complete(request("3"))


def test_recording_again_replaces_what_was_there(tmp_path: Path) -> None:
    one = request()
    record(tmp_path, one)
    newer = replace(REPLY, text=stub_text(), refusal=None)
    record(tmp_path, one, reply=newer)
    assert ReplayTransport(tmp_path).complete(one) == newer
    assert [path.name for path in (tmp_path / "summarise").iterdir()] == [f"{one.id}.json"]


def stub_text() -> str:
    return '{"ok": true}'
