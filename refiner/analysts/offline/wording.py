"""Rules and reasons in words. Never a literal of a task: names of tools and arguments, types, common words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from refiner import behaviours, feedback
from refiner.analysts.offline.topics import Topic
from refiner.mining import classes_of
from refiner.ports import ProposalRequest
from refiner.sides import tasks_of

_PLACEHOLDERS = {
    "<num>": "a number",
    "<str>": "a text",
    "<date>": "a date",
    "<formula>": "a formula",
    "<range>": "a range",
    "<id>": "an id",
    "<path>": "a path",
    "<url>": "a URL",
    "<email>": "an e-mail address",
    "<none>": "nothing",
    "<list>": "a list",
    "<bool>": "yes or no",
}


@dataclass(frozen=True, slots=True)
class Wording:
    """`rule` goes into the skill, `reason` to the reader; `terms` (and `hint`, more weakly) find the place."""

    rule: str
    reason: str
    terms: frozenset[str]
    hint: str


def word(topic: Topic, request: ProposalRequest, condition: str | None) -> Wording:
    """The rule and the reason for one topic."""
    if topic.contrast:
        phrase = behaviours.phrase(topic.name)
        rule, terms, hint = phrase.rule, phrase.terms, phrase.rule
    else:
        # The sentence of a feedback rule is the same for every action: it would only blur the place.
        rule, terms, hint = _rule(topic, feedback.action(topic.classes[0])), subject_terms(topic.classes), ""
    if condition:
        rule = f"{condition}, {rule[0].lower()}{rule[1:]}"
    return Wording(rule, f"{_counts(topic, request)} {_instead(topic, request)}".strip(), terms, hint)


def subject_terms(classes: Sequence[str]) -> frozenset[str]:
    """The words of the action that feedback classes are about; none when they name no action."""
    action = feedback.action(classes[0]) if classes else None
    return behaviours.terms(action) if action else frozenset()


def spell(text: str) -> str:
    """Typed placeholders as words."""
    return re.sub(r"<[a-z]+>", lambda match: _PLACEHOLDERS.get(match[0], "a value"), text)


def _rule(topic: Topic, action: str | None) -> str:
    kinds = {name.split(" ")[0] for name in topic.classes}
    if action and kinds == {"missing", "unexpected"}:
        return (
            f"Before `{action}`, check each condition of this section against what the tools returned: "
            "call it when all of them hold, and only then."
        )
    if action and kinds == {"missing"}:
        return f"When the conditions of this section hold, call `{action}` before ending or handing over."
    if action and kinds == {"unexpected"}:
        return (
            f"Do not call `{action}` before each condition of this section is checked against what the tools returned."
        )
    if kinds == {"wrong"}:
        return _wrong(topic.name.removeprefix("wrong "))
    return _other(topic.name)


def _wrong(where: str) -> str:
    action, _, argument = where.partition(".")
    return f"Before `{action}`, take `{argument}` from the request and the latest tool results, and read it once more."


def _other(name: str) -> str:
    if name == "expected output not given":
        return "Before ending, tell the user every figure that was asked for, computed from tool results."
    if name.startswith("failing "):
        return f"Before finishing, make sure that what `{name.removeprefix('failing ')}` tests is true."
    match = re.fullmatch(r"(?:(?P<where>.*?): )?expected (?P<wanted>.*?),? (?:got|found) (?P<found>.*)", name)
    if match and match["wanted"] == match["found"]:
        kind = spell(match["wanted"])
        return f"Before finishing, compare each value with the request: where {kind} was expected, another was found."
    if match:
        return (
            f"Give {spell(match['wanted'])} where {spell(match['wanted'])} is asked for, not {spell(match['found'])}."
        )
    return f"Before finishing, check for this finding of the evaluator: {spell(name)}."


def _counts(topic: Topic, request: ProposalRequest) -> str:
    contrast = topic.contrast
    if contrast is None:
        shares = [(name, sum(name in classes_of(item) for item in topic.items)) for name in topic.classes]
        spread = "; ".join(f"{name}: {count}" for name, count in shares if count)
        passing = f" The same is said of {topic.passing} passing traces." if topic.passing else ""
        return f"The evaluator says so in {len(topic.items)} traces of {topic.tasks} tasks here ({spread}).{passing}"
    if topic.kind == "fact":
        return f"{_capital(behaviours.phrase(topic.name).occurs)}: {contrast.words}."
    return f"{_capital(_occurs(topic, request))} in {len(topic.items)} traces of {topic.tasks} tasks; {contrast.words}."


def _occurs(topic: Topic, request: ProposalRequest) -> str:
    if request.group.side == "success":
        return behaviours.phrase(behaviours.negate(topic.name)).occurs
    return behaviours.phrase(topic.name).occurs


def _instead(topic: Topic, request: ProposalRequest) -> str:
    """What the other side did in the same tasks, else in the nearest ones."""
    tasks = tasks_of(topic.items)
    same = [item for item in request.opposite if item.trace.task_id in tasks]
    shown, where = (same, "the same tasks") if same else (list(request.opposite), "the nearest tasks")
    test = _test(topic)
    if not shown or test is None:
        return ""
    count = sum(bool(behaviours.parse(test).holds(item.trace)) for item in shown)
    who = "passing" if request.group.side == "failure" else "failing"
    return f"Of {len(shown)} {who} runs of {where}, {count}: {behaviours.phrase(test).occurs}."


def _test(topic: Topic) -> str | None:
    if topic.contrast is not None:
        return topic.name
    action = feedback.action(topic.classes[0])
    return f"called({action})" if action and topic.name.startswith("when ") else None


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
