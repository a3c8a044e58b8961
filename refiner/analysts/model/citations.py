"""Quotes of a reply, checked against the text that was sent; one that is not there word for word is not verified."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from refiner.analysts.model.budgets import redacted
from refiner.analysts.model.redaction import Redactor, restore
from refiner.ports import Labelled
from refiner.rendering import FEEDBACK, locate, render_span
from refiner.types import Citation, Span


@dataclass(frozen=True, slots=True)
class Checked:
    """`kept`: the verified quotes, each once (all of them when nothing is checked). `dropped` counts the others."""

    kept: tuple[Citation, ...]
    dropped: int


def check(
    quoted: Sequence[Mapping[str, Any]], known: Mapping[str, Labelled], redactor: Redactor, *, strict: bool
) -> Checked:
    """The citations of a reply. `known`: the traces that were shown, by the name they were shown under.

    `strict` false keeps what cannot be verified as well, marked so.
    """
    kept: dict[Citation, None] = {}
    dropped = 0
    for one in quoted:
        item = known.get(str(one.get("trace_id", "")).strip())
        citation = None if item is None else cite(item, str(one["span_id"]).strip(), str(one["quote"]), redactor)
        if citation is not None and (citation.verified or not strict):
            kept[citation] = None
        else:
            dropped += 1
    return Checked(tuple(kept), dropped)


def cite(item: Labelled, span_id: str, quote: str, redactor: Redactor) -> Citation:
    """The citation of one quote. A quote that stands in another span than the one named is cited from there."""
    quote = _bare(quote)
    if span_id.strip("[]") == FEEDBACK:
        return _of_feedback(item, quote, redactor)
    spans = sorted(item.trace.spans, key=lambda span: span.span_id != span_id.strip("[]"))
    for span in spans:
        found = _in_span(item, span, quote, redactor)
        if found is not None:
            return found
    named = spans[0] if spans and spans[0].span_id == span_id.strip("[]") else None
    ordinal, name = (named.ordinal, named.span_id) if named else (-1, span_id)
    return Citation(item.trace.id, ordinal, name, quote, 0, 0, False)


def _in_span(item: Labelled, span: Span, quote: str, redactor: Redactor) -> Citation | None:
    sent = render_span(redacted(span, redactor)).text
    at = locate(quote, sent)
    if at is None:
        return None
    start, end = _place(quote, span, redactor) or at
    return Citation(item.trace.id, span.ordinal, span.span_id, quote, start, end, True)


def _place(quote: str, span: Span, redactor: Redactor) -> tuple[int, int] | None:
    """Where the quote stands in the span as screens render it, which redact nothing."""
    values = {**redactor.found(span.input)[1], **redactor.found(span.output)[1], **redactor.found(span.name)[1]}
    return locate(restore(quote, values), render_span(span).text)


def _of_feedback(item: Labelled, quote: str, redactor: Redactor) -> Citation:
    text = item.outcome.feedback or ""
    sent, values = redactor.found(text)
    at = locate(quote, sent)
    start, end = (locate(restore(quote, values), text) or at) if at else (0, 0)
    return Citation(item.trace.id, -1, FEEDBACK, quote, start, end, at is not None)


def _bare(quote: str) -> str:
    """The quote without quotation marks that a model put around it."""
    text = quote.strip()
    for mark in ('"', "'", "`", "“”"):
        if len(text) > 2 and text[0] == mark[0] and text[-1] == mark[-1] and text.count(mark[0]) <= 2:
            return text[1:-1].strip()
    return text
