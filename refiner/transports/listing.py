"""What an endpoint's list of models says of one of them. Servers differ, and many say nothing; sends nothing itself."""

from __future__ import annotations

import json
from typing import Any

FIELDS = ("max_model_len", "context_length", "max_context_length", "context_window", "n_ctx", "n_ctx_train")
"""Where servers say how many tokens a model reads at once (vLLM, OpenRouter, LM Studio, Groq, llama.cpp), in order."""


def window(body: bytes, model: str) -> int | None:
    """Tokens that a model reads at once by a list of models; None where the list does not say."""
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return None
    listed = found.get("data") if isinstance(found, dict) else None
    entries = [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
    named = [one for one in entries if one.get("id") == model]
    own = named or (entries if len(entries) == 1 else [])  # a server of one model answers to any name
    return _stated(own[0]) if own else None


def _stated(entry: dict[str, Any]) -> int | None:
    meta = entry.get("meta")
    known = {**(meta if isinstance(meta, dict) else {}), **entry}
    sizes = (known.get(name) for name in FIELDS)
    return next((size for size in sizes if type(size) is int and size > 0), None)
