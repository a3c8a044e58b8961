"""Where an edit's `old` text lies in a section's own text: exactly, white-space folded, or by a unique near match."""

from __future__ import annotations

import re
from dataclasses import dataclass

from refiner.errors import StaleEdit
from refiner.skills import Document, Section

SIMILARITY = 88.0
"""Lowest rapidfuzz ratio (0 to 100) of a near match: about one changed word in a sentence of ten."""
SHORTEST_NEAR = 12
_NEGATION = re.compile(r"\b(?:not|never|no|cannot|without|except|unless|only)\b|n't\b", re.IGNORECASE)
_MARKER = re.compile(r"^\s*(?:>\s*)*(?:[-*+]|\d{1,9}[.)])\s+")


@dataclass(frozen=True, slots=True)
class Own:
    """A section's own text with the way back to byte offsets."""

    text: str
    start: int

    def bytes(self, span: tuple[int, int]) -> tuple[int, int]:
        first = self.start + len(self.text[: span[0]].encode())
        return first, first + len(self.text[span[0] : span[1]].encode())


def find(doc: Document, section: Section, old: str) -> tuple[int, int]:
    """Byte range of `old` in the own text of `section`. Raises StaleEdit when it is absent or not unique."""
    own = Own(doc.text(section.own_start, section.own_end), section.own_start)
    if not old.strip():
        raise StaleEdit("the edit names no text to anchor to: give the line it belongs to")
    for search in (_exact, _folded, _near):
        spans = search(own.text, old, doc.eol.decode())
        if len(spans) == 1:
            return own.bytes(spans[0])
        if spans:
            raise StaleEdit(f"{_name(section)} has {_quoted(old)} more than once: quote a longer piece of the text")
    raise StaleEdit(f"{_name(section)} does not contain {_quoted(old)}: quote the text as it stands there")


def find_line(doc: Document, section: Section, old: str) -> tuple[int, int]:
    """Like `find`, but a whole line or list item that reads exactly like `old` wins over longer lines containing it."""
    wanted = _bare(old)
    ranges = [(item.start, item.start + len(doc.data[item.start : item.own_end].rstrip(b"\r\n"))) for item in doc.items]
    opened = {start for start, _ in ranges}
    ranges += [(line.start, line.end) for line in doc.lines if line.start not in opened]
    inside = [span for span in ranges if section.own_start <= span[0] and span[1] <= section.own_end]
    same = [span for span in inside if wanted and _bare(doc.text(*span)) == wanted]
    return same[0] if len(same) == 1 else find(doc, section, old)


def _bare(text: str) -> str:
    return " ".join(_MARKER.sub("", text).split())


def _exact(text: str, old: str, eol: str) -> list[tuple[int, int]]:
    wanted = re.sub(r"\r\n?|\n", lambda _: eol, old)
    found: list[tuple[int, int]] = []
    at = text.find(wanted)
    while at >= 0 and len(found) < 2:
        found.append((at, at + len(wanted)))
        at = text.find(wanted, at + 1)
    return found


def _folded(text: str, old: str, eol: str) -> list[tuple[int, int]]:
    pattern = r"\s+".join(re.escape(word) for word in old.split())
    return [match.span() for match in re.finditer(pattern, text)]


def _near(text: str, old: str, eol: str) -> list[tuple[int, int]]:
    """Runs of whole words that read almost like `old`; alternatives that overlap the best one do not count.

    Never bridges a changed number or negation: those are different statements, however similar the letters.
    """
    words = [match.span() for match in re.finditer(r"\S+", text)]
    wanted = " ".join(old.split())
    if len(wanted) < SHORTEST_NEAR or not words:
        return []
    scored = sorted(_windows(text, words, wanted), key=lambda found: (-found[0], found[1]))
    chosen: list[tuple[int, int]] = []
    for _, span in scored:
        if all(span[1] <= other[0] or span[0] >= other[1] for other in chosen):
            chosen.append(span)
    return [span for span in chosen if _meaning(text[slice(*span)]) == _meaning(wanted)]


def _windows(text: str, words: list[tuple[int, int]], wanted: str) -> list[tuple[float, tuple[int, int]]]:
    from rapidfuzz import fuzz

    size = len(wanted.split())
    found: list[tuple[float, tuple[int, int]]] = []
    for first in range(len(words)):
        for last in range(first + max(1, size - 2) - 1, min(first + size + 2, len(words))):
            span = (words[first][0], words[last][1])
            window = " ".join(text[slice(*span)].split())
            score = fuzz.ratio(wanted, window, score_cutoff=SIMILARITY)
            if score:
                found.append((score, span))
    return found


def _meaning(text: str) -> tuple[list[str], list[str]]:
    negations = sorted(match.lower() for match in _NEGATION.findall(text))
    return sorted(re.findall(r"\d+", text)), negations


def _name(section: Section) -> str:
    return f"section {' > '.join(section.path)!r}" if section.path else "the part before the first heading"


def _quoted(old: str) -> str:
    line = " ".join(old.split())
    return repr(line if len(line) <= 60 else line[:57] + "...")
