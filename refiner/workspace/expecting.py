"""What is expected to be taken of models and embedding endpoints, before anything starts. Asks nobody."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from refiner.config import RefineConfig, charged_models
from refiner.gate.sample import A_SIDE
from refiner.rendering import SPAN_LIMIT
from refiner.stages.embed import BATCH
from refiner.types import Trace
from refiner.workspace.tools import EMBED

if TYPE_CHECKING:
    from refiner.transports.cost import Planned

_PROMPT, _REPLY = 1_200, 500  # tokens of an average prompt without its material, and of an average reply
_SUMMARY = 350  # tokens of an average summary
_A_GROUP = 8  # traces for each proposal, as seen on the sample


def expected_of(config: RefineConfig, sizes: Sequence[int]) -> dict[str, Any]:
    """What a whole refinement is expected to take of traces of these sizes (`shown_size`): models and embeddings."""
    from refiner.transports.cost import Spend, forecast
    from refiner.transports.prices import load

    asked = config.analyst == "model" and config.transport != "replay"
    planned = [*(_asked(config, sizes) if asked else []), *_embedded(config, len(sizes))]
    total = sum(forecast(planned, load()).values(), Spend())
    return {
        "calls": total.calls,
        "tokens": total.tokens,
        "cost": None if total.money is None else round(total.money, 4),
    }


def _embedded(config: RefineConfig, summaries: int) -> list[Planned]:
    """The calls of an embedding endpoint, all but the last one full."""
    from refiner.transports.cost import Planned

    calls = -(-summaries // BATCH) if config.embedding_host is not None else 0
    return [Planned(EMBED, config.embedding_model, calls, summaries * _SUMMARY // calls, 0)] if calls else []


def _asked(config: RefineConfig, sizes: Sequence[int]) -> list[Planned]:
    """The calls of the model, stage by stage."""
    from refiner.transports.cost import Planned

    n, most = len(sizes), config.window - 6_000
    read = sum(min(size // 4 + _PROMPT, most) for size in sizes) // max(n, 1)
    groups, model = -(-n // _A_GROUP), config.model or ""
    asked = most // 2 if config.window > 8_000 else most
    proposal = min(_A_GROUP * _SUMMARY + 3 * _PROMPT, asked)
    summaries = 0 if config.summarizer == "none" else n
    judged = 0 if config.gate == "off" else groups * config.votes
    blind = 0 if config.contrast == "measured" or config.gate == "off" else groups * min(2 * A_SIDE, n)
    return [
        Planned("summarise", model, summaries, read, _REPLY),
        Planned("propose", model, groups, proposal, _REPLY),
        Planned("gate", config.gate_model or model, judged, proposal, _REPLY),
        Planned("judged_contrast", config.gate_model or model, blind, read, _REPLY // 4),
        Planned("merge", model, 1, proposal, 2 * _REPLY),
    ]


def reading_of(config: RefineConfig, sizes: Sequence[int]) -> dict[str, Any]:
    """What cutting conversations of these many tokens is expected to take, with the currency and date of the prices."""
    from refiner.transports.cost import Planned, forecast
    from refiner.transports.prices import load

    prices, most = load(), max(config.window - _PROMPT - 4 * _REPLY, 1_000)
    calls = sum(-(-size // most) or 1 for size in sizes)
    prompt = sum(sizes) // max(calls, 1) + _PROMPT
    found = forecast([Planned("episodes", config.model or "", calls, prompt, _REPLY)], prices)["episodes"]
    cost = None if found.money is None else round(found.money, 4)
    told = {"currency": prices.currency, "prices_of": prices.date}
    return {"calls": found.calls, "tokens": found.tokens, "cost": cost, **told}


def expected_words(config: RefineConfig, expected: dict[str, Any]) -> str:
    """The forecast in one sentence, with what is not known about it."""
    from refiner.transports.prices import load

    prices = load()
    if not expected["calls"]:
        return "no call is expected: replies come from the recording."
    if expected["cost"] is None:
        unknown = " and ".join(f'"{model}"' for model in charged_models(config) if prices.of(model) is None)
        money = f"no price is known for {unknown} (prices of {prices.date})"
    else:
        money = f"about {expected['cost']:.2f} {prices.currency} (prices of {prices.date})"
    return f"about {expected['calls']} calls and {expected['tokens']:,} tokens are expected; {money}."


def shown_size(trace: Trace) -> int:
    """The characters of a trace that a model is shown at most."""
    return sum(min(len(span.input), SPAN_LIMIT) + min(len(span.output), SPAN_LIMIT) for span in trace.spans)
