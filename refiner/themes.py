"""Names for groups of texts: the words that set a group apart (class-based TF-IDF). No embeddings, no outcomes."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence

_WORD = re.compile(r"[a-z][a-z_]{3,29}")


def words(text: str) -> list[str]:
    return _WORD.findall(text.lower())


def themes(groups: Sequence[Sequence[str]], top: int = 4) -> list[str]:
    """One label a group: its `top` words by frequency there times log(1 + mean words a group / frequency overall).

    Ties are broken alphabetically. A group without words is labelled with its number.
    """
    counts = [Counter(word for text in group for word in words(text)) for group in groups]
    total: Counter[str] = sum(counts, Counter())
    mean = sum(total.values()) / max(len(groups), 1)
    return [_label(count, total, mean, top) or f"group {number + 1}" for number, count in enumerate(counts)]


def _label(count: Counter[str], total: Counter[str], mean: float, top: int) -> str:
    size = sum(count.values()) or 1
    scores = {word: number / size * math.log(1 + mean / total[word]) for word, number in count.items()}
    best = sorted(scores, key=lambda word: (-scores[word], word))[:top]
    return ", ".join(best)
