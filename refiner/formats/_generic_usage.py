"""Tokens and cost that messages of an unknown shape state beside their words. Makes no steps."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from refiner.formats._common import scalar_id
from refiner.formats._messages import as_dict

_BESIDE = ("usage", "tokens", "usage_metadata", "usageMetadata")
_NAMES = {
    "input_tokens": ("input", "input_tokens", "prompt_tokens", "inputTokens", "promptTokens", "promptTokenCount"),
    "output_tokens": (
        *("output", "output_tokens", "completion_tokens"),
        *("outputTokens", "completionTokens", "candidatesTokenCount"),
    ),
    "cached_tokens": ("cacheRead", "cached", "cache_read_input_tokens", "cached_tokens", "cachedContentTokenCount"),
    "cache_write_tokens": ("cacheWrite", "cache_creation_input_tokens"),
    "reasoning_tokens": ("thoughts", "reasoning_tokens", "thoughtsTokenCount"),
}


def spent(messages: Sequence[Any]) -> dict[str, str]:
    """What the messages used, by our names, and `cost_usd`. A message told twice counts once, as it was told last."""
    beside = {
        scalar_id(message.get("id")) or f"#{place}": usage
        for place, message in enumerate(map(as_dict, messages))
        if (usage := next((as_dict(message[key]) for key in _BESIDE if as_dict(message.get(key))), None))
    }
    sums = {ours: sum(_first(one, theirs) for one in beside.values()) for ours, theirs in _NAMES.items()}
    used = {name: str(int(total)) for name, total in sums.items() if total}
    cost = math.fsum(_cost(one) for one in beside.values())
    return used | ({"cost_usd": str(round(cost, 6))} if cost else {})


def _first(usage: dict[str, Any], names: tuple[str, ...]) -> float:
    return next((found for name in names if (found := _number(usage.get(name)))), 0)


def _cost(usage: dict[str, Any]) -> float:
    cost = usage.get("cost")
    return _number(cost.get("total") if isinstance(cost, dict) else cost)


def _number(value: Any) -> float:
    known = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and value > 0
    return value if known else 0
