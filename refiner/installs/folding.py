"""Two skills put into one: what both say is said once, what they say against each other is shown. Pure, no file.

Units are list items and blocks. A unit of the source is folded when the destination has each of its lines, or one that
reads nearly the same, sub-items included, so that nothing is torn from its context. All else is added to the section of
the same name, or with its own section; what both call by one name but is not equal is renamed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import PurePosixPath

from refiner.installs.records import Files, Tree
from refiner.skills import Document, Section, document, sections
from refiner.skills.lines import ending
from refiner.skills.loading import MAIN
from refiner.skills.outline import FRONT_MATTER

SIMILARITY = 0.75
"""Two lines of normalised text that agree at least this much say the same."""
_AGAINST = frozenset({"not", "never", "no", "dont", "cannot", "cant", "without", "avoid", "nor", "stop", "mustnt"})
_LOUD = frozenset({"always", "must", "do", "should", "please", "only"})


@dataclass(frozen=True, slots=True)
class Unit:
    """A list item or block of a skill as written, the section it stands in, and the texts that must all be said."""

    section: tuple[str, ...]
    data: bytes
    says: tuple[str, ...]
    item: bool

    @property
    def text(self) -> str:
        return " ".join(self.data.decode("utf-8", "replace").split())


@dataclass(frozen=True, slots=True)
class Pair:
    """A unit of the source beside the unit of the destination that it was compared with; `score` in [0, 1]."""

    source: str
    destination: str
    score: float


@dataclass(frozen=True, slots=True)
class Folded:
    """The merged package. `renamed` maps paths of the source to their new ones; `left` are its front matter's keys
    that the destination has otherwise, or not at all, and that stay as the destination has them."""

    tree: Tree
    folded: tuple[Pair, ...]
    contradictions: tuple[Pair, ...]
    added: tuple[str, ...]
    renamed: Mapping[str, str] = field(default_factory=dict)
    left: tuple[str, ...] = ()


def fold(destination: Tree, source: Tree, name: str, similarity: float = SIMILARITY) -> Folded:
    """`source`, which is called `name`, merged into `destination`. Raises SkillError when a SKILL.md is not UTF-8."""
    renamed = _renamed(destination.files, source.files, name)
    other = {renamed.get(path, path): data for path, data in source.files.items() if path != MAIN}
    incoming = _pointing(source.files[MAIN], renamed)
    known = list(_units(document(destination.files[MAIN])))
    judged = [(unit, *_judged(unit, known, similarity)) for unit in _units(document(incoming))]
    new = [unit for unit, fits, _ in judged if not fits]
    files = {**other, **destination.files, MAIN: _added(destination.files[MAIN], incoming, new)}
    runs = {renamed.get(path, path) for path in source.executable} | destination.executable
    return Folded(
        tree=Tree(files, frozenset(runs & files.keys())),
        folded=tuple(pair for _, fits, pair in judged if fits and pair),
        contradictions=tuple(pair for _, fits, pair in judged if not fits and pair),
        added=tuple(unit.text for unit in new),
        renamed=renamed,
        left=_left(destination.files[MAIN], incoming),
    )


def _renamed(mine: Files, theirs: Files, name: str) -> dict[str, str]:
    """New names for files that both have, but with other content."""
    found: dict[str, str] = {}
    for path in sorted(theirs):
        if path != MAIN and path in mine and mine[path] != theirs[path]:
            plain = PurePosixPath(path)
            tries = (f"{plain.stem}-{name}{'-' * bool(n)}{n or ''}{plain.suffix}" for n in range(len(mine) + 1))
            fresh = (str(plain.with_name(one)) for one in tries)
            found[path] = next(one for one in fresh if one not in mine and one not in theirs)
    return found


def _pointing(data: bytes, renamed: Mapping[str, str]) -> bytes:
    """The text with every mention of a renamed file following it."""
    for path in sorted(renamed, key=len, reverse=True):
        data = re.sub(rb"(?<![\w./-])" + re.escape(path.encode()) + rb"(?![\w/-])", renamed[path].encode(), data)
    return data


def _units(doc: Document) -> Iterator[Unit]:
    for part in (part for part in sections(doc.data) if part.path != FRONT_MATTER):
        covered = part.own_start
        for block in doc.blocks:
            if part.own_start <= block.start < part.own_end and block.kind != "heading_open":
                yield from _plain(doc, part, covered, block.start)
                items = [one for one in doc.items if one.list_start == block.start and one.depth == 1]
                yield from (_item(doc, part, one.start, one.end) for one in items)
                if not items:
                    yield from _plain(doc, part, block.start, block.end)
                covered = block.end
        yield from _plain(doc, part, covered, part.own_end)


def _plain(doc: Document, part: Section, start: int, end: int) -> Iterator[Unit]:
    """Lines as one unit: a block, or what is no block to a parser, such as the definition of a link."""
    data = doc.data[start:end].strip(b"\r\n")
    if data.strip():
        text = data.decode("utf-8", "replace")
        yield Unit(part.path, data, (text,) if is_code(data) else _lines(text), item=False)


def _item(doc: Document, part: Section, start: int, end: int) -> Unit:
    inner = [one for one in doc.items if start <= one.start < end]
    says = tuple(line for one in inner for line in _lines(doc.text(one.start, one.own_end)))
    return Unit(part.path, doc.data[start:end].rstrip(), says, item=True)


def _lines(text: str) -> tuple[str, ...]:
    return tuple(normal(line) for line in text.splitlines() if line.strip())


def is_code(data: bytes) -> bool:
    """Whether a unit is a block of code, which says the same only when it is the same."""
    return data.startswith((b"```", b"~~~"))


def normal(text: str) -> str:
    """A line as it is compared: without marker, markup, punctuation, case and extra white space."""
    bare = re.sub(r"^\s*(?:[-*+]|\d{1,9}[.)])\s+", "", text).replace("'", "").replace("’", "")
    return " ".join(re.sub(r"[^\w\s]", " ", bare.casefold()).split())


def _judged(unit: Unit, known: Sequence[Unit], similarity: float) -> tuple[bool, Pair | None]:
    """Whether the destination says all of a unit already, and the pair that shows it, or that contradicts it."""
    said = [(text, other) for other in known for text in other.says]
    nearest = [max(((_like(one, text), text, other) for text, other in said), key=_first, default=None)
               for one in unit.says]  # fmt: skip
    least = 1.0 if is_code(unit.data) else similarity
    pairs = [near for near in nearest if near is not None and near[0] >= least]
    if not pairs:
        return False, None
    score, _, other = max(pairs, key=_first)
    pair = Pair(unit.text, other.text, round(score, 3))
    opposed = any(
        opposite(one, near[1]) for one, near in zip(unit.says, nearest, strict=True) if near in pairs and near
    )
    fits = len(pairs) == len(unit.says) and not opposed
    return fits, pair if fits or opposed else None


def _first(found: tuple[float, str, Unit]) -> float:
    return found[0]


def _like(one: str, other: str) -> float:
    """How much two normalised lines agree, in [0, 1]; words that only turn or stress a rule do not count."""
    from rapidfuzz import fuzz

    cores = [" ".join(word for word in text.split() if word not in _AGAINST | _LOUD) for text in (one, other)]
    pairs = [(one, other)] + ([(cores[0], cores[1])] if opposite(one, other) and all(cores) else [])
    return max(fuzz.ratio(*pair) for pair in pairs) / 100


def opposite(one: str, other: str) -> bool:
    """Whether two normalised lines of like words speak against each other: a negation more, or other numbers."""
    first, second = one.split(), other.split()
    turned = sum(word in _AGAINST for word in first) % 2 != sum(word in _AGAINST for word in second) % 2
    numbers = [[word for word in words if word.isdigit()] for words in (first, second)]
    return turned or (all(numbers) and numbers[0] != numbers[1])


def _left(mine: bytes, theirs: bytes) -> tuple[str, ...]:
    fronts = [front.values if (front := document(data).front) else {} for data in (mine, theirs)]
    return tuple(sorted(key for key in fronts[1] if fronts[0].get(key) != fronts[1][key]))


def _added(data: bytes, incoming: bytes, new: Sequence[Unit]) -> bytes:
    """The destination's text with the new units: own text of a section first, then what becomes a section under it."""
    mine = dict(reversed(_named(data)))
    theirs = _named(incoming)
    heads = dict(reversed(theirs))
    pieces: dict[int, list[tuple[int, bytes]]] = {}
    emitted: set[tuple[str, ...]] = set()
    for name, part in theirs:
        units = [unit for unit in new if unit.section == part.path]
        if units and name in mine:
            pieces.setdefault(mine[name].own_end, []).append((1, _joined(units)))
        elif units:
            wanted = [one for one in _above(name) if one not in mine and one in heads and one not in emitted]
            emitted |= {*wanted}
            home = next(mine[up] for up in reversed([(), *_above(name)]) if up in mine)
            headings = [incoming[heads[one].start : heads[one].own_start].strip() for one in wanted]
            pieces.setdefault(home.end, []).append((-home.level, b"\n\n".join([*headings, _joined(units)])))
    for point in sorted(pieces, reverse=True):
        ordered = sorted(pieces[point], key=lambda piece: -piece[0])
        data = _spliced(data, point, [text for _, text in ordered])
    return data


def _named(data: bytes) -> list[tuple[tuple[str, ...], Section]]:
    """Sections with their paths, case and white space folded; the skill's title and the text above it count as `()`."""
    parts = [part for part in sections(data) if part.path != FRONT_MATTER]
    tops = [part for part in parts if part.level == 1]
    titled = len(tops) == 1 and parts[1] == tops[0]
    ordered = [tops[0], parts[0], *parts[2:]] if titled else parts
    return [(_folded(part.path[1:] if titled else part.path), part) for part in ordered]


def _above(name: tuple[str, ...]) -> list[tuple[str, ...]]:
    """The paths of a section and of those around it, outermost first."""
    return [name[: at + 1] for at in range(len(name))]


def _folded(path: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(" ".join(part.split()).casefold() for part in path)


def _joined(units: Sequence[Unit]) -> bytes:
    """Units one after the other: items of a list close together, blocks apart."""
    text = units[0].data
    for before, unit in pairwise(units):
        text += (b"\n" if before.item and unit.item else b"\n\n") + unit.data
    return text


def _spliced(data: bytes, point: int, texts: Sequence[bytes]) -> bytes:
    """The texts after what stands before `point`, kept apart by blank lines; items go on with a list that ends it."""
    head, tail = data[:point].rstrip(), data[point:].lstrip(b"\r\n")
    eol, list_ = ending(data), _list_before(data, head)
    added = b""
    for at, text in enumerate(texts):
        goes_on = at == 0 and list_ is not None and _MARKER.match(text)
        added += (b"\n" if goes_on else b"\n\n" if head or added else b"") + (_marked(text, list_) if goes_on else text)
    body = re.sub(rb"\r\n?|\n", lambda _: eol, added)
    return head + body + eol + (eol + tail if tail else b"")


_MARKER = re.compile(rb"([-*+]|\d{1,9}[.)])(?=[ \t])")


def _list_before(data: bytes, head: bytes) -> bytes | None:
    """The bullet of the list that ends a text; None when it ends otherwise or in a numbered list."""
    doc = document(data)
    block = doc.block_at(max(0, len(head) - 1))
    if block is None or block.kind != "bullet_list_open":
        return None
    return next(one.style.marker.encode() for one in doc.items if one.list_start == block.start and one.depth == 1)


def _marked(text: bytes, bullet: bytes | None) -> bytes:
    """The items at the start of a text with another bullet."""
    return re.sub(rb"(?m)^([-*+]|\d{1,9}[.)])(?=[ \t])", bullet or b"-", text)
