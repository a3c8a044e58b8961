"""One CommonMark reading of a text: its headings, top-level blocks and list items as byte ranges. Changes nothing."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from refiner.errors import SkillError
from refiner.skills.frontmatter import FrontMatter, front_matter
from refiner.skills.lines import BOM, Line, ending, is_blank, split

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

_MARKER = re.compile(r"(?P<prefix>[ \t]*(?:>[ \t]?[ \t]*)*)(?P<marker>[-*+]|\d{1,9}[.)])(?P<pad>[ \t]+|$)")


@dataclass(frozen=True, slots=True)
class Heading:
    text: str
    level: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Block:
    """A top-level block from its first to after its last non-blank line. `kind` is markdown-it's token type."""

    kind: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Style:
    """How the items of one list are written. `number` counts on for an ordered list and is None for bullets."""

    prefix: str
    marker: str
    pad: str
    loose: bool
    number: int | None = None

    @property
    def hang(self) -> str:
        """The prefix of an item's further lines."""
        column = len(self.prefix.expandtabs(4))
        return self.prefix + " " * (len((self.prefix + self.marker + self.pad).expandtabs(4)) - column)

    @property
    def column(self) -> int:
        return len(self.hang.expandtabs(4))


@dataclass(frozen=True, slots=True)
class Item:
    """A list item: its own lines are `start` to `own_end`, with nested lists it reaches to `end`."""

    start: int
    own_end: int
    end: int
    style: Style
    list_start: int
    depth: int


@dataclass(frozen=True, slots=True)
class Document:
    data: bytes
    eol: bytes
    lines: tuple[Line, ...]
    front: FrontMatter | None
    body: int
    headings: tuple[Heading, ...]
    blocks: tuple[Block, ...]
    items: tuple[Item, ...]
    open_fences: tuple[int, ...] = field(default=())

    def text(self, start: int, end: int) -> str:
        return self.data[start:end].decode("utf-8")

    def line_at(self, offset: int) -> Line:
        """The line that holds the byte at `offset` (the last line for an offset at the end)."""
        return next((line for line in self.lines if line.next > offset), self.lines[-1])

    def item_at(self, offset: int) -> Item | None:
        """The innermost list item that holds the byte at `offset`."""
        holding = [item for item in self.items if item.start <= offset < item.end]
        return max(holding, key=lambda item: item.depth, default=None)

    def block_at(self, offset: int) -> Block | None:
        return next((block for block in self.blocks if block.start <= offset < block.end), None)

    def last_line(self, start: int, end: int) -> Line | None:
        """The last non-blank line between two offsets."""
        inside = (line for line in reversed(self.lines) if start <= line.start < end)
        return next((line for line in inside if not is_blank(self.data[line.start : line.end])), None)


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark")
    parser.core.ruler.enableOnly(["normalize", "block"])
    return parser


@lru_cache(maxsize=128)
def document(data: bytes) -> Document:
    """Reads UTF-8 markdown, with or without front matter and byte order mark. Raises SkillError for other bytes."""
    front = front_matter(data)
    body = front.end if front else len(BOM) if data.startswith(BOM) else 0
    try:
        tokens = _parser().parse(data[body:].decode("utf-8"))
    except UnicodeDecodeError as error:
        raise SkillError(f"the text is not UTF-8 (byte {error.start + body}): save it as UTF-8") from error
    return _Reader(data, front, body, tokens).document()


class _Reader:
    """Turns markdown-it's line numbers into byte offsets of the whole text."""

    def __init__(self, data: bytes, front: FrontMatter | None, body: int, tokens: list[Token]) -> None:
        self.data, self.front, self.body, self.tokens = data, front, body, tokens
        self.lines = split(data)
        self.first = sum(line.start < body for line in self.lines)

    def document(self) -> Document:
        top = [token for token in self.tokens if token.level == 0 and token.map]
        blocks = tuple(Block(token.type, *self.range(token)) for token in top)
        fences = tuple(
            self.range(token)[0] for token in self.tokens if token.type == "fence" and not self.is_closed(token)
        )
        eol, headings, items = ending(self.data), self.headings(), self.items()
        return Document(self.data, eol, self.lines, self.front, self.body, headings, blocks, items, fences)

    def number(self, line: int) -> int:
        return min(line + self.first, len(self.lines))

    def offset(self, number: int) -> int:
        return self.lines[number].start if number < len(self.lines) else len(self.data)

    def source(self, number: int) -> str:
        line = self.lines[number]
        return self.data[line.start : line.end].decode("utf-8")

    def range(self, token: Token) -> tuple[int, int]:
        """Byte offsets of a block without the blank lines that follow it."""
        first, last = (self.number(line) for line in token.map or (0, 0))
        while last - 1 > first and not self.source(last - 1).strip(" \t>"):
            last -= 1
        return self.offset(first), self.offset(last)

    def is_closed(self, token: Token) -> bool:
        first, last = (self.number(line) for line in token.map or (0, 0))
        closing = self.source(last - 1).strip(" \t>")
        return last - 1 > first and len(closing) >= len(token.markup) and not closing.strip(token.markup[0])

    def headings(self) -> tuple[Heading, ...]:
        found = []
        for token, inline in zip(self.tokens, self.tokens[1:], strict=False):
            if token.type == "heading_open" and token.level == 0:
                start, end = self.range(token)
                found.append(Heading(" ".join(inline.content.split()), int(token.tag[1]), start, end))
        return tuple(found)

    def items(self) -> tuple[Item, ...]:
        """Every list item whose marker opens its line (of `- - x` only the outer one), in order of appearance."""
        entries = _entries(self.tokens)
        found: dict[int, Item] = {}
        for entry in entries:
            item = self.item(entry)
            if item is not None:
                found.setdefault(item.start, item)
        return tuple(found[start] for start in sorted(found))

    def item(self, entry: _Entry) -> Item | None:
        start, end = self.range(entry.token)
        match = _MARKER.match(self.source(self.number((entry.token.map or [0])[0])))
        if match is None:
            return None
        list_start = self.range(entry.list.token)[0]
        own_end = self.trimmed(start, entry.nested) if entry.nested is not None else end
        return Item(start, own_end, end, _style(match, loose=entry.list.loose), list_start, entry.token.level)

    def trimmed(self, start: int, nested: int) -> int:
        """Where an item's own lines end: before the blank lines in front of its first nested list."""
        last = self.number(nested)
        while self.offset(last - 1) > start and not self.source(last - 1).strip(" \t>"):
            last -= 1
        return self.offset(last)


@dataclass(slots=True)
class _List:
    token: Token
    loose: bool = False


@dataclass(slots=True)
class _Entry:
    """A list item token, its list, and the body line of the first list nested directly in it."""

    token: Token
    list: _List
    nested: int | None = None


def _entries(tokens: list[Token]) -> list[_Entry]:
    lists: list[_List] = []
    open_: list[_Entry] = []
    found: list[_Entry] = []
    for token in tokens:
        if token.type in ("bullet_list_open", "ordered_list_open"):
            if open_ and open_[-1].nested is None and open_[-1].token.level == token.level - 1:
                open_[-1].nested = _below(open_[-1].token, token)
            lists.append(_List(token))
        elif token.type == "list_item_open":
            open_.append(_Entry(token, lists[-1]))
            found.append(open_[-1])
        elif token.type == "paragraph_open" and lists and token.level == lists[-1].token.level + 2:
            lists[-1].loose |= not token.hidden
        elif token.type == "list_item_close":
            open_.pop()
        elif token.type in ("bullet_list_close", "ordered_list_close"):
            lists.pop()
    return found


def _below(item: Token, nested: Token) -> int | None:
    """The first line of a nested list, unless it is the item's own first line."""
    first, line = (item.map or [0])[0], (nested.map or [0])[0]
    return line if line > first else None


def _style(match: re.Match[str], *, loose: bool) -> Style:
    marker, pad = match["marker"], match["pad"]
    width = len(pad.expandtabs(4))
    number = int(marker[:-1]) if marker[:-1] else None
    return Style(match["prefix"], marker, pad if 0 < width <= 4 else " ", loose, number)
