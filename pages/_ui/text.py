"""Text from runs, skills and files on its way to the screen: always as text, never as markdown or HTML."""

from __future__ import annotations

import html
import re

_SPECIAL = re.compile(r"([\\`*_{}\[\]()<>#+\-.!|~$:=\"'&@/^])")


def clean(text: str, limit: int = 0) -> str:
    """The text without control and direction characters, cut at `limit` characters (0 = whole)."""
    kept = "".join(char if char.isprintable() or char in "\n\t" else "\ufffd" for char in text)
    return kept if not limit or len(kept) <= limit else kept[: limit - 1].rstrip() + "…"


def esc(text: object, limit: int = 0) -> str:
    """The text for a place inside `st.html`, quotes included, so that it can also be an attribute."""
    return html.escape(clean(str(text), limit), quote=True)


def label(text: object, limit: int = 60) -> str:
    """The text for the label of a widget, which reads markdown: every special character is escaped."""
    return _SPECIAL.sub(r"\\\1", " ".join(clean(str(text), limit).split()))


def count(number: int, one: str, many: str = "") -> str:
    """`1 trace`, `12 traces`, `1,234 traces`."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def duration(seconds: float) -> str:
    """`under a second`, `12 s`, `3 min`, `1 h 5 min`."""
    if seconds < 1:
        return "under a second"
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def when(moment: str | None) -> str:
    """`2026-01-31 12:00 UTC` from an ISO time; empty when there is none."""
    return f"{moment[:10]} {moment[11:16]} UTC" if moment else ""


def newer(traces: int, labels: int) -> str:
    """`12 newer traces are not in this refinement`; empty when there are none."""
    parts = [(traces, "newer trace"), (labels, "newer label")]
    words = " and ".join(count(number, noun) for number, noun in parts if number)
    return f"{words} {'is' if traces + labels == 1 else 'are'} not in this refinement" if words else ""
