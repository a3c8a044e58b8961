"""What an edit does to the bytes of a file: a cut of a range, or a piece of whole lines at a point. Applies nothing."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from refiner.errors import StaleEdit
from refiner.merge.anchors import find, find_line
from refiner.skills import FRONT_MATTER, Document, Section, document, find_section
from refiner.skills.lines import Line, is_blank
from refiner.skills.markdown import Block, Item, Style
from refiner.types import Edit, SkillVersion

_BULLET = re.compile(r"^(?P<indent>\s*)(?P<marker>[-*+]|\d{1,9}[.)])(?P<pad>\s+)")
_OWN_BLOCK = re.compile(r"^(?:```|~~~|#{1,6}\s|>|\||<)")
_DEEPEST_HEADING = 6


@dataclass(frozen=True, slots=True)
class Cut:
    """Bytes `start` to `end` of the base are replaced by `new`."""

    start: int
    end: int
    new: bytes


@dataclass(frozen=True, slots=True)
class Piece:
    """Whole lines at byte `point`. `order` sorts pieces at one point by structure, before any rank.

    With a style, each of `items` is written as an item of that list; pieces of one `join` continue each other.
    `gap_before` and `gap_after` ask for a blank line between this piece and what it meets.
    """

    point: int
    order: tuple[int, int]
    items: tuple[tuple[str, ...], ...]
    style: Style | None = None
    join: tuple[str, int] | None = None
    gap_before: bool = True
    gap_after: bool = True


@dataclass(frozen=True, slots=True)
class File:
    """A file that did not exist in the base."""

    data: bytes


@dataclass(frozen=True, slots=True)
class Located:
    """An edit with its anchor (and exact `section` and `old`), and what it does. Raised errors are StaleEdit."""

    edit: Edit
    operation: Cut | Piece | File


AFTER_ITEM, AFTER_BLOCK, END, SECTION, BEFORE = range(5)


def locate(base: SkillVersion, edit: Edit) -> Located:
    """Resolves one edit against the base. Raises StaleEdit saying why it cannot be placed and what would help."""
    if edit.op == "create_file":
        return _create(base, edit)
    doc = _editable(base, edit.path)
    section = find_section(doc.data, edit.section)
    if section is None:
        raise StaleEdit(f"{edit.path} has no section {' > '.join(edit.section)!r}: use a heading path of the skill")
    if edit.op in ("replace", "delete"):
        return _cut(doc, section, edit)
    if not edit.new.strip():
        raise StaleEdit(f"the {edit.op} of {edit.path} has no text to add")
    if edit.op in ("insert_before", "insert_after"):
        return _insert(doc, section, edit)
    return _append(doc, section, edit) if edit.op == "append_to_section" else _add_section(doc, section, edit)


def _editable(base: SkillVersion, path: str) -> Document:
    if path not in base.files:
        raise StaleEdit(f"the skill has no file {path!r}: name one of {', '.join(sorted(base.files)[:5])}")
    if _is_script(path):
        raise StaleEdit(f"{path}: scripts are never edited")
    data = base.files[path]
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise StaleEdit(f"{path} is not UTF-8 text, so it cannot be edited") from error
    return document(data)


def _is_script(path: str) -> bool:
    return path.lower().startswith("scripts/")


def _located(edit: Edit, section: Section, anchor: tuple[int, int], operation: Cut | Piece, old: str = "") -> Located:
    resolved = Edit(edit.path, edit.op, section.path, old, edit.new, anchor, edit.requires)
    return Located(resolved, operation)


def encoded(text: str, eol: bytes) -> bytes:
    """Text as UTF-8 with the line endings of its file; what UTF-8 cannot hold becomes `?`."""
    return re.sub(r"\r\n?|\n", lambda _: eol.decode(), text).encode("utf-8", "replace")


def plain_lines(text: str) -> list[str]:
    """Lines without their endings, blank ones at either end and trailing white space dropped."""
    lines = [line.rstrip() for line in re.split(r"\r\n?|\n", text)]
    while lines and not lines[0]:
        lines.pop(0)
    while lines and not lines[-1]:
        lines.pop()
    return lines


def _create(base: SkillVersion, edit: Edit) -> Located:
    path = PurePosixPath(edit.path)
    if not _is_plain(path, edit.path):
        raise StaleEdit(f"{edit.path!r} is not a plain relative path: use references/name.md")
    taken = {name.casefold() for name in base.files}
    parents = {str(parent).casefold() for parent in path.parents}
    inside = {str(parent).casefold() for name in base.files for parent in PurePosixPath(name).parents}
    if edit.path.casefold() in taken | inside or parents & taken:
        raise StaleEdit(f"{edit.path} exists already: edit it instead")
    if _is_script(edit.path) or path.suffix.lower() != ".md":
        raise StaleEdit(f"{edit.path}: only markdown files outside of scripts/ can be created")
    text = "\n".join(plain_lines(edit.new))
    return Located(Edit(edit.path, edit.op, (), "", edit.new, (0, 0), edit.requires), File(encoded(text + "\n", b"\n")))


def _is_plain(path: PurePosixPath, given: str) -> bool:
    """Whether a given path stays inside of the skill on every system."""
    odd = re.search(r"[\\:\0-\x1f]", given)
    return bool(given) and str(path) == given and not path.is_absolute() and ".." not in path.parts and not odd


def _cut(doc: Document, section: Section, edit: Edit) -> Located:
    start, end = find(doc, section, edit.old)
    old = doc.text(start, end)
    new = edit.new if edit.op == "replace" else ""
    if new and old.endswith(("\n", "\r")) and not new.endswith(("\n", "\r")):
        new += "\n"
    data = encoded(new, doc.eol)
    if data == doc.data[start:end]:
        raise StaleEdit(f"the replace of {edit.path} changes nothing")
    if not data:
        end = _with_line_end(doc, start, end)
    return _located(edit, section, (start, end), Cut(start, end, data), old)


def _with_line_end(doc: Document, start: int, end: int) -> int:
    """The end of a deletion that takes whole lines: their last line ending goes too."""
    line = doc.line_at(max(start, end - 1))
    whole = any(other.start == start for other in doc.lines) and end == line.end
    return line.next if whole else end


def _insert(doc: Document, section: Section, edit: Edit) -> Located:
    start, end = find_line(doc, section, doc.text(*find_line(doc, section, edit.old)))
    before = edit.op == "insert_before"
    last = max(start, start + len(doc.data[start:end].rstrip()) - 1)
    at = start + len(doc.data[start:end]) - len(doc.data[start:end].lstrip()) if before else last
    anchor, piece = _beside(doc, section, at, edit.new, before)
    return _located(edit, section, anchor, piece, doc.text(start, end))


def _beside(doc: Document, section: Section, at: int, new: str, before: bool) -> tuple[tuple[int, int], Piece]:
    """The piece before or after whatever holds the byte `at`: a list item, a line of code, or a block."""
    lines = plain_lines(new)
    line = doc.line_at(at)
    item = doc.item_at(at)
    if item is not None and section.path != FRONT_MATTER:
        return (item.start, item.end), _beside_item(doc, item, lines, before)
    block = doc.block_at(at)
    in_table = doc.text(line.start, line.end).lstrip().startswith("|") and lines[0].lstrip().startswith("|")
    if block is None or in_table or _is_within_code(block, line, before):
        point, order = (line.start, (BEFORE, 0)) if before else (line.next, (AFTER_BLOCK, 0))
        return (line.start, line.next), Piece(point, order, (tuple(lines),), gap_before=False, gap_after=False)
    point, phase = (block.start, BEFORE) if before else (block.end, AFTER_BLOCK)
    return (block.start, block.end), _free(lines, point, (phase, 0))


def _is_within_code(block: Block, line: Line, before: bool) -> bool:
    """Whether a new line beside `line` stays inside of the code block that holds it."""
    return block.kind in ("fence", "code_block") and block.start < line.start and (before or line.next < block.end)


def _beside_item(doc: Document, item: Item, lines: list[str], before: bool) -> Piece:
    match = _BULLET.match(lines[0])
    if match and match["indent"] and not before:
        return _nested(doc, item, lines)
    style = _counting_from(item.style, before)
    point, order = (item.start, (BEFORE, 0)) if before else (item.end, (AFTER_ITEM, -style.column))
    return _listed(lines, point, order, style, ("list", item.list_start), before)


def _counting_from(style: Style, before: bool) -> Style:
    """What comes before an item of an ordered list takes its number, what comes after it the next one."""
    return replace(style, number=style.number - 1) if before and style.number is not None else style


def _nested(doc: Document, item: Item, lines: list[str]) -> Piece:
    """A sub-item after everything the item holds, in the style of its last nested list if it has one."""
    inside = [other for other in doc.items if item.own_end <= other.start < item.end]
    children = [other for other in inside if other.depth == item.depth + 2]
    if children:
        style, join = children[-1].style, ("list", children[-1].list_start)
    else:
        marker = item.style.marker if item.style.number is None else "-"
        style, join = Style(item.style.hang, marker, " ", loose=False), ("nested", item.start)
    return _listed(lines, item.end, (AFTER_ITEM, -style.column), style, join, before=False)


def _listed(
    lines: list[str], point: int, order: tuple[int, int], style: Style, join: tuple[str, int], before: bool
) -> Piece:
    gaps = {"gap_before": style.loose and not before, "gap_after": style.loose and before}
    return Piece(point, order, _as_items(lines), style, join, **gaps)


def _as_items(lines: list[str]) -> tuple[tuple[str, ...], ...]:
    """The lines as list items without markers: one for each marker at the indent of the first line's."""
    match = _BULLET.match(lines[0])
    if match is None:
        return (tuple(lines),)
    items: list[list[str]] = []
    hang = match.end()
    for line in lines:
        here = _BULLET.match(line)
        if here and len(here["indent"]) <= len(match["indent"]):
            items.append([line[here.end() :]])
            hang = here.end()
        else:
            items[-1].append(line[hang:] if not line[:hang].strip() else line.lstrip())
    return tuple(tuple(plain_lines("\n".join(item)) or [""]) for item in items)


def _free(lines: list[str], point: int, order: tuple[int, int]) -> Piece:
    """Lines as given, kept apart by blank lines; bullets that meet at one point form one list."""
    indent = min(len(line) - len(line.lstrip()) for line in lines if line) if _BULLET.match(lines[0]) else 0
    lines = [line[indent:] for line in lines]
    bullet = re.match(r"([-*+])\s", lines[0])
    return Piece(point, order, (tuple(lines),), join=(bullet[1], point) if bullet else None)


def _append(doc: Document, section: Section, edit: Edit) -> Located:
    lines = plain_lines(edit.new)
    last = doc.last_line(section.own_start, section.own_end)
    point = last.next if last else section.own_start
    if section.path == FRONT_MATTER:
        piece = Piece(point, (END, 0), (tuple(lines),), gap_before=False, gap_after=False)
    else:
        top = _ending_list(doc, section, point)
        if top is None or _OWN_BLOCK.match(lines[0]):
            piece = _free(lines, point, (END, 0))
        else:
            piece = _listed(lines, point, (AFTER_ITEM, -top.style.column), top.style, ("list", top.list_start), False)
    return _located(edit, section, (point, point), piece)


def _ending_list(doc: Document, section: Section, point: int) -> Item | None:
    """The last item of the list that ends a section's own text."""
    block = doc.block_at(point - 1) if point > section.own_start else None
    if block is None or not block.kind.endswith("_list_open"):
        return None
    items = [item for item in doc.items if item.list_start == block.start and item.depth == 1]
    return items[-1] if items else None


def _add_section(doc: Document, parent: Section, edit: Edit) -> Located:
    if parent.path == FRONT_MATTER:
        raise StaleEdit(f"{edit.path}: front matter has no sub-sections")
    lines = _under(plain_lines(edit.new), parent.level + 1)
    last = doc.last_line(parent.start, parent.end)
    point = last.next if last else parent.own_start
    return _located(edit, parent, (point, point), Piece(point, (SECTION, -parent.level), (tuple(lines),)))


def _under(lines: list[str], level: int) -> list[str]:
    """The lines of a new section with every heading moved so that the first has `level`."""
    data = "\n".join(lines).encode("utf-8", "replace")
    doc = document(data)
    if not doc.headings or not is_blank(data[: doc.headings[0].start]):
        raise StaleEdit("a new section must begin with its heading, such as `## Checks`")
    shift = level - doc.headings[0].level
    text, at = "", 0
    for heading in doc.headings:
        marks = "#" * min(_DEEPEST_HEADING, max(level, heading.level + shift))
        text += doc.text(at, heading.start) + f"{marks} {heading.text}\n"
        at = heading.end
    return plain_lines(text + doc.text(at, len(data)))
