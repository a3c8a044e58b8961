"""What a refinement has taken, over all its runs: calls, tokens, money, what was redacted. Asks and stops nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from refiner.errors import StoreError
from refiner.ports import Tools
from refiner.workspace.kept import StoredReplies
from refiner.workspace.tools import EMBED, RedactedEmbedder

if TYPE_CHECKING:
    from refiner.analysts.model import ModelAnalyst
    from refiner.transports import Transport
    from refiner.transports.cost import Ledger, Spend
    from storage import Event, Store

KIND = "usage"
"""The event in which a run says what it took, when it ends."""
CHARGE = "charge"
"""The event of one charge, with the number of its run: it counts where the run was killed before it could sum up."""


@dataclass(slots=True)
class Meter:
    """One run's view of the books. Made before the run, it lets limits count what earlier runs spent.

    `analyst`: the model that is asked, `embedder`: the endpoint that is; None for what works on this machine.
    """

    analyst: ModelAnalyst | None
    embedder: RedactedEmbedder | None
    expected: dict[str, Any] = field(default_factory=dict)
    before: dict[str, Spend] = field(default_factory=dict)
    closed: bool = False

    @property
    def ledger(self) -> Ledger | None:
        """The books of the run; None for a replay, which costs nothing."""
        return self._asked or (self.embedder.ledger if self.embedder is not None else None)

    @property
    def _transport(self) -> Transport | None:
        return None if self.analyst is None else self.analyst.caller.transport

    @property
    def _asked(self) -> Ledger | None:
        return getattr(self._transport, "ledger", None)

    def paid(self, stage: str) -> bool:
        """Whether calls of a stage are counted, and can be stopped between two of them."""
        return self.embedder is not None if stage == EMBED else self._asked is not None

    def halt(self) -> None:
        """Lets no further call start."""
        from refiner.transports.base import halt

        halt(self._transport)
        halt(self.embedder)

    def ask_anew(self, rounds: Mapping[str, str]) -> None:
        """Lets requests of these stages find no reply of an earlier round."""
        from refiner.transports.base import again

        again(self._transport, rounds)

    def open(self, store: Store, refinement_id: str) -> None:
        """Takes over what earlier runs spent, and their replies that no finished step holds."""
        if self.ledger is not None:
            self._recover(store, refinement_id)
            bodies = [event.body for event in store.events(refinement_id, KIND)]
            self.before = _total(bodies)
            self.ledger.stages.update(self.before)
            self._write_down(store, refinement_id, self.ledger, len(bodies))

    def _write_down(self, store: Store, refinement_id: str, ledger: Ledger, run: int) -> None:
        """From now on charges and replies are in the database as they come: a charge with its reply, else by itself."""
        shelf = StoredReplies(store, refinement_id)
        keep_on = getattr(self._transport, "keep_on", None)

        def heard(stage: str, spend: Spend, replied: bool) -> None:
            body = {"run": run, "stage": stage, **_plain(spend)}
            if replied and keep_on is not None:
                shelf.events.put((CHARGE, body))
            else:
                store.event(refinement_id, CHARGE, body)

        if keep_on is not None:
            keep_on(shelf)
        ledger.heard = heard

    def _recover(self, store: Store, refinement_id: str) -> None:
        """Writes down what a run took that could not do so itself because it was killed."""
        ended = len(store.events(refinement_id, KIND))
        charges = [event.body for event in store.events(refinement_id, CHARGE)]
        stages = _total([{"stages": {one["stage"]: one}} for one in charges if one["run"] >= ended])
        if stages:
            store.event(refinement_id, KIND, self._shown(stages))

    def close(self, store: Store, refinement_id: str) -> None:
        """Writes down what this run took; nothing when it asked nobody."""
        body = self.body()
        self.closed = True
        if body:
            store.event(refinement_id, KIND, body)

    def body(self) -> dict[str, Any]:
        """What this run has taken so far, as JSON-able values; empty when it asked nobody."""
        from refiner.transports.cost import Spend

        now = dict(self.ledger.stages) if self.ledger is not None else {}
        own = {stage: _minus(spend, self.before.get(stage, Spend())) for stage, spend in now.items()}
        tally = self.analyst.caller.tally.as_dict() if self.analyst is not None else {}
        tokens = self._redacted()
        found = self._shown({stage: spend for stage, spend in own.items() if spend.calls}, tally, tokens)
        return found if found["stages"] or tally or tokens else {}

    def _redacted(self) -> list[str]:
        found = [] if self.analyst is None else [self.analyst.caller.redactor]
        found += [] if self.embedder is None else [self.embedder.redactor]
        return sorted({token for one in found for token in one.tokens()})

    def _shown(
        self, stages: Mapping[str, Spend], tally: Mapping[str, int] | None = None, redacted: Sequence[str] = ()
    ) -> dict[str, Any]:
        plain = {stage: _plain(spend) for stage, spend in stages.items()}
        return {"stages": plain, "tally": dict(tally or {}), "redacted": list(redacted), "expected": self.expected}


def meter_of(tools: Tools) -> Meter | None:
    """The books of a model analyst, of an embedding endpoint, or of both; None for what costs nothing."""
    from refiner.analysts.model import ModelAnalyst

    analyst = tools.analyst if isinstance(tools.analyst, ModelAnalyst) else None
    embedder = tools.embedder if isinstance(tools.embedder, RedactedEmbedder) else None
    return None if analyst is None and embedder is None else Meter(analyst, embedder)


@contextmanager
def metered(store: Store, refinement_id: str, meter: Meter | None) -> Iterator[None]:
    """Around a run: earlier spending counts in it, and what it takes is written down however it ends."""
    if meter is None:
        yield
        return
    meter.open(store, refinement_id)
    try:
        yield
    except BaseException:
        with suppress(StoreError):  # why it stopped matters more
            meter.close(store, refinement_id)
        raise
    meter.close(store, refinement_id)


def usage_of(events: Sequence[Event], live: dict[str, Any] | None = None) -> dict[str, Any]:
    """Everything taken by the runs of a refinement, as JSON-able values; empty when nobody was asked.

    `live`: what the run at work has taken so far (`Meter.body`).

    `error`: tokens taken beyond those expected at the first start, as a share; `cost` is None without a known price.
    """
    bodies = [*(event.body for event in events if event.kind == KIND), *([live] if live else [])]
    if not bodies:
        return {}
    from refiner.analysts.model.redaction import counts
    from refiner.transports.cost import Spend
    from refiner.transports.prices import load

    stages = _total(bodies)
    total = sum(stages.values(), Spend())
    tally: Counter[str] = Counter()
    for body in bodies:
        tally.update(body["tally"])
    prices, expected = load(), bodies[0]["expected"]
    return {
        **_shown(total),
        "currency": prices.currency,
        "prices_of": prices.date,
        "stages": {stage: _shown(spend) for stage, spend in sorted(stages.items())},
        "expected": expected,
        "error": round(total.tokens / expected["tokens"] - 1, 3) if expected.get("tokens") and total.calls else None,
        "models": sorted(name.removeprefix("model ") for name in tally if name.startswith("model ")),
        "quotes": {"verified": tally["quotes_verified"], "dropped": tally["quotes_dropped"]},
        "repairs": tally["repairs"],
        "predicates_dropped": tally["predicates_dropped"],
        "anchors_repaired": tally["anchors_repaired"],
        "redacted": counts(sorted({token for body in bodies for token in body["redacted"]})),
    }


def _total(bodies: Sequence[dict[str, Any]]) -> dict[str, Spend]:
    from refiner.transports.cost import Spend

    found: dict[str, Spend] = {}
    for body in bodies:
        for stage, one in body["stages"].items():
            spend = Spend(
                one["calls"], one["prompt_tokens"], one["completion_tokens"], one["cost"], one["without_usage"]
            )
            found[stage] = found.get(stage, Spend()) + spend
    return found


def _minus(whole: Spend, part: Spend) -> Spend:
    from refiner.transports.cost import Spend

    known = whole.money is not None and part.money is not None
    return Spend(
        whole.calls - part.calls,
        whole.prompt_tokens - part.prompt_tokens,
        whole.completion_tokens - part.completion_tokens,
        (whole.money or 0.0) - (part.money or 0.0) if known else None,
        whole.guessed - part.guessed,
    )


def _plain(spend: Spend) -> dict[str, Any]:
    return {
        "calls": spend.calls,
        "prompt_tokens": spend.prompt_tokens,
        "completion_tokens": spend.completion_tokens,
        "cost": spend.money,
        "without_usage": spend.guessed,
    }


def _shown(spend: Spend) -> dict[str, Any]:
    return {**_plain(spend), "cost": None if spend.money is None else round(spend.money, 6)}
