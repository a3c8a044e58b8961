"""Strings on their way into an HTML document. Every text that is not the product's own passes through here."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape

from refiner.reporting.diffs import HIDDEN, text_html

__all__ = ["attribute", "clock", "coded", "number", "plural", "table", "tag", "text"]

text = text_html


def coded(words: str) -> str:
    """A sentence as HTML, what stands in back quotes set as code; nothing else in it is markup."""
    parts = re.split(r"`([^`\n]+)`", words)
    return "".join(f"<code>{text(part)}</code>" if at % 2 else text(part) for at, part in enumerate(parts))


def attribute(value: str) -> str:
    """A string for an attribute or a title, quotes included; a character that shows nothing becomes a sign."""
    return escape(HIDDEN.sub("\ufffd", value), quote=True)


def tag(kind: str, words: object) -> str:
    """A small label; `kind` is a class of the style sheet."""
    return f'<span class="tag-{attribute(kind)}">{text(str(words))}</span>'


def table(heads: Sequence[str], rows: Iterable[Sequence[str]], numbers: Sequence[int] = ()) -> str:
    """A table from cells that are HTML already; the columns in `numbers` are aligned right."""

    def line(name: str, cells: Sequence[str]) -> str:
        kinds = [' class="n"' if at in numbers else "" for at in range(len(cells))]
        return "".join(f"<{name}{kind}>{cell}</{name}>" for kind, cell in zip(kinds, cells, strict=True))

    body = "".join(f"<tr>{line('td', row)}</tr>" for row in rows)
    return f"<table><thead><tr>{line('th', [text(one) for one in heads])}</tr></thead><tbody>{body}</tbody></table>"


def plural(count: int, noun: str) -> str:
    """`1 trace`, `1,240 traces`."""
    return f"{count:,} {noun if count == 1 else noun + 's'}"


def number(value: float | None) -> str:
    """A probability in two figures; a dash when there is none."""
    return "–" if value is None else f"{value:.2g}"


def clock(at: str | None) -> str:
    """`2026-01-31 12:00 UTC` from an ISO time."""
    return f"{at[:10]} {at[11:16]} UTC" if at and len(at) >= 16 else at or ""
