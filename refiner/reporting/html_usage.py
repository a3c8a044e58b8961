"""The ledger of a report as HTML: what a model took, by stage, beside what was expected. Counts nothing anew."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from refiner.model_views import untold_words
from refiner.reporting.markup import plural, table, text

HEADS = ("Stage", "Calls", "Prompt tokens", "Reply tokens", "Cost")


def section(usage: Mapping[str, Any]) -> str:
    """The section; empty when no model was asked."""
    if not usage:
        return ""
    rows = [[text(stage.replace("_", " ")), *_cells(one, usage)] for stage, one in usage["stages"].items()]
    body = table(HEADS, [*rows, ["Total", *_cells(usage, usage)]], (1, 2, 3, 4)) if rows else ""
    words = "".join(f"<p>{text(one)}</p>" for one in _sentences(usage))
    head = "What the model took <small>calls, tokens and money, by stage</small>"
    return f'<section id="ledger"><h2>{head}</h2>{body}{words}</section>'


def _cells(one: Mapping[str, Any], usage: Mapping[str, Any]) -> list[str]:
    cost = "unknown" if one["cost"] is None else f"{one['cost']:.4f} {usage['currency']}"
    return [f"{one['calls']:,}", f"{one['prompt_tokens']:,}", f"{one['completion_tokens']:,}", text(cost)]


def _sentences(usage: Mapping[str, Any]) -> list[str]:
    found = [f"Answered by {', '.join(usage['models'])}."] if usage["models"] else []
    expected = usage["expected"]
    if usage["error"] is not None:
        words = f"{plural(expected['calls'], 'call')} and {plural(expected['tokens'], 'token')} were expected"
        found.append(f"{words}; the tokens came to {usage['error']:+.0%} against the estimate.")
    if usage["without_usage"]:
        found.append(untold_words(usage))
    if usage["cost"] is not None and usage["calls"]:
        found.append(f"Money by the list prices of {usage['prices_of']}; what counts is the bill.")
    quotes = usage["quotes"]
    if quotes["verified"] or quotes["dropped"]:
        found.append(
            f"{plural(quotes['verified'], 'quote')} verified, {quotes['dropped']:,} dropped as not verifiable."
        )
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in usage["redacted"].items())
    return [*found, *([f"Taken out before anything was sent: {kinds}."] if kinds else [])]
