"""Nothing is asked twice: equal requests share a call, replies outlive the process, bad ones are asked again."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import pytest
import stub_model as stubs
from stub_model import Exchange, StubModel, says, status
from transport_help import request, transport

from refiner.errors import AuthFailed
from refiner.transports import Reply
from refiner.transports.base import forget
from refiner.transports.once import Once


@dataclass
class Shelf:
    held: dict[str, Reply] = field(default_factory=dict)

    def replies(self) -> dict[str, Reply]:
        return dict(self.held)

    def keep(self, request_id: str, reply: Reply) -> None:
        self.held[request_id] = reply

    def drop(self, request_id: str) -> None:
        self.held.pop(request_id, None)


@pytest.fixture
def stub() -> Iterator[StubModel]:
    yield from stubs.stubbed()


def test_equal_requests_under_way_and_later_are_one_call(stub: StubModel) -> None:
    asked = Once(transport(stub))
    asked.complete(request("first"))
    here, go = threading.Event(), threading.Event()

    async def late(exchange: Exchange) -> None:
        import asyncio

        here.set()
        while not go.is_set():
            await asyncio.sleep(0.005)
        await says('{"ok": false}')(exchange)

    stub.script(late)
    with ThreadPoolExecutor(8) as pool:
        found = [pool.submit(asked.complete, request("same")) for _ in range(8)]
        assert here.wait(5)
        go.set()
        assert {one.result().text for one in found} == {'{"ok": false}'}
    assert asked.complete(request("same", label="another trace")).text == '{"ok": false}'
    assert len(stub.chats) == 2


def test_votes_are_requests_of_their_own(stub: StubModel) -> None:
    asked = Once(transport(stub))
    for vote in (0, 1, 2, 1):
        asked.complete(request("same", vote=vote))
    assert len(stub.chats) == 3
    assert request("same", vote=0) == request("same")


def test_what_failed_is_asked_again_and_fails_for_all_who_waited(stub: StubModel) -> None:
    asked = Once(transport(stub))
    asked.complete(request("first"))
    stub.script(*[status(413)] * 1)
    with pytest.raises(Exception, match="too long"):
        asked.complete(request("same"))
    assert asked.complete(request("same")).text == stubs.DEFAULT
    refused = Once(transport(stub, key="wrong"))
    stub.key = "right"
    with ThreadPoolExecutor(4) as pool:
        found = [pool.submit(refused.complete, request("same")) for _ in range(4)]
        assert all(isinstance(one.exception(), AuthFailed) for one in found)


def test_replies_on_the_shelf_are_not_asked_for_until_they_are_forgotten(stub: StubModel) -> None:
    shelf = Shelf()
    first = Once(transport(stub))
    first.keep_on(shelf)
    first.complete(request("a"))
    again = Once(transport(stub))
    again.keep_on(shelf)
    assert again.complete(request("a")) == shelf.held[request("a").id]
    assert len(stub.chats) == 1
    forget(again, request("a").id)
    assert not shelf.held
    again.complete(request("a"))
    assert len(stub.chats) == 2
