"""What calls cost: prices, the ledger with limits that hold between threads too, the forecast and its error."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

import pytest
import stub_model as stubs
from stub_model import StubModel, says
from transport_help import KEY, request, transport

from refiner.errors import AnalystError, BudgetSpent, ConfigError
from refiner.transports import Reply, Request
from refiner.transports.cost import Ledger, Metered, Planned, Spend, compare, forecast, prompt_tokens
from refiner.transports.http import HttpTransport
from refiner.transports.prices import Price, Prices, load
from refiner.transports.tokens import Correction, estimate

PRICES = Prices("2026-01-01", "USD", {"m": Price(1.0, 10.0), "big": Price(100.0, 100.0)})


@dataclass
class Scripted:
    """Replies with so many tokens; `error` instead. `most` = the most calls that were open at once."""

    used: tuple[int | None, int | None] = (100, 20)
    error: Exception | None = None
    name: str = "scripted"
    calls: int = 0
    open: int = 0
    most: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def complete(self, request: Request) -> Reply:
        with self.lock:
            self.calls, self.open = self.calls + 1, self.open + 1
            self.most = max(self.most, self.open)
        try:
            if self.error is not None:
                raise self.error
            return Reply('{"ok": true}', "m", "stop", *self.used)
        finally:
            with self.lock:
                self.open -= 1


@pytest.fixture
def stub() -> Iterator[StubModel]:
    yield from stubs.stubbed()


def metered(transport: Scripted, **caps: object) -> Metered:
    return Metered(transport, Ledger(prices=PRICES, **caps))  # type: ignore[arg-type]


def test_spend_is_kept_by_stage() -> None:
    asked = metered(Scripted((1_000_000, 100_000)))
    for stage in ("summarise", "summarise", "judge"):
        asked.complete(request(stage=stage))
    assert asked.ledger.stages["summarise"] == Spend(2, 2_000_000, 200_000, 4.0, 0)
    assert asked.ledger.spent == Spend(3, 3_000_000, 300_000, 6.0, 0)
    assert asked.ledger.as_dict() == {
        "stages": {
            "judge": {
                "calls": 1,
                "prompt_tokens": 1_000_000,
                "completion_tokens": 100_000,
                "cost": 2.0,
                "without_usage": 0,
            },
            "summarise": {
                "calls": 2,
                "prompt_tokens": 2_000_000,
                "completion_tokens": 200_000,
                "cost": 4.0,
                "without_usage": 0,
            },
        },
        "total": {
            "calls": 3,
            "prompt_tokens": 3_000_000,
            "completion_tokens": 300_000,
            "cost": 6.0,
            "without_usage": 0,
        },
        "currency": "USD",
        "prices_of": "2026-01-01",
        "max_cost": None,
        "max_tokens_total": None,
    }


def test_a_model_without_a_price_has_unknown_cost_and_counted_tokens() -> None:
    asked = metered(Scripted())
    asked.complete(request(model="unheard-of"))
    asked.complete(request())
    assert asked.ledger.spent.money is None
    assert asked.ledger.spent.tokens == 240
    assert asked.ledger.as_dict()["total"]["cost"] is None


def test_a_limit_of_money_without_a_price_is_refused_before_any_call() -> None:
    with pytest.raises(ConfigError, match=r'no price is known for the model "x" \(prices of 2026-01-01\)'):
        Ledger(cap_money=1.0, models=("x",), prices=PRICES)
    inner = Scripted()
    with pytest.raises(ConfigError, match="use `--max-tokens-total`"):
        metered(inner, cap_money=1.0).complete(request(model="x"))
    assert inner.calls == 0


@pytest.mark.parametrize(
    ("caps", "flag"), [({"cap_tokens": 1000}, "--max-tokens-total"), ({"cap_money": 0.002}, "--max-cost")]
)
def test_a_limit_stops_between_calls_and_is_never_passed(caps: dict[str, float], flag: str) -> None:
    inner = Scripted((40, 100))  # all that a call may take: max_tokens is 100
    asked = metered(inner, **caps)
    with pytest.raises(BudgetSpent, match=f"raise `{flag}` and run the same command") as caught:
        for _ in range(50):
            asked.complete(request())
    spent = asked.ledger.spent
    assert caught.value.exit_code == 3
    assert inner.calls == spent.calls
    assert 0 < spent.calls < 50
    assert spent.tokens <= caps.get("cap_tokens", 10**9)
    assert (spent.money or 0) <= caps.get("cap_money", 10**9)
    more = Metered(inner, Ledger(prices=PRICES, stages=dict(asked.ledger.stages), cap_tokens=10_000, cap_money=1.0))
    more.complete(request())
    assert more.ledger.spent.calls == spent.calls + 1


def test_a_limit_holds_between_threads_which_wait_for_each_other_near_it() -> None:
    inner = Scripted((40, 100))
    asked = metered(inner, cap_tokens=3000)

    def call(number: int) -> bool:
        try:
            asked.complete(request())
        except BudgetSpent:
            return False
        return True

    with ThreadPoolExecutor(16) as pool:
        done = sum(pool.map(call, range(100)))
    assert asked.ledger.spent.tokens == 140 * done <= 3000
    assert done >= 20  # 21 would fit exactly; the last places are kept for what a call could take
    assert done == inner.calls


def test_two_calls_that_could_pass_the_limit_together_go_one_after_the_other() -> None:
    both = threading.Event()

    class Slow(Scripted):
        def complete(self, request: Request) -> Reply:
            with self.lock:
                self.open += 1
                self.most = max(self.most, self.open)
            if self.most > 1:
                both.set()
            both.wait(0.1)  # time for a second call to come in, if it may
            with self.lock:
                self.open -= 1
            return Reply("{}", "m", "stop", 20, 1)

    inner = Slow()
    asked = metered(inner, cap_tokens=200)  # room for one call at its longest, and for several short ones
    with ThreadPoolExecutor(2) as pool:
        assert len(list(pool.map(lambda number: asked.complete(request()), range(2)))) == 2
    assert inner.most == 1


def test_calls_that_end_cheaply_leave_room_for_others() -> None:
    inner = Scripted((40, 1))
    asked = metered(inner, cap_tokens=1000)
    with pytest.raises(BudgetSpent):
        for _ in range(100):
            asked.complete(request())
    assert asked.ledger.spent.tokens > 800


USELESS = {"choices": [], "usage": {"prompt_tokens": 300, "completion_tokens": 40}}


@pytest.mark.parametrize(
    ("fault", "calls", "prompts", "completions", "guessed"),
    [
        (stubs.reply(USELESS), 2, 600, 80, 0),
        (stubs.WRONG_TYPE, 2, 2 * prompt_tokens(request()), 0, 2),
        (stubs.TRUNCATED, 3, 3 * prompt_tokens(request()), 0, 3),
        (stubs.status(429), 0, 0, 0, 0),
        (stubs.status(500), 0, 0, 0, 0),
        (stubs.status(401), 0, 0, 0, 0),
        (stubs.RESET, 0, 0, 0, 0),
    ],
)
def test_every_attempt_that_the_endpoint_worked_for_is_charged_whatever_came_of_it(
    stub: StubModel, fault: stubs.Fault, calls: int, prompts: int, completions: int, guessed: int
) -> None:
    ledger = Ledger(prices=PRICES)
    stub.script(*[fault] * 10)
    with pytest.raises(AnalystError):
        transport(stub, meter=ledger.call).complete(request())
    money = (prompts + 10 * completions) / 1e6
    assert ledger.spent == Spend(calls, prompts, completions, pytest.approx(money), guessed)


def test_a_time_out_is_charged_as_well_and_so_is_the_attempt_that_succeeds(stub: StubModel) -> None:
    ledger = Ledger(prices=PRICES)
    stub.script(stubs.HANG, says("{}", usage=(90, 10)))
    asked = HttpTransport(stub.url, KEY, timeout=0.2, sleep=lambda seconds: None, meter=ledger.call)
    asked.complete(request())
    assert ledger.spent.calls == len(stub.chats) == 2
    assert ledger.spent.prompt_tokens == 90 + prompt_tokens(request())


def test_a_retry_starts_only_within_the_limit(stub: StubModel) -> None:
    ledger = Ledger(prices=PRICES, cap_tokens=400)
    stub.script(stubs.reply(USELESS))
    with pytest.raises(BudgetSpent, match="1 calls took 340 tokens"):
        transport(stub, meter=ledger.call).complete(request())
    assert len(stub.chats) == 1


def test_without_usage_tokens_are_estimated_and_said_to_be() -> None:
    asked = metered(Scripted((None, None)))
    asked.complete(request())
    spent = asked.ledger.spent
    assert (spent.prompt_tokens, spent.completion_tokens) == (prompt_tokens(request()), estimate('{"ok": true}'))
    assert asked.ledger.as_dict()["total"]["without_usage"] == 1


def test_the_estimate_learns_from_what_comes_back() -> None:
    asked = metered(Scripted((3 * prompt_tokens(request()), 10)))
    assert asked.ledger.correction.factor("m") == 1.0
    asked.complete(request())
    assert asked.ledger.correction.factor("m") == 3.0
    assert asked.ledger.correction.factor("other") == 1.0
    wild = Correction()
    wild.learn("m", 10, 10_000)
    assert wild.factor("m") == 4.0


def test_what_is_counted_is_what_the_endpoint_said(stub: StubModel) -> None:
    stub.script(says("{}", usage=(1000, 50)), stubs.status(500), says("{}", usage=(500, 50)))
    ledger = Ledger(prices=PRICES)
    asked = transport(stub, meter=ledger.call)
    asked.complete(request())
    asked.complete(request())
    assert ledger.spent == Spend(2, 1500, 100, 0.0025, 0)
    assert len(stub.chats) == 3


def test_a_forecast_is_compared_with_what_came() -> None:
    planned = [
        Planned("summarise", "m", 10, 1000, 100),
        Planned("judge", "m", 2, 500, 100),
        Planned("judge", "unheard-of", 1, 1, 1),
    ]
    expected = forecast(planned, PRICES)
    assert expected["summarise"] == Spend(10, 10_000, 1000, 0.02, 0)
    assert expected["judge"].money is None
    rows = compare(expected, {"summarise": Spend(11, 12_000, 1200, 0.024), "merge": Spend(1, 10, 10, 0.0)})
    assert [(row.stage, None if row.error is None else round(row.error, 3)) for row in rows] == [
        ("judge", -1.0),
        ("merge", None),
        ("summarise", 0.2),
        ("total", round(13_220 / 12_202 - 1, 3)),
    ]


def test_the_price_table_has_a_date_and_prices_that_make_sense() -> None:
    prices = load()
    assert date(2025, 1, 1) < date.fromisoformat(prices.date)
    assert all(
        price.input > 0 and (price.input <= price.output or not price.output) for price in prices.models.values()
    )
    assert {name for name, price in prices.models.items() if not price.output} == {
        name for name in prices.models if "embed" in name or "voyage" in name
    }
    assert prices.of("gpt-4o-mini") == Price(0.15, 0.60)


@pytest.mark.parametrize("name", ["m-2026-01-02", "m-20260102", "vendor/m", "VENDOR/M-latest", "m@20260102"])
def test_builds_and_resellers_have_the_model_price(name: str) -> None:
    assert PRICES.of(name) == PRICES.models["m"]


@pytest.mark.parametrize("name", ["m2", "m-mini", "mm", "", "m-2026-01-02-x"])
def test_another_model_has_no_price(name: str) -> None:
    assert PRICES.of(name) is None


@pytest.mark.parametrize("content", ["", "date = ", 'date = "x"\ncurrency = "USD"\n[models]\n"a" = { input = 1 }'])
def test_a_broken_price_table_is_named(tmp_path: Path, content: str) -> None:
    path = tmp_path / "prices.toml"
    path.write_text(content)
    with pytest.raises(ConfigError, match=r"prices\.toml: not a price table"):
        load(path)


@pytest.mark.parametrize(
    ("text", "least", "most"),
    [
        ("", 0, 0),
        ("hello", 1, 1),
        ("The agent read the order before it changed the address of the customer. " * 20, 260, 340),
        ('{"order_id": "W2378156", "item_ids": ["1151293680", "4983901480"], "status": "pending"}\n' * 20, 800, 1300),
        ("这是一个测试，模型需要阅读很多文字。" * 20, 300, 480),
        ("x" * 4000, 500, 1500),
        (" " * 400, 1, 10),
    ],
)
def test_tokens_are_estimated_without_a_tokenizer(text: str, least: int, most: int) -> None:
    assert least <= estimate(text) <= most
