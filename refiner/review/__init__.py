"""The rules of a review, pure: what a decision log means, what may be decided, and the skill that follows from it.

No database, no clock, no page. The log only grows; everything else is computed from it.
"""

from __future__ import annotations

from refiner.review.board import Board, lay_out
from refiner.review.description import with_description
from refiner.review.log import Standing, effect, repeats, standing, undoable
from refiner.review.mending import with_mendings
from refiner.review.queue import item_hash, rejected_subjects, review
from refiner.review.rules import DWELL, REASONS, RELEASED, carried, ruled
from refiner.review.skill import accepted, amended, bulk, clashes, either_way, merged

__all__ = [
    "DWELL",
    "REASONS",
    "RELEASED",
    "Board",
    "Standing",
    "accepted",
    "amended",
    "bulk",
    "carried",
    "clashes",
    "effect",
    "either_way",
    "item_hash",
    "lay_out",
    "merged",
    "rejected_subjects",
    "repeats",
    "review",
    "ruled",
    "standing",
    "undoable",
    "with_description",
    "with_mendings",
]
