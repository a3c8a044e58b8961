"""A rule from what a user corrected: the user's own words, typed, in the place they speak of. Nothing is inferred."""

from __future__ import annotations

import re

from refiner import merge
from refiner.analysts.offline.summary import quote_feedback
from refiner.analysts.offline.wording import spell
from refiner.behaviours.literals import typed
from refiner.ports import Labelled, ProposalRequest
from refiner.types import Citation, Edit, Proposal, Shortfall

LONGEST = 220
"""Characters of the user's words that a rule repeats."""
FEWEST = 3
"""Words from which a correction says what to do."""
_REFUSAL = re.compile(r"^(?:no(?:pe)?|nah|nein|non|não|不对|違います|wrong|stop|wait|hmm+)[\s,.!:;，。–—-]+", re.I)
_MARKER = re.compile(r"\A\[[^\]\n]*interrupted[^\]\n]*\]\s*", re.I)


def corrected(request: ProposalRequest) -> Proposal | Shortfall:
    """The proposal for one correction; a shortfall when the user only refused and did not say what was wrong."""
    focus, group = request.focus, request.group
    words = said(request.members[0].outcome.feedback or "")
    counts = f"{_count(len(request.members), 'attempt')} at {_count(group.tasks, 'task')}"
    if focus is None or (len(words.split()) < FEWEST and words.isascii()):
        told = f"The user refused the result and did not say what was wrong (“{group.label}”; {counts})."
        return Shortfall("failure", "near_miss", group.label, len(request.members), group.tasks, told)
    rule = f"Check your result against this correction by a user: “{words}”"
    place = merge.place(request.skill, (), text=words)
    if place.line is not None and place.endorses:
        edit = Edit(place.path, "insert_after", place.section, place.line, f"  - {rule}")
    else:
        edit = Edit(place.path, "append_to_section", place.section, "", f"- {rule}")
    return Proposal(
        side="failure",
        kind="recurrence",
        groups=(group.key,),
        theme=group.label,
        suggested_edit=f"In {' > '.join(place.section) or 'the opening'}: {rule}",
        rationale=f"The user said so in {counts}. {_afterwards(request)}".strip(),
        soften=(place.line,) if place.line is not None and place.endorses else (),
        feedback_class=focus.name if focus.classes else None,
        section=place.section,
        edits=(edit,),
        citations=tuple(quote for item in request.members[:5] for quote in _cited(item, focus.classes)),
    )


def said(feedback: str) -> str:
    """The user's words as a rule repeats them: no bare refusal in front, literals typed, one line, cut at a word."""
    text = " ".join(_MARKER.sub("", feedback.strip()).split())
    while (shorter := _REFUSAL.sub("", text)) != text:
        text = shorter
    words = spell(typed(text))
    if len(words) > LONGEST:
        words = words[:LONGEST].rsplit(" ", 1)[0].rstrip(" ,;:") + " …"
    return words[:1].upper() + words[1:]


def _cited(item: Labelled, classes: tuple[str, ...]) -> tuple[Citation, ...]:
    return quote_feedback(item, classes)[:1]


def _afterwards(request: ProposalRequest) -> str:
    """The tools that the accepted attempts at the same tasks called, and the corrected ones did not."""
    tasks = {item.trace.task_id for item in request.members}
    accepted = [item for item in request.opposite if item.trace.task_id in tasks]
    if not accepted:
        return "No attempt at the same task was accepted."
    new = sorted(_tools(accepted) - _tools(request.members))
    return f"The accepted attempt called, besides: {', '.join(new)}." if new else "The next attempt was accepted."


def _tools(items: list[Labelled] | tuple[Labelled, ...]) -> set[str]:
    return {span.name for item in items for span in item.trace.spans if span.kind == "tool_call"}


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
