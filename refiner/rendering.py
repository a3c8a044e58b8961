"""A trace as text: what an analyst reads and what citations are checked against. No prompts, no analysis.

Citations point into the *rendered* text of one span; `Rendered.raw` leads back to the span as recorded.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from refiner.types import Citation, Span, Trace

FEEDBACK = "feedback"
SKILL_MARKER = "[the skill's own text]"
MIN_QUOTE = 12
SPAN_LIMIT = 4000
_CUT = re.compile(r"\[\.\.\. [\d,]+ characters left out \.\.\.\]|\[the skill's own text\]|\[image [^\]\n]{0,40}\]")


@dataclass(frozen=True, slots=True)
class Piece:
    """`length` characters at `start` of the rendered text are those at `raw_start` of the span's `part`."""

    start: int
    length: int
    part: str
    raw_start: int


@dataclass(frozen=True, slots=True)
class Rendered:
    """The text of one span as an analyst sees it, and where each piece of it comes from."""

    text: str
    pieces: tuple[Piece, ...]

    def raw(self, offset: int) -> tuple[str, int] | None:
        """(`input` | `output` | `error`, offset there) of a rendered offset; None inside a marker or a label."""
        for piece in self.pieces:
            if piece.start <= offset < piece.start + piece.length:
                return piece.part, piece.raw_start + offset - piece.start
        return None


def render_span(span: Span, limit: int = SPAN_LIMIT) -> Rendered:
    """`name`, then input and output on lines of their own; a part longer than `limit` keeps its head and tail."""
    text = f"{span.name}"
    pieces: list[Piece] = []
    for part, value in (("input", span.input), ("output", span.output)):
        if not value:
            continue
        text += f"\n{part}: "
        for start, chunk in _head_and_tail(value, limit):
            if start is not None:
                pieces.append(Piece(len(text), len(chunk), part, start))
            text += chunk
    return Rendered(text, tuple(pieces))


def render_trace(trace: Trace, limit: int = SPAN_LIMIT) -> str:
    """Every span in order, a blank line between them."""
    return "\n\n".join(render_span(span, limit).text for span in trace.spans)


def _head_and_tail(value: str, limit: int) -> list[tuple[int | None, str]]:
    if len(value) <= limit:
        return [(0, value)]
    half = limit // 2
    left_out = len(value) - 2 * half
    tail = len(value) - half
    return [(0, value[:half]), (None, f"[... {left_out:,} characters left out ...]"), (tail, value[tail:])]


def without_skill(trace: Trace, skill_lines: Sequence[str]) -> Trace:
    """The trace with the skill's own lines in its leading system message folded into one marker.

    Only when at least half of the skill's lines are there: a summariser that sees the skill would echo it.
    """
    if not trace.spans or trace.spans[0].role != "system":
        return trace
    known = {folded for line in skill_lines if (folded := fold(line))}
    lines = trace.spans[0].output.splitlines()
    present = known & {fold(line) for line in lines}
    if not known or 2 * len(present) < len(known):
        return trace
    first = replace(trace.spans[0], output=_fold_known(lines, known))
    return replace(trace, spans=(first, *trace.spans[1:]))


def _fold_known(lines: Sequence[str], known: set[str]) -> str:
    rest = [line for line in lines if fold(line) and fold(line) not in known]
    return "\n".join([SKILL_MARKER, *rest])


def fold(text: str) -> str:
    """White space folded: runs become one blank, ends are trimmed."""
    return " ".join(text.split())


def cite(trace: Trace, ordinal: int, quote: str, limit: int = SPAN_LIMIT) -> Citation:
    """A citation of `quote` in the span's rendered text, verified there; unverified when it cannot be found."""
    span = trace.spans[ordinal]
    rendered = render_span(span, limit).text
    return _citation(trace.id, ordinal, span.span_id, quote, rendered)


def cite_feedback(trace: Trace, feedback: str, quote: str) -> Citation:
    """A citation of the trace's feedback (ordinal -1, span_id `feedback`)."""
    return _citation(trace.id, -1, FEEDBACK, quote, feedback)


def _citation(trace_id: str, ordinal: int, span_id: str, quote: str, text: str) -> Citation:
    found = locate(quote, text)
    start, end = found or (0, 0)
    return Citation(trace_id, ordinal, span_id, quote, start, end, found is not None)


def locate(quote: str, text: str) -> tuple[int, int] | None:
    """Where `quote` stands in `text`, white space folded; None when too short (under 12 characters and not the whole
    text), absent, or only found across a marker of something left out."""
    words = quote.split()
    if not words or (len(fold(quote)) < MIN_QUOTE and fold(quote) != fold(text)):
        return None
    pattern = re.compile(r"\s+".join(re.escape(word) for word in words))
    for match in pattern.finditer(text):
        if not any(cut.start() < match.end() and match.start() < cut.end() for cut in _CUT.finditer(text)):
            return match.start(), match.end()
    return None
