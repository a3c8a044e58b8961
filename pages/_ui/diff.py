"""The diff on the screen: the rows of `refiner.reporting.diffs` with the style sheet they need, for `st.html`.

Nothing here reads a skill or decides anything; every string arrives as text and leaves as text.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from refiner.reporting import diffs
from refiner.reporting.diffs import Fold, Hunk, Mode, Row, blocks, counts, diff_rows, hunks, rows_html

__all__ = ["Fold", "Hunk", "Mode", "Row", "blocks", "counts", "diff_html", "diff_rows", "hunks", "rows_html", "style"]


def diff_html(before: str, after: str, mode: Mode = "inline", fold: Fold = "details") -> str:
    """Both texts as one block: lines, then words, as `<ins>` and `<del>`; complete with its style."""
    return style() + rows_html(diff_rows(before, after), mode, fold)


@cache
def style() -> str:
    """The style element that `rows_html` needs once a page; its colours are the page's."""
    return f"<style>{Path(diffs.__file__).with_name('diff.css').read_text(encoding='utf-8')}</style>"
