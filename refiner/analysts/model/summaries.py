"""One summary a trace: the prompt by polarity, within the window, quotes checked. No skill is ever shown here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from refiner import prompts
from refiner.analysts.model.budgets import Fitted, cut, fit, packed, room, shown, tokens
from refiner.analysts.model.calling import SYSTEM, Caller, Question, together
from refiner.analysts.model.citations import check
from refiner.analysts.model.settings import Settings
from refiner.ports import Labelled, SummaryRequest
from refiner.rendering import without_skill
from refiner.sides import side_of
from refiner.types import Span, Summary

STAGE = "summarise"
PART = "summarise_part"
NONE = "none"
_LAST = 3  # spans shown again beside the notes on the parts


def summarise(caller: Caller, settings: Settings, request: SummaryRequest) -> Summary:
    """The summary of one labelled trace; the parts of one that is far too long are read first, each on its own."""
    item = replace(request.item, trace=without_skill(request.item.trace, request.skill_lines))
    name = f"summarise_{side_of(item)}"
    fitted = _fitted(caller, settings, item, name)
    trace = _from_parts(caller, settings, item, fitted) if fitted.chunks else fitted.trace
    values = {"task": fitted.task or NONE, "feedback": fitted.feedback or NONE, "trace": trace}
    if "notes" in prompts.load(name).inputs:
        values["notes"] = fitted.notes or NONE
    reply = caller.ask(Question(STAGE, item.trace.external_id, name, values, settings.model))
    return _summary(caller, settings, item, reply)


def _fitted(caller: Caller, settings: Settings, item: Labelled, name: str) -> Fitted:
    spans = _spans(settings, item.trace.spans)
    notes = "\n".join(f"{note.kind}: {note.text}" for note in item.notes) if side_of(item) == "failure" else ""
    texts = (caller.redactor(item.trace.task), caller.redactor(item.outcome.feedback or ""), caller.redactor(notes))
    most = room(settings.window, prompts.load(SYSTEM).text, prompts.load(name).text)
    way = fit if settings.long_trace == "pin feedback" else cut
    return way(*texts, spans, caller.redactor, most)


def _spans(settings: Settings, spans: Sequence[Span]) -> list[Span]:
    return [span for span in spans if span.output or settings.keep_spans_without_output]


def _from_parts(caller: Caller, settings: Settings, item: Labelled, fitted: Fitted) -> str:
    """What was noted of each part in order, and the last spans as they are."""
    total = len(fitted.chunks)

    def read(number: int) -> dict[str, Any]:
        label = f"{item.trace.external_id}, part {number} of {total}"
        values = {"task": fitted.task or NONE, "part": f"{number} of {total}", "trace": fitted.chunks[number - 1]}
        return caller.ask(Question(STAGE, label, PART, values, settings.model))

    found = together([lambda number=number: read(number) for number in range(1, total + 1)])  # type: ignore[misc]
    last = "\n\n".join(shown(span, caller.redactor, 1_000) for span in item.trace.spans[-_LAST:])
    rest = f"The last spans:\n\n{last}"
    name = f"summarise_{side_of(item)}"
    used = (prompts.load(SYSTEM).text, prompts.load(name).text, fitted.task, fitted.feedback, fitted.notes, rest)
    most = max(room(settings.window, *used), tokens(rest))
    parts = [_part(number, one) for number, one in enumerate(found, 1)]
    return "\n\n".join([*packed(parts, most, share=1 / total), rest])


def _part(number: int, found: dict[str, Any]) -> str:
    quotes = [f'[{one["span_id"]}] "{one["quote"]}"' for one in found["evidence"]]
    return "\n".join([f"Notes on part {number}:", *(f"- {note}" for note in found["notes"]), *quotes])


def _summary(caller: Caller, settings: Settings, item: Labelled, reply: dict[str, Any]) -> Summary:
    name = item.trace.external_id
    quoted = [{**one, "trace_id": name} for one in reply["evidence"]]
    checked = check(quoted, {name: item}, caller.redactor, strict=settings.check_quotes)
    caller.tally.add(quotes_verified=len(checked.kept), quotes_dropped=checked.dropped)
    decisive = str(reply["decisive_span_id"] or "").strip("[] ")
    return Summary(
        trace_id=item.trace.id,
        revision=item.trace.revision,
        polarity=side_of(item),
        summary=" ".join(reply["summary"].split()),
        observations=tuple(" ".join(one.split()) for one in reply["observations"]),
        decisive_span_id=decisive if decisive in {span.span_id for span in item.trace.spans} else None,
        evidence=checked.kept,
    )
