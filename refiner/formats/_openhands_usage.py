"""What a run of OpenHands used: tokens and cost, as its metrics or its events tell. Knows no steps."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from refiner.formats._common import scalar_id
from refiner.formats._messages import as_dict
from refiner.formats._openhands_events import response
from refiner.ids import content_key

_TOKENS = {
    "input_tokens": "prompt_tokens",
    "output_tokens": "completion_tokens",
    "cached_tokens": "cache_read_tokens",
    "cache_write_tokens": "cache_write_tokens",
}
_OF_REPLIES = {"cache_read_tokens": "cache_read_input_tokens", "cache_write_tokens": "cache_creation_input_tokens"}


def used(record: dict[str, Any], events: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Tokens and cost: the totals of the record, else the last ones an event states, else the sum over the replies."""
    listed = list(events)
    stated = [as_dict(event.get("llm_metrics")) for event in listed]
    metrics = as_dict(record.get("metrics")) or next((one for one in reversed(stated) if one), {})
    usage = as_dict(metrics.get("accumulated_token_usage")) or _summed(listed)
    counts = {ours: usage.get(theirs) for ours, theirs in _TOKENS.items()}
    return {"cost_usd": metrics.get("accumulated_cost"), **counts}


def _summed(events: Iterable[dict[str, Any]]) -> dict[str, int]:
    """The tokens of all replies; nothing where one of them is not in the file, as the sum would say too little.

    Calls of one reply and their observations hold the same reply, which counts once.
    """
    replies: dict[str, dict[str, Any]] = {}
    for event in events:
        reply = response(event)
        if reply:
            replies[scalar_id(reply.get("id")) or content_key(reply)] = as_dict(reply.get("usage"))
        elif event.get("source") == "agent" and scalar_id(event.get("action")):
            return {}
    every = {name: [_count(usage, name) for usage in replies.values()] for name in _TOKENS.values()}
    return {name: sum(filter(None, counts)) for name, counts in every.items() if any(c is not None for c in counts)}


def _count(usage: dict[str, Any], name: str) -> int | None:
    found = usage.get(name, usage.get(_OF_REPLIES.get(name, "")))
    if found is None and name == "cache_read_tokens":
        found = as_dict(usage.get("prompt_tokens_details")).get("cached_tokens")
    return found if isinstance(found, int) and not isinstance(found, bool) else None
