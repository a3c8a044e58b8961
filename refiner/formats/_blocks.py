"""Content of a message as text: blocks joined, bytes as placeholders, reasoning left out. Knows no speaker."""

from __future__ import annotations

import re
from typing import Any

from refiner.formats._common import json_text, text_of, without_images

_THOUGHTS = {"thinking", "redacted_thinking", "reasoning", "reasoning_text", "thought"}
_TEXT_KEYS = ("text", "input_text", "output_text", "refusal", "output")
_DATA_URI = re.compile(r"data:([\w.+-]+)/([\w.+-]+);base64,(.*)", re.DOTALL)
_KINDS = ("media_type", "mediaType", "mime_type", "mimeType", "format")
_LINKS = ("url", "image_url", "image", "file_data", "file_url")
_NESTED = 4
_LONG = 256
"""Data shorter than this is left in sight: it is no picture."""


def content_text(content: Any) -> str:
    """Text, blocks or anything else as one text; the texts of blocks are joined by newlines."""
    if isinstance(content, list) and any(isinstance(block, dict) for block in content):
        return "\n".join(text for block in content if (text := block_text(block)))
    if isinstance(content, dict):
        return block_text(content)
    return text_of(content)


def block_text(block: Any) -> str:
    """One block as text: its words, `[image png 640 KB]` for bytes, nothing for reasoning, else its JSON."""
    if not isinstance(block, dict):
        return text_of(block)
    if is_thought(block):
        return ""
    words = next((block[key] for key in _TEXT_KEYS if isinstance(block.get(key), str)), None)
    return text_of(words) if words is not None else placeholder(block) or without_images(json_text(block))


def is_thought(block: dict[str, Any]) -> bool:
    """Whether a block holds reasoning, in the clear or encrypted."""
    return str(block.get("type")) in _THOUGHTS or block.get("thought") is True


def placeholder(value: Any, depth: int = 0) -> str:
    """`[image png 640 KB]` for a block that carries or names a picture or file; empty for every other."""
    if not isinstance(value, dict) or depth > _NESTED:
        return ""
    for key in _LINKS:
        if isinstance(value.get(key), str):
            return _linked(value[key])
    if isinstance(value.get("path"), str) and any(isinstance(value.get(key), str) for key in _KINDS):
        return _linked(value["path"])
    data = value.get("data")
    if isinstance(data, str) and len(data) >= (0 if value.get("type") == "base64" else _LONG):
        kind = next((value[key] for key in _KINDS if isinstance(value.get(key), str)), "data")
        return _sized(*kind.split("/", 1), data=data) if "/" in kind else _sized(kind, data=data)
    return next((found for inner in value.values() if (found := placeholder(inner, depth + 1))), "")


def _linked(link: str) -> str:
    data = _DATA_URI.match(link)
    if data is not None:
        return _sized(data.group(1), data.group(2), data=data.group(3))
    return text_of(f"[file {link}]") if len(link) < _LONG else "[file]"


def _sized(*kind: str, data: str) -> str:
    return text_of(f"[{' '.join(kind)} {max(1, round(len(data) * 3 / 4 / 1024))} KB]")
