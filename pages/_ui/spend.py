"""What a model has taken, by stage. It only shows what was counted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pages._ui import cards
from pages._ui.text import count
from refiner.model_views import untold_words

if TYPE_CHECKING:
    from collections.abc import Mapping

    from refiner.job_views import JobView
    from refiner.model_views import Asks

HEADS = ("Stage", "Calls", "Prompt tokens", "Reply tokens", "Cost")


def draw(job: JobView, names: Mapping[str, str]) -> None:
    """One line in total, then a row a stage; nothing where no model was asked."""
    usage = job.usage
    if not usage:
        return
    cards.line(headline(usage, job.asks, ended=job.status == "done"), strong=True)
    stages = sorted(usage["stages"].items(), key=lambda item: (*names, item[0]).index(item[0]))
    rows = [(names.get(stage, stage), *_cells(one, usage)) for stage, one in stages]
    if rows:
        cards.table(HEADS, [*rows, ("Total", *_cells(usage, usage))], numbers=(1, 2, 3, 4))
    if words := untold_words(usage):
        cards.line(words)
    taken_out(usage)


def taken_out(usage: Mapping[str, Any]) -> None:
    """What was redacted, by kind."""
    if usage["redacted"]:
        kinds = ", ".join(f"{number:,} {kind}" for kind, number in usage["redacted"].items())
        cards.line(f"Taken out before anything was sent: {kinds}.")


def headline(usage: Mapping[str, Any], asks: Asks | None, *, ended: bool) -> str:
    """Calls, tokens and money, beside the limit and the estimate; by how much that was wrong, once it is through."""
    tokens = usage["prompt_tokens"] + usage["completion_tokens"]
    words = f"Spent: {count(usage['calls'], 'call')}, {count(tokens, 'token')}, {_money(usage, usage)}"
    words += f" (prices of {usage['prices_of']})" if usage["cost"] is not None else ""
    if asks and asks.max_cost is not None:
        words += f", of at most {asks.max_cost:.2f} {usage['currency']}"
    if asks and asks.max_tokens is not None:
        words += f", of at most {asks.max_tokens:,} tokens"
    expected = usage["expected"].get("tokens")
    if not expected:
        return f"{words}."
    if not ended or usage["error"] is None:
        return f"{words}. The estimate was {expected:,} tokens."
    way = "less" if usage["error"] < 0 else "more"
    return f"{words}. That is {abs(usage['error']):.0%} {way} than the {expected:,} tokens of the estimate."


def _cells(one: Mapping[str, Any], usage: Mapping[str, Any]) -> tuple[str, ...]:
    return f"{one['calls']:,}", f"{one['prompt_tokens']:,}", f"{one['completion_tokens']:,}", _money(one, usage)


def _money(one: Mapping[str, Any], usage: Mapping[str, Any]) -> str:
    return "cost unknown" if one["cost"] is None else f"{one['cost']:.4f} {usage['currency']}"
