"""One proposal from one group: what it is about, the rule, the reason, and where the rule belongs in the skill."""

from __future__ import annotations

from refiner import behaviours, merge
from refiner.analysts.offline.summary import quote_feedback, quote_span
from refiner.analysts.offline.topics import Topic, nearest_misses, topic_of
from refiner.analysts.offline.wording import Wording, word
from refiner.ports import ProposalRequest
from refiner.types import Citation, Edit, Proposal, Shortfall

CITED = 5  # traces cited, one a task first


def propose(request: ProposalRequest) -> Proposal | Shortfall:
    """The proposal for the strongest topic of the group, or the nearest misses when nothing recurs."""
    topic = topic_of(request)
    if topic is None:
        return _nothing(request)
    condition = request.conditions.get(topic.name) if topic.kind == "fact" else None
    wording = word(topic, request, condition)
    section, edit, softened = draft(request, wording)
    return Proposal(
        side=request.group.side,
        kind=request.group.kind,
        groups=(request.group.key,),
        theme=request.group.label,
        suggested_edit=f"In {' > '.join(section) or 'the opening'}: {wording.rule}",
        rationale=wording.reason,
        reinforce=(wording.rule,) if request.group.side == "success" else (),
        soften=(softened,) if softened else (),
        behaviour=_behaviour(topic, request),
        feedback_class=topic.name if topic.kind == "feedback" else None,
        condition=condition,
        section=section,
        edits=(edit,),
        citations=cite(topic),
    )


def draft(request: ProposalRequest, wording: Wording) -> tuple[tuple[str, ...], Edit, str | None]:
    """The section, the edit, and the line that is softened where it is stated (None when nothing endorses it)."""
    place = merge.place(request.skill, wording.terms, text=wording.hint)
    main = place.path
    if place.line is not None and place.endorses:
        edit = Edit(main, "insert_after", place.section, place.line, f"  - {wording.rule}")
        return place.section, edit, place.line
    return place.section, Edit(main, "append_to_section", place.section, "", f"- {wording.rule}"), None


def cite(topic: Topic) -> tuple[Citation, ...]:
    """Witness spans of a behaviour, or the feedback lines of a class; traces of different tasks first."""
    first: dict[str, int] = {}
    for number, item in enumerate(topic.items):
        first.setdefault(item.trace.task_id, number)
    order = sorted(range(len(topic.items)), key=lambda n: (first[topic.items[n].trace.task_id] != n, n))
    chosen = [topic.items[number] for number in order[:CITED]]
    if topic.contrast is None:
        return tuple(quote for item in chosen for quote in quote_feedback(item, topic.classes)[:1])
    predicate = behaviours.parse(topic.name)
    found = ((item.trace, predicate.witness(item.trace)) for item in chosen)
    return tuple(quote_span(trace, ordinal) for trace, ordinal in found if ordinal is not None)


def _behaviour(topic: Topic, request: ProposalRequest) -> str | None:
    if topic.contrast is None:
        return None
    return behaviours.negate(topic.name) if request.group.side == "success" else topic.name


def _nothing(request: ProposalRequest) -> Shortfall:
    misses = "; ".join(
        f"{topic.name} ({len(topic.items)} traces, {topic.tasks} tasks)" for topic in nearest_misses(request)
    )
    words = (
        f"Nothing recurs in 3 tasks at twice the share of the other side among {len(request.members)} traces "
        f"of {request.group.tasks} tasks. Looked for: facts, feedback classes, behaviours of half the group. "
        f"Nearest: {misses or 'none'}."
    )
    group = request.group
    return Shortfall(group.side, "near_miss", group.label, len(request.members), group.tasks, words)
