"""What a reader must know about the analyst that made a result, in one sentence. Imports nothing of the product."""

from __future__ import annotations

ANALYST_NOTES = {
    "offline": (
        "Made by the offline analyst: it counts recurring, contrasting behaviour and does not understand reasons."
    ),
    "model": (
        "Made with a language model: its quotes were checked and its claims counted wherever they can be; "
        "the rest is its judgement."
    ),
}


def analyst_note(analyst: str) -> str:
    """The sentence for an analyst by name; every analyst has one."""
    return ANALYST_NOTES.get(analyst, f"Made by the analyst “{analyst}”.")
