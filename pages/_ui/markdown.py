"""A skill as it reads: CommonMark and tables as HTML for `st.html`, where nothing can load, link or run.

Raw HTML, images, links and their definitions stay the characters they are. No theme and no rule of the method here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from refiner.reporting.diffs import text_html

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

OFF = ("html_block", "html_inline", "image", "link", "autolink", "reference")
NEW = "sr-new"
_FRONT = re.compile(r"\ufeff?---[ \t]*\r?\n(.*?\r?\n)??---[ \t]*(?:\r?\n|$)", re.DOTALL)
_LEAVES = ("paragraph_open", "heading_open", "fence", "code_block", "tr_open")


def markdown_html(text: str, new: Iterable[tuple[int, int]] = ()) -> str:
    """The text as HTML; blocks that hold a line of `new` (first and last line, from 1) carry the class `sr-new`."""
    lines = {line for first, last in new for line in range(first, last + 1)}
    front = _FRONT.match(text)
    head, body = (front[0], text[front.end() :]) if front else ("", text)
    above = len(head.splitlines())
    tokens = _parser().parse(body)
    _mark(tokens, {line - above - 1 for line in lines})
    shown = _parser().renderer.render(tokens, _parser().options, {})
    kind = f" {NEW}" if any(line <= above for line in lines) else ""
    top = f'<pre class="front{kind}">{text_html(head.rstrip())}</pre>' if head else ""
    return f'<div class="sr-md">{top}{shown}</div>'


def _mark(tokens: Sequence[Token], lines: set[int]) -> None:
    """Marks the leaves that hold one of the lines (from 0); a paragraph that has no tags of its own, its list item."""
    items: list[Token] = []
    for token in tokens:
        if token.type == "list_item_open":
            items.append(token)
        elif token.type == "list_item_close":
            items.pop()
        elif token.type in _LEAVES and token.map and not lines.isdisjoint(range(*token.map)):
            (items[-1] if token.hidden and items else token).attrSet("class", NEW)


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    made = MarkdownIt("commonmark", {"html": False}).enable("table").disable(list(OFF))
    for kind in ("text", "html_inline", "html_block"):
        made.add_render_rule(kind, _text)
    made.add_render_rule("code_inline", _code)
    for kind in ("fence", "code_block"):
        made.add_render_rule(kind, _block)
    return made


def _text(self: Any, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
    return text_html(tokens[at].content)


def _code(self: Any, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
    return f"<code>{text_html(tokens[at].content)}</code>"


def _block(self: Any, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
    kind = f' class="{NEW}"' if tokens[at].attrGet("class") == NEW else ""
    return f"<pre{kind}><code>{text_html(tokens[at].content)}</code></pre>\n"
