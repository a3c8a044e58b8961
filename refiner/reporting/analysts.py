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

DECISIVE_WORDS = {
    "offline": "where it may have gone wrong: a guess of the offline analyst, which counts marks and is often wrong",
    "model": "where it went wrong, as the model sees it",
}


def decisive_words(analyst: str) -> str:
    """What is said beside the message that an analyst takes for the one that decided a failure."""
    return DECISIVE_WORDS.get(analyst, f"where it went wrong, as the analyst “{analyst}” sees it")


def analyst_note(analyst: str) -> str:
    """The sentence for an analyst by name; every analyst has one."""
    return ANALYST_NOTES.get(analyst, f"Made by the analyst “{analyst}”.")
