"""What differs between two texts, line then word, as rows and as HTML in which every string is escaped. No I/O.

The HTML never holds a sign of its own: line numbers, + and - are drawn by the style sheet from attributes. So taking
the tags away, and with them what stands in `<ins>`, gives back exactly the first text; without `<del>` the second.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from html import escape
from itertools import groupby
from typing import Literal

Kind = Literal["same", "del", "ins", "both"]
Mode = Literal["inline", "side"]
Fold = Literal["open", "details", "gap"]
Piece = tuple[Kind, str]

CONTEXT = 3
"""Unchanged lines shown before and after a changed one."""
_PAIRED = 0.5
"""Two lines whose words agree at least this much are shown as one line with changed words."""
_MOST_CELLS = 4_000_000
"""Lines (or words) of one side times those of the other; above it a stretch counts as replaced as a whole."""
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
_WORD = re.compile(r"\w+|\s+|[^\w\s]")
HIDDEN = re.compile(
    "([\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff])"
)
"""Characters that show nothing or turn the text around; each gets a visible sign."""


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the picture: `old` and `new` are line numbers from 1; a `both` row has its changed words marked."""

    kind: Kind
    old: int | None
    new: int | None
    pieces: tuple[Piece, ...]


@dataclass(frozen=True, slots=True)
class Hunk:
    """Rows `start` to `stop` (not included) belong to these changes and to no other; none = nobody's."""

    change_ids: tuple[str, ...]
    start: int
    stop: int


def lines_of(text: str) -> list[str]:
    """The lines of a text with their endings."""
    return _LINE.findall(text)


def diff_rows(before: str, after: str) -> list[Row]:
    """Every line of both texts in order, equal lines once."""
    old, new = lines_of(before), lines_of(after)
    rows: list[Row] = []
    for tag, i1, i2, j1, j2 in _opcodes(old, new):
        if tag == "equal":
            rows += [Row("same", i1 + k + 1, j1 + k + 1, (("same", old[i1 + k]),)) for k in range(i2 - i1)]
        else:
            rows += _replaced(old[i1:i2], new[j1:j2], i1, j1)
    return rows


def _opcodes(old: Sequence[str], new: Sequence[str]) -> list[tuple[str, int, int, int, int]]:
    """difflib's opcodes, the common head and tail taken off before; a huge rest is one replacement."""
    shorter = min(len(old), len(new))
    head = next((at for at in range(shorter) if old[at] != new[at]), shorter)
    tail = next((at for at in range(shorter - head) if old[-1 - at] != new[-1 - at]), shorter - head)
    i2, j2 = len(old) - tail, len(new) - tail
    found = [("equal", 0, head, 0, head)] if head else []
    if (i2 - head) * (j2 - head) > _MOST_CELLS or head in (i2, j2):
        found += [("replace", head, i2, head, j2)] if head < max(i2, j2) else []
    else:
        inner = SequenceMatcher(None, old[head:i2], new[head:j2], autojunk=False).get_opcodes()
        found += [(tag, a + head, b + head, c + head, d + head) for tag, a, b, c, d in inner]
    return found + ([("equal", i2, len(old), j2, len(new))] if tail else [])


def _replaced(old: Sequence[str], new: Sequence[str], i0: int, j0: int) -> Iterator[Row]:
    """Rows of a changed stretch: lines that resemble each other side by side, in order, the others alone."""
    i = j = 0
    for a, b in [*_pairs(old, new), (len(old), len(new))]:
        yield from (Row("del", i0 + k + 1, None, (("del", old[k]),)) for k in range(i, a))
        yield from (Row("ins", None, j0 + k + 1, (("ins", new[k]),)) for k in range(j, b))
        if a < len(old):
            yield Row("both", i0 + a + 1, j0 + b + 1, tuple(words(old[a], new[b])))
        i, j = a + 1, b + 1


def _pairs(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int]]:
    """Which old line became which new one, in order: the choice with the highest sum of likeness."""
    if not old or not new or len(old) * len(new) > 400:
        return []
    best: dict[tuple[int, int], tuple[float, tuple[tuple[int, int], ...]]] = {}
    nothing: tuple[float, tuple[tuple[int, int], ...]] = (0.0, ())
    for i in range(len(old) - 1, -1, -1):
        for j in range(len(new) - 1, -1, -1):
            skipped = max(best.get((i + 1, j), nothing), best.get((i, j + 1), nothing), key=lambda one: one[0])
            like = _likeness(old[i], new[j])
            total, chain = best.get((i + 1, j + 1), nothing)
            taken = (total + like, ((i, j), *chain))
            best[i, j] = taken if like >= _PAIRED and taken[0] > skipped[0] else skipped
    return list(best[0, 0][1])


def _likeness(one: str, other: str) -> float:
    first, second = ([word for word in _WORD.findall(line) if word.strip()] for line in (one, other))
    if not first or not second or len(first) * len(second) > _MOST_CELLS // 40:
        return 0.0
    return SequenceMatcher(None, first, second, autojunk=False).ratio()


def words(old: str, new: str) -> Iterator[Piece]:
    """The pieces of a changed line; what agrees only in white space between two changes is part of the change."""
    first, second = _WORD.findall(old), _WORD.findall(new)
    gone: list[str] = []
    come: list[str] = []
    for tag, i1, i2, j1, j2 in _opcodes(first, second):
        same = "".join(first[i1:i2])
        between = gone and come and i2 < len(first) and j2 < len(second) and not same.strip()
        if tag == "equal" and not between:
            yield from _change(gone, come)
            gone, come = [], []
            yield "same", same
        else:
            gone += first[i1:i2]
            come += second[j1:j2]
    yield from _change(gone, come)


def _change(gone: Sequence[str], come: Sequence[str]) -> Iterator[Piece]:
    if gone:
        yield "del", "".join(gone)
    if come:
        yield "ins", "".join(come)


def hunks(
    rows: Sequence[Row], added: Iterable[tuple[int, int, str]], cut: Iterable[tuple[int, int, str]]
) -> list[Hunk]:
    """The changed rows cut up by whose they are. `added` = (first line, last line, change) in the second text, `cut`
    in the first. A row that nobody claims (difflib may slide a blank line) belongs to the one before it, else after.
    """
    new, old = _owners(added), _owners(cut)
    found: list[Hunk] = []
    for changed, group in groupby(range(len(rows)), key=lambda at: rows[at].kind != "same"):
        if changed:
            found += _cut_up([(at, new.get(rows[at].new or 0, ()) or old.get(rows[at].old or 0, ())) for at in group])
    return found


def _owners(ranges: Iterable[tuple[int, int, str]]) -> dict[int, tuple[str, ...]]:
    owners: dict[int, tuple[str, ...]] = {}
    for first, last, change_id in ranges:
        for line in range(first, last + 1):
            owners[line] = tuple(sorted({*owners.get(line, ()), change_id}))
    return owners


def _cut_up(rows: Sequence[tuple[int, tuple[str, ...]]]) -> Iterator[Hunk]:
    ids = next((ids for _, ids in rows if ids), ())
    owned = []
    for at, mine in rows:
        ids = mine or ids
        owned.append((at, ids))
    for owner, group in groupby(owned, key=lambda one: one[1]):
        places = [at for at, _ in group]
        yield Hunk(owner, places[0], places[-1] + 1)


def blocks(rows: Sequence[Row], found: Sequence[Hunk]) -> Iterator[tuple[Hunk | None, Sequence[Row]]]:
    """Every row once, in order: each hunk with the unchanged lines next to it, and (None, the lines in between)."""
    shown = 0
    for at, hunk in enumerate(found):
        start = max(shown, hunk.start - CONTEXT)
        if start > shown:
            yield None, rows[shown:start]
        shown = min(found[at + 1].start if at + 1 < len(found) else len(rows), hunk.stop + CONTEXT)
        yield hunk, rows[start:shown]
    if shown < len(rows):
        yield None, rows[shown:]


def counts(rows: Sequence[Row]) -> tuple[int, int]:
    """Lines added and lines removed; a changed line counts as both."""
    return sum(row.kind in ("ins", "both") for row in rows), sum(row.kind in ("del", "both") for row in rows)


def text_html(text: str) -> str:
    """A string as HTML text: nothing in it is markup, and what cannot be seen is marked (`data-u` = its number)."""
    shown = HIDDEN.split(text)
    return "".join(_hidden(part) if at % 2 else _plain(part) for at, part in enumerate(shown))


def _plain(text: str) -> str:
    return escape(text, quote=True).replace("\r", "&#13;")


def _hidden(character: str) -> str:
    shown = "\ufffd" if "\ud800" <= character <= "\udfff" else character
    return f'<span class="hid" data-u="{ord(character):04X}">{shown}</span>'


def rows_html(rows: Sequence[Row], mode: Mode = "inline", fold: Fold = "open", *, numbers: bool = True) -> str:
    """The rows as one block. Long unchanged stretches are folded (`details`) or left out with a mark (`gap`).

    Without `numbers` the lines of an excerpt are not counted.
    """
    return f'<div class="sr-diff {mode}{"" if numbers else " bare"}">{body_html(rows, mode, fold)}</div>'


def body_html(rows: Sequence[Row], mode: Mode = "inline", fold: Fold = "open") -> str:
    """What stands inside of the block of `rows_html`."""
    draw = _side if mode == "side" else _inline
    if fold == "open":
        return "".join(map(draw, rows))
    return "".join(_stretch(part, hide, draw, fold) for hide, part in _stretches(rows))


def _stretches(rows: Sequence[Row]) -> Iterator[tuple[bool, Sequence[Row]]]:
    near = {at + step for at, row in enumerate(rows) if row.kind != "same" for step in range(-CONTEXT, CONTEXT + 1)}
    for hide, group in groupby(range(len(rows)), key=lambda at: at not in near):
        part = [rows[at] for at in group]
        yield hide and len(part) > 1, part


def _stretch(part: Sequence[Row], hide: bool, draw: Callable[[Row], str], fold: Fold) -> str:
    if not hide:
        return "".join(map(draw, part))
    label = f"{len(part)} unchanged lines"
    if fold == "gap":
        return f'<div class="gap" data-label="{label}"></div>'
    body = "".join(map(draw, part))
    return f'<details class="fold"><summary aria-label="{label}" data-label="{label}"></summary>{body}</details>'


def _inline(row: Row) -> str:
    numbers = f'data-o="{row.old or ""}" data-n="{row.new or ""}"'
    return f'<div class="row {row.kind}" {numbers}>{"".join(map(_piece, row.pieces))}</div>'


def _side(row: Row) -> str:
    old = "".join(_piece(piece) for piece in row.pieces if piece[0] != "ins")
    new = "".join(_piece(piece) for piece in row.pieces if piece[0] != "del")
    left = f'<div class="old" data-o="{row.old or ""}">{old}</div>'
    return f'<div class="row {row.kind}">{left}<div class="new" data-n="{row.new or ""}">{new}</div></div>'


def _piece(piece: Piece) -> str:
    kind, text = piece
    return text_html(text) if kind == "same" else f"<{kind}>{text_html(text)}</{kind}>"
