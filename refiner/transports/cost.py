"""What calls cost: a ledger with limits, a wrapper that keeps it, a forecast with its error. Sends nothing itself."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from refiner.errors import AnalystError, BudgetSpent, ConfigError
from refiner.transports.base import HALTED, Reply, Request, Transport, again, halt
from refiner.transports.prices import Prices, load
from refiner.transports.tokens import PER_MESSAGE, Correction, estimate

PROMPT_MARGIN = 1.25
"""How much longer than estimated a prompt may turn out, when a call is checked against a limit."""


@dataclass(frozen=True, slots=True)
class Spend:
    """What the calls of one stage took. `money` None: the model has no known price. `guessed`: calls without usage."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    money: float | None = 0.0
    guessed: int = 0

    @property
    def tokens(self) -> int:
        return self.prompt_tokens + self.completion_tokens

    def __add__(self, other: Spend) -> Spend:
        known = self.money is not None and other.money is not None
        return Spend(
            self.calls + other.calls,
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            (self.money or 0.0) + (other.money or 0.0) if known else None,
            self.guessed + other.guessed,
        )


@dataclass(frozen=True, slots=True)
class Planned:
    """Calls that are expected: how many of a stage, with how many tokens each."""

    stage: str
    model: str
    calls: int
    prompt_tokens: int
    completion_tokens: int


@dataclass(frozen=True, slots=True)
class Compared:
    """A forecast beside what came: `error` = spent tokens over forecast tokens, minus 1; None without a forecast."""

    stage: str
    forecast: Spend
    spent: Spend
    error: float | None


def prompt_tokens(request: Request) -> int:
    """The tokens of a request, estimated."""
    return estimate(request.system) + estimate(request.user) + PER_MESSAGE


@dataclass
class Ledger:
    """Spend by stage, with limits that hold: a call starts only if both limits hold whatever its reply takes.

    Near a limit calls wait for each other, since each may take less than it could. Raises ConfigError for a limit of
    money and a `model` without a known price. `stages`: what earlier runs spent, when it counts. `heard` is told every
    charge as soon as it is known: its stage, and whether a reply that is kept came with it.
    """

    cap_money: float | None = None
    cap_tokens: int | None = None
    models: Sequence[str] = ()
    prices: Prices = field(default_factory=load)
    stages: dict[str, Spend] = field(default_factory=dict)
    correction: Correction = field(default_factory=Correction, repr=False)
    heard: Callable[[str, Spend, bool], None] | None = field(default=None, repr=False)
    _reserved: Spend = field(default_factory=Spend, repr=False)
    _changed: threading.Condition = field(default_factory=threading.Condition, repr=False)

    def __post_init__(self) -> None:
        for model in self.models:
            self._refuse_unpriced(model)

    @property
    def spent(self) -> Spend:
        """All stages together."""
        with self._changed:
            return sum(self.stages.values(), Spend())

    @contextmanager
    def call(self, request: Request, *, kept: bool = True) -> Iterator[list[Reply]]:
        """Around one call: put its reply into the list, or an empty one with what a failed call took.

        `kept`: whether whoever asks keeps the reply of a call that succeeds. Raises BudgetSpent instead of starting
        one too many.
        """
        self._refuse_unpriced(request.model)
        estimated = prompt_tokens(request)
        prompt = round(estimated * self.correction.factor(request.model) * PROMPT_MARGIN)
        most = self._spend(request.model, prompt, request.max_tokens)
        self._reserve(most)
        came: list[Reply] = []
        replied = False
        try:
            yield came
            replied = kept
        finally:
            charged = self._charge(request, estimated, came[0]) if came else Spend()
            self._settle(request.stage, most, charged)
            if came and self.heard is not None:
                self.heard(request.stage, charged, replied)

    def as_dict(self) -> dict[str, Any]:
        """The ledger as JSON-able values: by stage and in total, with the date of the prices."""
        with self._changed:
            stages = dict(sorted(self.stages.items()))
        total = sum(stages.values(), Spend())
        named = {name: _plain(spend) for name, spend in stages.items()}
        return {
            "stages": named,
            "total": _plain(total),
            "currency": self.prices.currency,
            "prices_of": self.prices.date,
            "max_cost": self.cap_money,
            "max_tokens_total": self.cap_tokens,
        }

    def _spend(self, model: str, prompt: int, completion: int) -> Spend:
        price = self.prices.of(model)
        return Spend(1, prompt, completion, price.of(prompt, completion) if price else None)

    def _refuse_unpriced(self, model: str) -> None:
        if self.cap_money is not None and self.prices.of(model) is None:
            raise ConfigError(
                f'max_cost: no price is known for the model "{model}" (prices of {self.prices.date}), so its cost '
                "cannot be limited; use `--max-tokens-total`"
            )

    def _reserve(self, most: Spend) -> None:
        with self._changed:
            while (limit := self._exceeded(most)) is not None:
                if not self._reserved.calls:
                    raise BudgetSpent(self._words(limit))
                self._changed.wait()
            self._reserved += most

    def _exceeded(self, more: Spend) -> str | None:
        then = sum(self.stages.values(), self._reserved + more)
        if self.cap_tokens is not None and then.tokens > self.cap_tokens:
            return "max_tokens_total"
        return "max_cost" if self.cap_money is not None and (then.money or 0.0) > self.cap_money else None

    def _words(self, limit: str) -> str:
        spent = sum(self.stages.values(), Spend())
        money = "" if spent.money is None else f" and {spent.money:.4f} {self.prices.currency}"
        return (
            f"{limit}: the next call could exceed the limit; {spent.calls} calls took {spent.tokens:,} tokens{money}. "
            f"All replies are kept: raise `--{limit.replace('_', '-')}` and run the same command to go on"
        )

    def _charge(self, request: Request, estimated: int, reply: Reply) -> Spend:
        prompt, completion = reply.prompt_tokens, reply.completion_tokens
        if prompt is not None:
            self.correction.learn(request.model, estimated, prompt)
        spend = self._spend(
            request.model,
            estimated if prompt is None else prompt,
            estimate(reply.text) if completion is None else completion,
        )
        return replace(spend, guessed=int(prompt is None or completion is None))

    def _settle(self, stage: str, most: Spend, charged: Spend) -> None:
        with self._changed:
            held = self._reserved
            self._reserved = Spend(
                held.calls - 1,
                held.prompt_tokens - most.prompt_tokens,
                held.completion_tokens - most.completion_tokens,
                None if held.money is None or most.money is None else held.money - most.money,
            )
            if not self._reserved.calls:
                self._reserved = Spend()
            if charged.calls:
                self.stages[stage] = self.stages.get(stage, Spend()) + charged
            self._changed.notify_all()


class Metered:
    """A transport whose calls are kept in a ledger and stopped by its limits, or by a person."""

    def __init__(self, transport: Transport, ledger: Ledger) -> None:
        self._transport, self.ledger = transport, ledger
        self._halted = False

    @property
    def name(self) -> str:
        return self._transport.name

    def halt(self) -> None:
        """From now on every call raises AnalystError before it costs anything."""
        self._halted = True
        halt(self._transport)

    def again(self, rounds: Mapping[str, str]) -> None:
        again(self._transport, rounds)

    def complete(self, request: Request) -> Reply:
        with self.ledger.call(request) as came:
            if self._halted:
                raise AnalystError(HALTED, systemic=True)
            came.append(self._transport.complete(request))
        return came[0]


def forecast(planned: Sequence[Planned], prices: Prices) -> dict[str, Spend]:
    """What planned calls are expected to take, by stage."""
    expected: dict[str, Spend] = {}
    for plan in planned:
        price = prices.of(plan.model)
        prompt, completion = plan.calls * plan.prompt_tokens, plan.calls * plan.completion_tokens
        money = price.of(prompt, completion) if price else None
        expected[plan.stage] = expected.get(plan.stage, Spend()) + Spend(plan.calls, prompt, completion, money)
    return expected


def compare(expected: Mapping[str, Spend], spent: Mapping[str, Spend]) -> list[Compared]:
    """A forecast beside what was spent, by stage, then in total."""
    rows = [(stage, expected.get(stage, Spend()), spent.get(stage, Spend())) for stage in sorted({*expected, *spent})]
    rows.append(("total", sum(expected.values(), Spend()), sum(spent.values(), Spend())))
    return [Compared(*row, error=row[2].tokens / row[1].tokens - 1 if row[1].tokens else None) for row in rows]


def _plain(spend: Spend) -> dict[str, Any]:
    return {
        "calls": spend.calls,
        "prompt_tokens": spend.prompt_tokens,
        "completion_tokens": spend.completion_tokens,
        "cost": None if spend.money is None else round(spend.money, 6),
        "without_usage": spend.guessed,
    }
