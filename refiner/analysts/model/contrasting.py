"""A contrast that is judged, not measured: does a run show the behaviour, asked of each alone with its outcome hidden.

It never gives a cause. It takes back one that the judge saw where the answers do not bear it out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from refiner import prompts
from refiner.analysts.model.budgets import fit, head_and_tail, room, shown, tokens
from refiner.analysts.model.calling import SYSTEM, Caller, Question
from refiner.analysts.model.citations import cite
from refiner.analysts.model.settings import Settings
from refiner.errors import BadReply
from refiner.gate.statistics import Stratum, conditional_p, is_informative
from refiner.ports import JudgeRequest, Labelled
from refiner.sides import side_of
from refiner.types import Criterion, Proposal, Side

STAGE = "judged_contrast"
PROMPT = "contrast"
MATCHED = 3
"""Informative tasks from which on runs are compared within tasks, as for a measured contrast."""

Seen = bool | None
"""Whether a run shows the behaviour; None when no usable answer came."""


def questions(caller: Caller, settings: Settings, request: JudgeRequest) -> list[Callable[[], Seen]]:
    """One call a run of the sample, in its order."""
    total = len(request.sample)
    return [
        lambda place=place, item=item: _asked(caller, settings, request.proposal, item, f"{place} of {total}")  # type: ignore[misc]
        for place, item in enumerate(request.sample, 1)
    ]


def _asked(caller: Caller, settings: Settings, proposal: Proposal, item: Labelled, place: str) -> Seen:
    """The label says nothing of the run: its name may tell how it ended."""
    behaviour = f"{proposal.theme}\n{proposal.rationale}"
    values = {"behaviour": behaviour, "run": _run(caller, settings, item, tokens(behaviour))}
    question = Question(STAGE, f"run {place}: {proposal.theme}", PROMPT, values, settings.gate_model)
    try:
        reply = caller.ask(question)
    except BadReply:
        return None
    if reply["answer"] == "no":
        return False
    verified = cite(item, reply["span_id"].strip(), reply["quote"], caller.redactor).verified
    caller.tally.add(quotes_verified=int(verified), quotes_dropped=int(not verified))
    return True if verified else None


def _run(caller: Caller, settings: Settings, item: Labelled, used: int) -> str:
    """Request and spans, without feedback, notes, labels, and the system message, which may hold the skill."""
    spans = [span for span in item.trace.spans if span.role != "system"]
    most = room(settings.window, prompts.load(SYSTEM).text, prompts.load(PROMPT).text) - used
    fitted = fit(caller.redactor(item.trace.task), "", "", spans, caller.redactor, most)
    whole = fitted.trace or "\n\n".join(shown(span, caller.redactor, 250) for span in spans)
    return f"request: {fitted.task}\n\n{head_and_tail(whole, most - tokens(fitted.task))}"


@dataclass(frozen=True, slots=True)
class Judged:
    """What the answers come to. `p` is one-sided, in the direction that the proposal claims."""

    words: str
    p: float


def judged(seen: Sequence[Seen], sample: Sequence[Labelled], side: Side) -> Judged:
    """The exact test of the answers, within tasks from three informative ones on, else over all runs together."""
    answered = [(item, shows) for item, shows in zip(sample, seen, strict=True) if shows is not None]
    tasks: defaultdict[str, list[tuple[Labelled, bool]]] = defaultdict(list)
    for item, shows in answered:
        tasks[item.trace.task_id].append((item, shows))
    strata = [_stratum(runs, side) for runs in tasks.values()]
    matched = sum(map(is_informative, strata)) >= MATCHED
    strata = strata if matched else [_stratum(answered, side)]
    shown = {name: [shows for item, shows in answered if side_of(item) == name] for name in ("failure", "success")}
    p = conditional_p(strata, sum(shown[side]))
    counts = (
        f"{sum(shown['failure'])} of {len(shown['failure'])} failing and {sum(shown['success'])} of "
        f"{len(shown['success'])} passing runs show it by the answers of the model, asked of each without its outcome"
    )
    how = "within tasks" if matched else "not matched by task"
    lost = f", {len(sample) - len(answered)} without a usable answer" if len(answered) < len(sample) else ""
    return Judged(f"judged contrast: {counts}{lost} (p = {p:.3f}, {how})", p)


def _stratum(runs: Sequence[tuple[Labelled, bool]], side: Side) -> Stratum:
    return len(runs), sum(side_of(item) == side for item, _ in runs), sum(shows for _, shows in runs)


def weighed(criterion: Criterion, found: Judged, gate_q: float) -> Criterion:
    """The judge's answer on causes beside the judged contrast: a yes that it does not bear out becomes unknown."""
    if criterion.answer == "yes" and found.p > gate_q:
        return replace(criterion, answer="unknown", reason=f"not borne out; {found.words}: {criterion.reason}")
    return replace(criterion, reason=f"{criterion.reason} ({found.words})", source="judged")
