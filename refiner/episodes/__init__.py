"""Conversations cut into attempts: a request, what the agent did, how the user took it. No files, no database."""

from __future__ import annotations

from refiner.episodes.attempts import Cut, Episode, Sign, Skipped, cut, of_pieces
from refiner.episodes.corpus import ATTEMPT, SIGN, Gathered, conversation_of, gather, is_conversation

__all__ = [
    "ATTEMPT",
    "SIGN",
    "Cut",
    "Episode",
    "Gathered",
    "Sign",
    "Skipped",
    "conversation_of",
    "cut",
    "gather",
    "is_conversation",
    "of_pieces",
]
